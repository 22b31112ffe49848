// Recursive doubling all-gather: pairs of ranks exchange all the parts they have, at twice the distance each
// time. For p a power of two; choose_algorithm gives Bruck's where p is another number.
//
//   round k, d = 2^k: rank r has the d parts from r/d·d on, exchanges them with rank r xor d, and has 2d
//
// One message carries d parts, which lie side by side: the hop names the first, and its range holds all.
// Steps lg p. Bytes a rank sends: the parts it has each time; n(p-1)/p for n elements in even parts. Cost
// lg p·α + n(p-1)/p·β: the ring's bytes in the fewest steps. Reduces nothing. Source: Thakur, Rabenseifner,
// Gropp 2005, section 4.1.
#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

void recursive_doubling_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts) {
    int32_t round = 0;
    for (int32_t d = 1; d < wire.size(); d *= 2, ++round) {
        const int32_t partner = wire.me() ^ d;
        const int32_t owned = wire.me() / d * d, missing = owned ^ d;
        const Part leaving = run_of_parts(parts, owned, d), coming = run_of_parts(parts, missing, d);
        wire.post(partner, out + wire.bytes(leaving.first), leaving.elements);
        wire.receive_copy(partner, {round, missing, coming.first, coming.elements, false},
                          out + wire.bytes(coming.first));
    }
    wire.wait_all();
}

}  // namespace meshscope::comm
