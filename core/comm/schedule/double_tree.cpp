#include "core/comm/schedule/double_tree.h"

#include <algorithm>
#include <utility>

namespace meshscope::comm {
namespace {

/// The parent of place v ≥ 1 in tree 0 of p: one bit further up, or, where that is out of bounds, below.
int32_t parent_of(int32_t v, int32_t p) {
    const int32_t bit = v & -v;
    const int32_t above = (v ^ bit) | (bit << 1);
    return above < p ? above : v ^ bit;
}

}  // namespace

DoubleTree::DoubleTree(int32_t ranks) : p_(ranks), stride_(ranks > 2 ? 2 : 1) {
    plant();
    colour();
    for (int32_t t = 0; t < 2; ++t) time(t, roots_[static_cast<std::size_t>(t)]);
}

void DoubleTree::plant() {
    const bool mirror = p_ % 2 == 0;
    for (int32_t t = 0; t < 2; ++t) {
        const auto rank_at = [&](int32_t v) { return t == 0 ? v : mirror ? p_ - 1 - v : (v + 1) % p_; };
        trees_[static_cast<std::size_t>(t)].resize(static_cast<std::size_t>(p_));
        roots_[static_cast<std::size_t>(t)] = rank_at(0);
        for (int32_t v = 1; v < p_; ++v) {
            const int32_t parent = rank_at(parent_of(v, p_));
            at(t, rank_at(v)).parent = parent;
            auto& children = at(t, parent).children;
            children[children[0] < 0 ? 0 : 1] = rank_at(v);
        }
    }
}

/// Edges are named by their lower end. Each has at most one other edge that leaves the same rank and at most
/// one that comes into the same rank, so the edges form paths and even circles: walked along, the colours
/// alternate. The walks begin at the roots' edges: those have no sibling to take the earlier round, and are
/// last in every climb.
void DoubleTree::colour() {
    using Edge = std::pair<int32_t, int32_t>;  // tree, rank
    const auto each_rival = [&](Edge edge, const auto& visit) {
        const auto [tree, rank] = edge;
        if (at(1 - tree, rank).parent >= 0) visit(Edge(1 - tree, rank));
        for (int32_t t = 0; t < 2; ++t)
            for (const int32_t child : at(t, at(tree, rank).parent).children)
                if (child >= 0 && Edge(t, child) != edge) visit(Edge(t, child));
    };
    const auto walk_from = [&](Edge start) {
        if (at(start.first, start.second).parent < 0 || at(start.first, start.second).colour >= 0) return;
        at(start.first, start.second).colour = 0;
        std::vector<Edge> reached{start};
        while (!reached.empty()) {
            const Edge edge = reached.back();
            reached.pop_back();
            each_rival(edge, [&](Edge rival) {
                if (at(rival.first, rival.second).colour >= 0) return;
                at(rival.first, rival.second).colour = 1 - at(edge.first, edge.second).colour;
                reached.push_back(rival);
            });
        }
    };
    for (int32_t t = 0; t < 2; ++t) walk_from({t, children(t, root(t))[0]});
    for (int32_t t = 0; t < 2; ++t)
        for (int32_t r = 0; r < p_; ++r) walk_from({t, r});
}

int32_t DoubleTree::time(int32_t tree, int32_t rank) {
    int32_t after = -1;
    for (const int32_t child : at(tree, rank).children)
        if (child >= 0) after = std::max(after, time(tree, child));
    Place& place = at(tree, rank);
    if (place.parent < 0) return after;
    place.up = after + 1;
    if (stride_ == 2 && place.up % 2 != place.colour) ++place.up;
    height_ = std::max(height_, place.up);
    return place.up;
}

}  // namespace meshscope::comm
