#pragma once

#include <cstdint>
#include <vector>

#include "core/base/kinds.h"

namespace meshscope::comm {

class OwnAlgorithm;

/// A collective as the formulas see it.
struct CostQuery {
    CollectiveOp op = CollectiveOp::all_reduce;
    Algorithm algorithm = Algorithm::ring;  ///< as choose_algorithm gave it
    int32_t group_size = 1;
    int32_t group_rank = 0;  ///< whose cost
    int32_t root = 0;        ///< broadcast, reduce, gather, scatter
    int64_t element_bytes = 4;
    /// The full buffer: all_reduce, broadcast, reduce, send, recv: n; all_gather, gather: the output;
    /// reduce_scatter, scatter: the input; all_to_all: this rank's input.
    int64_t elements = 0;
    std::vector<int64_t> counts;           ///< the full buffer's parts by group rank; empty: even
    std::vector<int64_t> received_counts;  ///< all_to_all: the output's parts; empty: as counts
    std::vector<int32_t> node_of;  ///< two_level: the members' nodes by group rank; as NodeLevels takes them
    const OwnAlgorithm* own = nullptr;  ///< Algorithm::own: the one that is meant
};

/// What one rank does in one collective.
struct Cost {
    int64_t rounds = 0;  ///< of the whole collective; hops of one round happen at the same time
    int64_t hops = 0;    ///< received by this rank (the receiver records)
    int64_t bytes_sent = 0;
    int64_t bytes_received = 0;
    friend bool operator==(const Cost&, const Cost&) = default;
};

/// The hops and bytes of one rank, the sum of the steps that its algorithm says, to the last byte: uneven parts
/// and padding included. Equal to what a run records; tests hold it for 1 to 8 ranks. Cost: O(steps of the
/// rank).
Cost cost(const CostQuery& query);

/// The textbook's bytes a rank sends by a ring (or the op's only way) when p divides everything, `bytes`
/// being the full buffer: all_reduce 2(p-1)/p · bytes; all_gather, reduce_scatter, all_to_all (p-1)/p ·
/// bytes; broadcast and reduce (p-1)/p · bytes and gather and scatter (p-1)/p² · bytes, averaged over the
/// ranks. Source: Thakur, Rabenseifner, Gropp 2005; Patarasu and Yuan 2009.
double textbook_bytes_sent(CollectiveOp op, int32_t group_size, double bytes);

/// Bus bandwidth = algorithm bandwidth (full buffer over time) × this: 2(p-1)/p for all_reduce; (p-1)/p for
/// all_gather, reduce_scatter, gather, scatter and all_to_all; 1 for the rest. It makes the figure comparable
/// with a link's speed whatever p is. Source: nccl-tests, doc/PERFORMANCE.md.
double bus_factor(CollectiveOp op, int32_t group_size);

}  // namespace meshscope::comm
