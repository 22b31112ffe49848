#pragma once

// From a launch's kernel id and dtype to the function: the one table that both modules use.

#include "backends/cuda/gpu_module.h"
#include "backends/cuda/kernels/attention.h"
#include "backends/cuda/kernels/batch_norm.h"
#include "backends/cuda/kernels/reduce.h"
#include "backends/cuda/kernels/tokens.h"

namespace meshscope::gpu {

/// Whether the threads of a kernel's block wait for each other. Those that do not can run one after another.
enum class Threads { alone, together };

template <class T>
struct Type {
    using type = T;
};

/// Calls f(Type<T>{}) for float32 and bfloat16 (`half`: float16 too).
template <class F>
int with_float(int32_t dtype, const F& f) {
    if (dtype == MESHSCOPE_FLOAT32) return f(Type<float>{});
    if (dtype == MESHSCOPE_BFLOAT16) return f(Type<BFloat16>{});
    return MESHSCOPE_GPU_INVALID_VALUE;
}
template <class F>
int with_half(int32_t dtype, const F& f) {
    return dtype == MESHSCOPE_FLOAT16 ? f(Type<Float16>{}) : with_float(dtype, f);
}
template <class F>
int with_any(int32_t dtype, const F& f) {
    switch (dtype) {
        case MESHSCOPE_INT32:
            return f(Type<int32_t>{});
        case MESHSCOPE_INT64:
            return f(Type<int64_t>{});
        case MESHSCOPE_UINT8:
            return f(Type<uint8_t>{});
        default:
            return with_half(dtype, f);
    }
}

/// Finds the kernel of `launch` and calls run(kernel, parameters, Threads); INVALID_VALUE where there is none
/// or its parameters have another size. `run` returns an error code.
template <class Run>
class Dispatch {
  public:
    Dispatch(const MeshscopeGpuLaunch& launch, const Run& run) : launch_(launch), run_(run) {}

    int operator()() const {
        if (launch_.kernel < MESHSCOPE_KERNEL_REDUCE) return elements();
        if (launch_.kernel <= MESHSCOPE_KERNEL_ROTARY) return rows();
        if (launch_.kernel <= MESHSCOPE_KERNEL_ATTENTION_MERGE) return attentions();
        if (launch_.kernel >= MESHSCOPE_KERNEL_BATCH_NORM_STATS) return batch_norms();
        return tokens();
    }

  private:
    template <class P>
    int call(void (*kernel)(P), Threads threads) const {
        if (launch_.parameter_bytes != static_cast<int32_t>(sizeof(P)) || launch_.parameters == nullptr)
            return MESHSCOPE_GPU_INVALID_VALUE;
        return run_(kernel, *static_cast<const P*>(launch_.parameters), threads);
    }
    int elements() const {
        if (launch_.kernel == MESHSCOPE_KERNEL_CAST) {
            if (launch_.parameter_bytes != static_cast<int32_t>(sizeof(MeshscopeElements)))
                return MESHSCOPE_GPU_INVALID_VALUE;
            const int32_t from = static_cast<const MeshscopeElements*>(launch_.parameters)->from;
            return with_half(launch_.dtype, [&](auto to_type) {
                return with_half(from, [&](auto from_type) {
                    using To = typename decltype(to_type)::type;
                    using From = typename decltype(from_type)::type;
                    return call(cast<To, From>, Threads::alone);
                });
            });
        }
        return with_half(launch_.dtype, [&](auto type) {
            using T = typename decltype(type)::type;
            switch (launch_.kernel) {
                case MESHSCOPE_KERNEL_FILL:
                    return call(fill<T>, Threads::alone);
                case MESHSCOPE_KERNEL_SCALE:
                    return call(scale<T>, Threads::alone);
                case MESHSCOPE_KERNEL_DIVIDE:
                    return call(divide<T>, Threads::alone);
                case MESHSCOPE_KERNEL_ADD:
                    return call(add<T>, Threads::alone);
                default:
                    return with_float(launch_.dtype, [&](auto) { return float_elements(); });
            }
        });
    }
    int float_elements() const {
        return with_float(launch_.dtype, [&](auto type) {
            using T = typename decltype(type)::type;
            switch (launch_.kernel) {
                case MESHSCOPE_KERNEL_AXPY:
                    return call(axpy<T>, Threads::alone);
                case MESHSCOPE_KERNEL_ADD_ROWS:
                    return call(add_rows<T>, Threads::alone);
                case MESHSCOPE_KERNEL_MULTIPLY:
                    return call(multiply<T>, Threads::alone);
                case MESHSCOPE_KERNEL_RELU:
                    return call(relu<T>, Threads::alone);
                case MESHSCOPE_KERNEL_RELU_BACKWARD:
                    return call(relu_backward<T>, Threads::alone);
                case MESHSCOPE_KERNEL_GELU_TANH:
                    return call(gelu_tanh<T>, Threads::alone);
                case MESHSCOPE_KERNEL_GELU_TANH_BACKWARD:
                    return call(gelu_tanh_backward<T>, Threads::alone);
                case MESHSCOPE_KERNEL_GELU:
                    return call(gelu<T>, Threads::alone);
                case MESHSCOPE_KERNEL_GELU_BACKWARD:
                    return call(gelu_backward<T>, Threads::alone);
                case MESHSCOPE_KERNEL_SILU_MUL:
                    return call(silu_mul<T>, Threads::alone);
                case MESHSCOPE_KERNEL_SILU_BACKWARD:
                    return call(silu_backward<T>, Threads::alone);
                case MESHSCOPE_KERNEL_MSE_BACKWARD:
                    return call(mse_backward<T>, Threads::alone);
                default:
                    return static_cast<int>(MESHSCOPE_GPU_INVALID_VALUE);
            }
        });
    }
    int rows() const {
        if (launch_.kernel == MESHSCOPE_KERNEL_REDUCE)
            return with_any(launch_.dtype, [&](auto type) {
                return call(reduce<typename decltype(type)::type>, Threads::alone);
            });
        if (launch_.kernel == MESHSCOPE_KERNEL_CHECK_INDICES) return call(check_indices, Threads::together);
        return with_float(launch_.dtype, [&](auto type) {
            using T = typename decltype(type)::type;
            switch (launch_.kernel) {
                case MESHSCOPE_KERNEL_COLUMN_SUMS:
                    return call(column_sums<T>, Threads::together);
                case MESHSCOPE_KERNEL_NORM_WEIGHT:
                    return call(norm_weight<T>, Threads::together);
                case MESHSCOPE_KERNEL_COLUMN_TOTAL:
                    return call(column_total<T>, Threads::alone);
                case MESHSCOPE_KERNEL_SQUARES:
                    return call(squares<T>, Threads::together);
                case MESHSCOPE_KERNEL_SQUARED_ERROR:
                    return call(squared_error<T>, Threads::together);
                case MESHSCOPE_KERNEL_TOTAL:
                    return call(total<T>, Threads::together);
                case MESHSCOPE_KERNEL_EMBEDDING:
                    return call(embedding<T>, Threads::alone);
                case MESHSCOPE_KERNEL_EMBEDDING_BACKWARD:
                    return call(embedding_backward<T>, Threads::together);
                case MESHSCOPE_KERNEL_LAYER_NORM:
                    return call(layer_norm<T>, Threads::together);
                case MESHSCOPE_KERNEL_LAYER_NORM_BACKWARD:
                    return call(layer_norm_backward<T>, Threads::together);
                case MESHSCOPE_KERNEL_RMS_NORM:
                    return call(rms_norm<T>, Threads::together);
                case MESHSCOPE_KERNEL_RMS_NORM_BACKWARD:
                    return call(rms_norm_backward<T>, Threads::together);
                case MESHSCOPE_KERNEL_ROTARY:
                    return call(rotary<T>, Threads::alone);
                default:
                    return static_cast<int>(MESHSCOPE_GPU_INVALID_VALUE);
            }
        });
    }
    int attentions() const {
        if (launch_.kernel == MESHSCOPE_KERNEL_ATTENTION_MERGE)
            return launch_.dtype == MESHSCOPE_FLOAT32 ? call(attention_merge, Threads::together)
                                                      : static_cast<int>(MESHSCOPE_GPU_INVALID_VALUE);
        if (launch_.parameter_bytes != static_cast<int32_t>(sizeof(MeshscopeAttention)))
            return MESHSCOPE_GPU_INVALID_VALUE;
        const int64_t head_dim = static_cast<const MeshscopeAttention*>(launch_.parameters)->head_dim;
        return with_float(launch_.dtype, [&](auto type) {
            using T = typename decltype(type)::type;
            if (launch_.kernel == MESHSCOPE_KERNEL_ATTENTION_DELTA)
                return call(attention_delta<T>, Threads::alone);
            if (head_dim <= 64) return wide_attention<T, 2>();
            if (head_dim <= 128) return wide_attention<T, 4>();
            if (head_dim <= MESHSCOPE_ATTENTION_MOST_HEAD_DIM) return wide_attention<T, 8>();
            return static_cast<int>(MESHSCOPE_GPU_INVALID_VALUE);
        });
    }
    /// kColumns: of a head, a lane.
    template <class T, int kColumns>
    int wide_attention() const {
        if (launch_.kernel == MESHSCOPE_KERNEL_ATTENTION)
            return call(attention<T, kColumns>, Threads::together);
        if (launch_.kernel == MESHSCOPE_KERNEL_ATTENTION_DQ)
            return call(attention_dq<T, kColumns>, Threads::together);
        return call(attention_dkdv<T, kColumns>, Threads::together);
    }
    int tokens() const {
        switch (launch_.kernel) {
            case MESHSCOPE_KERNEL_ENTROPY_OF_PARTS:
                return call(entropy_of_parts, Threads::alone);
            case MESHSCOPE_KERNEL_SGD:
                return call(sgd, Threads::alone);
            case MESHSCOPE_KERNEL_ADAM:
                return call(adam, Threads::alone);
            default:
                break;
        }
        return with_float(launch_.dtype, [&](auto type) {
            using T = typename decltype(type)::type;
            switch (launch_.kernel) {
                case MESHSCOPE_KERNEL_CROSS_ENTROPY:
                    return call(cross_entropy<T>, Threads::together);
                case MESHSCOPE_KERNEL_CROSS_ENTROPY_BACKWARD:
                    return call(cross_entropy_backward<T>, Threads::alone);
                case MESHSCOPE_KERNEL_ROW_MAX:
                    return call(row_max<T>, Threads::together);
                case MESHSCOPE_KERNEL_ROW_SUM_EXP:
                    return call(row_sum_exp<T>, Threads::together);
                case MESHSCOPE_KERNEL_PICK_TARGETS:
                    return call(pick_targets<T>, Threads::alone);
                default:
                    return static_cast<int>(MESHSCOPE_GPU_INVALID_VALUE);
            }
        });
    }

    int batch_norms() const {
        if (launch_.dtype != MESHSCOPE_FLOAT32) return MESHSCOPE_GPU_INVALID_VALUE;
        switch (launch_.kernel) {
            case MESHSCOPE_KERNEL_BATCH_NORM_STATS:
                return call(batch_norm_stats, Threads::alone);
            case MESHSCOPE_KERNEL_BATCH_NORM_GATHER_STATS:
                return call(batch_norm_gather_stats, Threads::alone);
            case MESHSCOPE_KERNEL_BATCH_NORM_ELEMT:
                return call(batch_norm_elemt, Threads::alone);
            case MESHSCOPE_KERNEL_BATCH_NORM_BACKWARD_REDUCE:
                return call(batch_norm_backward_reduce, Threads::alone);
            case MESHSCOPE_KERNEL_BATCH_NORM_BACKWARD_ELEMT:
                return call(batch_norm_backward_elemt, Threads::alone);
            default:
                return MESHSCOPE_GPU_INVALID_VALUE;
        }
    }

    const MeshscopeGpuLaunch& launch_;
    const Run& run_;
};

/// As Dispatch says.
template <class Run>
int dispatch(const MeshscopeGpuLaunch& launch, const Run& run) {
    return Dispatch<Run>(launch, run)();
}

}  // namespace meshscope::gpu
