#pragma once

#include "core/base/pack.h"
#include "core/trace/recorder.h"

namespace meshscope::trace {

/// Lays one rank's record down, so that a rank in a process of its own can hand it to the one that merges.
/// Cost: one copy of it.
void pack(Packer& packer, const RankRecord& record);

/// The record again, bit for bit. Throws InvalidArgument ("pack.damaged"). That its indices and enumerators
/// fit is merge()'s to find out, as for any record.
RankRecord unpack_record(Unpacker& unpacker);

}  // namespace meshscope::trace
