#include <algorithm>
#include <iterator>
#include <utility>

#include "core/trace/recorder.h"

namespace meshscope::trace {

void settle(RankRecord& record) {
    const auto by_event = [](const auto& a, const auto& b) { return a.event < b.event; };
    std::stable_sort(record.hops.begin(), record.hops.end(), by_event);
    std::stable_sort(record.snapshots.begin(), record.snapshots.end(), by_event);
    std::vector<float> values;
    values.reserve(record.values.size());
    const auto move_values = [&](int64_t from, int64_t elements) {
        const auto first = record.values.begin() + from;
        const auto to = static_cast<int64_t>(values.size());
        values.insert(values.end(), first, first + elements);
        return to;
    };
    for (Snapshot& s : record.snapshots)
        if (s.values >= 0) s.values = move_values(s.values, s.elements);
    for (Hop& h : record.hops)
        if (h.values >= 0) h.values = move_values(h.values, h.elements);
    record.values = std::move(values);
    std::vector<HopPiece> pieces;
    pieces.reserve(record.pieces.size());
    for (Hop& h : record.hops) {
        if (h.n_pieces == 0) continue;
        const auto first = record.pieces.begin() + h.pieces;
        h.pieces = static_cast<int64_t>(pieces.size());
        pieces.insert(pieces.end(), first, first + h.n_pieces);
    }
    record.pieces = std::move(pieces);
}

void append(RankRecord& record, RankRecord more) {
    const auto first_value = static_cast<int64_t>(record.values.size());
    for (Snapshot& snapshot : more.snapshots)
        if (snapshot.values >= 0) snapshot.values += first_value;
    const auto first_piece = static_cast<int64_t>(record.pieces.size());
    for (Hop& hop : more.hops) {
        if (hop.values >= 0) hop.values += first_value;
        if (hop.pieces >= 0) hop.pieces += first_piece;
    }
    const auto behind = [](auto& all, auto& next) {
        all.insert(all.end(), std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
    };
    behind(record.strings, more.strings);
    behind(record.events, more.events);
    behind(record.dependencies, more.dependencies);
    behind(record.hops, more.hops);
    behind(record.pieces, more.pieces);
    behind(record.snapshots, more.snapshots);
    behind(record.values, more.values);
    behind(record.memory, more.memory);
    behind(record.parameters, more.parameters);
}

}  // namespace meshscope::trace
