// Double tree all-reduce: each half of the buffer climbs its own binary tree to a root and comes back down,
// in a pipeline of chunks; what is inner in one tree is a leaf in the other, so every link is busy both ways.
//
// Halves as torch.chunk cuts n in 2 (the first is tree 0's, the second tree 1's), each cut again in C =
// pipeline_chunks of the first half. DoubleTree gives trees, H = height, s = stride, and up(t, r), the round
// in which r sends its first chunk to its parent in tree t.
//   round up(t, r) + s·c          r sends what it has summed of chunk c of half t to its parent, which
//                                 adds it
//   round U + H - up(t, r) + s·c  the parent sends the finished chunk c to r; U = H + 1 + s(C-1)
//
// Steps 2(H + 1 + s(C-1)), H ≤ 2⌈lg p⌉. Bytes: in tree t a rank but its root sends half t up, and half t once
// to each of its children down: 2n at most, as the ring, in lg p steps instead of p. Cost, where 2C divides
// n: (H + 1 + s(C-1)) · (2α + n/(2C)·(2β + γ)): close to 2nβ + nγ for large n, for two ranks the ring's 2α' +
// nβ. Order of reduction: S(r) = (x[r] + S(a)) + S(b), a the child of r with the earlier round; bfloat16 is
// rounded at each hop. AVG divides once, by p, at the root. Source: Sanders, Speck, Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 2009; NCCL 2.4's double
// binary trees.
#include <algorithm>
#include <array>

#include "core/comm/schedule/card.h"
#include "core/comm/schedule/double_tree.h"
#include "core/comm/schedule/pipeline_chunks.h"

namespace meshscope::comm::cards {
namespace {

struct Move {
    int32_t round = 0;
    int32_t tree = 0;
    int32_t chunk = 0;
    int32_t peer = 0;
    bool sends = false;
    bool climbs = false;
};

/// What rank `me` does, round by round; in one round it sends before it waits.
std::vector<Move> moves_of(const DoubleTree& trees, int32_t me, int32_t chunks) {
    std::vector<Move> moves;
    const int32_t turn = trees.rounds(chunks);
    for (int32_t t = 0; t < 2; ++t)
        for (int32_t c = 0; c < chunks; ++c) {
            const auto add = [&](int32_t edge, int32_t peer, bool is_parent) {
                const int32_t up = trees.up(t, edge), wait = trees.stride() * c;
                moves.push_back({up + wait, t, c, peer, is_parent, true});
                moves.push_back({turn + trees.height() - up + wait, t, c, peer, !is_parent, false});
            };
            if (trees.parent(t, me) >= 0) add(me, trees.parent(t, me), true);
            for (const int32_t child : trees.children(t, me))
                if (child >= 0) add(child, child, false);
        }
    std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
        return a.round != b.round ? a.round < b.round : a.sends && !b.sends;
    });
    return moves;
}

void double_tree_all_reduce(Steps& steps) {
    const DoubleTree trees(steps.p());
    const Stretch data = steps.output();
    const std::vector<Part> halves = chunk_parts(steps.n(), 2);
    const int32_t chunks = pipeline_chunks(halves[0].elements, steps.element_bytes());
    steps.rounds(2 * trees.rounds(chunks));
    bool finished = false;
    for (const Move& move : moves_of(trees, steps.me(), chunks)) {
        const Part& half = halves[static_cast<std::size_t>(move.tree)];
        const Stretch chunk = data.part(half).part(chunk_part(half.elements, chunks, move.chunk));
        const int32_t number = move.tree * chunks + move.chunk;
        if (!move.climbs && !finished) {  // all of this rank's sums are done; a root has its half's
            for (int32_t tree = 0; tree < 2; ++tree)
                if (trees.root(tree) == steps.me())
                    steps.finish(data.part(halves[static_cast<std::size_t>(tree)]));
            finished = true;
        }
        if (move.sends)
            steps.send(move.round, move.peer, chunk);
        else if (move.climbs)
            steps.reduce(move.round, move.peer, number, chunk);
        else
            steps.receive(move.round, move.peer, number, chunk);
    }
}

}  // namespace

AlgorithmCard double_tree() {
    return {Algorithm::double_tree, {{CollectiveOp::all_reduce, double_tree_all_reduce}}, {}};
}

}  // namespace meshscope::comm::cards
