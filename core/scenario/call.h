#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/kinds.h"

namespace meshscope::scenario {

/// What a rank's buffer holds before a plain call.
enum class CallFill : uint8_t {
    arange,  ///< arange(elements) + elements · rank: the ranks' elements counted through from 0
    rank,    ///< the rank's own number in every element
    ones,
    values  ///< Call::values
};

/// One [[call]] of a scenario that trains nothing: what some ranks do, in the order of the file. Checked when
/// it is read, so that no rank can find it impossible.
struct Call {
    enum class Kind : uint8_t {
        collective,  ///< every member of a group calls `op`
        message,     ///< `src` sends, `dst` receives: both of them, or one half alone
        work         ///< a rank works by itself
    };
    Kind kind = Kind::collective;
    std::string label;  ///< the unit in the record

    std::string mesh_dim;  ///< the groups of this dim; "": not by a dim
    std::vector<int32_t>
        group_ranks;             ///< the group's members, ascending; with neither: all ranks of the mesh
    std::vector<int32_t> ranks;  ///< who makes the call, ascending; empty: every member

    CollectiveOp op = CollectiveOp::barrier;  ///< of a collective
    ReduceOp reduce_op = ReduceOp::none;
    double factor = 1.0;  ///< premul_sum's
    int32_t root = 0;     ///< as group rank

    int32_t src = 0, dst = 0;  ///< of a message, as group ranks
    bool sends = true, receives = true;
    bool eager = false;  ///< the send ends when its numbers were copied, not when they were received

    DType dtype = DType::float32;
    int64_t elements = 0;  ///< of what a rank puts in (of a scatter: of what its root puts in)
    CallFill fill = CallFill::arange;
    double offset = 0.0;                      ///< added to each element of a fill
    std::vector<std::vector<double>> values;  ///< a row for each rank of the mesh

    std::string work;   ///< what it is called in the record
    int64_t bytes = 0;  ///< that it goes through
};

}  // namespace meshscope::scenario
