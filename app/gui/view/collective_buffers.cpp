// What stands in the members' buffers before the first hop, and how they are cut.
#include <algorithm>
#include <map>

#include "app/gui/view/collective_replay.h"

namespace meshscope::view {

// How the buffer is cut, before anything has travelled.
std::vector<ChunkState> Replay::cut(std::size_t member, int64_t elements) const {
    std::vector<ChunkState> pieces;
    const auto n = instance_.ranks.size();
    switch (state_.op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather: {
            int64_t at = 0;
            for (std::size_t m = 0; m < n; ++m) {
                pieces.push_back({static_cast<int32_t>(m), at, event(m).in_elements, event(m).padding, 0, 0});
                at += event(m).in_elements;
            }
            break;
        }
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::scatter: {
            int64_t at = 0;
            for (std::size_t m = 0; m < n; ++m) {
                pieces.push_back({static_cast<int32_t>(m), at, event(m).out_elements, 0, 0, 0});
                at += event(m).out_elements;
            }
            break;
        }
        case CollectiveOp::all_to_all: {
            // Even parts, where no hops tell. Else those of the hops, and the rest is the member's own: a
            // permute has one part that is not empty. An algorithm of a file has even parts, in many chunks.
            std::vector<int64_t> counts(n, elements / static_cast<int64_t>(n));
            if (!state_.hops.empty() && state_.algorithm != Algorithm::own) {
                counts.assign(n, 0);
                counts[member] = elements;
                for (const auto& h : state_.hops) {
                    if (h.receiver != static_cast<int32_t>(member)) continue;
                    for (const auto& piece : h.pieces) {
                        if (piece.offset < 0) continue;
                        counts[static_cast<std::size_t>(piece.chunk)] = piece.elements;
                        counts[member] -= piece.elements;
                    }
                }
            }
            int64_t at = 0;
            for (std::size_t m = 0; m < n; ++m) {
                pieces.push_back({static_cast<int32_t>(m), at, counts[m], 0, 0, 0});
                at += counts[m];
            }
            break;
        }
        default:
            return cut_by_hops(member, elements);
    }
    return pieces;
}

// The chunks that the hops name, as finely as they cut them (halving-doubling's early hops name many at
// once).
void Replay::note_chunks() {
    std::map<int32_t, ChunkState> seen;
    for (const auto& h : state_.hops)
        for (const auto& carried : h.pieces) {
            const ChunkState piece{carried.chunk, carried.offset, carried.elements, 0, 0, 0};
            const auto [at, first] = seen.emplace(piece.chunk, piece);
            if (!first && piece.elements < at->second.elements) at->second = piece;
        }
    for (const auto& [chunk, piece] : seen) chunks_.push_back(piece);
}

// all_reduce, reduce, broadcast, send: as the hops cut it.
std::vector<ChunkState> Replay::cut_by_hops(std::size_t member, int64_t elements) const {
    std::vector<ChunkState> pieces = chunks_;
    if (pieces.empty() && elements > 0) pieces.push_back({0, 0, elements, 0, 0, 0});
    // Padding stands at the buffer's end.
    if (!pieces.empty() && event(member).padding > 0) {
        auto last =
            std::max_element(pieces.begin(), pieces.end(),
                             [](const ChunkState& a, const ChunkState& b) { return a.offset < b.offset; });
        last->padding = std::min(last->elements, static_cast<int64_t>(event(member).padding));
    }
    return pieces;
}

BufferState Replay::buffer(std::size_t m) const {
    BufferState b;
    b.rank = instance_.ranks[m];
    b.event = instance_.events[m];
    const auto& e = event(m);
    const bool whole_input =
        !moves_origins(state_.op) || (state_.op == CollectiveOp::scatter && e.in_elements > 0);
    b.elements = whole_input || e.out_elements == 0 ? e.in_elements : e.out_elements;
    if (state_.op == CollectiveOp::broadcast) b.elements = std::max(e.in_elements, e.out_elements);
    b.pieces = cut(m, b.elements);
    for (const auto& piece : b.pieces) b.elements = std::max(b.elements, piece.offset + piece.elements);
    fill_own(m, b);
    return b;
}

// What the rank holds before the first hop: its own input, in its place.
void Replay::fill_own(std::size_t m, BufferState& b) const {
    const auto mine = [&](const ChunkState& p) {
        switch (state_.op) {
            case CollectiveOp::all_gather:
            case CollectiveOp::gather:
            case CollectiveOp::all_to_all:
                return p.chunk == static_cast<int32_t>(m);
            case CollectiveOp::broadcast:
            case CollectiveOp::scatter:
            case CollectiveOp::send:
            case CollectiveOp::recv:
                return holds_source(m);
            default:
                return true;
        }
    };
    for (auto& p : b.pieces)
        if (mine(p)) {
            p.from = member_bit(m);
            p.from_count = 1;
        }
    const auto* input = snapshot(m, trace::SnapshotKind::input);
    const bool kept = input != nullptr || snapshot(m, trace::SnapshotKind::output) != nullptr;
    if (!kept || b.elements > trace::kMaxRecordedValues * static_cast<int64_t>(instance_.ranks.size()))
        return;
    b.values.assign(static_cast<std::size_t>(b.elements), 0.F);
    b.known.assign(static_cast<std::size_t>(b.elements), 0);
    if (!input) return;
    const auto& values = rank(m).values;
    // The input is either the whole buffer or the rank's own piece of it.
    const bool whole = input->elements >= b.elements;
    for (const auto& p : b.pieces) {
        if (!mine(p)) continue;
        for (int64_t i = 0; i < p.elements; ++i) {
            const int64_t source = input->values + (whole ? p.offset + i : i);
            if ((whole ? p.offset + i : i) >= input->elements ||
                source >= static_cast<int64_t>(values.size()))
                break;
            b.values[static_cast<std::size_t>(p.offset + i)] = values[static_cast<std::size_t>(source)];
            b.known[static_cast<std::size_t>(p.offset + i)] = 1;
        }
    }
}

bool Replay::holds_source(std::size_t m) const {
    // The two sides of a transfer are events of their own: what each did tells who has the data.
    if (event(m).op == CollectiveOp::send) return true;
    if (event(m).op == CollectiveOp::recv) return false;
    return event(m).peer == instance_.ranks[m] || event(m).peer < 0;
}

}  // namespace meshscope::view
