#include "app/gui/view/attention/scene.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "app/gui/view/common.h"
#include "app/gui/view/event_times.h"
#include "app/gui/view/focus.h"
#include "app/gui/view/op_strip.h"
#include "app/gui/view/operands.h"
#include "app/gui/view/run_end.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

constexpr std::string_view kAgain = ".recompute", kAgainRule = "recompute.";

/// Its name without what says that it is computed a second time.
std::string_view kernel_name(const trace::Trace& trace, const trace::Event& event) {
    std::string_view name = trace.text(event.name);
    if (name.ends_with(kAgain)) name.remove_suffix(kAgain.size());
    return name;
}
std::string_view rule_name(const trace::Trace& trace, const trace::Event& event) {
    std::string_view rule = trace.text(event.rule);
    if (rule.starts_with(kAgainRule)) rule.remove_prefix(kAgainRule.size());
    return rule;
}

bool is_kernel(const trace::Trace& trace, const trace::Event& event) {
    if (event.kind != trace::EventKind::compute) return false;
    const std::string_view name = kernel_name(trace, event);
    return name == "attention" || name == "attention.merge" || name == "attention.backward";
}
bool is_call(const trace::Trace& trace, const trace::Event& event) {
    return event.kind == trace::EventKind::collective && rule_name(trace, event).starts_with("cp.") &&
           event.op != CollectiveOp::all_reduce;
}

/// What tells one attention from another in a record.
struct Pass {
    int32_t step = 0;
    Phase phase = Phase::forward;
    int32_t microbatch = 0;
    bool backward = false;
    std::string unit;

    bool holds(const trace::Trace& trace, const trace::Event& event) const {
        return event.phase == phase && event.microbatch == microbatch && trace.text(event.unit) == unit;
    }
};

bool is_of_backward(const trace::Trace& trace, const trace::Event& event) {
    if (event.kind == trace::EventKind::compute) return kernel_name(trace, event) == "attention.backward";
    const std::string_view rule = rule_name(trace, event);
    return rule.ends_with("_again") || rule.substr(rule.rfind('.') + 1).starts_with("d");
}

/// The numbers of an operand that a kernel read.
std::vector<int64_t> positions_of(const trace::Trace& trace, int32_t rank, int32_t event,
                                  std::string_view which) {
    const Operand operand = operand_of(trace, rank, event, which, trace::SnapshotKind::input);
    std::vector<int64_t> positions;
    for (const float at : operand.numbers) positions.push_back(std::llround(at));
    return positions;
}

/// Finds a rank's part of a pass.
class RankReader {
  public:
    RankReader(const trace::Trace& trace, const Pass& pass, int32_t rank, Memo* memo) : trace_(trace) {
        part.rank = rank;
        const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
        for (const StepRun& run : step_runs(trace, rank, pass.step, memo))
            for (std::size_t i = run.first; i < run.last; ++i)
                if (pass.holds(trace, events[i]) && is_of_backward(trace, events[i]) == pass.backward)
                    take(events[i]);
        if (!kernels.empty()) part.tokens = positions_of(trace, rank, kernels.front(), "q_positions");
    }

    AttentionRank part;
    std::vector<int32_t> kernels;                     ///< one a block, in order
    std::vector<std::pair<int32_t, int32_t>> merges;  ///< a kernel and what merged it
    std::vector<std::string_view> rules;              ///< of part.exchanges

  private:
    void take(const trace::Event& event) {
        if (event.kind == trace::EventKind::compute) {
            const std::string_view name = kernel_name(trace_, event);
            if (name == "attention" || name == "attention.backward") kernels.push_back(event.id);
            if (name == "attention.merge" && !kernels.empty()) merges.emplace_back(kernels.back(), event.id);
            return;
        }
        if (!is_call(trace_, event)) return;
        const std::string_view rule = rule_name(trace_, event);
        const bool home = rule == "cp.permute.dkv" || rule == "cp.all_to_all.o" ||
                          rule == "cp.all_to_all.dq" || rule == "cp.all_to_all.dk" ||
                          rule == "cp.all_to_all.dv";
        (home ? part.home : part.exchanges).push_back(event.id);
        if (!home) rules.push_back(rule);
    }

    const trace::Trace& trace_;
};

AttentionWay way_of(const std::vector<std::string_view>& rules) {
    if (rules.empty()) return AttentionWay::alone;
    if (rules.front().starts_with("cp.permute.kv")) return AttentionWay::ring;
    return rules.front().starts_with("cp.all_gather.kv") ? AttentionWay::gather : AttentionWay::heads;
}

/// The sender of a call's only message to this rank: a place, or -1 where the record has no hop of it.
int32_t sender(const trace::Trace& trace, const AttentionScene& scene, int32_t rank, int32_t event) {
    int32_t src = -1;
    for (const trace::Hop& hop : hops_of(trace, rank, event))
        if (hop.elements > 0) src = hop.src;
    const auto at = std::ranges::find(scene.ranks, src, &AttentionRank::rank);
    return at == scene.ranks.end() ? -1 : static_cast<int32_t>(at - scene.ranks.begin());
}

/// Whose numbers come with each call: what the sender had got with the call before, at first its own.
void follow(const trace::Trace& trace, AttentionScene& scene, std::vector<int32_t> AttentionRank::*calls,
            std::vector<int32_t> AttentionRank::*origins) {
    std::vector<int32_t> held(scene.n());
    std::iota(held.begin(), held.end(), 0);
    std::size_t most = 0;
    for (const AttentionRank& rank : scene.ranks) most = std::max(most, (rank.*calls).size());
    for (std::size_t i = 0; i < most; ++i) {
        std::vector<int32_t> next(scene.n(), -1);
        for (std::size_t place = 0; place < scene.n(); ++place) {
            AttentionRank& rank = scene.ranks[place];
            if (i >= (rank.*calls).size()) continue;
            const int32_t from = sender(trace, scene, rank.rank, (rank.*calls)[i]);
            next[place] = from < 0 ? -1 : held[static_cast<std::size_t>(from)];
            (rank.*origins).push_back(next[place]);
        }
        held = std::move(next);
    }
}

/// Whose keys a kernel read: the rank whose own tokens they are.
int32_t source(const trace::Trace& trace, const AttentionScene& scene, const AttentionRank& rank,
               int32_t event, std::size_t turn, std::size_t n_kernels) {
    const std::vector<int64_t> keys = positions_of(trace, rank.rank, event, "k_positions");
    if (!keys.empty()) {
        const auto at = std::ranges::find(scene.ranks, keys, &AttentionRank::tokens);
        if (at != scene.ranks.end()) return static_cast<int32_t>(at - scene.ranks.begin());
    }
    const auto own = std::ranges::find(scene.ranks, rank.rank, &AttentionRank::rank) - scene.ranks.begin();
    // The first is a rank's own; where all are computed, the others come in the order of the exchanges.
    if (turn == 0) return static_cast<int32_t>(own);
    // Where every exchange's keys are used, they are so in the order in which they come.
    return n_kernels == scene.n() && turn <= rank.comes.size() ? rank.comes[turn - 1] : -1;
}

void read_shapes(const trace::Trace& trace, AttentionScene& scene, int32_t rank, int32_t event) {
    using trace::SnapshotKind;
    const Operand q = operand_of(trace, rank, event, "q", SnapshotKind::input);
    const Operand k = operand_of(trace, rank, event, "k", SnapshotKind::input);
    const Operand lse =
        operand_of(trace, rank, event, "lse", scene.backward ? SnapshotKind::input : SnapshotKind::output);
    if (!q.known() || !k.known() || !lse.known() || lse.columns == 0 || q.rows % lse.columns != 0) return;
    const int64_t batch = q.rows / lse.columns;  // (batch · heads, queries)
    if (batch == 0 || lse.rows % batch != 0) return;
    const int64_t heads = lse.rows / batch;
    if (heads == 0 || q.columns % heads != 0) return;
    scene.batch = batch;
    scene.heads = heads;
    scene.head_dim = q.columns / heads;
    scene.kv_heads = k.columns / std::max<int64_t>(1, scene.head_dim);
    scene.tokens = scene.way == AttentionWay::ring || scene.way == AttentionWay::gather
                       ? lse.columns * static_cast<int64_t>(scene.n())
                       : lse.columns;
}

/// Tokens 0, 1, 2 …, where no kernel was told others.
void count_tokens(AttentionScene& scene) {
    constexpr int64_t kMost = 1 << 16;
    if (scene.tokens <= 0 || scene.tokens > kMost) return;
    if (scene.way == AttentionWay::ring || scene.way == AttentionWay::gather) return;
    for (AttentionRank& rank : scene.ranks) {
        if (!rank.tokens.empty()) continue;
        rank.tokens.resize(static_cast<std::size_t>(scene.tokens));
        std::iota(rank.tokens.begin(), rank.tokens.end(), 0);
    }
}

/// Whether the causal mask leaves so many pairs of these queries and keys.
bool has_pairs(const std::vector<int64_t>& queries, std::vector<int64_t> keys, int64_t pairs) {
    if (queries.empty() || keys.empty()) return false;
    std::ranges::sort(keys);
    int64_t seen = 0;
    for (const int64_t query : queries) seen += std::ranges::upper_bound(keys, query) - keys.begin();
    return seen == pairs;
}

void place_blocks(const trace::Trace& trace, AttentionScene& scene, const std::vector<RankReader>& readers) {
    const bool together = scene.way == AttentionWay::ring || scene.way == AttentionWay::gather;
    const int64_t each =
        (scene.backward ? 10 : 4) * scene.head_dim * scene.batch * scene.heads;  // kernels.def
    for (std::size_t place = 0; place < scene.n(); ++place) {
        AttentionRank& rank = scene.ranks[place];
        const RankReader& reader = readers[place];
        rank.blocks.assign(scene.n(), {});
        auto merge = reader.merges.begin();  // in the kernels' order
        for (std::size_t turn = 0; turn < reader.kernels.size(); ++turn) {
            const trace::Event& event = trace.event(rank.rank, reader.kernels[turn]);
            const int32_t from = together ? source(trace, scene, rank, event.id, turn, reader.kernels.size())
                                          : static_cast<int32_t>(place);
            AttentionBlock block;
            block.event = event.id;
            block.turn = static_cast<int32_t>(turn);
            block.flops = event.flops;
            if (merge != reader.merges.end() && merge->first == event.id) block.merge = merge++->second;
            if (each > 0 && event.flops % each == 0) block.pairs = event.flops / each;
            if (from < 0 || rank.blocks[static_cast<std::size_t>(from)].event >= 0)
                rank.unplaced.push_back(block);
            else
                rank.blocks[static_cast<std::size_t>(from)] = block;
        }
    }
    // An empty block is a masked one where the mask leaves nothing of it.
    for (AttentionRank& rank : scene.ranks)
        for (std::size_t keys = 0; keys < scene.n(); ++keys) {
            AttentionBlock& block = rank.blocks[keys];
            block.cells_known =
                has_pairs(rank.tokens, scene.ranks[keys].tokens, block.event < 0 ? 0 : block.pairs);
        }
}

/// What of it never ended where the run broke off.
void find_open(const trace::Trace& trace, AttentionScene& scene) {
    if (trace.info.failure.empty()) return;
    const std::optional<RunEnd> end = run_end(trace);
    std::size_t most = 0;
    for (const AttentionRank& rank : scene.ranks)
        most = std::max(most, rank.exchanges.size() + rank.home.size());
    for (AttentionRank& rank : scene.ranks) {
        for (const auto* calls : {&rank.exchanges, &rank.home})
            for (const int32_t id : *calls)
                if (end && is_open(*end, rank.rank, id)) rank.open.push_back(id);
        const bool fewer = rank.exchanges.size() + rank.home.size() < most;
        scene.broke_off = scene.broke_off || fewer || !rank.open.empty();
    }
}

AttentionScene read_pass(const trace::Trace& trace, const Pass& pass, int32_t rank, Memo* memo) {
    AttentionScene scene;
    scene.rank = rank;
    scene.step = pass.step;
    scene.phase = pass.phase;
    scene.microbatch = pass.microbatch;
    scene.backward = pass.backward;
    scene.unit = pass.unit;
    RankReader own(trace, pass, rank, memo);
    if (own.kernels.empty() && own.part.exchanges.empty()) return scene;
    scene.way = way_of(own.rules);
    std::vector<RankReader> readers;
    if (own.part.exchanges.empty()) {
        readers.push_back(std::move(own));
    } else {
        scene.group = trace.event(rank, own.part.exchanges.front()).group;
        for (const int32_t member : trace.groups[static_cast<std::size_t>(scene.group)].ranks)
            readers.emplace_back(trace, pass, member, memo);
    }
    for (const RankReader& reader : readers) scene.ranks.push_back(reader.part);
    if (scene.way == AttentionWay::ring)
        follow(trace, scene, &AttentionRank::exchanges, &AttentionRank::comes);
    // Gradients go round whichever way the keys came.
    if (scene.way == AttentionWay::ring || scene.way == AttentionWay::gather)
        follow(trace, scene, &AttentionRank::home, &AttentionRank::gradients);
    for (std::size_t place = 0; place < readers.size() && scene.batch == 0; ++place)
        if (!readers[place].kernels.empty())
            read_shapes(trace, scene, scene.ranks[place].rank, readers[place].kernels.front());
    count_tokens(scene);
    place_blocks(trace, scene, readers);
    find_open(trace, scene);
    return scene;
}

Pass pass_of(const trace::Trace& trace, const trace::Event& event) {
    return {event.step, event.phase, event.microbatch, is_of_backward(trace, event),
            std::string(trace.text(event.unit))};
}

/// The event of a step's attention that is nearest to `at`: of the same module, the last before it, the next.
const trace::Event* nearest(const Moment& input, int32_t rank, int32_t step, const trace::Event* at) {
    const auto& events = input.trace.ranks[static_cast<std::size_t>(rank)].events;
    const trace::Event *before = nullptr, *after = nullptr;
    for (const StepRun& run : step_runs(input.trace, rank, step, input.memo))
        for (std::size_t i = run.first; i < run.last; ++i) {
            const trace::Event& event = events[i];
            if (!is_kernel(input.trace, event) && !is_call(input.trace, event)) continue;
            if (at == nullptr) return &event;
            if (event.id == at->id) return &event;
            const std::string_view module = input.trace.text(event.unit);
            const bool inside = event.phase == at->phase && event.microbatch == at->microbatch &&
                                input.trace.text(at->unit).starts_with(std::string(module) + ".");
            if (inside) return &event;
            if (event.id < at->id) before = &event;
            if (event.id > at->id && after == nullptr) after = &event;
        }
    return before != nullptr ? before : after;
}

/// read_pass(), in a large record once a pass.
std::shared_ptr<const AttentionScene> found(const trace::Trace& trace, const Pass& pass, int32_t rank,
                                            Memo* memo) {
    constexpr std::size_t kKept = 6;
    const std::tuple key(rank, pass.step, pass.phase, pass.microbatch, pass.backward, pass.unit);
    return found_once<AttentionScene>(memo, kKept, trace, nullptr, key,
                                      [&] { return read_pass(trace, pass, rank, memo); });
}

}  // namespace

int64_t AttentionRank::flops() const {
    int64_t sum = 0;
    for (const auto* each : {&blocks, &unplaced})
        for (const AttentionBlock& block : *each) sum += block.flops;
    return sum;
}

std::size_t AttentionScene::place() const {
    const auto at = std::ranges::find(ranks, rank, &AttentionRank::rank);
    return at == ranks.end() ? 0 : static_cast<std::size_t>(at - ranks.begin());
}

std::string_view AttentionScene::word() const {
    constexpr std::string_view kWords[]{"alone", "ring", "gather", "heads"};
    if (way != AttentionWay::ring ||
        std::ranges::any_of(ranks, [](const AttentionRank& each) { return each.tokens.empty(); }))
        return kWords[static_cast<std::size_t>(way)];
    const bool together = std::ranges::all_of(ranks, [](const AttentionRank& each) {
        return each.tokens.back() - each.tokens.front() + 1 == std::ssize(each.tokens);
    });
    return together ? "neighbours" : "head_tail";
}

AttentionScene attention_scene(const Moment& now) {
    const Focus focus = focus_of(now);
    AttentionScene nothing;
    nothing.rank = focus.rank;
    nothing.step = focus.step;
    if (now.trace.ranks.empty()) return nothing;
    const trace::Event* const shown = nearest(now, focus.rank, focus.step, focus.event);
    if (shown == nullptr) return nothing;
    return *found(now.trace, pass_of(now.trace, *shown), focus.rank, now.memo);
}

std::optional<EventRef> next_of_attention(const Moment& at, int by) {
    const AttentionScene scene = attention_scene(at);
    if (scene.empty()) return std::nullopt;
    return next_in_strip(at, scene.rank, attention_events(scene.own()), by);
}

AttentionScene attention_like(const trace::Trace& trace, const AttentionScene& scene, Memo* memo) {
    if (scene.empty() || std::cmp_greater_equal(scene.rank, trace.ranks.size())) return {};
    return *found(trace, {scene.step, scene.phase, scene.microbatch, scene.backward, scene.unit}, scene.rank,
                  memo);
}

std::vector<int32_t> attention_events(const AttentionRank& rank) {
    std::vector<int32_t> events = rank.exchanges;
    events.insert(events.end(), rank.home.begin(), rank.home.end());
    for (const auto* blocks : {&rank.blocks, &rank.unplaced})
        for (const AttentionBlock& block : *blocks)
            for (const int32_t id : {block.event, block.merge})
                if (id >= 0) events.push_back(id);
    std::ranges::sort(events);
    return events;
}

time::Interval attention_span(const time::Clock& clock, const AttentionScene& scene) {
    std::optional<time::Interval> span;
    for (const AttentionRank& rank : scene.ranks)
        for (const int32_t id : attention_events(rank)) {
            const time::Interval& at =
                clock.events[static_cast<std::size_t>(rank.rank)][static_cast<std::size_t>(id)];
            span = span ? time::Interval{std::min(span->begin_ns, at.begin_ns),
                                         std::max(span->end_ns, at.end_ns)}
                        : at;
        }
    return span.value_or(time::Interval{});
}

}  // namespace meshscope::view
