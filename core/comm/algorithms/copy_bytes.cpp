#include <cstring>

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {

Algorithm choose_algorithm(CollectiveOp op, Algorithm wanted, int32_t group_size) {
    if (group_size == 1) return Algorithm::none;
    const bool direct = wanted == Algorithm::direct || wanted == Algorithm::star;
    switch (op) {
        case CollectiveOp::all_reduce:
            return wanted == Algorithm::none ? Algorithm::ring : wanted;
        case CollectiveOp::all_gather:
        case CollectiveOp::reduce_scatter:
            return direct ? Algorithm::direct : Algorithm::ring;
        case CollectiveOp::broadcast:
        case CollectiveOp::reduce:
        case CollectiveOp::barrier:
            return direct ? Algorithm::direct : Algorithm::tree;
        case CollectiveOp::gather:
        case CollectiveOp::scatter:
        case CollectiveOp::all_to_all:
        case CollectiveOp::send:
        case CollectiveOp::recv:
            break;
    }
    return Algorithm::direct;
}

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace meshscope::comm
