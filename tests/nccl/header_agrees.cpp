// The tests' declarations of NCCL against the real header. Compiled only; where the two disagree it does not
// compile.
#include <nccl.h>

#include <cstddef>

#undef NCCL_VERSION_CODE
#undef NCCL_UNIQUE_ID_BYTES
#undef NCCL_CONFIG_UNDEF_INT
#undef NCCL_SPLIT_NOCOLOR
#undef NCCL_CONFIG_INITIALIZER
namespace ours {
#define MESHSCOPE_TYPES_ONLY
#include "tests/nccl/fake_nccl/nccl.h"
}  // namespace ours

#define SAME(name) static_assert(static_cast<int>(::name) == static_cast<int>(ours::name))
SAME(ncclSuccess);
SAME(ncclUnhandledCudaError);
SAME(ncclSystemError);
SAME(ncclInternalError);
SAME(ncclInvalidArgument);
SAME(ncclInvalidUsage);
SAME(ncclRemoteError);
SAME(ncclInProgress);
SAME(ncclSum);
SAME(ncclProd);
SAME(ncclMax);
SAME(ncclMin);
SAME(ncclAvg);
SAME(ncclNumOps);
SAME(ncclMaxRedOp);
SAME(ncclUint8);
SAME(ncclInt32);
SAME(ncclInt64);
SAME(ncclFloat16);
SAME(ncclFloat32);
SAME(ncclBfloat16);
SAME(ncclScalarHostImmediate);

// NCCL lets its configuration grow at the end, and reads its size and version: what a caller of another
// version knows of it must lie where it lay.
#define SAME_PLACE(member) \
    static_assert(offsetof(::ncclConfig_t, member) == offsetof(ours::ncclConfig_t, member))
SAME_PLACE(size);
SAME_PLACE(magic);
SAME_PLACE(version);
SAME_PLACE(blocking);
SAME_PLACE(splitShare);
static_assert(sizeof(::ncclUniqueId) == sizeof(ours::ncclUniqueId));
static_assert(sizeof(::ncclRedOp_t) == sizeof(ours::ncclRedOp_t));
static_assert(sizeof(::ncclDataType_t) == sizeof(ours::ncclDataType_t));
