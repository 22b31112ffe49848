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
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void direct_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n) {
    if (wire.me() == root) {
        for (int32_t i = 1; i < wire.size(); ++i) wire.post(wire.of(root + i), data, n);
        wire.wait_all();
    } else {
        direct_recv(wire, root, data, n);
    }
}

void direct_reduce(Wire& wire, ReduceOp op, int32_t root, std::byte* out, const std::byte* in, int64_t n) {
    if (wire.me() != root) {
        wire.post(root, in, n);
        wire.wait_all();
        return;
    }
    wire.reduce_from_all(op, {0, 0, 0, n, true}, out, in);
}

void direct_gather(Wire& wire, int32_t root, std::byte* out, const std::byte* in,
                   std::span<const Part> parts) {
    if (wire.me() != root) {
        wire.post(root, in, parts[static_cast<std::size_t>(wire.me())].elements);
        wire.wait_all();
        return;
    }
    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(root + i);
        const Part theirs = parts[static_cast<std::size_t>(peer)];
        wire.receive_copy(peer, {0, peer, theirs.first, theirs.elements, false},
                          out + wire.bytes(theirs.first));
    }
}

void direct_scatter(Wire& wire, int32_t root, std::byte* out, const std::byte* in,
                    std::span<const Part> parts) {
    if (wire.me() != root) {
        const int64_t n = parts[static_cast<std::size_t>(wire.me())].elements;
        wire.receive_copy(root, {0, wire.me(), 0, n, false}, out);
        return;
    }
    for (int32_t i = 1; i < wire.size(); ++i) {
        const int32_t peer = wire.of(root + i);
        const Part theirs = parts[static_cast<std::size_t>(peer)];
        wire.post(peer, in + wire.bytes(theirs.first), theirs.elements);
    }
    wire.wait_all();
}

void direct_recv(Wire& wire, int32_t from, std::byte* out, int64_t n) {
    wire.receive_copy(from, {0, 0, 0, n, false}, out);
}

}  // namespace meshscope::comm
