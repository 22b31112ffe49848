// A stand-in for libnccl.so.2: NCCL's functions over host memory and threads. It is no NCCL and says so
// (meshscope_nccl_on_host): nothing that runs on it says anything of a GPU. It is as strict as NCCL where
// that matters: communicators are made without blocking and may not be used before they are ready, sends wait
// for their receivers, and a rank that does not come lets the others wait.
#include <nccl.h>

#include <cstring>
#include <utility>

#include "tests/nccl/fake_nccl/clique.h"
#include "tests/nccl/fake_nccl/orders.h"

using fake_nccl::Clique;
using fake_nccl::Kind;
using fake_nccl::Op;
using fake_nccl::orders;

namespace {

/// Cliques that are being joined, by unique id, and the operators that were made.
struct Tables {
    std::mutex mutex;
    int64_t next_id = 1;
    std::map<int64_t, std::weak_ptr<Clique>> cliques;
    std::map<int, fake_nccl::Reduction> operators;
    int next_operator = ncclNumOps;
};
Tables& tables() {
    static Tables all;
    return all;
}

/// As NCCL's, the group of the calling thread.
struct Group {
    int depth = 0;
    std::vector<std::pair<ncclComm_t, std::vector<Op>>> calls;
};
thread_local Group t_group;

ncclResult_t begin_all(Group& group) {
    for (auto& [comm, calls] : group.calls) comm->begin(std::move(calls));
    const bool any = !group.calls.empty();
    group.calls.clear();
    return any ? ncclInProgress : ncclSuccess;
}

ncclResult_t issue(const char* function, ncclComm_t comm, Op op, bool needs_peer = false) {
    if (comm == nullptr) return ncclInvalidArgument;
    if (const auto code = orders().called(function, comm->rank)) return *code;
    // "Attempt to use communicator before the previous operation returned ncclSuccess"
    if (comm->state.load() != ncclSuccess) return ncclInvalidArgument;
    if (needs_peer && (op.peer < 0 || op.peer >= comm->clique->n)) return ncclInvalidArgument;
    if (op.reduction.op >= ncclNumOps) {
        const std::lock_guard lock(tables().mutex);
        const auto found = tables().operators.find(op.reduction.op);
        if (found == tables().operators.end()) return ncclInvalidArgument;
        op.reduction = found->second;
    }
    if (op.count == 0 && op.kind != Kind::send && op.kind != Kind::recv) return ncclSuccess;
    Group& group = t_group;
    if (group.depth == 0) {
        comm->begin({op});
        return ncclInProgress;
    }
    for (auto& [known, calls] : group.calls)
        if (known == comm) {
            calls.push_back(op);
            return ncclSuccess;
        }
    group.calls.push_back({comm, {op}});
    return ncclSuccess;
}

fake_nccl::Reduction reduction_of(ncclRedOp_t op) {
    return {op, false, {}};
}

bool only_nonblocking(const ncclConfig_t* config) {
    return config != nullptr && config->magic == 0xcafebeef && config->blocking == 0;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = orders().version();
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    if (const auto code = orders().called("ncclGetUniqueId", -1)) return *code;
    const std::lock_guard lock(tables().mutex);
    const int64_t number = tables().next_id++;
    std::memset(id->internal, 0, sizeof id->internal);
    std::memcpy(id->internal, &number, sizeof number);
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : "an error of the stand-in";
}

const char* ncclGetLastError(ncclComm_t) {
    return orders().last_error();
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
    *comm = nullptr;
    if (const auto code = orders().called("ncclCommInitRankConfig", rank)) return *code;
    if (!only_nonblocking(config) || n < 1 || rank < 0 || rank >= n) return ncclInvalidArgument;
    int64_t number = 0;
    std::memcpy(&number, id.internal, sizeof number);
    std::shared_ptr<Clique> clique;
    {
        const std::lock_guard lock(tables().mutex);
        clique = tables().cliques[number].lock();
        if (!clique) tables().cliques[number] = clique = std::make_shared<Clique>(n);
    }
    *comm = new ncclComm(clique, rank);
    (*comm)->begin({Op{}});
    return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
    *made = nullptr;
    if (const auto code = orders().called("ncclCommSplit", comm->rank)) return *code;
    if (!only_nonblocking(config) || comm->state.load() != ncclSuccess) return ncclInvalidArgument;
    Op op;
    op.kind = Kind::split;
    op.color = color;
    op.key = key;
    // Its clique and rank are known when all have met.
    if (color >= 0) *made = op.made = new ncclComm(comm->clique, 0);
    comm->begin({op});
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
    if (const auto code = orders().called("ncclCommGetAsyncError", comm->rank)) return *code;
    *state = static_cast<ncclResult_t>(comm->state.load());
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    if (const auto code = orders().called("ncclCommFinalize", comm->rank)) return *code;
    if (comm->state.load() != ncclSuccess) return ncclInvalidArgument;
    Op op;
    op.kind = Kind::finalize;
    comm->begin({op});
    return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    if (const auto code = orders().called("ncclCommDestroy", comm->rank)) return *code;
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    orders().called("ncclCommAbort", comm->rank);
    comm->abort();
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* memory, size_t bytes, void** handle) {
    if (const auto code = orders().called("ncclCommRegister", comm->rank)) return *code;
    if (memory == nullptr || bytes == 0) return ncclInvalidArgument;
    *handle = memory;
    orders().buffers(1);
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
    if (const auto code = orders().called("ncclCommDeregister", comm->rank)) return *code;
    if (handle == nullptr) return ncclInvalidArgument;
    orders().buffers(-1);
    return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
    if (const auto code = orders().called("ncclRedOpCreatePreMulSum", comm->rank)) return *code;
    if (residence != ncclScalarHostImmediate) return ncclInvalidArgument;
    const std::lock_guard lock(tables().mutex);
    fake_nccl::Reduction made{ncclSum, true, {}};
    std::memcpy(made.scalar, scalar, fake_nccl::bytes_of(type));
    tables().operators[tables().next_operator] = made;
    *op = static_cast<ncclRedOp_t>(tables().next_operator++);
    return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
    if (const auto code = orders().called("ncclRedOpDestroy", comm->rank)) return *code;
    const std::lock_guard lock(tables().mutex);
    return tables().operators.erase(op) == 1 ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclGroupStart() {
    ++t_group.depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
    if (t_group.depth == 0) return ncclInvalidUsage;
    if (--t_group.depth > 0) return ncclSuccess;
    return begin_all(t_group);
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t) {
    return issue("ncclAllReduce", comm,
                 {Kind::all_reduce, in, out, n, type, reduction_of(op), -1, -1, 0, {}});
}

ncclResult_t ncclReduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t) {
    return issue("ncclReduce", comm, {Kind::reduce, in, out, n, type, reduction_of(op), root, -1, 0, {}},
                 true);
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t) {
    return issue("ncclBroadcast", comm, {Kind::broadcast, in, out, n, type, {}, root, -1, 0, {}}, true);
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t n, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t) {
    return issue("ncclAllGather", comm, {Kind::all_gather, in, out, n, type, {}, -1, -1, 0, {}});
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t) {
    return issue("ncclReduceScatter", comm,
                 {Kind::reduce_scatter, in, out, n, type, reduction_of(op), -1, -1, 0, {}});
}

ncclResult_t ncclSend(const void* in, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t) {
    return issue("ncclSend", comm, {Kind::send, in, nullptr, n, type, {}, peer, -1, 0, {}}, true);
}

ncclResult_t ncclRecv(void* out, size_t n, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t) {
    return issue("ncclRecv", comm, {Kind::recv, nullptr, out, n, type, {}, peer, -1, 0, {}}, true);
}

}  // extern "C"
