#pragma once

#include <stdint.h>

// What the NCCL module offers: plain C, so that the program and the module share no types, and no exception
// crosses. The module is built where nccl.h and a CUDA toolkit are; it links no NCCL, but loads the one it is
// told (another version than it was built with, or a stand-in for tests). Every function that returns an int
// returns 0, or NCCL's ncclResult_t, for which result_word has the name.
//
// Communicators never block: a call only begins something, and state() tells when it has begun for good (7,
// ncclInProgress, until then). A communicator is used by one thread at a time.

#ifdef __cplusplus
extern "C" {
#endif

enum { MESHSCOPE_NCCL_ABI = 1, MESHSCOPE_NCCL_ID_BYTES = 128 };
enum { MESHSCOPE_NCCL_SUCCESS = 0, MESHSCOPE_NCCL_IN_PROGRESS = 7 };

/// A loaded libnccl.so.2; a communicator; a buffer that one knows of.
typedef struct MeshscopeNcclLibrary MeshscopeNcclLibrary;
typedef struct MeshscopeNcclComm MeshscopeNcclComm;
typedef struct MeshscopeNcclBuffer MeshscopeNcclBuffer;

typedef struct {
    unsigned char bytes[MESHSCOPE_NCCL_ID_BYTES];
} MeshscopeNcclId;

enum MeshscopeNcclKind {
    MESHSCOPE_NCCL_FLOAT32,
    MESHSCOPE_NCCL_BFLOAT16,
    MESHSCOPE_NCCL_FLOAT16,
    MESHSCOPE_NCCL_INT32,
    MESHSCOPE_NCCL_INT64,
    MESHSCOPE_NCCL_UINT8
};
enum MeshscopeNcclReduction {
    MESHSCOPE_NCCL_SUM,
    MESHSCOPE_NCCL_PRODUCT,
    MESHSCOPE_NCCL_MAX,
    MESHSCOPE_NCCL_MIN,
    MESHSCOPE_NCCL_AVG,
    MESHSCOPE_NCCL_PREMUL_SUM
};
enum MeshscopeNcclOp {
    MESHSCOPE_NCCL_ALL_REDUCE,
    MESHSCOPE_NCCL_REDUCE,
    MESHSCOPE_NCCL_BROADCAST,
    MESHSCOPE_NCCL_ALL_GATHER,
    MESHSCOPE_NCCL_REDUCE_SCATTER,
    MESHSCOPE_NCCL_SEND,
    MESHSCOPE_NCCL_RECV
};

/// One call of a group of calls (ncclGroupStart … ncclGroupEnd).
typedef struct {
    int32_t op, kind, reduction;
    int32_t peer; /* root, or the other side of send and recv */
    const void* in;
    void* out;
    int64_t elements; /* as NCCL counts: all_gather's are those sent, reduce_scatter's those received */
    unsigned char scalar[8]; /* premul_sum's factor, in the kind of the numbers */
} MeshscopeNcclCall;

typedef struct {
    int32_t abi;
    int32_t built_with; /* NCCL_VERSION_CODE of the header: 22809 is 2.28.9 */

    /// Loads a library by path, or by a name that the system finds (libnccl.so.2). On failure returns -1
    /// and says in `why` what dlopen or dlsym said. A library stays loaded until the process ends.
    int (*open)(const char* path, MeshscopeNcclLibrary** library, char* why, int32_t size);
    int (*version)(MeshscopeNcclLibrary* library, int32_t* version);
    /// The file that was really loaded.
    void (*file)(MeshscopeNcclLibrary* library, char* text, int32_t size);
    /// 1: a stand-in that works on host memory with threads, and says so itself; streams mean nothing to it.
    int32_t (*on_host)(MeshscopeNcclLibrary* library);
    /// "ncclSystemError"; "" for a code that the module does not know.
    const char* (*result_word)(int code);
    /// What the library says of the last error of any communicator, on one line; "" for nothing.
    void (*last_error)(MeshscopeNcclLibrary* library, char* text, int32_t size);

    int (*unique_id)(MeshscopeNcclLibrary* library, MeshscopeNcclId* id);
    /// A stream of NCCL's own on a CUDA device (-1: none, on the host; then null).
    int (*stream_make)(int32_t device, void** stream);
    int (*stream_free)(int32_t device, void* stream);
    /// *done = 1: all that was begun on it has ended. A CUDA error is told as ncclUnhandledCudaError.
    int (*stream_query)(int32_t device, void* stream, int32_t* done);

    /// ncclCommInitRankConfig, non-blocking, on CUDA device `device` (-1: none). `*comm` may be written until
    /// its state is 0.
    int (*init)(MeshscopeNcclLibrary* library, const MeshscopeNcclId* id, int32_t n, int32_t rank,
                int32_t device, MeshscopeNcclComm** comm);
    /// ncclCommSplit, non-blocking: every rank of `comm` calls it; those with the same color (≥ 0) become a
    /// communicator, ordered by key; color -1 takes no part and gets none. `*made` may be written until the
    /// state of `comm` is 0 again.
    int (*split)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm, int32_t color, int32_t key,
                 int32_t device, MeshscopeNcclComm** made);
    /// ncclCommGetAsyncError: 0, 7 while something is being begun, or why the communicator is broken.
    int (*state)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm, int32_t* result);
    /// Begins `n` calls as one group on `stream` (a cudaStream_t).
    int (*run)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm, const MeshscopeNcclCall* calls,
               int32_t n, void* stream);
    /// ncclCommFinalize; done when state() is 0. Then destroy.
    int (*finalize)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm);
    int (*destroy)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm);
    /// Ends what is under way, wherever it hangs, and frees the communicator.
    int (*abort)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm);
    /// ncclCommRegister: memory that will be sent from again and again. Success without a buffer (null) where
    /// the library has no registration.
    int (*enter_buffer)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm, void* memory, int64_t bytes,
                        MeshscopeNcclBuffer** buffer);
    int (*leave_buffer)(MeshscopeNcclLibrary* library, MeshscopeNcclComm* comm, MeshscopeNcclBuffer* buffer);
} MeshscopeNccl;

/// The one exported function of the module.
const MeshscopeNccl* meshscope_nccl_module(void);

#ifdef __cplusplus
}
#endif
