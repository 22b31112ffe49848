#include "app/gui/view/collective_layout.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/node_levels.h"

namespace meshscope::view {
namespace {

constexpr float kLeastCardWidth = 108, kLeastCardHeight = 58;
constexpr float kTightCardWidth = 90, kTightCardHeight = 46, kTightGap = 44;
constexpr float kReturn = 34;      // below a row of cards, for the path back
constexpr float kLeastMarked = 7;  // radius from which a circle has its buffer beside it

Point centre(const Rect& r) {
    return {r.x + r.w / 2, r.y + r.h / 2};
}

// Where the line from the middle of `box` in direction `d` leaves it.
Point leave(const Rect& box, Point d, bool round) {
    const Point c = centre(box);
    if (round) return {c.x + d.x * box.w / 2, c.y + d.y * box.h / 2};
    const float tx = std::fabs(d.x) > 1e-4F ? box.w / 2 / std::fabs(d.x) : 1e9F;
    const float ty = std::fabs(d.y) > 1e-4F ? box.h / 2 / std::fabs(d.y) : 1e9F;
    const float t = std::min(tx, ty);
    return {c.x + d.x * t, c.y + d.y * t};
}

// Cards in two rows, the lower running back; false where they have no room.
bool two_rows(GroupLayout& out, std::size_t n, Rect cell, float gap_x, float gap_y, float least_w,
              float least_h) {
    const std::size_t top = (n + 1) / 2;
    const float w = std::min(300.F, (cell.w - gap_x * static_cast<float>(top - 1)) / static_cast<float>(top));
    const float h = std::min(124.F, (cell.h - gap_y) / 2);
    if (w < least_w || h < least_h || n > 8) return false;
    const float step = top > 1 ? std::min((cell.w - w) / static_cast<float>(top - 1), w + 190) : 0;
    const float x0 = cell.x + (cell.w - w - step * static_cast<float>(top - 1)) / 2;
    const float gap = std::min(cell.h - 2 * h, 150.F), y0 = cell.y + (cell.h - 2 * h - gap) / 2;
    for (std::size_t m = 0; m < n; ++m) {
        // Neighbours in the ring are neighbours here; of an odd ring the lower row stands between.
        const std::size_t below = n - top;
        const float column =
            m < top ? static_cast<float>(m) : static_cast<float>(n - 1 - m) + (below < top ? 0.5F : 0.F);
        out.members.push_back({x0 + step * column, m < top ? y0 : y0 + h + gap, w, h});
    }
    return true;
}

// Cards in one row, for a ring in flat room: its last path runs back below them.
bool one_row(GroupLayout& out, std::size_t n, Rect cell) {
    const float w = std::min(220.F, (cell.w - kTightGap * static_cast<float>(n - 1)) / static_cast<float>(n));
    const float h = std::min(110.F, cell.h - kReturn);
    if (n > 8 || w < kTightCardWidth || h < kTightCardHeight) return false;
    const float step = (cell.w - w) / static_cast<float>(n - 1), y = cell.y + (cell.h - kReturn - h) / 2;
    for (std::size_t m = 0; m < n; ++m)
        out.members.push_back({cell.x + step * static_cast<float>(m), y, w, h});
    out.row = true;
    return true;
}

void ring(GroupLayout& out, std::size_t n, Rect cell, bool neighbours) {
    if (two_rows(out, n, cell, 112, 56, kLeastCardWidth, kLeastCardHeight)) return;
    out.tight = true;
    if (two_rows(out, n, cell, kTightGap, 38, kTightCardWidth, kTightCardHeight)) return;
    if (neighbours && one_row(out, n, cell)) return;
    out.cards = false;
    const std::size_t top = (n + 1) / 2;
    const auto count = static_cast<float>(n);
    // The buffer stands outside the round: above the upper ranks, below the lower ones.
    float high = n <= 8 ? 18.F : 9.F;
    if (cell.w > 1.5F * cell.h) {
        // Flat room: two rows, the lower running back.
        const float step = cell.w / static_cast<float>(top);
        const auto radius = [&] {
            return std::clamp(std::min(step * 0.28F, (cell.h - 2 * (high + 4)) * 0.2F), 1.5F, 27.F);
        };
        if (radius() < 8) high = 9;
        if (radius() < kLeastMarked) high = -4;
        const float r = radius(), wide = std::min(step - 10, 26 * count);
        for (std::size_t m = 0; m < n; ++m) {
            const bool upper = m < top;
            const float column =
                upper ? static_cast<float>(m) : static_cast<float>(n - 1 - m) + (n % 2 == 1 ? 0.5F : 0.F);
            const float x = cell.x + step * (column + 0.5F),
                        y = upper ? cell.y + high + 4 + r : cell.y + cell.h - high - 4 - r;
            out.members.push_back({x - r, y - r, 2 * r, 2 * r});
            if (high > 0)
                out.buffers.push_back({x - wide / 2, upper ? y - r - 4 - high : y + r + 4, wide, high});
        }
        return;
    }
    const Point c = centre(cell);
    const float rx = cell.w / 2, ry = cell.h / 2;
    // Circles as large as neighbours on the round allow.
    const float around = 3.14159265F * (rx + ry) / std::max(count, 3.F);
    const float r = std::clamp(around * 0.32F, 1.5F, std::max(1.5F, std::min(27.F, std::min(rx, ry) * 0.3F)));
    if (r < kLeastMarked) high = 0;
    const float wide = std::min({26 * count, around - 10, 2 * r + 44, rx * 0.5F});
    const auto angle = [&](std::size_t m) {
        return -2.35619449F + 6.2831853F * static_cast<float>(m) / count;
    };
    const auto beside = [&](std::size_t m) { return std::fabs(std::sin(angle(m))) < 0.4F; };
    float side = 0;
    for (std::size_t m = 0; m < n && high > 0; ++m)
        if (beside(m)) side = wide + 4;
    for (std::size_t m = 0; m < n; ++m) {
        const float a = angle(m);
        const Point p{c.x + (rx - r - 4 - side) * std::cos(a), c.y + (ry - r - 6 - high) * std::sin(a)};
        out.members.push_back({p.x - r, p.y - r, 2 * r, 2 * r});
        if (high <= 0) continue;
        if (beside(m))
            out.buffers.push_back(
                {std::cos(a) > 0 ? p.x + r + 4 : p.x - r - 4 - wide, p.y - high / 2, wide, high});
        else
            out.buffers.push_back({p.x - wide / 2, p.y < c.y ? p.y - r - 4 - high : p.y + r + 4, wide, high});
    }
}

// Two circles too low for cards, their buffers on the far sides: between them the chunks travel.
void facing_circles(GroupLayout& out) {
    for (std::size_t m = 0; m < out.members.size(); ++m) {
        const Rect box = out.members[m];
        const float r = std::min({27.F, box.w / 4, box.h / 2});
        const float wide = std::min(150.F, box.w - 2 * r - 8), high = std::min(32.F, box.h);
        const bool left = m == 0;
        const float x = left ? box.x + box.w - 2 * r : box.x, y = box.y + box.h / 2;
        out.members[m] = {x, y - r, 2 * r, 2 * r};
        out.buffers.push_back({left ? x - 8 - wide : x + 2 * r + 8, y - high / 2, wide, high});
    }
}

// Members in rows, by their depth; `columns`: one below the other, else each row spread over the whole width.
bool rows(GroupLayout& out, const std::vector<int32_t>& depth, Rect cell, bool columns) {
    const int32_t deepest = *std::max_element(depth.begin(), depth.end());
    std::vector<int32_t> width(static_cast<std::size_t>(deepest) + 1, 0), seen(width.size(), 0);
    for (const int32_t d : depth) ++width[static_cast<std::size_t>(d)];
    const auto widest = static_cast<float>(*std::max_element(width.begin(), width.end()));
    const auto levels = static_cast<float>(deepest + 1);
    if (columns) cell.h -= kReturn * 0.6F;  // the lowest row's path back
    float w = std::min(230.F, cell.w / widest - (columns ? 76 : 20)),
          h = std::min(104.F, (cell.h - 54 * (levels - 1)) / levels);
    if (columns && w < kLeastCardWidth) {  // what travels beside each other is a mark alone
        out.tight = true;
        w = cell.w / widest - kTightGap;
    }
    out.cards = w >= (columns ? kTightCardWidth : kLeastCardWidth) &&
                h >= (columns ? kTightCardHeight : kLeastCardHeight);
    if (!out.cards) w = h = std::min({54.F, cell.w / widest - 8, cell.h / levels - (columns ? 34 : 14)});
    if (w < 3) return false;
    for (const int32_t d : depth) {
        const auto row = static_cast<std::size_t>(d);
        const float x = cell.x + cell.w * (static_cast<float>(seen[row]++) + 0.5F) /
                                     (columns ? widest : static_cast<float>(width[row]));
        const float y = levels > 1 ? cell.y + (cell.h - h) * static_cast<float>(d) / (levels - 1)
                                   : cell.y + (cell.h - h) / 2;
        out.members.push_back({x - w / 2, y, w, h});
        // Beside the circle: its links come from above and leave below.
        const float wide = std::min(120.F, cell.w / static_cast<float>(width[row]) - w - 14);
        if (!out.cards) out.buffers.push_back({x + w / 2 + 4, y + h / 2 - 7, std::max(0.F, wide / 2), 14});
    }
    return true;
}

constexpr float kLeastSlot = 56;  // a leaf's share of the width: a circle and its buffer
constexpr int32_t kMostLevels = 32;  // beyond, a level is a few pixels high

// Where each member of a tree stands, in leaves from the left: above the middle of its children.
struct TreePlaces {
    std::vector<std::vector<std::size_t>> children;
    std::vector<float> at;
    float leaves = 0;  // placed so far

    // Places a member and all below it; gives where it stands.
    float place(std::size_t m) {
        if (children[m].empty()) return at[m] = leaves++;
        float first = 0, last = 0;
        for (std::size_t i = 0; i < children[m].size(); ++i) {
            last = place(children[m][i]);
            if (i == 0) first = last;
        }
        return at[m] = (first + last) / 2;
    }
};

// By the hops that carry sums up where there are any: what is sent down again may take another tree.
TreePlaces tree_places(const CollectiveState& state, const std::vector<int32_t>& depth) {
    TreePlaces out{std::vector<std::vector<std::size_t>>(depth.size()), std::vector<float>(depth.size()), 0};
    const bool sums = std::ranges::any_of(state.hops, [](const HopState& h) { return h.hop.reduces != 0; });
    std::vector<char> has_parent(depth.size());
    for (const auto& h : state.hops) {
        if ((h.hop.reduces != 0) != sums) continue;
        const auto above = static_cast<std::size_t>(sums ? h.receiver : h.sender),
                   child = static_cast<std::size_t>(sums ? h.sender : h.receiver);
        if (has_parent[child] == 0) out.children[above].push_back(child);
        has_parent[child] = 1;
    }
    for (auto& children : out.children) std::ranges::sort(children);
    for (std::size_t m = 0; m < depth.size(); ++m)
        if (has_parent[m] == 0) out.place(m);
    return out;
}

// A tree whose members stand over those below them, where each leaf has room for a circle and its buffer.
bool tree(GroupLayout& out, const CollectiveState& state, const std::vector<int32_t>& depth, Rect cell) {
    const int32_t deepest = *std::ranges::max_element(depth);
    if (deepest == 0 || deepest > kMostLevels) return false;
    const TreePlaces places = tree_places(state, depth);
    const float slot = cell.w / places.leaves, levels = static_cast<float>(deepest + 1);
    if (slot < kLeastSlot) return false;
    float w = std::min(230.F, slot - 20), h = std::min(104.F, (cell.h - 54 * (levels - 1)) / levels);
    out.cards = w >= kLeastCardWidth && h >= kLeastCardHeight;
    const float pitch = cell.h / levels;
    float wide = 0, high = 0;  // the buffer beside a circle
    if (!out.cards) {
        w = h = std::min({54.F, std::max(pitch - 20, 16.F), slot / 3});
        if (w < 2 * kLeastMarked || pitch < w + 10) return false;
        wide = std::min(120.F, slot - w - 14);
        high = std::min(34.F, pitch - 5);
    }
    const float left = out.cards ? 0.F : (wide + 4) / 2, tall = std::max(h, high);
    for (std::size_t m = 0; m < depth.size(); ++m) {
        const float x = cell.x + slot * (places.at[m] + 0.5F) - left,
                    y = cell.y + tall / 2 + (cell.h - tall) * static_cast<float>(depth[m]) / (levels - 1);
        out.members.push_back({x - w / 2, y - h / 2, w, h});
        if (!out.cards) out.buffers.push_back({x + w / 2 + 4, y - high / 2, wide, high});
    }
    out.tree = true;
    return true;
}

}  // namespace

std::vector<int32_t> tree_depths(const CollectiveState& state) {
    const auto n = state.ranks.size();
    struct Edge {
        std::size_t above, child;
    };
    std::vector<Edge> edges;
    for (const auto& h : state.hops)
        edges.push_back({static_cast<std::size_t>(h.hop.reduces ? h.receiver : h.sender),
                         static_cast<std::size_t>(h.hop.reduces ? h.sender : h.receiver)});
    // From the roots down, a level a pass.
    std::vector<int32_t> depth(n, 0);
    for (std::size_t pass = 0;; ++pass) {
        bool moved = false;
        for (const Edge& e : edges)
            if (depth[e.child] <= depth[e.above]) {
                depth[e.child] = depth[e.above] + 1;
                moved = true;
            }
        if (!moved) break;
        if (pass > n) return {};  // a circle
    }
    for (const Edge& e : edges)
        if (depth[e.child] != depth[e.above] + 1) return {};
    return depth;
}

GroupLayout lay_out_group(const CollectiveState& state, Rect cell) {
    GroupLayout out;
    out.cell = cell;
    const auto n = state.ranks.size();
    if (n <= 2) {
        out.facing = n == 2;
        const float h = std::min(124.F, cell.h);
        const float w = std::clamp(cell.w * (n == 1 ? 0.5F : 0.36F), std::min(90.F, cell.w * 0.36F), 320.F);
        const float y = cell.y + (cell.h - h) / 2;
        if (n == 1)
            out.members.push_back({cell.x + (cell.w - w) / 2, y, w, h});
        else {
            const float spread = std::min(cell.w, 2 * w + 420);
            const float x = cell.x + (cell.w - spread) / 2;
            out.members = {{x, y, w, h}, {x + spread - w, y, w, h}};
        }
        out.cards = w >= kLeastCardWidth && h >= 44;
        if (!out.cards) facing_circles(out);
        return out;
    }
    if (state.algorithm == Algorithm::tree)
        if (const auto depth = tree_depths(state); !depth.empty()) {
            if (tree(out, state, depth, cell) || rows(out, depth, cell, false)) return out;
        }
    if (state.algorithm == Algorithm::two_level)
        if (rows(out, NodeLevels(static_cast<int32_t>(n), state.nodes).node, cell, true)) {
            out.levels = true;
            return out;
        }
    out.members.clear();
    out.buffers.clear();
    out.cards = true;
    ring(out, n, cell, state.algorithm == Algorithm::ring || state.algorithm == Algorithm::ring_pipeline);
    return out;
}

Path hop_path(const GroupLayout& place, int32_t sender, int32_t receiver) {
    const Rect &from = place.members[static_cast<std::size_t>(sender)],
               &to = place.members[static_cast<std::size_t>(receiver)];
    // Past others in the same row: below them.
    const bool past = std::any_of(place.members.begin(), place.members.end(), [&](const Rect& other) {
        return place.cards && other.y == from.y && other.y == to.y && other.x > std::min(from.x, to.x) &&
               other.x < std::max(from.x, to.x);
    });
    if (past && (place.row || place.levels)) {
        const float side = from.x > to.x ? 1.F : -1.F, drop = kReturn * 0.9F;
        const Point a{centre(from).x - side * from.w * 0.2F, from.y + from.h + 3},
            d{centre(to).x + side * to.w * 0.2F, to.y + to.h + 3};
        return {a, {a.x - side * 24, a.y + drop}, {d.x + side * 24, d.y + drop}, d};
    }
    if (place.tree && centre(from).y != centre(to).y) {
        const float side = from.y < to.y ? 1.F : -1.F;
        const Point a{centre(from).x, centre(from).y + side * (from.h / 2 + 2)},
            d{centre(to).x, centre(to).y - side * (to.h / 2 + 2)};
        return {a, {a.x, (a.y + d.y) / 2}, {d.x, (a.y + d.y) / 2}, d};
    }
    if (place.facing) {
        // Above for the way there, below for the way back.
        const bool right = from.x < to.x;
        const float side = std::min(from.h * 0.22F, 26.F) * (right ? -1.F : 1.F);
        const float x0 = right ? from.x + from.w + 2 : from.x - 2, x1 = right ? to.x - 2 : to.x + to.w + 2;
        const float y = from.y + from.h / 2 + side, bow = (right ? -1.F : 1.F) * 14;
        return {{x0, y}, {x0 + (x1 - x0) * 0.3F, y + bow}, {x0 + (x1 - x0) * 0.7F, y + bow}, {x1, y}};
    }
    const Point a = centre(from), d = centre(to);
    const float length = std::max(1.F, std::hypot(d.x - a.x, d.y - a.y));
    const Point u{(d.x - a.x) / length, (d.y - a.y) / length}, n{-u.y, u.x};
    const float shift = std::min(8.F, from.h * 0.12F);
    Point s = leave(from, u, !place.cards), e = leave(to, {-u.x, -u.y}, !place.cards);
    s = {s.x + u.x * 3 - n.x * shift, s.y + u.y * 3 - n.y * shift};
    e = {e.x - u.x * 3 - n.x * shift, e.y - u.y * 3 - n.y * shift};
    const float bow = std::min(18.F, length * 0.06F);
    return {s,
            {s.x + (e.x - s.x) * 0.3F - n.x * bow, s.y + (e.y - s.y) * 0.3F - n.y * bow},
            {s.x + (e.x - s.x) * 0.7F - n.x * bow, s.y + (e.y - s.y) * 0.7F - n.y * bow},
            e};
}

}  // namespace meshscope::view
