#include <dlfcn.h>
#include <nccl.h>
#include <string.h>
#include <mutex>
#include <vector>

#include "backends/nccl/cuda_side.h"
#include "backends/nccl/nccl_module.h"

// The only NCCL calls of the program. Nothing of libnccl is linked: every function is looked up in the
// library that open() loads, so that a newer one, or the tests' stand-in, comes by the same path.

struct MeshscopeNcclLibrary {
    void* handle = nullptr;
    bool on_host = false;
    decltype(&ncclGetVersion) get_version = nullptr;
    decltype(&ncclGetUniqueId) get_unique_id = nullptr;
    decltype(&ncclCommInitRankConfig) init_rank = nullptr;
    decltype(&ncclCommSplit) split = nullptr;
    decltype(&ncclCommGetAsyncError) async_error = nullptr;
    decltype(&ncclCommFinalize) finalize = nullptr;
    decltype(&ncclCommDestroy) destroy = nullptr;
    decltype(&ncclCommAbort) abort = nullptr;
    decltype(&ncclGetLastError) last_error = nullptr;
    decltype(&ncclGroupStart) group_start = nullptr;
    decltype(&ncclGroupEnd) group_end = nullptr;
    decltype(&ncclAllReduce) all_reduce = nullptr;
    decltype(&ncclReduce) reduce = nullptr;
    decltype(&ncclBroadcast) broadcast = nullptr;
    decltype(&ncclAllGather) all_gather = nullptr;
    decltype(&ncclReduceScatter) reduce_scatter = nullptr;
    decltype(&ncclSend) send = nullptr;
    decltype(&ncclRecv) recv = nullptr;
    decltype(&ncclRedOpCreatePreMulSum) create_premul_sum = nullptr;
    decltype(&ncclRedOpDestroy) destroy_op = nullptr;
    // Since 2.19; left null where they are not.
    decltype(&ncclCommRegister) enter = nullptr;
    decltype(&ncclCommDeregister) leave = nullptr;
};

namespace {

using Library = MeshscopeNcclLibrary;
using meshscope::backends::nccl::make_current;
using meshscope::backends::nccl::stream_free;
using meshscope::backends::nccl::stream_make;
using meshscope::backends::nccl::stream_query;

void put(char* text, int32_t size, const char* words) {
    if (size <= 0) return;
    strncpy(text, words != nullptr ? words : "", static_cast<size_t>(size) - 1);
    text[size - 1] = 0;
}

template <class Function>
bool find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
}

/// The libraries that were opened: each stays until the process ends, and is opened once.
struct Opened {
    std::mutex mutex;
    std::vector<Library*> libraries;
};
Opened& opened() {
    static Opened& all = *new Opened;  // never destroyed: calls may still be in it when the process ends
    return all;
}

int open(const char* path, Library** made, char* why, int32_t size) {
    // Local: nothing else of the process shall find these names.
    void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        put(why, size, dlerror());
        return -1;
    }
    const std::lock_guard lock(opened().mutex);
    for (Library* const before : opened().libraries)
        if (before->handle == handle) {
            dlclose(handle);  // the loader counts
            *made = before;
            return 0;
        }
    auto* const library = new Library;
    library->handle = handle;
    const bool whole =
        find(handle, "ncclGetVersion", library->get_version) &&
        find(handle, "ncclGetUniqueId", library->get_unique_id) &&
        find(handle, "ncclCommInitRankConfig", library->init_rank) &&
        find(handle, "ncclCommSplit", library->split) &&
        find(handle, "ncclCommGetAsyncError", library->async_error) &&
        find(handle, "ncclCommFinalize", library->finalize) &&
        find(handle, "ncclCommDestroy", library->destroy) && find(handle, "ncclCommAbort", library->abort) &&
        find(handle, "ncclGetLastError", library->last_error) &&
        find(handle, "ncclGroupStart", library->group_start) &&
        find(handle, "ncclGroupEnd", library->group_end) &&
        find(handle, "ncclAllReduce", library->all_reduce) && find(handle, "ncclReduce", library->reduce) &&
        find(handle, "ncclBroadcast", library->broadcast) &&
        find(handle, "ncclAllGather", library->all_gather) &&
        find(handle, "ncclReduceScatter", library->reduce_scatter) &&
        find(handle, "ncclSend", library->send) && find(handle, "ncclRecv", library->recv) &&
        find(handle, "ncclRedOpCreatePreMulSum", library->create_premul_sum) &&
        find(handle, "ncclRedOpDestroy", library->destroy_op);
    if (!whole) {
        put(why, size, dlerror());
        delete library;
        dlclose(handle);
        return -1;
    }
    find(handle, "ncclCommRegister", library->enter);
    find(handle, "ncclCommDeregister", library->leave);
    library->on_host = dlsym(handle, "meshscope_nccl_on_host") != nullptr;
    opened().libraries.push_back(library);
    *made = library;
    return 0;
}

int version(Library* library, int32_t* number) {
    int value = 0;
    const ncclResult_t result = library->get_version(&value);
    *number = value;
    return result;
}

void file(Library* library, char* text, int32_t size) {
    Dl_info info{};
    const bool found = dladdr(reinterpret_cast<void*>(library->get_version), &info) != 0;
    put(text, size, found ? info.dli_fname : "");
}

int32_t on_host(Library* library) {
    return library->on_host ? 1 : 0;
}

const char* result_word(int code) {
    switch (code) {
        case ncclSuccess:
            return "ncclSuccess";
        case ncclUnhandledCudaError:
            return "ncclUnhandledCudaError";
        case ncclSystemError:
            return "ncclSystemError";
        case ncclInternalError:
            return "ncclInternalError";
        case ncclInvalidArgument:
            return "ncclInvalidArgument";
        case ncclInvalidUsage:
            return "ncclInvalidUsage";
        case ncclRemoteError:
            return "ncclRemoteError";
        case ncclInProgress:
            return "ncclInProgress";
        default:
            return "";
    }
}

void last_error(Library* library, char* text, int32_t size) {
    put(text, size, library->last_error(nullptr));
    for (char* c = text; *c != 0; ++c)
        if (*c == '\n' || *c == '\t') *c = ' ';
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; --n) text[n - 1] = 0;
}

ncclComm_t comm_of(MeshscopeNcclComm* comm) {
    return reinterpret_cast<ncclComm_t>(comm);
}

/// What has only begun is no error here: state() tells how it ends.
int begun(ncclResult_t result) {
    return result == ncclInProgress ? ncclSuccess : result;
}

int unique_id(Library* library, MeshscopeNcclId* id) {
    static_assert(sizeof(ncclUniqueId) == sizeof(MeshscopeNcclId));
    ncclUniqueId made;
    const ncclResult_t result = library->get_unique_id(&made);
    memcpy(id->bytes, made.internal, sizeof id->bytes);
    return result;
}

int make_stream(int32_t device, void** stream) {
    return stream_make(device, stream) ? ncclSuccess : ncclUnhandledCudaError;
}

int free_stream(int32_t device, void* stream) {
    return stream_free(device, stream) ? ncclSuccess : ncclUnhandledCudaError;
}

int query_stream(int32_t device, void* stream, int32_t* done) {
    bool ended = false;
    const bool good = stream_query(device, stream, ended);
    *done = ended ? 1 : 0;
    return good ? ncclSuccess : ncclUnhandledCudaError;
}

int init(Library* library, const MeshscopeNcclId* id, int32_t n, int32_t rank, int32_t device,
         MeshscopeNcclComm** comm) {
    if (!make_current(device)) return ncclUnhandledCudaError;
    ncclUniqueId given;
    memcpy(given.internal, id->bytes, sizeof given.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    *comm = nullptr;
    return begun(library->init_rank(reinterpret_cast<ncclComm_t*>(comm), n, given, rank, &config));
}

int split(Library* library, MeshscopeNcclComm* comm, int32_t color, int32_t key, int32_t device,
          MeshscopeNcclComm** made) {
    if (!make_current(device)) return ncclUnhandledCudaError;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    *made = nullptr;
    return begun(library->split(comm_of(comm), color < 0 ? NCCL_SPLIT_NOCOLOR : color, key,
                                reinterpret_cast<ncclComm_t*>(made), &config));
}

int state(Library* library, MeshscopeNcclComm* comm, int32_t* result) {
    ncclResult_t now = ncclSuccess;
    const ncclResult_t asked = library->async_error(comm_of(comm), &now);
    *result = now;
    return asked;
}

ncclDataType_t type_of(int32_t kind) {
    switch (kind) {
        case MESHSCOPE_NCCL_BFLOAT16:
            return ncclBfloat16;
        case MESHSCOPE_NCCL_FLOAT16:
            return ncclFloat16;
        case MESHSCOPE_NCCL_INT32:
            return ncclInt32;
        case MESHSCOPE_NCCL_INT64:
            return ncclInt64;
        case MESHSCOPE_NCCL_UINT8:
            return ncclUint8;
        default:
            return ncclFloat32;
    }
}

ncclRedOp_t op_of(int32_t reduction) {
    switch (reduction) {
        case MESHSCOPE_NCCL_PRODUCT:
            return ncclProd;
        case MESHSCOPE_NCCL_MAX:
            return ncclMax;
        case MESHSCOPE_NCCL_MIN:
            return ncclMin;
        case MESHSCOPE_NCCL_AVG:
            return ncclAvg;
        default:
            return ncclSum;
    }
}

int call_one(Library* library, ncclComm_t comm, const MeshscopeNcclCall& call, ncclRedOp_t op,
             cudaStream_t stream) {
    const auto n = static_cast<size_t>(call.elements);
    const ncclDataType_t type = type_of(call.kind);
    switch (call.op) {
        case MESHSCOPE_NCCL_ALL_REDUCE:
            return library->all_reduce(call.in, call.out, n, type, op, comm, stream);
        case MESHSCOPE_NCCL_REDUCE:
            return library->reduce(call.in, call.out, n, type, op, call.peer, comm, stream);
        case MESHSCOPE_NCCL_BROADCAST:
            return library->broadcast(call.in, call.out, n, type, call.peer, comm, stream);
        case MESHSCOPE_NCCL_ALL_GATHER:
            return library->all_gather(call.in, call.out, n, type, comm, stream);
        case MESHSCOPE_NCCL_REDUCE_SCATTER:
            return library->reduce_scatter(call.in, call.out, n, type, op, comm, stream);
        case MESHSCOPE_NCCL_SEND:
            return library->send(call.in, n, type, call.peer, comm, stream);
        case MESHSCOPE_NCCL_RECV:
            return library->recv(call.out, n, type, call.peer, comm, stream);
        default:
            return ncclInvalidArgument;
    }
}

int run(Library* library, MeshscopeNcclComm* handle, const MeshscopeNcclCall* calls, int32_t n,
        void* stream) {
    const ncclComm_t comm = comm_of(handle);
    if (n == 0) return ncclSuccess;
    // All calls of a group of ours have the same reduction: one operator serves them.
    ncclRedOp_t op = op_of(calls[0].reduction);
    const bool made = calls[0].reduction == MESHSCOPE_NCCL_PREMUL_SUM;
    if (made) {
        unsigned char scalar[8];
        memcpy(scalar, calls[0].scalar, sizeof scalar);
        const ncclResult_t result =
            library->create_premul_sum(&op, scalar, type_of(calls[0].kind), ncclScalarHostImmediate, comm);
        if (result != ncclSuccess) return result;
    }
    int result = library->group_start();
    if (result == ncclSuccess) {
        for (int32_t i = 0; i < n && (result == ncclSuccess || result == ncclInProgress); ++i)
            result = call_one(library, comm, calls[i], op, static_cast<cudaStream_t>(stream));
        // A group that was begun must be ended, whatever its calls said.
        const ncclResult_t ended = library->group_end();
        if (result == ncclSuccess || result == ncclInProgress) result = ended;
    }
    // An operator may go as soon as the last call that was given it has returned.
    if (made) {
        const ncclResult_t destroyed = library->destroy_op(op, comm);
        if (result == ncclSuccess || result == ncclInProgress)
            result = destroyed == ncclSuccess ? result : static_cast<int>(destroyed);
    }
    return begun(static_cast<ncclResult_t>(result));
}

int finalize(Library* library, MeshscopeNcclComm* comm) {
    return begun(library->finalize(comm_of(comm)));
}

int destroy(Library* library, MeshscopeNcclComm* comm) {
    return begun(library->destroy(comm_of(comm)));
}

int abort_comm(Library* library, MeshscopeNcclComm* comm) {
    return begun(library->abort(comm_of(comm)));
}

int enter_buffer(Library* library, MeshscopeNcclComm* comm, void* memory, int64_t bytes,
                 MeshscopeNcclBuffer** buffer) {
    *buffer = nullptr;
    if (library->enter == nullptr || library->leave == nullptr) return ncclSuccess;
    void* handle = nullptr;
    const ncclResult_t result = library->enter(comm_of(comm), memory, static_cast<size_t>(bytes), &handle);
    *buffer = static_cast<MeshscopeNcclBuffer*>(handle);
    return result;
}

int leave_buffer(Library* library, MeshscopeNcclComm* comm, MeshscopeNcclBuffer* buffer) {
    return buffer == nullptr ? ncclSuccess : library->leave(comm_of(comm), buffer);
}

}  // namespace

extern "C" const MeshscopeNccl* meshscope_nccl_module(void) {
    static const MeshscopeNccl nccl{MESHSCOPE_NCCL_ABI,
                                    NCCL_VERSION_CODE,
                                    open,
                                    version,
                                    file,
                                    on_host,
                                    result_word,
                                    last_error,
                                    unique_id,
                                    make_stream,
                                    free_stream,
                                    query_stream,
                                    init,
                                    split,
                                    state,
                                    run,
                                    finalize,
                                    destroy,
                                    abort_comm,
                                    enter_buffer,
                                    leave_buffer};
    return &nccl;
}
