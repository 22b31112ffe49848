#include "tests/view/toy.h"

#include <algorithm>
#include <numeric>

namespace meshscope::test {
namespace {

using trace::Event;
using trace::Hop;

struct Move {
    int32_t round, src, dst, chunk;  // group ranks
    bool reduces;
};

// Ring: chunk c starts at rank c+1, arrives complete at rank c, then goes round once more.
void ring_reduce_scatter(int32_t n, std::vector<Move>& moves) {
    for (int32_t round = 0; round < n - 1; ++round)
        for (int32_t r = 0; r < n; ++r)
            moves.push_back({round, r, (r + 1) % n, (r - round - 1 + 2 * n) % n, true});
}
void ring_all_gather(int32_t n, int32_t first_round, std::vector<Move>& moves) {
    for (int32_t round = 0; round < n - 1; ++round)
        for (int32_t r = 0; r < n; ++r)
            moves.push_back({first_round + round, r, (r + 1) % n, (r - round + n) % n, false});
}

std::vector<Move> plan(CollectiveOp op, Algorithm algorithm, int32_t n) {
    std::vector<Move> m;
    const bool ring = algorithm == Algorithm::ring;
    const auto everyone = [&](int32_t round, bool reduce) {
        for (int32_t s = 0; s < n; ++s)
            for (int32_t d = 0; d < n; ++d)
                if (s != d) m.push_back({round, s, d, reduce ? d : s, reduce});
    };
    switch (op) {
        case CollectiveOp::all_gather:
            if (ring)
                ring_all_gather(n, 0, m);
            else
                everyone(0, false);
            break;
        case CollectiveOp::reduce_scatter:
            if (ring)
                ring_reduce_scatter(n, m);
            else
                everyone(0, true);
            break;
        case CollectiveOp::all_reduce:
            if (algorithm == Algorithm::tree) {
                // Binomial: pairs reduce towards rank 0, then the same way back. One chunk, the whole buffer.
                int32_t round = 0, top = 1;
                while (top < n) top *= 2;
                for (int32_t d = 1; d < top; d *= 2, ++round)
                    for (int32_t r = d; r < n; r += 2 * d) m.push_back({round, r, r - d, 0, true});
                for (int32_t d = top / 2; d >= 1; d /= 2, ++round)
                    for (int32_t r = d; r < n; r += 2 * d) m.push_back({round, r - d, r, 0, false});
            } else if (ring) {
                ring_reduce_scatter(n, m);
                ring_all_gather(n, n - 1, m);
            } else {
                everyone(0, true);
                everyone(1, false);
            }
            break;
        case CollectiveOp::broadcast:
            for (int32_t d = 1, round = 0; d < n; d *= 2, ++round)
                for (int32_t r = 0; r < d && r + d < n; ++r) m.push_back({round, r, r + d, 0, false});
            break;
        default:
            break;
    }
    return m;
}

}  // namespace

TraceBuilder::TraceBuilder(std::vector<int64_t> mesh_shape, std::vector<std::string> names) {
    int64_t n = 1;
    for (const int64_t d : mesh_shape) n *= d;
    trace_.strings = {""};
    trace_.info.world_size = static_cast<int32_t>(n);
    trace_.info.mesh_shape = mesh_shape;
    trace_.info.mesh_names = std::move(names);
    trace_.info.mesh_ranks.resize(static_cast<std::size_t>(n));
    std::iota(trace_.info.mesh_ranks.begin(), trace_.info.mesh_ranks.end(), 0);
    const int64_t row = mesh_shape.size() > 1 ? n / mesh_shape[0] : n;
    for (int64_t r = 0; r < n; ++r) trace_.info.node_of_rank.push_back(static_cast<int32_t>(r / row));
    trace_.info.steps = 1;
    trace_.ranks.resize(static_cast<std::size_t>(n));
}

trace::StringId TraceBuilder::intern(const std::string& text) {
    const auto at = std::find(trace_.strings.begin(), trace_.strings.end(), text);
    if (at != trace_.strings.end()) return static_cast<trace::StringId>(at - trace_.strings.begin());
    trace_.strings.push_back(text);
    return static_cast<trace::StringId>(trace_.strings.size() - 1);
}

int32_t TraceBuilder::add_group(std::string dim, std::vector<int32_t> ranks) {
    trace_.groups.push_back({std::move(dim), std::move(ranks)});
    sequences_.push_back(0);
    return static_cast<int32_t>(trace_.groups.size() - 1);
}

std::vector<int32_t> TraceBuilder::add_dim_groups(std::size_t dim) {
    const auto& shape = trace_.info.mesh_shape;
    int32_t stride = 1;
    for (std::size_t d = dim + 1; d < shape.size(); ++d) stride *= static_cast<int32_t>(shape[d]);
    std::vector<int32_t> out;
    for (int32_t r = 0; r < trace_.info.world_size; ++r) {
        if (r / stride % static_cast<int32_t>(shape[dim]) != 0) continue;
        std::vector<int32_t> ranks;
        for (int32_t i = 0; i < static_cast<int32_t>(shape[dim]); ++i) ranks.push_back(r + i * stride);
        out.push_back(add_group(trace_.info.mesh_names[dim], ranks));
    }
    return out;
}

std::vector<int32_t> TraceBuilder::collective(int32_t group, const Call& call,
                                              const std::vector<std::vector<float>>& inputs) {
    const auto ranks = trace_.groups[static_cast<std::size_t>(group)].ranks;
    const auto n = static_cast<int32_t>(ranks.size());
    const auto un = ranks.size();
    const auto in = static_cast<int64_t>(inputs[0].size());
    const bool gathers = call.op == CollectiveOp::all_gather,
               scatters = call.op == CollectiveOp::reduce_scatter;
    const int64_t whole = gathers ? in * n : in;
    const int64_t out = scatters ? in / n : whole;
    const bool one_chunk = call.algorithm == Algorithm::tree || call.op == CollectiveOp::broadcast;
    const int64_t part = one_chunk ? whole : (whole + n - 1) / n;

    outputs_.assign(un, {});
    std::vector<float> sum(static_cast<std::size_t>(whole), 0);
    for (const auto& input : inputs)
        for (std::size_t i = 0; i < input.size() && !gathers; ++i) sum[i] += input[i];
    if (call.reduce_op == ReduceOp::avg)
        for (float& v : sum) v /= static_cast<float>(n);

    std::vector<int32_t> ids;
    std::vector<std::vector<float>> held;
    for (std::size_t g = 0; g < un; ++g) {
        auto& rank = trace_.ranks[static_cast<std::size_t>(ranks[g])];
        Event e;
        e.id = static_cast<int32_t>(rank.events.size());
        e.step = call.step;
        e.kind = trace::EventKind::collective;
        e.stream = call.stream;
        e.phase = call.phase;
        e.op = call.op;
        e.reduce_op = gathers || call.op == CollectiveOp::broadcast ? ReduceOp::none : call.reduce_op;
        e.algorithm = n == 1 ? Algorithm::none : call.algorithm;
        e.prefetch = call.prefetch ? 1 : 0;
        e.unit = intern(call.unit);
        e.group = group;
        e.sequence = sequences_[static_cast<std::size_t>(group)];
        e.padding = call.padding;
        e.in_elements = in;
        e.out_elements = out;
        e.peer = call.op == CollectiveOp::broadcast ? ranks[0] : -1;
        rank.events.push_back(e);
        ids.push_back(e.id);
        if (g < call.after.size())
            for (const int32_t on : call.after[g]) rank.dependencies.push_back({e.id, on});
        rank.snapshots.push_back(
            {e.id, trace::SnapshotKind::input, static_cast<int64_t>(rank.values.size()), in});
        rank.values.insert(rank.values.end(), inputs[g].begin(), inputs[g].end());
        std::vector<float> buffer(static_cast<std::size_t>(whole), 0);
        const auto own = gathers ? static_cast<std::ptrdiff_t>(g) * in : 0;
        std::copy(inputs[g].begin(), inputs[g].end(), buffer.begin() + own);
        held.push_back(std::move(buffer));
        auto& output = outputs_[g];
        if (gathers)
            for (const auto& input : inputs) output.insert(output.end(), input.begin(), input.end());
        else if (call.op == CollectiveOp::broadcast)
            output = inputs[0];
        else if (scatters)
            output.assign(sum.begin() + static_cast<std::ptrdiff_t>(g) * out,
                          sum.begin() + static_cast<std::ptrdiff_t>(g + 1) * out);
        else
            output = sum;
    }
    ++sequences_[static_cast<std::size_t>(group)];

    const auto moves = plan(call.op, call.algorithm, n);
    for (std::size_t i = 0; i < moves.size();) {
        const auto before = held;
        for (const int32_t round = moves[i].round; i < moves.size() && moves[i].round == round; ++i) {
            const Move& m = moves[i];
            const int64_t offset = part * m.chunk;
            const int64_t count = std::min(part, whole - offset);
            if (count <= 0) continue;
            auto& receiver = trace_.ranks[static_cast<std::size_t>(ranks[static_cast<std::size_t>(m.dst)])];
            Hop hop;
            hop.event = ids[static_cast<std::size_t>(m.dst)];
            hop.round = m.round;
            hop.src = ranks[static_cast<std::size_t>(m.src)];
            hop.dst = ranks[static_cast<std::size_t>(m.dst)];
            hop.chunk = m.chunk;
            hop.reduces = m.reduces ? 1 : 0;
            hop.offset = offset;
            hop.elements = count;
            hop.bytes = count * 4;
            hop.values = static_cast<int64_t>(receiver.values.size());
            for (int64_t k = 0; k < count; ++k) {
                const auto at = static_cast<std::size_t>(offset + k);
                const float v = before[static_cast<std::size_t>(m.src)][at];
                receiver.values.push_back(v);
                auto& slot = held[static_cast<std::size_t>(m.dst)][at];
                slot = m.reduces ? slot + v : v;
            }
            receiver.hops.push_back(hop);
            auto& sender = trace_.ranks[static_cast<std::size_t>(hop.src)];
            sender.events[static_cast<std::size_t>(ids[static_cast<std::size_t>(m.src)])].sent_bytes +=
                hop.bytes;
        }
    }
    for (std::size_t g = 0; g < un; ++g) {
        auto& rank = trace_.ranks[static_cast<std::size_t>(ranks[g])];
        rank.snapshots.push_back({ids[g], trace::SnapshotKind::output,
                                  static_cast<int64_t>(rank.values.size()),
                                  static_cast<int64_t>(outputs_[g].size())});
        rank.values.insert(rank.values.end(), outputs_[g].begin(), outputs_[g].end());
    }
    return ids;
}

int32_t TraceBuilder::compute(int32_t rank, const std::string& name, const std::string& unit, Phase phase,
                              int64_t flops, std::vector<int32_t> after, int32_t step) {
    auto& r = trace_.ranks[static_cast<std::size_t>(rank)];
    Event e;
    e.id = static_cast<int32_t>(r.events.size());
    e.step = step;
    e.phase = phase;
    e.name = intern(name);
    e.unit = intern(unit);
    e.flops = flops;
    r.events.push_back(e);
    for (const int32_t on : after)
        if (on >= 0) r.dependencies.push_back({e.id, on});
    return e.id;
}

void TraceBuilder::allocate(int32_t rank, uint64_t id, int64_t bytes, MemoryCategory category,
                            const std::string& label, Phase phase, int32_t step) {
    auto& r = trace_.ranks[static_cast<std::size_t>(rank)];
    r.memory.push_back(
        {static_cast<int32_t>(r.events.size()) - 1, step, phase, category, intern(label), id, bytes, 0});
}

void TraceBuilder::release(int32_t rank, uint64_t id, Phase phase, int32_t step) {
    auto& r = trace_.ranks[static_cast<std::size_t>(rank)];
    for (const auto& change : r.memory)
        if (change.allocation == id && change.delta_bytes > 0) {
            r.memory.push_back({static_cast<int32_t>(r.events.size()) - 1, step, phase, change.category,
                                change.label, id, -change.delta_bytes, 0});
            return;
        }
}

namespace {

std::vector<float> numbers(int32_t seed, int64_t count) {
    std::vector<float> out;
    for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<float>(10 * seed + i + 1));
    return out;
}

// The toy's step on both groups of a dim at once: every group makes the same call.
struct Hsdp {
    TraceBuilder b{{2, 2}, {"replicate", "shard"}};
    std::vector<int32_t> replicate = b.add_dim_groups(0), shard = b.add_dim_groups(1);
    std::vector<int32_t> last = std::vector<int32_t>(4, -1);  // the latest compute event of each rank

    std::vector<int32_t> call(const std::vector<int32_t>& groups, CollectiveOp op, Stream stream, Phase phase,
                              const std::string& unit, int64_t in, const std::vector<int32_t>& after,
                              bool prefetch = false) {
        std::vector<int32_t> ids(4, -1);
        for (const int32_t g : groups) {
            const auto ranks = b.trace().groups[static_cast<std::size_t>(g)].ranks;
            TraceBuilder::Call c;
            c.op = op;
            c.reduce_op = ReduceOp::avg;
            c.stream = stream;
            c.phase = phase;
            c.unit = unit;
            c.prefetch = prefetch;
            std::vector<std::vector<float>> inputs;
            for (const int32_t r : ranks) {
                inputs.push_back(numbers(r, in));
                c.after.push_back(after.empty() || after[static_cast<std::size_t>(r)] < 0
                                      ? std::vector<int32_t>{}
                                      : std::vector<int32_t>{after[static_cast<std::size_t>(r)]});
            }
            const auto got = b.collective(g, c, inputs);
            for (std::size_t i = 0; i < ranks.size(); ++i) ids[static_cast<std::size_t>(ranks[i])] = got[i];
        }
        return ids;
    }
    void run(const std::string& name, const std::string& unit, Phase phase, int64_t flops,
             const std::vector<int32_t>& after) {
        for (int32_t r = 0; r < 4; ++r)
            last[static_cast<std::size_t>(r)] = b.compute(
                r, name, unit, phase, flops, {after.empty() ? -1 : after[static_cast<std::size_t>(r)]});
    }
    void hold(uint64_t id, int64_t bytes, MemoryCategory category, const std::string& label, Phase phase) {
        for (int32_t r = 0; r < 4; ++r) b.allocate(r, id, bytes, category, label, phase);
    }
    void drop(uint64_t id, Phase phase) {
        for (int32_t r = 0; r < 4; ++r) b.release(r, id, phase);
    }
};

}  // namespace

trace::Trace toy_hsdp() {
    Hsdp h;
    using enum Phase;
    using enum MemoryCategory;
    const auto ag = CollectiveOp::all_gather, rs = CollectiveOp::reduce_scatter,
               ar = CollectiveOp::all_reduce;
    h.hold(1, 352, sharded_parameters, "net1, net2", setup);
    h.hold(2, 704, optimizer_state, "adam m, v", setup);
    h.hold(3, 80, inputs, "x, y", forward);
    h.hold(10, 440, communication, "all_gather net1", forward);
    auto g1 = h.call(h.shard, ag, Stream::all_gather, forward, "net1", 55, {});
    h.hold(11, 440, unsharded_parameters, "net1", forward);
    h.run("linear", "net1", forward, 300, g1);
    h.hold(12, 80, activations, "net1 out", forward);
    h.drop(10, forward);
    h.hold(13, 264, communication, "all_gather net2", forward);
    auto g2 = h.call(h.shard, ag, Stream::all_gather, forward, "net2", 33, {});
    h.drop(11, forward);
    h.run("relu", "relu", forward, 60, {});
    h.hold(14, 264, unsharded_parameters, "net2", forward);
    h.run("linear", "net2", forward, 200, g2);
    h.drop(13, forward);
    h.hold(15, 40, activations, "net2 out", forward);
    h.run("mse_loss", "", forward, 60, {});
    h.drop(14, forward);
    h.hold(16, 264, communication, "all_gather net2", backward);
    g2 = h.call(h.shard, ag, Stream::all_gather, backward, "net2", 33, h.last);
    h.hold(17, 264, unsharded_parameters, "net2", backward);
    h.hold(18, 440, communication, "all_gather net1", backward);
    g1 = h.call(h.shard, ag, Stream::all_gather, backward, "net1", 55, h.last, true);
    h.drop(16, backward);
    h.hold(19, 264, gradients, "net2.grad", backward);
    h.run("linear", "net2", backward, 400, g2);
    h.hold(20, 264, communication, "reduce_scatter net2", backward);
    auto r2 = h.call(h.shard, rs, Stream::reduce_scatter, backward, "net2", 66, h.last);
    h.drop(17, backward);
    auto a2 = h.call(h.replicate, ar, Stream::all_reduce, backward, "net2", 33, r2);
    h.hold(21, 440, unsharded_parameters, "net1", backward);
    h.drop(18, backward);
    h.hold(22, 440, gradients, "net1.grad", backward);
    h.run("linear", "net1", backward, 600, g1);
    h.drop(21, backward);
    auto r1 = h.call(h.shard, rs, Stream::reduce_scatter, backward, "net1", 110, h.last);
    h.drop(19, backward);
    h.drop(20, backward);
    auto a1 = h.call(h.replicate, ar, Stream::all_reduce, backward, "net1", 55, r1);
    h.drop(22, backward);
    h.drop(12, backward);
    h.drop(15, backward);
    h.run("sgd", "", optimizer, 200, a1);
    return h.b.take();
}

trace::Trace one_collective(CollectiveOp op, Algorithm algorithm, int32_t n, int64_t elements,
                            ReduceOp reduce_op) {
    TraceBuilder b({n}, {"shard"});
    const int32_t g = b.add_dim_groups(0)[0];
    std::vector<std::vector<float>> inputs;
    for (int32_t r = 0; r < n; ++r) inputs.push_back(numbers(r, elements));
    TraceBuilder::Call call;
    call.op = op;
    call.algorithm = algorithm;
    call.reduce_op = reduce_op;
    b.collective(g, call, inputs);
    return b.take();
}

}  // namespace meshscope::test
