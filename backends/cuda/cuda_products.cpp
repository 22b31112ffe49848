#include "backends/cuda/cuda_products.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <tuple>

namespace meshscope::gpu {
namespace {

int code_of(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? MESHSCOPE_GPU_OK
                                           : MESHSCOPE_GPU_CUBLAS + static_cast<int>(status);
}

/// cuBLASLt's descriptors, destroyed in the order that the language gives.
struct Descriptors {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, out = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;

    Descriptors() = default;
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;
    ~Descriptors() {
        if (preference != nullptr) cublasLtMatmulPreferenceDestroy(preference);
        for (cublasLtMatrixLayout_t layout : {a, b, out})
            if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
        if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
    }
};

/// The largest power of two, up to 256, that divides an address.
uint32_t alignment(const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer) | 256U;
    return static_cast<uint32_t>(address & (~address + 1));
}

/// All that the choice of an algorithm goes by.
using Key = std::tuple<int, int32_t, int32_t, int32_t, int32_t, bool, int32_t, int64_t, int64_t, int64_t,
                       int64_t, std::array<uint32_t, 4>>;

/// The library's handles and the algorithms chosen so far; one a process, as the library is.
struct Library {
    std::mutex mutex;
    std::map<int, cublasLtHandle_t> handles;
    std::map<Key, cublasLtMatmulAlgo_t> chosen;
};

Library& library() {
    static Library made;
    return made;
}

/// The rows of a row-major matrix are the columns of a column-major one, which is what the library knows: it
/// is asked for outᵀ (n, m) = Bᵀ · Aᵀ.
cublasStatus_t describe(const MeshscopeGpuProduct& p, Descriptors& d) {
    const cudaDataType_t type = p.dtype == MESHSCOPE_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
    const bool tf32 = p.dtype == MESHSCOPE_FLOAT32 && p.tf32 != 0;
    const cublasComputeType_t compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasStatus_t status = cublasLtMatmulDescCreate(&d.operation, compute, CUDA_R_32F);
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasLtMatmulDescSetAttribute(d.operation, attribute, &value, sizeof value);
    };
    const cublasOperation_t turn_b = p.transpose_b != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t turn_a = p.transpose_a != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(CUBLASLT_MATMUL_DESC_TRANSA, turn_b);
    set(CUBLASLT_MATMUL_DESC_TRANSB, turn_a);
    if (p.bias != nullptr) {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    }
    const auto layout = [&](cublasLtMatrixLayout_t& made, int64_t rows, int64_t columns) {
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(rows),
                                                static_cast<uint64_t>(columns), rows);
    };
    const bool b_turned = p.transpose_b != 0, a_turned = p.transpose_a != 0;
    layout(d.b, b_turned ? p.k : p.n, b_turned ? p.n : p.k);
    layout(d.a, a_turned ? p.m : p.k, a_turned ? p.k : p.m);
    layout(d.out, p.n, p.m);
    return status;
}

cublasStatus_t choose(const MeshscopeGpuProduct& p, Descriptors& d, cublasLtHandle_t handle,
                      const std::array<uint32_t, 4>& alignments, cublasLtMatmulAlgo_t& algorithm) {
    cublasStatus_t status = cublasLtMatmulPreferenceCreate(&d.preference);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasLtMatmulPreferenceSetAttribute(d.preference, attribute, &value, sizeof value);
    };
    const uint64_t workspace = p.workspace == nullptr ? 0 : static_cast<uint64_t>(p.workspace_bytes);
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;  // and none at all
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[1]);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[0]);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[2]);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    status = cublasLtMatmulAlgoGetHeuristic(handle, d.operation, d.b, d.a, d.out, d.out, d.preference, 1,
                                            &result, &found);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    algorithm = result.algo;
    return result.state;
}

cublasStatus_t run(const MeshscopeGpuProduct& p, int device, cudaStream_t stream) {
    Descriptors d;
    if (const cublasStatus_t status = describe(p, d); status != CUBLAS_STATUS_SUCCESS) return status;
    const std::array<uint32_t, 4> alignments{alignment(p.a), alignment(p.b), alignment(p.out),
                                             alignment(p.bias)};
    const Key key{device,
                  p.dtype,
                  p.transpose_a,
                  p.transpose_b,
                  p.accumulate,
                  p.bias != nullptr,
                  p.tf32,
                  p.m,
                  p.n,
                  p.k,
                  p.workspace == nullptr ? 0 : p.workspace_bytes,
                  alignments};
    cublasLtHandle_t handle = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    {
        Library& all = library();
        const std::lock_guard lock(all.mutex);
        handle = all.handles[device];
        if (handle == nullptr) {
            if (const cublasStatus_t status = cublasLtCreate(&handle); status != CUBLAS_STATUS_SUCCESS)
                return status;
            all.handles[device] = handle;
        }
        const auto known = all.chosen.find(key);
        if (known != all.chosen.end()) {
            algorithm = known->second;
        } else {
            const cublasStatus_t status = choose(p, d, handle, alignments, algorithm);
            if (status != CUBLAS_STATUS_SUCCESS) return status;
            all.chosen.emplace(key, algorithm);
        }
    }
    const float one = 1.0F, old = p.accumulate != 0 ? 1.0F : 0.0F;
    const auto workspace =
        p.workspace == nullptr ? std::size_t{0} : static_cast<std::size_t>(p.workspace_bytes);
    return cublasLtMatmul(handle, d.operation, &one, p.b, d.b, p.a, d.a, &old, p.out, d.out, p.out, d.out,
                          &algorithm, p.workspace, workspace, stream);
}

}  // namespace

int run_product(const MeshscopeGpuProduct& product, int device, cudaStream_t stream) {
    const bool known = product.dtype == MESHSCOPE_FLOAT32 || product.dtype == MESHSCOPE_BFLOAT16;
    if (!known || product.m < 1 || product.n < 1 || product.k < 1 ||
        (product.accumulate != 0 && product.bias != nullptr))
        return MESHSCOPE_GPU_INVALID_VALUE;
    try {
        return code_of(run(product, device, stream));
    } catch (const std::bad_alloc&) {
        return MESHSCOPE_GPU_OUT_OF_MEMORY;
    }
}

const char* product_library() {
    static const std::string text = [] {
        const std::size_t version = cublasLtGetVersion();  // 130100 is 13.1.0
        return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
               "." + std::to_string(version % 100);
    }();
    return text.c_str();
}

const char* product_error(int status) {
    return cublasLtGetStatusString(static_cast<cublasStatus_t>(status));
}

}  // namespace meshscope::gpu
