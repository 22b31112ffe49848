// Barriers: messages of 0 bytes, recorded as hops like any other.
//
// tree: a binomial gather to rank 0 (rounds 0 … L-1, as tree_reduce), then a binomial broadcast from it
// (rounds L … 2L-1), L = ceil(log2 p). 2(p-1) hops in all. direct: every rank sends to every other and waits
// for all, round 0. p(p-1) hops in all.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {
namespace {

void await(Wire& wire, int32_t from, int32_t round) {
    wire.receive(from, {round, 0, 0, 0, false}, [](const std::byte*) {});
}

}  // namespace

void tree_barrier(Wire& wire) {
    const int32_t r = wire.me();
    const int32_t p = wire.size();
    int32_t round = 0;
    for (int32_t bit = 1; bit < p; bit *= 2, ++round) {
        // Below its lowest set bit a rank gathers; at that bit it reports, and takes no more part in
        // gathering.
        if (r % bit != 0) continue;
        if ((r & bit) != 0)
            wire.post(r - bit, nullptr, 0);
        else if (r + bit < p)
            await(wire, r + bit, round);
    }
    for (int32_t bit = 1; bit < p; bit *= 2, ++round) {
        if (r < bit && r + bit < p)
            wire.post(r + bit, nullptr, 0);
        else if (r >= bit && r < 2 * bit)
            await(wire, r - bit, round);
    }
    wire.wait_all();
}

void direct_barrier(Wire& wire) {
    for (int32_t i = 1; i < wire.size(); ++i) wire.post(wire.of(wire.me() + i), nullptr, 0);
    for (int32_t i = 1; i < wire.size(); ++i) await(wire, wire.of(wire.me() + i), 0);
    wire.wait_all();
}

}  // namespace meshscope::comm
