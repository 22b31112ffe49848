#pragma once

#include <cstdint>

#include "core/comm/issued_call.h"
#include "core/comm/process_group.h"

namespace meshscope::comm {

/// Elements of the call's full buffer, as CostQuery::elements counts them.
int64_t full_elements(const IssuedCall& call);

/// What the call says itself (op, reduce op, dtype, peer, elements, buffers, factor, stream, source, waits).
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
IssuedCall check_call(const CollectiveCall& call, int32_t group_rank, int32_t group_size);

}  // namespace meshscope::comm
