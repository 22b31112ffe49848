// Ring all-reduce: a ring reduce-scatter, then a ring all-gather, in place.
//
// The buffer is cut as torch.chunk cuts (chunk_parts): p chunks of ceil(n/p), the tail short or empty; empty
// chunks travel as messages of 0 bytes, so the rounds are the same for every n. Rank r sends to r+1 and
// receives from r-1.
//   rounds 0 … p-2    (s): r sends chunk r-s-1 and adds what it receives into chunk r-s-2;
//                          after them r holds the whole sum of chunk r (and divides it, for AVG)
//   rounds p-1 … 2p-3 (s): r sends chunk r-s and receives chunk r-s-1 into its place
//
// Steps 2(p-1). Bytes a rank sends: 2n - |chunk r| - |chunk r+1| elements, which is 2n(p-1)/p when p divides
// n. Order of reduction, chunk c: ((x[c+1] + x[c+2]) + … + x[c-1]) + x[c], ranks counted around the ring;
// bfloat16 is rounded at each hop, because that is what travels. AVG divides once, by p, after the last
// addition. Source: Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", 2009; NCCL's ring.
//
// Ring reduce-scatter: partial sums travel, and end at the rank that keeps them.
//
// Rank r sends to r+1 and receives from r-1.
//   rounds 0 … p-2 (s): r sends its partial sum of part r-s-1 (in round 0 its own numbers) and receives
//                       that of part r-s-2, to which it adds its own numbers; the last one is part r, the
//                       result
//
// Steps p-1. Bytes a rank sends: all parts but its own; n(p-1)/p for n elements in even parts. The input is
// not written; partial sums lie in two scratch buffers of the largest part, used in turn. Order of reduction,
// part c: ((x[c+1] + x[c+2]) + … + x[c-1]) + x[c], ranks counted around the ring; bfloat16 is rounded at each
// hop. AVG divides once, by p, after the last addition. Source: Patarasu and Yuan 2009; NCCL's ring.
//
// Ring all-gather: every rank's part travels once around.
//
// Rank r sends to r+1 and receives from r-1.
//   rounds 0 … p-2 (s): r sends part r-s (in round 0 its own) and receives part r-s-1 into its place
//
// Steps p-1. Bytes a rank sends: all parts but that of rank r+1; n(p-1)/p for n elements in even parts.
// Reduces nothing. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations
// in MPICH", 2005, 4.1.
#include <array>
#include <numeric>

#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/ring.h"

namespace meshscope::comm {

Ring::Ring(Steps& steps, std::span<const int32_t> ranks, std::span<const Part> parts)
    : steps_(steps), ranks_(ranks), parts_(parts) {
    me_ = static_cast<int32_t>(std::ranges::find(ranks, steps.me()) - ranks.begin());
    next_ = ranks_[static_cast<std::size_t>(around(me_ + 1))];
    previous_ = ranks_[static_cast<std::size_t>(around(me_ - 1))];
}

void Ring::send_to_reduce(int32_t s, RingNames names) {
    const int32_t out = around(me_ - s - 1);
    if (travels(out)) steps_.send(names.round + s, next_, at(out));
}

void Ring::reduce(int32_t s, RingNames names) {
    const int32_t in = around(me_ - s - 2);
    if (travels(in)) steps_.reduce(names.round + s, previous_, names.chunk_of(in), at(in));
}

void Ring::send_to_gather(int32_t s, RingNames names) {
    const int32_t out = around(me_ - s);
    if (travels(out)) steps_.send(names.round + s, next_, at(out));
}

void Ring::receive(int32_t s, RingNames names) {
    const int32_t in = around(me_ - s - 1);
    if (travels(in)) steps_.receive(names.round + s, previous_, names.chunk_of(in), at(in));
}

void Ring::reduce(RingNames names) {
    for (int32_t s = 0; s < size() - 1; ++s) {
        send_to_reduce(s, names);
        reduce(s, names);
    }
}

void Ring::gather(RingNames names) {
    for (int32_t s = 0; s < size() - 1; ++s) {
        send_to_gather(s, names);
        receive(s, names);
    }
}

std::vector<int32_t> all_ranks(const Steps& steps) {
    std::vector<int32_t> ranks(static_cast<std::size_t>(steps.p()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

namespace cards {
namespace {

void ring_all_reduce(Steps& steps) {
    const std::vector<int32_t> ranks = all_ranks(steps);
    const std::vector<Part> parts = chunk_parts(steps.n(), steps.p());
    Ring ring(steps, ranks, parts);
    steps.rounds(2 * (steps.p() - 1));
    ring.reduce({});
    steps.finish(steps.output().part(parts[static_cast<std::size_t>(steps.me())]));
    ring.gather({steps.p() - 1, 0, 1});
}

}  // namespace

void ring_reduce_scatter(Steps& steps) {
    const int32_t p = steps.p(), next = steps.of(steps.me() + 1), previous = steps.of(steps.me() - 1);
    steps.rounds(p - 1);
    int64_t largest = 0;
    for (const Part& each : steps.in_parts()) largest = std::max(largest, each.elements);
    std::array<Stretch, 2> scratch;
    for (int32_t i = 0; i < 2 && i < p - 2; ++i) scratch[static_cast<std::size_t>(i)] = steps.scratch(largest);

    Stretch leaving = steps.input().part(steps.in_part(previous));
    for (int32_t s = 0; s < p - 1; ++s) {
        steps.send(s, next, leaving);
        const int32_t chunk = steps.of(steps.me() - s - 2);
        const Part coming = steps.in_part(chunk);
        const Stretch sum = s == p - 2 ? steps.output().part(0, coming.elements)
                                       : scratch[static_cast<std::size_t>(s % 2)].part(0, coming.elements);
        steps.reduce(s, previous, chunk, coming.first, sum, steps.input().part(coming));
        leaving = sum;
    }
    steps.finish(leaving);
}

void ring_all_gather(Steps& steps) {
    const std::vector<int32_t> ranks = all_ranks(steps);
    steps.rounds(steps.p() - 1);
    Ring(steps, ranks, steps.out_parts()).gather({});
}

AlgorithmCard ring() {
    return {Algorithm::ring,
            {{CollectiveOp::all_reduce, ring_all_reduce},
             {CollectiveOp::reduce_scatter, ring_reduce_scatter},
             {CollectiveOp::all_gather, ring_all_gather}},
            {}};
}

}  // namespace cards
}  // namespace meshscope::comm
