#pragma once

#include <stdint.h>

// What an MPI module offers: plain C, so that the program and a module that was built against another library
// share no types, and no exception crosses. The module is one source, built once for each MPI library there
// is; it holds the only MPI calls of the program. Every function returns 0, or MPI's error code, for which
// error_text has words.
//
// One thread at a time (MPI_THREAD_SERIALIZED), or one in all (see start). Nothing here waits: whoever calls
// decides how.

#ifdef __cplusplus
extern "C" {
#endif

enum { MESHSCOPE_MPI_ABI = 4 };
enum { MESHSCOPE_MPI_ANY = -1 };

/// A request or a communicator, as the library writes it down.
typedef struct {
    uint64_t bits;
} MeshscopeMpiHandle;

/// What MPI says of the job.
typedef struct {
    int32_t rank, size;
    int32_t ranks_here; /* on this machine */
    int32_t most_tag;
    int32_t one_thread; /* 1: MPI was started for the calling thread alone (MPI_THREAD_SINGLE) */
} MeshscopeMpiJob;

/// A message that has come and was not yet taken.
typedef struct {
    int32_t src, tag;
    int64_t bytes;
} MeshscopeMpiMessage;

enum MeshscopeMpiKind {
    MESHSCOPE_MPI_BYTE,
    MESHSCOPE_MPI_FLOAT,
    MESHSCOPE_MPI_INT32,
    MESHSCOPE_MPI_INT64,
    MESHSCOPE_MPI_UINT8
};
enum MeshscopeMpiReduction {
    MESHSCOPE_SUM,
    MESHSCOPE_PRODUCT,
    MESHSCOPE_MIN,
    MESHSCOPE_MAX,
    MESHSCOPE_BAND,
    MESHSCOPE_BOR,
    MESHSCOPE_BXOR
};
enum MeshscopeMpiOp {
    MESHSCOPE_ALL_REDUCE,
    MESHSCOPE_REDUCE,
    MESHSCOPE_BROADCAST,
    MESHSCOPE_ALL_GATHER,
    MESHSCOPE_REDUCE_SCATTER,
    MESHSCOPE_GATHER,
    MESHSCOPE_SCATTER,
    MESHSCOPE_ALL_TO_ALL,
    MESHSCOPE_BARRIER
};

/// One of MPI's own collectives. Counts and first elements are by rank; null: even parts of `elements` each.
typedef struct {
    int32_t op, kind, reduction, root;
    int32_t
        in_place; /* what this rank gives lies in `out` already; scatter's root: what it gets stays in `in` */
    const void* in;
    void* out;
    int64_t elements; /* all_reduce, reduce, broadcast: of the buffer; else of this rank's part */
    const int32_t *in_counts, *in_firsts, *out_counts, *out_firsts;
} MeshscopeMpiCall;

typedef struct {
    int32_t abi;
    /// Starts MPI, once a process; later calls only answer. Ends it when the process ends (see leave).
    /// `one_thread`: MPI_THREAD_SINGLE, as MPI_Init gives it: none but the calling thread calls MPI. Open MPI
    /// takes locks at every other level, MPI_THREAD_FUNNELED too.
    int (*start)(MeshscopeMpiJob* job, int32_t one_thread);
    /// "Open MPI v4.1.4, …", as the library calls itself, on one line. Needs no start.
    void (*library)(char* text, int32_t size);
    void (*error_text)(int code, char* text, int32_t size);

    /// A world of messages of its own; every rank makes it.
    int (*open)(MeshscopeMpiHandle* world);
    /// Of a world or of a group. MPI may want all members to do it; no library that there is a module for
    /// waits for them.
    int (*close)(MeshscopeMpiHandle* world);
    /// A group for MPI's own collectives; its members make it, with a tag that no group made at the time has.
    int (*group)(MeshscopeMpiHandle world, const int32_t* ranks, int32_t n, int32_t tag,
                 MeshscopeMpiHandle* group);

    /// Is done when the receiver has begun to take it (MPI_Issend).
    int (*send)(MeshscopeMpiHandle world, const void* data, int64_t bytes, int32_t dst, int32_t tag,
                MeshscopeMpiHandle* request);
    /// Is done when the data may be changed (MPI_Isend).
    int (*send_buffered)(MeshscopeMpiHandle world, const void* data, int64_t bytes, int32_t dst, int32_t tag,
                         MeshscopeMpiHandle* request);
    /// Whether a message has come; it stays where it is. MESHSCOPE_MPI_ANY fits all.
    int (*probe)(MeshscopeMpiHandle world, int32_t src, int32_t tag, MeshscopeMpiMessage* message,
                 int32_t* found);
    int (*receive)(MeshscopeMpiHandle world, void* data, int64_t bytes, int32_t src, int32_t tag,
                   MeshscopeMpiHandle* request);
    /// Begins one of MPI's own, non-blocking: `request` tells when it is over.
    int (*collective)(MeshscopeMpiHandle group, const MeshscopeMpiCall* call, MeshscopeMpiHandle* request);
    /// Whether a request is done; then it is gone.
    int (*test)(MeshscopeMpiHandle* request, int32_t* done);

    /// How the process is to leave MPI when it ends: 1: together with all others (MPI_Finalize, which waits
    /// for them); 0: the job is broken, and its end is this process's exit code for all (MPI_Abort).
    void (*leave)(int32_t in_order);
} MeshscopeMpi;

/// The one exported function of a module.
const MeshscopeMpi* meshscope_mpi_module(void);

#ifdef __cplusplus
}
#endif
