#include "core/comm/choice.h"

#include <algorithm>

namespace meshscope::comm {
namespace {

using A = Algorithm;

bool is_power_of_two(int32_t p) {
    return (p & (p - 1)) == 0;
}

A all_reduce_for(A wanted) {
    switch (wanted) {
        case A::direct:
        case A::tree:
        case A::star:
        case A::recursive_doubling:
        case A::halving_doubling:
        case A::double_tree:
        case A::two_level:
            return wanted;
        case A::recursive_halving:
        case A::scatter_all_gather:
            return A::halving_doubling;
        case A::bruck:
            return A::recursive_doubling;
        default:
            return A::ring;
    }
}

bool pairs_by_bits(A wanted) {
    return wanted == A::recursive_doubling || wanted == A::halving_doubling || wanted == A::recursive_halving;
}

A all_gather_for(A wanted, int32_t p) {
    if (wanted == A::direct || wanted == A::star) return A::direct;
    if (pairs_by_bits(wanted)) return is_power_of_two(p) ? A::recursive_doubling : A::bruck;
    return wanted == A::bruck ? A::bruck : A::ring;
}

A reduce_scatter_for(A wanted) {
    if (wanted == A::direct || wanted == A::star) return A::direct;
    return pairs_by_bits(wanted) || wanted == A::bruck ? A::recursive_halving : A::ring;
}

A all_to_all_for(A wanted, bool counts_named) {
    if (wanted == A::bruck) return counts_named ? A::pairwise : A::bruck;
    return wanted == A::pairwise ? A::pairwise : A::direct;
}

A named(CollectiveOp op, A wanted, int32_t p, bool counts_named) {
    const A rooted = wanted == A::direct || wanted == A::star ? A::direct : A::tree;
    switch (op) {
        case CollectiveOp::all_reduce:
            return all_reduce_for(wanted);
        case CollectiveOp::all_gather:
            return all_gather_for(wanted, p);
        case CollectiveOp::reduce_scatter:
            return reduce_scatter_for(wanted);
        case CollectiveOp::broadcast:
            return wanted == A::ring_pipeline || wanted == A::scatter_all_gather ? wanted : rooted;
        case CollectiveOp::reduce:
        case CollectiveOp::barrier:
            return rooted;
        case CollectiveOp::all_to_all:
            return all_to_all_for(wanted, counts_named);
        case CollectiveOp::gather:
        case CollectiveOp::scatter:
        case CollectiveOp::send:
        case CollectiveOp::recv:
            break;
    }
    return A::direct;
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

std::vector<Algorithm> algorithms_of(CollectiveOp op) {
    std::vector<Algorithm> found;
    for (int i = 1; i < kAlgorithms; ++i) {
        const auto wanted = static_cast<Algorithm>(i);
        if (wanted == A::automatic) continue;
        for (const int32_t p : {4, 3})
            if (named(op, wanted, p, false) == wanted && (found.empty() || found.back() != wanted))
                found.push_back(wanted);
    }
    return found;
}

}  // namespace meshscope::comm
