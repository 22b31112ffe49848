// Pairwise all-to-all: p-1 rounds, in each of which every rank sends to one and receives from one.
//
//   round s-1, s = 1 … p-1: rank r sends its part r+s to rank r+s, and receives from r-s what that has
//                           for it; both are over before the next round begins
//
// An empty part is no hop. Steps p-1. Bytes a rank sends: all input parts but its own; n(p-1)/p for n
// elements in even parts. Cost (p-1)(α + n/p·β): as the direct one, but with one message a rank on its way at
// any time, so that links and buffers of a network are never asked for more. Reduces nothing. Source: Thakur,
// Rabenseifner, Gropp 2005, section 4.4 (pairwise exchange of long messages).
#include "core/comm/schedule/card.h"

namespace meshscope::comm::cards {
namespace {

void pairwise_all_to_all(Steps& steps) {
    steps.rounds(steps.p() - 1);
    for (int32_t s = 1; s < steps.p(); ++s) {
        const int32_t to = steps.of(steps.me() + s), from = steps.of(steps.me() - s);
        const Part leaving = steps.in_part(to), coming = steps.out_part(from);
        if (leaving.elements == 0)
            steps.send_nothing(s - 1, to);
        else
            steps.send(s - 1, to, steps.input().part(leaving));
        if (coming.elements == 0)
            steps.receive_nothing(s - 1, from);
        else
            steps.receive(s - 1, from, from, steps.output().part(coming));
        steps.wait_for_sends();
    }
}

}  // namespace

AlgorithmCard pairwise() {
    return {Algorithm::pairwise, {{CollectiveOp::all_to_all, pairwise_all_to_all}}, {}};
}

}  // namespace meshscope::comm::cards
