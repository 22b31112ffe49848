#include "core/comm/choice.h"

#include <algorithm>

#include "core/comm/schedule/card.h"

namespace meshscope::comm {
namespace {

using A = Algorithm;

bool can_run(const AlgorithmCard::Op& op, int32_t p, bool counts_named) {
    return !(op.powers_of_two && (p & (p - 1)) != 0) && !(op.even_parts && counts_named);
}

/// `wanted` where it has the op; else whom its card names instead; else the op's usual one.
A named(CollectiveOp op, A wanted, int32_t p, bool counts_named) {
    const auto has = [&](A algorithm) {
        const AlgorithmCard::Op* const found = op_of(algorithm, op);
        return found != nullptr && can_run(*found, p, counts_named);
    };
    if (has(wanted)) return wanted;
    if (const AlgorithmCard* const card = card_of(wanted))
        for (const AlgorithmCard::Instead& instead : card->instead)
            if (instead.op == op && has(instead.algorithm)) return instead.algorithm;
    return usual_algorithm(op);
}

}  // namespace

Algorithm choose_algorithm(CollectiveOp op, Algorithm wanted, int32_t group_size, const CallShape& shape) {
    if (group_size == 1) return A::none;
    if (wanted == A::automatic) {
        if (op == CollectiveOp::all_to_all && shape.counts_named)
            wanted = shape.shares_memory ? A::direct : A::pairwise;
        else
            wanted = ChoiceTable::measured().choose(op, shape.shares_memory, group_size, shape.bytes);
    }
    return named(op, wanted, group_size, shape.counts_named);
}

Algorithm usual_algorithm(CollectiveOp op) {
    switch (op) {
        case CollectiveOp::all_reduce:
        case CollectiveOp::all_gather:
        case CollectiveOp::reduce_scatter:
            return A::ring;
        case CollectiveOp::broadcast:
        case CollectiveOp::reduce:
        case CollectiveOp::barrier:
            return A::tree;
        default:
            return A::direct;
    }
}

std::vector<Algorithm> algorithms_of(CollectiveOp op) {
    std::vector<Algorithm> found;
    for (const AlgorithmCard& card : algorithm_cards())
        if (op_of(card.algorithm, op) != nullptr) found.push_back(card.algorithm);
    std::ranges::sort(found);
    return found;
}

}  // namespace meshscope::comm
