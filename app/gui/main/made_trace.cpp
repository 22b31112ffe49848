#include <algorithm>
#include <map>

#include "app/gui/main/bench_app.h"

namespace meshscope::gui {
namespace {

using trace::Event;
using trace::EventKind;
using trace::RankTrace;
using trace::StringId;
using trace::Trace;

/// Ranks of a shard group, and of a tp group.
int32_t inner_of(int32_t ranks) {
    return ranks < 64 ? 2 : 8;
}
constexpr int32_t kLayers = 30;

struct Strings {
    Trace& trace;
    std::map<std::string, StringId> ids{};
    StringId operator()(const std::string& text) {
        const auto [at, fresh] = ids.emplace(text, static_cast<StringId>(trace.strings.size()));
        if (fresh) trace.strings.push_back(text);
        return at->second;
    }
};

/// One rank's events, one behind the other on one clock: all ranks do the same at the same time.
class Rank {
  public:
    Rank(RankTrace& record, Strings& strings, int32_t rank, int32_t outer, int32_t inner)
        : record_(record), strings_(strings) {
        const int32_t tp = rank / inner, shard = rank / (inner * inner) * inner + rank % inner,
                      replicate = rank % (inner * inner);
        // Groups stand in the table as replicate, shard, tp.
        groups_ = {replicate, inner * inner + shard, inner * inner + outer * inner + tp};
    }

    void compute(const char* name, const std::string& unit, Phase phase, int32_t step) {
        Event& e = add(unit, phase, step, 40'000);
        e.kind = EventKind::compute;
        e.name = strings_(name);
        e.flops = 16'000'000;
        e.touched_bytes = 400'000;
    }
    void collective(CollectiveOp op, std::size_t dim, const char* rule, const std::string& unit, Phase phase,
                    int32_t step) {
        Event& e = add(unit, phase, step, 25'000);
        e.kind = EventKind::collective;
        e.op = op;
        e.stream = op == CollectiveOp::all_gather       ? Stream::all_gather
                   : op == CollectiveOp::reduce_scatter ? Stream::reduce_scatter
                                                        : Stream::all_reduce;
        if (op != CollectiveOp::all_gather) e.reduce_op = ReduceOp::sum;
        e.algorithm = Algorithm::ring;
        e.rule = strings_(rule);
        e.group = groups_[dim];
        e.sequence = sequence_[dim]++;
        e.in_elements = op == CollectiveOp::all_gather ? 4096 : 32768;
        e.out_elements = op == CollectiveOp::reduce_scatter ? 4096 : 32768;
        e.sent_bytes = 28672 * 4;
    }
    bool full(int64_t most) const { return static_cast<int64_t>(record_.events.size()) >= most; }

  private:
    Event& add(const std::string& unit, Phase phase, int32_t step, int64_t lasts_ns) {
        Event e;
        e.id = static_cast<int32_t>(record_.events.size());
        e.step = step;
        e.phase = phase;
        e.unit = strings_(unit);
        e.t_issue_ns = e.t_begin_ns = now_;
        e.t_end_ns = now_ += lasts_ns;
        if (e.id > 0) record_.dependencies.push_back({e.id, e.id - 1});
        record_.events.push_back(e);
        return record_.events.back();
    }

    RankTrace& record_;
    Strings& strings_;
    std::vector<int32_t> groups_;
    int32_t sequence_[3] = {0, 0, 0};
    int64_t now_ = 0;
};

void step_of(Rank& rank, int32_t step) {
    const auto layer = [](int32_t i) { return "layers." + std::to_string(i); };
    for (int32_t i = 0; i < kLayers; ++i) {
        rank.collective(CollectiveOp::all_gather, 1, "fsdp2.unshard.forward", layer(i), Phase::forward, step);
        rank.compute("linear", layer(i), Phase::forward, step);
        rank.collective(CollectiveOp::all_reduce, 2, "tp.rowwise.partial_sum", layer(i), Phase::forward,
                        step);
    }
    for (int32_t i = kLayers - 1; i >= 0; --i) {
        rank.collective(CollectiveOp::all_gather, 1, "fsdp2.unshard.backward", layer(i), Phase::backward,
                        step);
        rank.compute("linear.backward", layer(i), Phase::backward, step);
        rank.collective(CollectiveOp::all_reduce, 2, "tp.colwise.input_grad", layer(i), Phase::backward,
                        step);
        rank.collective(CollectiveOp::reduce_scatter, 1, "fsdp2.reduce_scatter.gradients", layer(i),
                        Phase::backward, step);
        rank.collective(CollectiveOp::all_reduce, 0, "hsdp.all_reduce.replicas", layer(i), Phase::backward,
                        step);
    }
    rank.compute("adamw", "", Phase::optimizer, step);
}

}  // namespace

Trace made_trace(int32_t ranks, int64_t events) {
    Trace trace;
    trace.strings = {""};
    Strings strings{trace};
    const int32_t inner = inner_of(ranks), outer = ranks / (inner * inner);
    trace::RunInfo& info = trace.info;
    info.title_en = info.title_zh = "made";
    info.level = trace::Level::collectives;
    info.world_size = ranks;
    info.mesh_shape = {outer, inner, inner};
    info.mesh_names = {"replicate", "shard", "tp"};
    for (int32_t r = 0; r < ranks; ++r) {
        info.mesh_ranks.push_back(r);
        info.node_of_rank.push_back(r / inner);
    }
    for (int32_t g = 0; g < inner * inner; ++g) {
        trace::Group group{"replicate", {}};
        for (int32_t o = 0; o < outer; ++o) group.ranks.push_back(o * inner * inner + g);
        trace.groups.push_back(std::move(group));
    }
    for (int32_t o = 0; o < outer; ++o)
        for (int32_t t = 0; t < inner; ++t) {
            trace::Group group{"shard", {}};
            for (int32_t s = 0; s < inner; ++s) group.ranks.push_back((o * inner + s) * inner + t);
            trace.groups.push_back(std::move(group));
        }
    for (int32_t g = 0; g < outer * inner; ++g) {
        trace::Group group{"tp", {}};
        for (int32_t t = 0; t < inner; ++t) group.ranks.push_back(g * inner + t);
        trace.groups.push_back(std::move(group));
    }
    const int64_t each = std::max<int64_t>(1, (events + ranks - 1) / ranks);
    const int64_t a_step = kLayers * 8 + 1;
    info.steps = static_cast<int32_t>(each / a_step);
    trace.ranks.resize(static_cast<std::size_t>(ranks));
    for (int32_t r = 0; r < ranks; ++r) {
        RankTrace& record = trace.ranks[static_cast<std::size_t>(r)];
        record.events.reserve(static_cast<std::size_t>(each));
        Rank rank(record, strings, r, outer, inner);
        for (int64_t i = 0; i < each - info.steps * a_step; ++i)
            rank.compute("init", "model", Phase::setup, -1);
        for (int32_t step = 0; step < info.steps; ++step) step_of(rank, step);
        for (int32_t i = 0; i < kLayers; ++i)
            record.memory.push_back({-1, -1, Phase::setup, MemoryCategory::sharded_parameters,
                                     strings("layers." + std::to_string(i) + ".weight"),
                                     static_cast<uint64_t>(i) + 1, 65536, 0});
    }
    for (int32_t step = 0; step < info.steps; ++step) info.losses.push_back(1.0 / (step + 1));
    return trace;
}

}  // namespace meshscope::gui
