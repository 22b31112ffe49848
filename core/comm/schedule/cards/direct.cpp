// Direct all-reduce: ranks read each other's buffers. The fast one where ranks share memory.
//
// Up to direct_one_round_bytes():
//   round 0: every rank reads all others' buffers and reduces everything itself (into scratch; it copies
//            the result back when all have read its own buffer)
//   Bytes a rank sends: n(p-1).
// Beyond, in chunks of ceil(n/p) (chunk_parts):
//   round 0: rank r reads chunk r of all others and reduces it in one pass over memory, in place
//   round 1: rank r copies every other rank's reduced chunk. Rank q offers chunk q only after it has read
//            all it needs, so r may overwrite its own chunk q then.
//   Bytes a rank sends: (n - |chunk r|) + |chunk r|(p-1) elements, which is 2n(p-1)/p when p divides n.
//
// Order of reduction, every element, both ways: ((x[0] + x[1]) + …) + x[p-1] by group rank; bfloat16 is
// summed in float32 and rounded once. AVG divides before that rounding. So the result does not depend on the
// size's side.
//
// Direct reduce-scatter: every rank reads its own part of all buffers.
//
//   round 0: rank r offers part q to rank q, and reduces part r of all ranks in one pass over memory
//
// Steps 1. Bytes a rank sends: all parts but its own; n(p-1)/p for n elements in even parts. No scratch.
// Order of reduction: ((x[0] + x[1]) + …) + x[p-1] by group rank; bfloat16 is summed in float32 and rounded
// once. AVG divides before that rounding.
//
// Direct all-gather: every rank copies every other rank's part out of its buffer.
//
//   round 0: rank r offers its part to all others, and copies theirs, beginning with its neighbour r+1,
//            so that not all read the same rank at once
//
// Steps 1. Bytes a rank sends: its part p-1 times; n(p-1)/p for n elements in even parts. Reduces nothing.
//
// Direct all-to-all: every pair exchanges its two parts.
//
//   round 0: rank r offers part q of its input to rank q, for all q, and copies what every q offers it,
//            beginning with its neighbour r+1
//
// An empty part is no hop. Steps 1. Bytes a rank sends: all input parts but its own; n(p-1)/p for n elements
// in even parts. Reduces nothing.
//
// Direct broadcast, reduce, gather and scatter: one round between the root and everyone, also the send and
// recv of one pair. Round 0 in all of them.
//
//   broadcast: the root offers its buffer to all; each copies it.    Bytes: the root sends n(p-1).
//   reduce:    all offer theirs; the root reduces in one pass.       Bytes: every other rank sends n.
//   gather:    all offer their part; the root copies each in place.  Bytes: every other rank sends its part.
//   scatter:   the root offers each rank its part.                   Bytes: the root sends all but its own.
//   recv:      takes one message of n.
//
// p-1 hops each (recv: 1). Order of the reduction: ((x[0] + x[1]) + …) + x[p-1] by group rank, whoever is the
// root; bfloat16 is summed in float32 and rounded once; AVG divides before that rounding.
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/direct_all_reduce.h"

namespace meshscope::comm::cards {
namespace {

/// f(rank) for all others, the neighbour first, so that not all turn to the same rank at once.
template <class F>
void each_other(const Steps& steps, F&& f) {
    for (int32_t i = 1; i < steps.p(); ++i) f(steps.of(steps.me() + i));
}

void direct_all_reduce(Steps& steps) {
    const Stretch data = steps.output();
    if (steps.n() * steps.element_bytes() <= direct_one_round_bytes(steps.p())) {
        steps.rounds(1);
        const Stretch result = steps.scratch(steps.n());
        each_other(steps, [&](int32_t peer) { steps.send(0, peer, data); });
        steps.reduce_many(0, 0, 0, result, data);
        steps.copy(data, result);
        return;
    }
    steps.rounds(2);
    const auto part = [&](int32_t rank) { return data.part(chunk_part(steps.n(), steps.p(), rank)); };
    const Stretch mine = part(steps.me());
    each_other(steps, [&](int32_t peer) { steps.send(0, peer, part(peer)); });
    steps.reduce_many(0, steps.me(), mine.first, mine, mine);
    each_other(steps, [&](int32_t peer) { steps.send(1, peer, mine); });
    each_other(steps, [&](int32_t peer) { steps.receive(1, peer, peer, part(peer)); });
}

void direct_reduce_scatter(Steps& steps) {
    steps.rounds(1);
    each_other(steps, [&](int32_t peer) { steps.send(0, peer, steps.input().part(steps.in_part(peer))); });
    const Part mine = steps.in_part(steps.me());
    steps.reduce_many(0, steps.me(), mine.first, steps.output().part(0, mine.elements),
                      steps.input().part(mine));
}

void direct_all_gather(Steps& steps) {
    steps.rounds(1);
    const auto part = [&](int32_t rank) { return steps.output().part(steps.out_part(rank)); };
    each_other(steps, [&](int32_t peer) { steps.send(0, peer, part(steps.me())); });
    each_other(steps, [&](int32_t peer) { steps.receive(0, peer, peer, part(peer)); });
}

void direct_all_to_all(Steps& steps) {
    steps.rounds(1);
    each_other(steps, [&](int32_t peer) {
        const Part leaving = steps.in_part(peer);
        if (leaving.elements == 0)
            steps.send_nothing(0, peer);
        else
            steps.send(0, peer, steps.input().part(leaving));
    });
    each_other(steps, [&](int32_t peer) {
        const Part coming = steps.out_part(peer);
        if (coming.elements == 0)  // a permute has one part that is not empty
            steps.receive_nothing(0, peer);
        else
            steps.receive(0, peer, peer, steps.output().part(coming));
    });
}

void direct_broadcast(Steps& steps) {
    steps.rounds(1);
    if (steps.me() != steps.root()) return steps.receive(0, steps.root(), 0, steps.output());
    each_other(steps, [&](int32_t peer) { steps.send(0, peer, steps.output()); });
}

void direct_reduce(Steps& steps) {
    steps.rounds(1);
    if (steps.me() != steps.root()) return steps.send(0, steps.root(), steps.input());
    steps.reduce_many(0, 0, 0, steps.output(), steps.input());
}

void direct_gather(Steps& steps) {
    steps.rounds(1);
    const auto part = [&](int32_t rank) { return steps.out_part(rank); };
    if (steps.me() != steps.root())
        return steps.send(0, steps.root(), steps.input().part(0, part(steps.me()).elements));
    each_other(steps, [&](int32_t peer) { steps.receive(0, peer, peer, steps.output().part(part(peer))); });
}

void direct_scatter(Steps& steps) {
    steps.rounds(1);
    const auto part = [&](int32_t rank) { return steps.in_part(rank); };
    if (steps.me() != steps.root())
        return steps.receive(0, steps.root(), steps.me(), steps.output().part(0, part(steps.me()).elements));
    each_other(steps, [&](int32_t peer) { steps.send(0, peer, steps.input().part(part(peer))); });
}

void direct_send(Steps& steps) {
    steps.rounds(1);
    steps.send(0, steps.root(), steps.input());
}

void direct_recv(Steps& steps) {
    steps.rounds(1);
    steps.receive(0, steps.root(), 0, steps.output());
}

void direct_barrier(Steps& steps) {
    steps.rounds(1);
    const Stretch nothing{Stretch::kOutput, 0, 0};
    each_other(steps, [&](int32_t peer) { steps.send(0, peer, nothing); });
    each_other(steps, [&](int32_t peer) { steps.receive(0, peer, 0, nothing); });
}

}  // namespace

AlgorithmCard direct() {
    return {Algorithm::direct,
            {{CollectiveOp::all_reduce, direct_all_reduce},
             {CollectiveOp::reduce_scatter, direct_reduce_scatter},
             {CollectiveOp::all_gather, direct_all_gather},
             {CollectiveOp::all_to_all, direct_all_to_all},
             {CollectiveOp::broadcast, direct_broadcast},
             {CollectiveOp::reduce, direct_reduce},
             {CollectiveOp::gather, direct_gather},
             {CollectiveOp::scatter, direct_scatter},
             {CollectiveOp::send, direct_send},
             {CollectiveOp::recv, direct_recv},
             {CollectiveOp::barrier, direct_barrier}},
            {}};
}

}  // namespace meshscope::comm::cards
