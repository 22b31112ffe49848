#include "core/comm/schedule/card.h"

#include <algorithm>

#include "core/comm/choice.h"
#include "core/comm/schedule/own/own_algorithm.h"

namespace meshscope::comm {
namespace cards {

// One a file in cards/.
#define MESHSCOPE_ALGORITHM(word) AlgorithmCard word();
#include "core/base/algorithms.def"
#undef MESHSCOPE_ALGORITHM

}  // namespace cards

std::span<const AlgorithmCard> algorithm_cards() {
    static const std::vector<AlgorithmCard> all{
#define MESHSCOPE_ALGORITHM(word) cards::word(),
#include "core/base/algorithms.def"
#undef MESHSCOPE_ALGORITHM
    };
    return all;
}

const AlgorithmCard* card_of(Algorithm algorithm) {
    const auto all = algorithm_cards();
    const auto found = std::ranges::find(all, algorithm, &AlgorithmCard::algorithm);
    return found == all.end() ? nullptr : &*found;
}

const AlgorithmCard::Op* op_of(Algorithm algorithm, CollectiveOp op) {
    const AlgorithmCard* const card = card_of(algorithm);
    if (card == nullptr) return nullptr;
    const auto found = std::ranges::find(card->ops, op, &AlgorithmCard::Op::op);
    return found == card->ops.end() ? nullptr : &*found;
}

int32_t say_steps(Algorithm algorithm, const ScheduleQuery& query, const StepSink& sink) {
    if (algorithm == Algorithm::own && query.own != nullptr) return query.own->say(query, sink);
    const AlgorithmCard::Op* op = op_of(algorithm, query.op);
    if (op == nullptr) op = op_of(usual_algorithm(query.op), query.op);
    Steps steps(query, sink);
    op->says(steps);
    return steps.rounds();
}

}  // namespace meshscope::comm
