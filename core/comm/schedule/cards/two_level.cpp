// Two-level all-reduce: a ring inside each node, a ring between the nodes, and back.
//
// NodeLevels says who shares a node: N nodes of k_1 … k_N ranks, K the largest, m the smallest. The buffer is
// cut as torch.chunk cuts in m chunks; the first m ranks of each node carry them (chunk i the one at place
// i), each further cut in N. Ranks beyond the mth give and take, and carry nothing between.
//   rounds 0 … K-2            inside: a ring reduce-scatter of the m chunks over the node's k ranks (a
//                             smaller node is done earlier); then place i holds its node's sum of chunk i
//   rounds K-1 … K+2N-4       between: a ring all-reduce of chunk i over the ranks at place i of the N nodes
//   rounds K+2N-3 … 2K+2N-5   inside: a ring all-gather of the m chunks
//
// Steps 2(K-1) + 2(N-1). Bytes a rank sends, in nodes of k ranks each that divide n: 2n(k-1)/k inside and
// 2n(N-1)/(kN) between: 1/k of what the one ring sends over the slow links. Cost, α and β inside (i) and
// between (b): 2(k-1)(α_i + n/k·β_i) + 2(N-1)(α_b + n/(kN)·β_b) + (k-1)n/k·γ + (N-1)n/(kN)·γ. With one node
// it is a ring. Order of reduction: the node's ranks around its ring, ((x[i+1] + x[i+2]) + …) + x[i] for
// chunk i by their places; then the nodes' sums around theirs, for sub-chunk j ((S[j+1] + S[j+2]) + …) +
// S[j]; bfloat16 is rounded at each hop. AVG divides once, by p, after the last addition. Source: Jia et al.,
// "Highly scalable deep learning training system with mixed-precision", 2018, section 4.3 (hierarchical
// all-reduce); NCCL's and Horovod's hierarchical modes.
//
// Two-level all-gather and reduce-scatter: each part crosses between nodes once a node, and the ranks of a
// node carry side by side, each over a link of its own. For N nodes of k ranks each; where nodes differ in
// size, or there is one rank a node, it is the ring.
//
// all_gather:
//   rounds 0 … N-2       between: a ring of the ranks at one place of the N nodes, their N parts
//   rounds N-1 … N+k-3   inside: a ring of the node's k ranks; a message is the N parts of one place
// reduce_scatter, the same backwards:
//   rounds 0 … k-2       inside: a ring; a message is partial sums of the N parts of one place; place i has
//                        its node's sums of the parts of all ranks at place i
//   rounds k-1 … N+k-3   between: a ring of the ranks at one place; each ends with its own part
//
// Steps (N-1) + (k-1). Bytes a rank sends, of n in even parts: n(N-1)/(kN) between, n(k-1)/k inside. Cost
// (N-1)(α_b + n/(kN)·β_b) + (k-1)(α_i + n/k·β_i), and γ for what is received in a reduce_scatter, which sums
// in scratch of n. Order of reduction, the part of place i in node j: ((x[i+1] + x[i+2]) + …) + x[i] by the
// places of each node; then the nodes' sums, ((S[j+1] + S[j+2]) + …) + S[j]; bfloat16 is rounded at each hop.
// Source: as above; Thakur, Rabenseifner, Gropp 2005, for the rings.
#include <vector>

#include "core/base/node_levels.h"
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/ring.h"

namespace meshscope::comm::cards {
namespace {

void two_level_all_reduce(Steps& steps) {
    const NodeLevels levels(steps.p(), steps.node_of());
    const auto me = static_cast<std::size_t>(steps.me());
    const auto place = static_cast<std::size_t>(levels.place[me]);
    const int32_t n_nodes = levels.n_nodes();
    const std::vector<Part> chunks = chunk_parts(steps.n(), levels.smallest);
    const std::vector<int32_t>& node = levels.nodes[static_cast<std::size_t>(levels.node[me])];
    steps.rounds(2 * (levels.largest - 1) + 2 * (n_nodes - 1));

    Ring inside(steps, node, chunks);
    inside.reduce({0, 0, n_nodes});
    if (place < chunks.size()) {
        std::vector<int32_t> peers;  // one a node
        for (const auto& each : levels.nodes) peers.push_back(each[place]);
        std::vector<Part> pieces = chunk_parts(chunks[place].elements, n_nodes);
        for (Part& piece : pieces) piece.first += chunks[place].first;
        const int32_t first = static_cast<int32_t>(place) * n_nodes;
        Ring between(steps, peers, pieces);
        between.reduce({levels.largest - 1, first, 1});
        steps.finish(steps.output().part(pieces[static_cast<std::size_t>(levels.node[me])]));
        between.gather({levels.largest - 1 + n_nodes - 1, first, 1});
    }
    inside.gather({levels.largest - 1 + 2 * (n_nodes - 1), 0, n_nodes});
}

/// Nodes of one size as a table: who stands at a place of a node, and the rings along its two sides.
class Grid {
  public:
    Grid(const Steps& steps, const NodeLevels& levels)
        : levels_(levels),
          node_(levels.node[static_cast<std::size_t>(steps.me())]),
          place_(levels.place[static_cast<std::size_t>(steps.me())]) {}

    int32_t nodes() const { return levels_.n_nodes(); }
    int32_t places() const { return levels_.largest; }
    int32_t node() const { return node_; }
    int32_t place() const { return place_; }
    /// Both counted around.
    int32_t at(int32_t node, int32_t place) const {
        return levels_.nodes[around(node, nodes())][around(place, places())];
    }

  private:
    static std::size_t around(int32_t i, int32_t n) { return static_cast<std::size_t>((i % n + n) % n); }
    const NodeLevels& levels_;
    int32_t node_, place_;
};

/// The parts of the ranks at one place of all nodes, in `whole`, and how a hop names them.
struct PartsOfPlace {
    std::vector<Stretch> stretches;
    std::vector<trace::HopPiece> pieces;

    PartsOfPlace(const Grid& grid, int32_t place, const Stretch& whole, std::span<const Part> parts) {
        for (int32_t node = 0; node < grid.nodes(); ++node) {
            const int32_t rank = grid.at(node, place);
            const Part& part = parts[static_cast<std::size_t>(rank)];
            stretches.push_back(whole.part(part));
            pieces.push_back({rank, part.first, part.elements});
        }
    }
};

bool is_grid(const NodeLevels& levels) {
    return levels.largest == levels.smallest && levels.largest > 1 && levels.n_nodes() > 1;
}

void two_level_all_gather(Steps& steps) {
    const NodeLevels levels(steps.p(), steps.node_of());
    if (!is_grid(levels)) return ring_all_gather(steps);
    const Grid grid(steps, levels);
    const int32_t node = grid.node(), place = grid.place(), between = grid.nodes() - 1;
    steps.rounds(between + grid.places() - 1);
    for (int32_t s = 0; s < between; ++s) {
        const int32_t in = grid.at(node - s - 1, place);
        steps.send(s, grid.at(node + 1, place),
                   steps.output().part(steps.out_part(grid.at(node - s, place))));
        steps.receive(s, grid.at(node - 1, place), in, steps.output().part(steps.out_part(in)));
    }
    for (int32_t s = 0; s < grid.places() - 1; ++s) {
        const PartsOfPlace out(grid, place - s, steps.output(), steps.out_parts());
        const PartsOfPlace in(grid, place - s - 1, steps.output(), steps.out_parts());
        steps.send(between + s, grid.at(node, place + 1), out.stretches);
        steps.receive(between + s, grid.at(node, place - 1), in.pieces, in.stretches);
    }
}

void two_level_reduce_scatter(Steps& steps) {
    const NodeLevels levels(steps.p(), steps.node_of());
    if (!is_grid(levels)) return ring_reduce_scatter(steps);
    const Grid grid(steps, levels);
    const int32_t node = grid.node(), place = grid.place(), inside = grid.places() - 1;
    steps.rounds(inside + grid.nodes() - 1);
    const Stretch sums = steps.scratch(steps.n());
    steps.copy(sums, steps.input());
    for (int32_t s = 0; s < inside; ++s) {
        const PartsOfPlace out(grid, place - s - 1, sums, steps.in_parts());
        const PartsOfPlace in(grid, place - s - 2, sums, steps.in_parts());
        steps.send(s, grid.at(node, place + 1), out.stretches);
        steps.reduce(s, grid.at(node, place - 1), in.pieces, in.stretches);
    }
    const Stretch result = steps.output().part(0, steps.in_part(steps.me()).elements);
    for (int32_t s = 0; s < grid.nodes() - 1; ++s) {
        const int32_t in = grid.at(node - s - 2, place);
        const Stretch sum = sums.part(steps.in_part(in));
        steps.send(inside + s, grid.at(node + 1, place),
                   sums.part(steps.in_part(grid.at(node - s - 1, place))));
        steps.reduce(inside + s, grid.at(node - 1, place), in, steps.in_part(in).first,
                     in == steps.me() ? result : sum, sum);
    }
    steps.finish(result);
}

}  // namespace

AlgorithmCard two_level() {
    return {Algorithm::two_level,
            {{CollectiveOp::all_reduce, two_level_all_reduce},
             {CollectiveOp::reduce_scatter, two_level_reduce_scatter},
             {CollectiveOp::all_gather, two_level_all_gather}},
            {}};
}

}  // namespace meshscope::comm::cards
