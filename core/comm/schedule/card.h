#pragma once

#include <span>
#include <vector>

#include "core/base/kinds.h"
#include "core/comm/schedule/steps.h"

namespace meshscope::comm {

/// An algorithm: what it says for each op that it has. One file in cards/ makes one; its head comment tells the
/// steps, the bytes a rank, the order of reduction and the source.
struct AlgorithmCard {
    /// The steps of one rank, which say() whatever the rank does in order.
    using Says = void (*)(Steps& steps);

    struct Op {
        CollectiveOp op;
        Says says;
        bool powers_of_two = false;  ///< for no other number of ranks
        bool even_parts = false;     ///< not where the call names counts
    };
    /// Whom to ask where the card has not the op (or not for these ranks), the first that has it.
    struct Instead {
        CollectiveOp op;
        Algorithm algorithm;
    };
    Algorithm algorithm;
    std::vector<Op> ops;
    std::vector<Instead> instead;
};

/// All of them, in the enum's order.
std::span<const AlgorithmCard> algorithm_cards();

/// The card of an algorithm that is in the list; null for `none` and `automatic`.
const AlgorithmCard* card_of(Algorithm algorithm);

/// What it says for an op, or null.
const AlgorithmCard::Op* op_of(Algorithm algorithm, CollectiveOp op);

/// Says the steps of one rank by `algorithm` to `sink`, and gives the number of rounds of the whole collective.
/// p = query.ranks ≥ 2. Of an algorithm that has not the op (a library's own, which does not tell how it moves its
/// bytes, for who asks what it would cost), the op's usual one speaks. Cost: O(steps of the rank), and no memory
/// that grows faster.
int32_t say_steps(Algorithm algorithm, const ScheduleQuery& query, const StepSink& sink);

}  // namespace meshscope::comm
