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
#include "core/base/direct_all_reduce.h"
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {
namespace {

void one_round(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    std::byte* const result = wire.scratch(n);
    for (int32_t i = 1; i < wire.size(); ++i) wire.post(wire.of(wire.me() + i), data, n);
    wire.reduce_from_all(op, {0, 0, 0, n, true}, result, data);
    wire.wait_all();
    wire.copy(data, result, wire.bytes(n));
}

void two_rounds(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    const std::vector<Part> parts = chunk_parts(n, wire.size());
    const auto part = [&](int32_t chunk) { return parts[static_cast<std::size_t>(chunk)]; };
    const auto at = [&](const Part& piece) { return data + wire.bytes(piece.first); };
    const Part mine = part(wire.me());

    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(wire.me() + i);
        wire.post(peer, at(part(peer)), part(peer).elements);
    }
    wire.reduce_from_all(op, {0, wire.me(), mine.first, mine.elements, true}, at(mine), at(mine));
    for (int32_t i = 1; i < wire.size(); ++i) wire.post(wire.of(wire.me() + i), at(mine), mine.elements);
    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(wire.me() + i);
        const Part theirs = part(peer);
        wire.receive_copy(peer, {1, peer, theirs.first, theirs.elements, false}, at(theirs));
    }
    wire.wait_all();
}

}  // namespace

void direct_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n) {
    if (wire.bytes(n) <= direct_one_round_bytes(wire.size())) return one_round(wire, op, data, n);
    two_rounds(wire, op, data, n);
}

}  // namespace meshscope::comm
