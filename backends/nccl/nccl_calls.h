#pragma once

#include <cstdint>
#include <vector>

#include "backends/nccl/nccl_module.h"
#include "core/comm/call_check.h"

namespace meshscope::backends::nccl {

/// One of NCCL's calls with the numbers' type filled in.
MeshscopeNcclCall make_call(MeshscopeNcclOp op, DType dtype, int64_t elements);

/// Whether NCCL has this reduction: all but band, bor and bxor (PyTorch refuses those with NCCL too).
bool has_reduction(ReduceOp op);

/// NCCL's calls for one collective of ours, to be run as one group; none where nothing moves (no elements),
/// which all members know alike. NCCL has all_reduce, reduce, broadcast, and all_gather and reduce_scatter of
/// even parts. The rest is made of them as PyTorch's ProcessGroupNCCL does it: uneven all_gather of
/// broadcasts, uneven reduce_scatter of reduces, gather, scatter and all_to_all of sends and recvs, barrier
/// of an all_reduce of one number, for which `scratch` has 4 bytes. send and recv are not made here.
std::vector<MeshscopeNcclCall> calls_for(const comm::IssuedCall& call, int32_t me, int32_t size,
                                         std::byte* scratch);

}  // namespace meshscope::backends::nccl
