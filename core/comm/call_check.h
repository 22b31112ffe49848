#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/comm/call_info.h"
#include "core/comm/parts.h"
#include "core/comm/process_group.h"

namespace meshscope::comm {

/// A call that was found to be in order, in plain pointers and counts. Pointers are null where a rank gives
/// or gets nothing; the tensors behind them are kept alive by the caller.
struct CheckedCall : CallInfo {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::vector<Part> in_parts;   ///< by group rank; scatter, reduce_scatter, all_to_all
    std::vector<Part> out_parts;  ///< by group rank; gather, all_gather, all_to_all
    bool counts_named = false;    ///< the parts come from counts that the caller gave
    bool waits = false;           ///< not CallOptions::async_op: a send ends when it was received
};

/// Elements of the call's full buffer, as CostQuery::elements counts them.
int64_t full_elements(const CheckedCall& call);

/// Fills in `checked`, which is empty: of CallInfo what the call says itself (op, reduce op, dtype, peer,
/// elements, factor, stream and source).
/// Checks what one rank can check alone, before anything is recorded or sent; what only the others can know
/// (their counts) shows as "comm.size_mismatch" when the collective runs.
///
/// Throws InvalidArgument:
///  - "comm.tensor_missing": input or output is undefined where this op and rank needs it
///  - "comm.dtypes_differ": input and output
///  - "comm.wrong_elements": a tensor has another number of elements than the op and its counts ask for
///  - "comm.wrong_counts": counts are negative, or not one a rank
///  - "comm.peer_outside_group": root or other side
///  - "comm.peer_is_self": send to or recv from oneself
///  - "comm.overlap": input and output share memory otherwise than the op allows: the same buffer
///    where both have the same size; for all_gather the input may be the output's own part, for
///    reduce_scatter the output the input's
///  - as check_reduce_op
void check_call(const CollectiveCall& call, int32_t group_rank, int32_t group_size, CheckedCall& checked);

}  // namespace meshscope::comm
