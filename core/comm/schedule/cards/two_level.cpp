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

}  // namespace

AlgorithmCard two_level() {
    return {Algorithm::two_level, {{CollectiveOp::all_reduce, two_level_all_reduce}}, {}};
}

}  // namespace meshscope::comm::cards
