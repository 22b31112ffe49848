#include "app/gui/view/collective_state.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/collective_replay.h"

namespace meshscope::view {
namespace {

// The recorded output in place of the sum of hops: exact, and divided where the op averages.
void show_output(const Replay& replay, CollectiveState& state, std::size_t m) {
    const auto* output = replay.snapshot(m, trace::SnapshotKind::output);
    auto& b = state.buffers[m];
    if (!output || b.values.empty()) return;
    const auto& values = replay.rank(m).values;
    int64_t at = 0;
    if (output->elements < b.elements)
        for (const auto& p : b.pieces)
            if (is_result(state, m, p)) at = p.offset;
    for (int64_t i = 0; i < output->elements && at + i < b.elements; ++i) {
        b.values[static_cast<std::size_t>(at + i)] = values[static_cast<std::size_t>(output->values + i)];
        b.known[static_cast<std::size_t>(at + i)] = 1;
    }
}

}  // namespace

bool covers(const HopState& hop, const ChunkState& piece) {
    return std::ranges::any_of(hop.pieces, [&](const trace::HopPiece& carried) {
        if (carried.offset < 0) return false;
        const bool inside = piece.elements > 0 && piece.offset >= carried.offset &&
                            piece.offset + piece.elements <= carried.offset + carried.elements;
        return inside || carried.chunk == piece.chunk;
    });
}

bool is_result(const CollectiveState& state, std::size_t member, const ChunkState& piece) {
    switch (state.op) {
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::scatter:
            return piece.chunk == static_cast<int32_t>(member);
        default:
            return true;
    }
}

CollectiveState collective_after(const trace::Trace& trace, const trace::CollectiveInstance& instance,
                                 int32_t rounds) {
    Replay replay(trace, instance);
    auto state = replay.run([&](const HopState& h) { return h.hop.round < rounds; });
    state.round = std::min(rounds, state.rounds);
    state.begun = rounds > 0;
    state.finished = state.round == state.rounds;
    return state;
}

CollectiveState collective_state(const trace::Trace& trace, const time::Clock& clock,
                                 const trace::CollectiveInstance& instance, int64_t t_ns) {
    Replay replay(trace, instance);
    for (auto& h : replay.state().hops)
        h.when = clock.hops[static_cast<std::size_t>(instance.ranks[static_cast<std::size_t>(h.receiver)])]
                           [static_cast<std::size_t>(h.index)];
    auto state = replay.run([&](const HopState& h) { return h.when.end_ns <= t_ns; });
    state.round = state.rounds;
    for (auto& h : state.hops) {
        if (!h.landed) state.round = std::min(state.round, h.hop.round);
        if (h.landed || h.when.begin_ns > t_ns) continue;
        h.flying = true;
        h.progress =
            static_cast<float>(static_cast<double>(t_ns - h.when.begin_ns) /
                               static_cast<double>(std::max<int64_t>(1, h.when.end_ns - h.when.begin_ns)));
        // As many as the receiver's cell counts.
        const auto there = static_cast<int64_t>(std::floor(h.progress * static_cast<float>(h.hop.elements)));
        state.buffers[static_cast<std::size_t>(h.sender)].sent_bytes +=
            there * (h.hop.bytes / std::max<int64_t>(1, h.hop.elements));
    }
    state.finished = true;
    for (std::size_t m = 0; m < instance.ranks.size(); ++m) {
        const auto& when = clock.events[static_cast<std::size_t>(instance.ranks[m])]
                                       [static_cast<std::size_t>(instance.events[m])];
        state.begun = state.begun || when.begin_ns <= t_ns;
        if (when.end_ns <= t_ns)
            show_output(replay, state, m);
        else
            state.finished = false;
    }
    return state;
}

}  // namespace meshscope::view
