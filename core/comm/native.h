#pragma once

#include "core/base/kinds.h"
#include "core/comm/call_check.h"

namespace meshscope::comm {

/// One rank's side of a group whose collectives a backend's own library runs (NativeLibrary). Runs on the
/// thread that the transport is used by. Members of a group make the same calls in the same order.
class NativeCollectives {
  public:
    virtual ~NativeCollectives() = default;
    /// From now on run() ends at once when a peer fails or does not come, as a receive does, and the
    /// library can be used on, whatever that costs. All members say so, before their first call. The default
    /// has nothing to choose.
    virtual void watch_peers() {}
    /// Whether the library can reduce so. Calls that reduce nothing can always be run.
    virtual bool reduces(ReduceOp op, DType dtype) const = 0;
    /// Runs one collective and returns when this rank's part of it is over: every op but send and recv, and
    /// those too where the library runs_everything(). The order of a sum is the library's, so its last bits
    /// may differ from our algorithms'. Throws what a Transport throws.
    virtual void run(const IssuedCall& call) = 0;
};

}  // namespace meshscope::comm
