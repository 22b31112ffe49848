#include "app/gui/view/traffic.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "app/gui/view/timeline_bars.h"
#include "core/trace/of_training.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

/// Up to here a table of all links is smaller than a sort is slow: 32 MB.
constexpr std::size_t kMostDense = 2048;

/// Calls `use(event, hop)` for each hop that the filter's span holds.
template <class Use>
void each_hop(const trace::Trace& trace, const time::Clock& clock, int64_t cursor_ns, TrafficSpan span,
              int32_t step, RankRange receivers, const Use& use) {
    const int32_t end = std::min(receivers.first + receivers.count, static_cast<int32_t>(trace.ranks.size()));
    for (int32_t r = std::max(0, receivers.first); r < end; ++r) {
        const auto& rank = trace.ranks[static_cast<std::size_t>(r)];
        const auto& times = clock.hops[static_cast<std::size_t>(r)];
        for (std::size_t i = 0; i < rank.hops.size(); ++i) {
            const auto& event = rank.events[static_cast<std::size_t>(rank.hops[i].event)];
            if (span == TrafficSpan::step && event.step != step) continue;
            if (span == TrafficSpan::cursor && times[i].begin_ns > cursor_ns) continue;
            use(event, rank.hops[i]);
        }
    }
}

bool wanted(const TrafficFilter& filter, CollectiveOp op) {
    return !filter.op || *filter.op == static_cast<uint8_t>(op);
}

/// Adds up links as they come.
class Links {
  public:
    explicit Links(std::size_t ranks) : ranks_(ranks) {
        if (ranks <= kMostDense) dense_.assign(ranks * ranks, -1);
    }
    void add(int32_t src, int32_t dst, int64_t bytes) {
        if (dense_.empty()) {
            sparse_.push_back({src, dst, bytes});
            return;
        }
        int64_t& at = dense_[static_cast<std::size_t>(src) * ranks_ + static_cast<std::size_t>(dst)];
        at = std::max<int64_t>(at, 0) + bytes;
    }
    std::vector<TrafficLink> take() {
        std::vector<TrafficLink> out;
        for (std::size_t i = 0; i < dense_.size(); ++i)
            if (dense_[i] >= 0)
                out.push_back(
                    {static_cast<int32_t>(i / ranks_), static_cast<int32_t>(i % ranks_), dense_[i]});
        std::sort(sparse_.begin(), sparse_.end(), [](const TrafficLink& a, const TrafficLink& b) {
            return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
        });
        for (const TrafficLink& link : sparse_) {
            if (!out.empty() && out.back().src == link.src && out.back().dst == link.dst)
                out.back().bytes += link.bytes;
            else
                out.push_back(link);
        }
        return out;
    }

  private:
    std::size_t ranks_;
    std::vector<int64_t> dense_;  // -1: nothing came
    std::vector<TrafficLink> sparse_;
};

/// Ranks of a node, where nodes are runs of equally many neighbours; 0 where they are not.
int32_t ranks_of_a_node(const trace::Trace& trace) {
    const auto& nodes = trace.info.node_of_rank;
    if (nodes.empty()) return 0;
    std::size_t run = 1;
    while (run < nodes.size() && nodes[run] == nodes[0]) ++run;
    if (nodes.size() % run != 0) return 0;
    for (std::size_t r = 0; r < nodes.size(); ++r)
        if (nodes[r] != nodes[r / run * run] || (r % run == 0 && r > 0 && nodes[r] == nodes[r - 1])) return 0;
    return static_cast<int32_t>(run);
}

int32_t fold_of(const trace::Trace& trace, int32_t ranks, int32_t most_cells) {
    const int32_t least = (ranks + most_cells - 1) / std::max(1, most_cells);
    if (least <= 1) return 1;
    int32_t power = 1;
    while (power < least) power *= 2;
    // Blocks that mean something are worth cells up to four times as large.
    std::vector<int32_t> meant{ranks_of_a_node(trace)};
    int64_t inner = 1;
    for (std::size_t d = trace.info.mesh_shape.size(); d-- > 1;) {
        inner *= trace.info.mesh_shape[d];
        if (inner <= ranks) meant.push_back(static_cast<int32_t>(inner));
    }
    int32_t best = 0;
    for (const int32_t size : meant)
        if (size >= least && size <= 4 * least && (best == 0 || size < best)) best = size;
    return best > 0 ? best : power;
}

}  // namespace

std::string number_of(RankRange range) {
    const std::string first = std::to_string(range.first);
    return range.count == 1 ? first : first + "–" + std::to_string(range.first + range.count - 1);
}

std::string name_of(RankRange range) {
    return "rank " + number_of(range);
}

bool tells_hops(const trace::Trace& trace) {
    return std::any_of(trace.ranks.begin(), trace.ranks.end(), [](const auto& r) { return !r.hops.empty(); });
}

const char* why_no_hops(const trace::Trace& trace) {
    if (trace.info.level < trace::Level::hops) return "view.traffic.no_hops";
    for (const trace::RankTrace& rank : trace.ranks)
        if (!std::ranges::all_of(rank.events, trace::tells_sent_bytes)) return "view.traffic.native";
    return "view.traffic.alone";
}

Traffic traffic(const trace::Trace& trace, const time::Clock& clock, int64_t cursor_ns,
                const TrafficFilter& filter) {
    Traffic out;
    if (filter.span == TrafficSpan::step) out.step = step_at(trace, clock, cursor_ns);
    const RankRange all{0, static_cast<int32_t>(trace.ranks.size())};
    Links links(trace.ranks.size());
    each_hop(trace, clock, cursor_ns, filter.span, out.step, all, [&](const auto& event, const auto& hop) {
        out.by_op[static_cast<std::size_t>(event.op)] += hop.bytes;
        if (!trace::is_of_training(event)) out.beside_bytes += hop.bytes;
        if (wanted(filter, event.op)) links.add(hop.src, hop.dst, hop.bytes);
    });
    out.links = links.take();
    const auto& nodes = trace.info.node_of_rank;
    for (const TrafficLink& link : out.links) {
        const bool inside = nodes.empty() || nodes[static_cast<std::size_t>(link.src)] ==
                                                 nodes[static_cast<std::size_t>(link.dst)];
        out.total += link.bytes;
        (inside ? out.inside : out.between) += link.bytes;
        ++(inside ? out.links_inside : out.links_between);
    }
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (const auto& event : trace.ranks[r].events) {
            if (event.algorithm != Algorithm::native || !wanted(filter, event.op)) continue;
            if (filter.span == TrafficSpan::step && event.step != out.step) continue;
            // Its own library moved them and does not tell how: what the members gave is all that is known.
            out.untold_bytes += event.in_elements * bytes_per_element(event.dtype);
        }
    return out;
}

TrafficGrid traffic_grid(const trace::Trace& trace, const Traffic& traffic, const TrafficFilter& filter,
                         int32_t most_cells) {
    const auto ranks = static_cast<int32_t>(trace.ranks.size());
    TrafficGrid grid;
    const RankRange all{0, ranks};
    grid.window = filter.window.value_or(TrafficCell{all, all});
    grid.fold = fold_of(trace, std::max(grid.window.from.count, grid.window.to.count), most_cells);
    grid.rows = (grid.window.from.count + grid.fold - 1) / grid.fold;
    grid.columns = (grid.window.to.count + grid.fold - 1) / grid.fold;
    grid.bytes.assign(static_cast<std::size_t>(grid.rows) * static_cast<std::size_t>(grid.columns), 0);
    for (const TrafficLink& link : traffic.links) {
        if (!grid.window.from.contains(link.src) || !grid.window.to.contains(link.dst)) continue;
        const auto row = static_cast<std::size_t>((link.src - grid.window.from.first) / grid.fold);
        const auto column = static_cast<std::size_t>((link.dst - grid.window.to.first) / grid.fold);
        int64_t& cell = grid.bytes[row * static_cast<std::size_t>(grid.columns) + column];
        cell += link.bytes;
        grid.most = std::max(grid.most, cell);
    }
    return grid;
}

std::vector<TrafficCause> traffic_causes(const trace::Trace& trace, const time::Clock& clock,
                                         int64_t cursor_ns, const TrafficFilter& filter,
                                         const TrafficCell& cell, Memo* memo) {
    using Key = std::tuple<CollectiveOp, Phase, trace::StringId, std::string>;
    std::map<Key, std::size_t> places;
    std::vector<TrafficCause> out;
    std::vector<std::pair<int32_t, int32_t>> last;  // the event that was counted last, by cause
    const int32_t step = filter.span == TrafficSpan::step ? step_at(trace, clock, cursor_ns, memo) : -1;
    each_hop(trace, clock, cursor_ns, filter.span, step, cell.to, [&](const auto& event, const auto& hop) {
        if (!cell.from.contains(hop.src) || !wanted(filter, event.op)) return;
        const auto& dim = trace.groups[static_cast<std::size_t>(event.group)].mesh_dim;
        const auto [at, is_new] = places.try_emplace(Key{event.op, event.phase, event.unit, dim}, out.size());
        if (is_new) {
            out.push_back({event.op, event.phase, event.unit, dim, 0, 0, 0, hop.dst, event.id});
            last.emplace_back(-1, -1);
        }
        TrafficCause& cause = out[at->second];
        cause.bytes += hop.bytes;
        ++cause.hops;
        if (last[at->second] != std::pair{hop.dst, event.id}) ++cause.calls;
        last[at->second] = {hop.dst, event.id};
    });
    std::stable_sort(out.begin(), out.end(),
                     [](const TrafficCause& a, const TrafficCause& b) { return a.bytes > b.bytes; });
    return out;
}

std::optional<TrafficCell> next_cell(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                                     const TrafficFilter& filter, const std::optional<TrafficCell>& from,
                                     int32_t rows, int32_t columns) {
    const Traffic counted = traffic(trace, clock, cursor.t_ns, filter);
    if (counted.links.empty()) return from;
    const auto& first = counted.links.front();
    if (!from) return TrafficCell{{first.src, 1}, {first.dst, 1}};
    const int32_t src = from->from.first, dst = from->to.first;
    const TrafficLink* best = nullptr;
    for (const TrafficLink& link : counted.links) {
        // Along one axis, on the asked side; the nearest of them.
        const int32_t ahead = columns != 0 ? (link.dst - dst) * columns : (link.src - src) * rows;
        if ((columns != 0 ? link.src != src : link.dst != dst) || ahead <= 0) continue;
        const int32_t nearest = best == nullptr ? std::numeric_limits<int32_t>::max()
                                : columns != 0  ? (best->dst - dst) * columns
                                                : (best->src - src) * rows;
        if (ahead < nearest) best = &link;
    }
    if (best == nullptr) return from;
    return TrafficCell{{best->src, 1}, {best->dst, 1}};
}

}  // namespace meshscope::view
