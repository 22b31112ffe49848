#include "backends/mpi/module.h"

// Their C++ bindings are long gone from the standard, and full of warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include <climits>

// Built once for each MPI library. MPI itself is one a process, so what is known of it stands in
// variables here.
namespace {

bool g_started = false;
bool g_in_order = true;
bool g_one_thread = false;  ///< as it was asked for: a library may give more

static_assert(sizeof(MPI_Request) <= sizeof(MeshscopeMpiHandle) &&
              sizeof(MPI_Comm) <= sizeof(MeshscopeMpiHandle));

template <class T>
MeshscopeMpiHandle pack(T value) {
    MeshscopeMpiHandle handle{0};
    memcpy(&handle.bits, &value, sizeof value);
    return handle;
}

template <class T>
T unpack(MeshscopeMpiHandle handle) {
    T value;
    memcpy(&value, &handle.bits, sizeof value);
    return value;
}

/// glibc tells the exit code; MPI_Finalize would wait for ranks that will never come when the job is broken.
void at_exit(int status, void*) {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended != 0) return;
    if (g_in_order)
        MPI_Finalize();
    else
        MPI_Abort(MPI_COMM_WORLD, status == 0 ? 75 : status);
}

int start(MeshscopeMpiJob* job, int32_t one_thread) {
    if (!g_started) {
        int level = 0;
        const int wanted = one_thread != 0 ? MPI_THREAD_SINGLE : MPI_THREAD_SERIALIZED;
        const int code = MPI_Init_thread(nullptr, nullptr, wanted, &level);
        if (code != MPI_SUCCESS) return code;
        if (level < wanted) return MPI_ERR_OTHER;
        g_one_thread = one_thread != 0;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        on_exit(at_exit, nullptr);
        g_started = true;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->size);
    job->one_thread = g_one_thread ? 1 : 0;
    MPI_Comm here = MPI_COMM_NULL;
    if (const int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
        code != MPI_SUCCESS)
        return code;
    MPI_Comm_size(here, &job->ranks_here);
    MPI_Comm_free(&here);
    int* most = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    job->most_tag = found != 0 ? *most : 32767;
    return MPI_SUCCESS;
}

void library(char* text, int32_t size) {
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(words, &length);
    words[strcspn(words, "\n")] = 0;
    for (char* c = words; *c != 0; ++c)
        if (*c == '\t') *c = ' ';
    strncpy(text, words, static_cast<size_t>(size) - 1);
    text[size - 1] = 0;
}

void error_text(int code, char* text, int32_t size) {
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, words, &length) != MPI_SUCCESS) words[0] = 0;
    strncpy(text, words, static_cast<size_t>(size) - 1);
    text[size - 1] = 0;
}

int open(MeshscopeMpiHandle* world) {
    MPI_Comm comm = MPI_COMM_NULL;
    const int code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (code != MPI_SUCCESS) return code;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    *world = pack(comm);
    return MPI_SUCCESS;
}

int close(MeshscopeMpiHandle* world) {
    auto comm = unpack<MPI_Comm>(*world);
    return MPI_Comm_free(&comm);
}

int make_group(MeshscopeMpiHandle world, const int32_t* ranks, int32_t n, int32_t tag,
               MeshscopeMpiHandle* made) {
    MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int code = MPI_Comm_group(unpack<MPI_Comm>(world), &all);
    if (code == MPI_SUCCESS) code = MPI_Group_incl(all, n, ranks, &members);
    if (code == MPI_SUCCESS) code = MPI_Comm_create_group(unpack<MPI_Comm>(world), members, tag, &comm);
    if (members != MPI_GROUP_NULL) MPI_Group_free(&members);
    if (all != MPI_GROUP_NULL) MPI_Group_free(&all);
    if (code == MPI_SUCCESS) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    *made = pack(comm);
    return code;
}

/// Bytes as MPI counts them: an int of them, or one of a type that is as long.
struct Span {
    MPI_Datatype type = MPI_BYTE;
    int count = 0;
    bool made = false;

    explicit Span(int64_t bytes) {
        if (bytes <= INT_MAX) {
            count = static_cast<int>(bytes);
            return;
        }
        constexpr int64_t kBlock = int64_t{1} << 24;
        MPI_Datatype block = MPI_DATATYPE_NULL, blocks = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(static_cast<int>(kBlock), MPI_BYTE, &block);
        MPI_Type_contiguous(static_cast<int>(bytes / kBlock), block, &blocks);
        int lengths[2] = {1, static_cast<int>(bytes % kBlock)};
        MPI_Aint firsts[2] = {0, static_cast<MPI_Aint>(bytes / kBlock * kBlock)};
        MPI_Datatype types[2] = {blocks, MPI_BYTE};
        MPI_Type_create_struct(2, lengths, firsts, types, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&blocks);
        MPI_Type_free(&block);
        count = 1;
        made = true;
    }
    ~Span() {
        if (made) MPI_Type_free(&type);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
};

int send(MeshscopeMpiHandle world, const void* data, int64_t bytes, int32_t dst, int32_t tag,
         MeshscopeMpiHandle* request) {
    const Span span(bytes);
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = MPI_Issend(data, span.count, span.type, dst, tag, unpack<MPI_Comm>(world), &made);
    *request = pack(made);
    return code;
}

int send_buffered(MeshscopeMpiHandle world, const void* data, int64_t bytes, int32_t dst, int32_t tag,
                  MeshscopeMpiHandle* request) {
    const Span span(bytes);
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = MPI_Isend(data, span.count, span.type, dst, tag, unpack<MPI_Comm>(world), &made);
    *request = pack(made);
    return code;
}

int probe(MeshscopeMpiHandle world, int32_t src, int32_t tag, MeshscopeMpiMessage* message, int32_t* found) {
    MPI_Status status;
    const int code =
        MPI_Iprobe(src == MESHSCOPE_MPI_ANY ? MPI_ANY_SOURCE : src,
                   tag == MESHSCOPE_MPI_ANY ? MPI_ANY_TAG : tag, unpack<MPI_Comm>(world), found, &status);
    if (code != MPI_SUCCESS || *found == 0) return code;
    MPI_Count bytes = 0;
    message->src = status.MPI_SOURCE;
    message->tag = status.MPI_TAG;
    const int counted = MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    message->bytes = bytes;
    return counted;
}

int receive(MeshscopeMpiHandle world, void* data, int64_t bytes, int32_t src, int32_t tag,
            MeshscopeMpiHandle* request) {
    const Span span(bytes);
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = MPI_Irecv(data, span.count, span.type, src, tag, unpack<MPI_Comm>(world), &made);
    *request = pack(made);
    return code;
}

MPI_Datatype type_of(int32_t kind) {
    switch (kind) {
        case MESHSCOPE_MPI_FLOAT:
            return MPI_FLOAT;
        case MESHSCOPE_MPI_INT32:
            return MPI_INT32_T;
        case MESHSCOPE_MPI_INT64:
            return MPI_INT64_T;
        case MESHSCOPE_MPI_UINT8:
            return MPI_UINT8_T;
        default:
            return MPI_BYTE;
    }
}

MPI_Op op_of(int32_t reduction) {
    switch (reduction) {
        case MESHSCOPE_PRODUCT:
            return MPI_PROD;
        case MESHSCOPE_MIN:
            return MPI_MIN;
        case MESHSCOPE_MAX:
            return MPI_MAX;
        case MESHSCOPE_BAND:
            return MPI_BAND;
        case MESHSCOPE_BOR:
            return MPI_BOR;
        case MESHSCOPE_BXOR:
            return MPI_BXOR;
        default:
            return MPI_SUM;
    }
}

int run_collective(MPI_Comm comm, const MeshscopeMpiCall& call, MPI_Request* request) {
    const MPI_Datatype type = type_of(call.kind);
    const MPI_Op op = op_of(call.reduction);
    const void* const in = call.in_place != 0 ? MPI_IN_PLACE : call.in;
    void* const kept = call.in_place != 0 ? MPI_IN_PLACE : call.out;
    const int n = static_cast<int>(call.elements);
    switch (call.op) {
        case MESHSCOPE_ALL_REDUCE:
            return MPI_Iallreduce(in, call.out, n, type, op, comm, request);
        case MESHSCOPE_REDUCE:
            return MPI_Ireduce(in, call.out, n, type, op, call.root, comm, request);
        case MESHSCOPE_BROADCAST:
            return MPI_Ibcast(call.out, n, type, call.root, comm, request);
        case MESHSCOPE_ALL_GATHER:
            if (call.out_counts == nullptr)
                return MPI_Iallgather(in, n, type, call.out, n, type, comm, request);
            return MPI_Iallgatherv(in, n, type, call.out, call.out_counts, call.out_firsts, type, comm,
                                   request);
        case MESHSCOPE_REDUCE_SCATTER:
            if (call.in_counts == nullptr)
                return MPI_Ireduce_scatter_block(in, call.out, n, type, op, comm, request);
            return MPI_Ireduce_scatter(in, call.out, call.in_counts, type, op, comm, request);
        case MESHSCOPE_GATHER:
            return MPI_Igatherv(in, n, type, call.out, call.out_counts, call.out_firsts, type, call.root,
                                comm, request);
        case MESHSCOPE_SCATTER:
            return MPI_Iscatterv(call.in, call.in_counts, call.in_firsts, type, kept, n, type, call.root,
                                 comm, request);
        case MESHSCOPE_ALL_TO_ALL:
            return MPI_Ialltoallv(call.in, call.in_counts, call.in_firsts, type, call.out, call.out_counts,
                                  call.out_firsts, type, comm, request);
        default:
            return MPI_Ibarrier(comm, request);
    }
}

int collective(MeshscopeMpiHandle group, const MeshscopeMpiCall* call, MeshscopeMpiHandle* request) {
    if (call->elements > INT_MAX) return MPI_ERR_COUNT;
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = run_collective(unpack<MPI_Comm>(group), *call, &made);
    *request = pack(made);
    return code;
}

int test(MeshscopeMpiHandle* request, int32_t* done) {
    auto handle = unpack<MPI_Request>(*request);
    const int code = MPI_Test(&handle, done, MPI_STATUS_IGNORE);
    *request = pack(handle);
    return code;
}

void leave(int32_t in_order) {
    g_in_order = in_order != 0;
}

const MeshscopeMpi kModule{MESHSCOPE_MPI_ABI, start, library, error_text, open, close, make_group, send,
                           send_buffered,     probe, receive, collective, test, leave};

}  // namespace

const MeshscopeMpi* meshscope_mpi_module(void) {
    return &kModule;
}
