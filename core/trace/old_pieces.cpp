#include "core/trace/old_pieces.h"

#include <algorithm>

namespace meshscope::trace {
namespace {

/// The range of a hop of Bruck's all_gather, cut at the buffer's end.
std::vector<HopPiece> ranges_of(const Event& event, const Hop& hop) {
    const int64_t before_end = event.out_elements - hop.offset;
    if (before_end <= 0 || hop.elements <= before_end) return {};
    return {{hop.chunk, hop.offset, before_end}, {0, 0, hop.elements - before_end}};
}

/// The slots of a hop of Bruck's all_to_all: slot i has the part of rank dst - i when it has moved by i.
std::vector<HopPiece> slots_of(const std::vector<int32_t>& ranks, const Hop& hop) {
    const auto place = [&](int32_t rank) {
        return static_cast<int32_t>(std::ranges::find(ranks, rank) - ranks.begin());
    };
    const auto n = static_cast<int32_t>(ranks.size());
    const int32_t me = place(hop.dst), d = (me - place(hop.src) + n) % n;
    std::vector<HopPiece> slots;
    for (int32_t i = d; i < n && d > 0; ++i) {
        if ((i & d) == 0) continue;
        const int32_t origin = (me - i + n) % n;
        slots.push_back({origin, i < 2 * d ? origin : -1, 0});
    }
    const auto count = static_cast<int64_t>(slots.size());
    if (count < 2 || hop.elements % count != 0) return {};
    for (HopPiece& slot : slots) {
        slot.elements = hop.elements / count;
        if (slot.offset >= 0) slot.offset *= slot.elements;
    }
    return slots;
}

}  // namespace

void name_old_pieces(Trace& trace) {
    for (RankTrace& rank : trace.ranks) {
        for (Hop& hop : rank.hops) {
            const Event& event = rank.events[static_cast<std::size_t>(hop.event)];
            std::vector<HopPiece> pieces;
            if (event.algorithm != Algorithm::bruck) continue;
            if (event.op == CollectiveOp::all_gather)
                pieces = ranges_of(event, hop);
            else if (event.op == CollectiveOp::all_to_all)
                pieces = slots_of(trace.groups[static_cast<std::size_t>(event.group)].ranks, hop);
            if (pieces.empty()) continue;
            hop.n_pieces = static_cast<int32_t>(pieces.size());
            hop.pieces = static_cast<int64_t>(rank.pieces.size());
            rank.pieces.insert(rank.pieces.end(), pieces.begin(), pieces.end());
        }
    }
}

}  // namespace meshscope::trace
