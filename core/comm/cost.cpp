#include "core/comm/cost.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/direct_all_reduce.h"
#include "core/base/double_tree.h"
#include "core/base/node_levels.h"
#include "core/base/pipeline.h"
#include "core/comm/algorithms/algorithms.h"
#include "core/comm/parts.h"

namespace meshscope::comm {
namespace {

int64_t ceil_log2(int32_t p) {
    int64_t rounds = 0;
    for (int32_t reach = 1; reach < p; reach *= 2) ++rounds;
    return rounds;
}

/// Children of place v in a binomial tree of p: the ranks v + 2^k that its algorithm sends to (or hears
/// from).
int64_t broadcast_children(int32_t v, int32_t p) {
    int64_t n = 0;
    for (int32_t bit = 1; v + bit < p; bit *= 2) n += v < bit ? 1 : 0;
    return n;
}
int64_t reduce_children(int32_t v, int32_t p) {
    int64_t n = 0;
    for (int32_t bit = 1; v + bit < p && (v & bit) == 0; bit *= 2) ++n;
    return n;
}

/// One query, in short words: p ranks, this is rank r.
class Formulas {
  public:
    explicit Formulas(const CostQuery& query)
        : q_(query), p_(query.group_size), r_(query.group_rank), v_((r_ - query.root + p_) % p_) {}

    Cost answer() const {
        if (p_ == 1) return {};
        switch (q_.op) {
            case CollectiveOp::all_reduce:
                return all_reduce();
            case CollectiveOp::all_gather:
                return all_gather();
            case CollectiveOp::reduce_scatter:
                return reduce_scatter();
            case CollectiveOp::all_to_all:
                return all_to_all();
            case CollectiveOp::broadcast:
                return broadcast();
            case CollectiveOp::reduce:
                return reduce();
            case CollectiveOp::gather:
                return v_ == 0 ? elements(1, p_ - 1, 0, n() - part(r_)) : elements(1, 0, part(r_), 0);
            case CollectiveOp::scatter:
                return v_ == 0 ? elements(1, 0, n() - part(r_), 0) : elements(1, 1, 0, part(r_));
            case CollectiveOp::send:
                return elements(1, 0, n(), 0);
            case CollectiveOp::recv:
                return elements(1, 1, 0, n());
            case CollectiveOp::barrier:
                return barrier();
        }
        return {};
    }

  private:
    int64_t n() const { return q_.elements; }
    bool direct() const { return q_.algorithm == Algorithm::direct; }
    int64_t part(int32_t rank) const { return part_in(q_.counts, rank); }
    int64_t part_in(const std::vector<int64_t>& counts, int32_t rank) const {
        const int32_t c = (rank % p_ + p_) % p_;
        return counts.empty() ? n() / p_ : counts[static_cast<std::size_t>(c)];
    }
    Cost elements(int64_t rounds, int64_t hops, int64_t sent, int64_t received) const {
        return {rounds, hops, sent * q_.element_bytes, received * q_.element_bytes};
    }

    Cost all_reduce() const {
        switch (q_.algorithm) {
            case Algorithm::tree:
                return elements(2 * ceil_log2(p_), reduce_children(r_, p_) + (r_ == 0 ? 0 : 1),
                                n() * (broadcast_children(r_, p_) + (r_ == 0 ? 0 : 1)),
                                n() * (reduce_children(r_, p_) + (r_ == 0 ? 0 : 1)));
            case Algorithm::star:
                return r_ == 0 ? elements(2, p_ - 1, n() * (p_ - 1), n() * (p_ - 1))
                               : elements(2, 1, n(), n());
            case Algorithm::recursive_doubling:
            case Algorithm::halving_doubling:
                return pairwise_all_reduce();
            case Algorithm::double_tree:
                return double_tree_all_reduce();
            case Algorithm::two_level:
                return two_level_all_reduce();
            default:
                return chunked_all_reduce();
        }
    }
    /// Recursive doubling and halving-doubling: folded to q places, see their cards.
    Cost pairwise_all_reduce() const {
        int32_t q = 1, steps = 0;
        for (; q * 2 <= p_; q *= 2) ++steps;
        const int32_t pairs = p_ - q;
        const bool halves = q_.algorithm == Algorithm::halving_doubling;
        const int64_t rounds = (halves ? 2 : 1) * steps + (pairs > 0 ? 2 : 0);
        const bool paired = r_ < 2 * pairs;
        if (paired && r_ % 2 == 0) return elements(rounds, 1, n(), n());
        const int64_t extra = paired ? 1 : 0;
        if (!halves) return elements(rounds, steps + extra, n() * (steps + extra), n() * (steps + extra));
        // Halving: all but its chunk is given up, in halves; doubling: what it has is sent, 1, 2, 4 … chunks.
        const int32_t place = paired ? r_ / 2 : r_ - pairs;
        const std::vector<Part> chunks = chunk_parts(n(), q);
        int64_t moved = n() - chunks[static_cast<std::size_t>(place)].elements;
        for (int32_t d = 1; d < q; d *= 2)
            for (int32_t c = place / d * d; c < place / d * d + d; ++c)
                moved += chunks[static_cast<std::size_t>(c)].elements;
        return elements(rounds, 2 * steps + extra, moved + extra * n(), moved + extra * n());
    }
    Cost chunked_all_reduce() const {
        const std::vector<Part> parts = chunk_parts(n(), p_);
        const auto chunk = [&](int32_t c) { return parts[static_cast<std::size_t>((c + p_) % p_)].elements; };
        if (!direct())  // all but r in the first half and all but r+1 in the second; received: all but r-1,
                        // all but r
            return elements(2 * (p_ - 1), 2 * (p_ - 1), 2 * n() - chunk(r_) - chunk(r_ + 1),
                            2 * n() - chunk(r_ - 1) - chunk(r_));
        if (n() * q_.element_bytes <= direct_one_round_bytes(p_))
            return elements(1, p_ - 1, n() * (p_ - 1), n() * (p_ - 1));
        const int64_t moved = (n() - chunk(r_)) + chunk(r_) * (p_ - 1);
        return elements(2, 2 * (p_ - 1), moved, moved);
    }
    Cost all_gather() const {
        if (direct()) return elements(1, p_ - 1, part(r_) * (p_ - 1), n() - part(r_));
        if (q_.algorithm == Algorithm::recursive_doubling || q_.algorithm == Algorithm::bruck) {
            // Doubling the blocks of d: those from r/d·d on. Bruck: the d from r on, in the last round what p
            // leaves.
            const bool bruck = q_.algorithm == Algorithm::bruck;
            int64_t sent = 0;
            for (int32_t d = 1; d < p_; d *= 2)
                for (int32_t i = 0; i < std::min(d, p_ - d); ++i) sent += part((bruck ? r_ : r_ / d * d) + i);
            return elements(ceil_log2(p_), ceil_log2(p_), sent, n() - part(r_));
        }
        return elements(p_ - 1, p_ - 1, n() - part(r_ + 1), n() - part(r_));
    }
    Cost reduce_scatter() const {
        if (direct()) return elements(1, p_ - 1, n() - part(r_), part(r_) * (p_ - 1));
        if (q_.algorithm == Algorithm::recursive_halving) return recursive_halving();
        return elements(p_ - 1, p_ - 1, n() - part(r_), n() - part(r_ - 1));
    }
    /// Folded to q places, a pair's two parts on one place.
    Cost recursive_halving() const {
        int32_t q = 1, steps = 0;
        for (; q * 2 <= p_; q *= 2) ++steps;
        const int32_t pairs = p_ - q;
        const int64_t rounds = steps + (pairs > 0 ? 2 : 0);
        const bool paired = r_ < 2 * pairs;
        if (paired && r_ % 2 == 0) return elements(rounds, 1, n(), part(r_));
        const auto place_parts = [&](int32_t place) {
            return place < pairs ? part(2 * place) + part(2 * place + 1) : part(place + pairs);
        };
        const int32_t place = paired ? r_ / 2 : r_ - pairs;
        int64_t received = paired ? n() : 0;
        for (int32_t d = q / 2; d >= 1; d /= 2)
            for (int32_t i = place / d * d; i < place / d * d + d; ++i) received += place_parts(i);
        const int64_t handed = paired ? part(r_ - 1) : 0;
        return elements(rounds, steps + (paired ? 1 : 0), n() - place_parts(place) + handed, received);
    }
    /// In each tree: what the rank sums goes up once and down to it once; so for each of its children.
    Cost double_tree_all_reduce() const {
        const DoubleTree trees(p_);
        const std::vector<Part> halves = chunk_parts(n(), 2);
        const int32_t chunks = pipeline_chunks(halves[0].elements, q_.element_bytes);
        int64_t edges = 0, moved = 0;
        for (int32_t t = 0; t < 2; ++t) {
            int64_t mine = trees.parent(t, r_) >= 0 ? 1 : 0;
            for (const int32_t child : trees.children(t, r_)) mine += child >= 0 ? 1 : 0;
            edges += mine;
            moved += mine * halves[static_cast<std::size_t>(t)].elements;
        }
        return elements(2 * trees.rounds(chunks), edges * chunks, moved, moved);
    }
    Cost two_level_all_reduce() const {
        const NodeLevels levels(p_, q_.node_of);
        const auto me = static_cast<std::size_t>(r_);
        const auto k = static_cast<int32_t>(levels.nodes[static_cast<std::size_t>(levels.node[me])].size());
        const int32_t i = levels.place[me], n_nodes = levels.n_nodes(), carriers = levels.smallest;
        const std::vector<Part> chunks = chunk_parts(n(), carriers);
        // A ring of k in which the first `carriers` places own a chunk: hops and elements of all chunks but
        // that of `but`.
        const auto all_but = [&](int32_t but) {
            std::pair<int64_t, int64_t> found{0, 0};
            for (int32_t c = 0; c < carriers && k > 1; ++c)
                if (c != (but + k) % k) {
                    ++found.first;
                    found.second += chunks[static_cast<std::size_t>(c)].elements;
                }
            return found;
        };
        int64_t hops = all_but(i - 1).first + all_but(i).first;
        int64_t sent = all_but(i).second + all_but(i + 1).second;
        int64_t received = all_but(i - 1).second + all_but(i).second;
        if (i < carriers && n_nodes > 1) {
            const int64_t x = chunks[static_cast<std::size_t>(i)].elements;
            const std::vector<Part> pieces = chunk_parts(x, n_nodes);
            const auto piece = [&](int32_t c) {
                return pieces[static_cast<std::size_t>((c + n_nodes) % n_nodes)].elements;
            };
            const int32_t j = levels.node[me];
            hops += 2 * (n_nodes - 1);
            sent += 2 * x - piece(j) - piece(j + 1);
            received += 2 * x - piece(j - 1) - piece(j);
        }
        return elements(2 * (levels.largest - 1) + 2 * (n_nodes - 1), hops, sent, received);
    }
    Cost all_to_all() const {
        if (q_.algorithm == Algorithm::bruck) return bruck_all_to_all();
        const std::vector<int64_t>& counts = q_.received_counts.empty() ? q_.counts : q_.received_counts;
        int64_t received = 0, hops = 0;
        for (int32_t c = 0; c < p_; ++c) {
            if (c == r_) continue;
            received += part_in(counts, c);
            hops += part_in(counts, c) > 0 ? 1 : 0;  // an empty part is no hop
        }
        const int64_t sent = n() - part(r_);
        const int64_t rounds = q_.algorithm == Algorithm::pairwise ? p_ - 1 : 1;
        return elements(hops > 0 || sent > 0 ? rounds : 0, hops, sent, received);
    }
    /// A message a bit of the slots' numbers 1 … p-1, of all slots that have it.
    Cost bruck_all_to_all() const {
        if (part(0) == 0) return {};
        int64_t ones = 0;
        for (int32_t i = 1; i < p_; ++i) ones += std::popcount(static_cast<uint32_t>(i));
        return elements(ceil_log2(p_), ceil_log2(p_), ones * part(0), ones * part(0));
    }
    Cost broadcast() const {
        const int64_t hops = v_ == 0 ? 0 : 1;
        if (direct()) return elements(1, hops, v_ == 0 ? n() * (p_ - 1) : 0, hops * n());
        if (q_.algorithm == Algorithm::ring_pipeline) {
            const int32_t chunks = pipeline_chunks(n(), q_.element_bytes);
            return elements(p_ - 2 + chunks, hops * chunks, v_ == p_ - 1 ? 0 : n(), hops * n());
        }
        if (q_.algorithm == Algorithm::scatter_all_gather) return scatter_all_gather();
        return elements(ceil_log2(p_), hops, n() * broadcast_children(v_, p_), hops * n());
    }
    /// The scatter deals v the chunks v … v + dealt(v) - 1; the ring brings it the others.
    Cost scatter_all_gather() const {
        const std::vector<Part> chunks = chunk_parts(n(), p_);
        const auto dealt = [&](int32_t v) { return v == 0 ? p_ : std::min(v & -v, p_ - v); };
        const auto share = [&](int32_t v) { return run_of_parts(chunks, v, dealt(v)).elements; };
        const int32_t next = (v_ + 1) % p_;
        int64_t sent = n() - share(next);  // around the ring
        for (int32_t d = 1; v_ + d < p_ && (v_ == 0 || d < (v_ & -v_)); d *= 2) sent += share(v_ + d);
        const int64_t hops = v_ == 0 ? 0 : 1 + p_ - dealt(v_);
        return elements(ceil_log2(p_) + p_ - 1, hops, sent, v_ == 0 ? 0 : n());
    }
    Cost reduce() const {
        const int64_t sends = v_ == 0 ? 0 : 1;
        const int64_t hops = !direct() ? reduce_children(v_, p_) : v_ == 0 ? p_ - 1 : 0;
        return elements(direct() ? 1 : ceil_log2(p_), hops, sends * n(), hops * n());
    }
    Cost barrier() const {
        if (direct()) return {1, p_ - 1, 0, 0};
        return {2 * ceil_log2(p_), reduce_children(r_, p_) + (r_ == 0 ? 0 : 1), 0, 0};
    }

    const CostQuery& q_;
    int32_t p_;
    int32_t r_;
    int32_t v_;  ///< place counted from the root
};

}  // namespace

Cost cost(const CostQuery& query) {
    return Formulas(query).answer();
}

double bus_factor(CollectiveOp op, int32_t group_size) {
    const double p = group_size;
    switch (op) {
        case CollectiveOp::all_reduce:
            return 2 * (p - 1) / p;
        case CollectiveOp::all_gather:
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::gather:
        case CollectiveOp::scatter:
        case CollectiveOp::all_to_all:
            return (p - 1) / p;
        default:
            return 1;
    }
}

double textbook_bytes_sent(CollectiveOp op, int32_t group_size, double bytes) {
    const double p = group_size;
    switch (op) {
        case CollectiveOp::all_reduce:
            return 2 * (p - 1) / p * bytes;
        case CollectiveOp::barrier:
        case CollectiveOp::recv:
            return 0;
        case CollectiveOp::send:
            return bytes;
        case CollectiveOp::gather:  // every part but the root's crosses once: averaged over the ranks
        case CollectiveOp::scatter:
            return (p - 1) / p * bytes / p;
        default:
            return (p - 1) / p * bytes;
    }
}

}  // namespace meshscope::comm
