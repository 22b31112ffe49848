#include "core/comm/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>

#include "core/base/error.h"
#include "core/tensor/dtype.h"

namespace meshscope::comm {
namespace {

/// bfloat16 as it lies in memory. Its numbers are computed in float.
struct BFloat16 {
    uint16_t bits;
};

float widen(BFloat16 x) {
    return tensor::from_bfloat16(x.bits);
}
BFloat16 narrow(float x) {
    return {tensor::to_bfloat16(x)};
}

using tensor::Float16;  // computed in float too

/// What a stored T is computed in.
template <class T>
struct Computed {
    using type = T;
    static T load(T x) { return x; }
    static T store(T x) { return x; }
};
template <>
struct Computed<BFloat16> {
    using type = float;
    static float load(BFloat16 x) { return widen(x); }
    static BFloat16 store(float x) { return narrow(x); }
};
template <>
struct Computed<Float16> {
    using type = float;
    static float load(Float16 x) { return tensor::from_float16(x); }
    static Float16 store(float x) { return tensor::to_float16(x); }
};

// Integers wrap around: computed as unsigned, where overflow is defined. Narrow ones in 32 bits first.
template <class T>
using Unsigned = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

struct Sum {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
        else
            return a + b;
    }
};
struct Product {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
        else
            return a * b;
    }
};
struct Min {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>)
            return (b < a || std::isnan(b)) ? b : a;
        else
            return b < a ? b : a;
    }
};
struct Max {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>)
            return (b > a || std::isnan(b)) ? b : a;
        else
            return b > a ? b : a;
    }
};
struct BitAnd {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a & b);
    }
};
struct BitOr {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a | b);
    }
};
struct BitXor {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a ^ b);
    }
};

/// Calls `work(T{}, Op{})` for the dtype and op at hand.
template <class Work>
void dispatch(ReduceOp op, DType dtype, Work&& work) {
    const auto with_op = [&](auto type, auto integer) {
        switch (op) {
            case ReduceOp::sum:
            case ReduceOp::avg:
            case ReduceOp::premul_sum:
                return work(type, Sum{});
            case ReduceOp::product:
                return work(type, Product{});
            case ReduceOp::min:
                return work(type, Min{});
            case ReduceOp::max:
                return work(type, Max{});
            case ReduceOp::none:
                break;
            default:
                if constexpr (decltype(integer)::value) {
                    if (op == ReduceOp::band) return work(type, BitAnd{});
                    if (op == ReduceOp::bor) return work(type, BitOr{});
                    return work(type, BitXor{});
                }
        }
        check_reduce_op(op, dtype);
    };
    switch (dtype) {
        case DType::float32:
            return with_op(float{}, std::false_type{});
        case DType::bfloat16:
            return with_op(BFloat16{}, std::false_type{});
        case DType::float16:
            return with_op(Float16{}, std::false_type{});
        case DType::int32:
            return with_op(int32_t{}, std::true_type{});
        case DType::int64:
            return with_op(int64_t{}, std::true_type{});
        case DType::uint8:
            return with_op(uint8_t{}, std::true_type{});
    }
}

/// Calls `work(T{})` for a dtype that holds fractions.
template <class Work>
void with_float_type(DType dtype, Work&& work) {
    if (dtype == DType::float32)
        work(float{});
    else if (dtype == DType::bfloat16)
        work(BFloat16{});
    else
        work(Float16{});
}

template <class T>
T* as(std::byte* data) {
    return reinterpret_cast<T*>(data);
}
template <class T>
const T* as(const std::byte* data) {
    return reinterpret_cast<const T*>(data);
}

/// The reduction of k sources in one pass, in their order, divided by k for AVG. `out` may be one of the
/// sources, but not overlap them otherwise: so no element depends on one before it, which the compiler is
/// told.
template <std::size_t k, class T, class Combine>
void combine_few(T* out, std::span<const std::byte* const> sources, int64_t n, const Combine& combine,
                 bool average) {
    using C = typename Computed<T>::type;
    std::array<const T*, k> x;
    for (std::size_t i = 0; i < k; ++i) x[i] = as<T>(sources[i]);
    const auto reduced = [&](int64_t i) {
        C sum = Computed<T>::load(x[0][i]);
        for (std::size_t s = 1; s < k; ++s) sum = combine(sum, Computed<T>::load(x[s][i]));
        return sum;
    };
    if (average) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i)
            out[i] = Computed<T>::store(static_cast<C>(reduced(i) / static_cast<C>(k)));
    } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) out[i] = Computed<T>::store(reduced(i));
    }
}

}  // namespace

void check_reduce_op(ReduceOp op, DType dtype) {
    if (has_meaning(op, dtype)) return;
    if (op == ReduceOp::none) throw InvalidArgument({"comm.reduce_op_missing", {}});
    throw InvalidArgument({"comm.reduce_op_not_for_dtype",
                           {{"reduce_op", std::string(name(op))}, {"dtype", std::string(name(dtype))}}});
}

void reduce_pair(ReduceOp op, DType dtype, std::byte* out, const std::byte* from, const std::byte* own,
                 int64_t n) {
    dispatch(op, dtype, [&](auto type, auto combine) {
        using T = decltype(type);
        T* o = as<T>(out);
        const T* a = as<T>(from);
        const T* b = as<T>(own);
        for (int64_t i = 0; i < n; ++i)
            o[i] = Computed<T>::store(combine(Computed<T>::load(a[i]), Computed<T>::load(b[i])));
    });
}

void reduce_into(ReduceOp op, DType dtype, std::byte* into, const std::byte* from, int64_t n) {
    reduce_pair(op, dtype, into, from, into, n);
}

void reduce_many(ReduceOp op, DType dtype, std::byte* out, std::span<const std::byte* const> sources,
                 int64_t n) {
    dispatch(op, dtype, [&](auto type, auto combine) {
        using T = decltype(type);
        using C = typename Computed<T>::type;
        const bool average = op == ReduceOp::avg;
        switch (sources.size()) {
            case 2:
                return combine_few<2>(as<T>(out), sources, n, combine, average);
            case 3:
                return combine_few<3>(as<T>(out), sources, n, combine, average);
            case 4:
                return combine_few<4>(as<T>(out), sources, n, combine, average);
            default:
                break;
        }
        // A block's partial results stay in the first-level cache while the sources stream by; and because
        // they are not in `out`, `out` may be one of the sources.
        constexpr int64_t kBlock = 1024;
        std::array<C, kBlock> sum;
        const auto p = static_cast<C>(sources.size());
        for (int64_t first = 0; first < n; first += kBlock) {
            const int64_t m = std::min(kBlock, n - first);
            const T* x = as<T>(sources[0]) + first;
            for (int64_t i = 0; i < m; ++i) sum[static_cast<std::size_t>(i)] = Computed<T>::load(x[i]);
            for (std::size_t k = 1; k < sources.size(); ++k) {
                x = as<T>(sources[k]) + first;
                for (int64_t i = 0; i < m; ++i) {
                    C& s = sum[static_cast<std::size_t>(i)];
                    s = combine(s, Computed<T>::load(x[i]));
                }
            }
            if (average)
                for (int64_t i = 0; i < m; ++i) {
                    C& s = sum[static_cast<std::size_t>(i)];
                    s = static_cast<C>(s / p);
                }
            T* o = as<T>(out) + first;
            for (int64_t i = 0; i < m; ++i) o[i] = Computed<T>::store(sum[static_cast<std::size_t>(i)]);
        }
    });
}

void finish_reduce(ReduceOp op, DType dtype, std::byte* data, int64_t n, int32_t p) {
    if (op != ReduceOp::avg) return;
    check_reduce_op(op, dtype);
    const auto divisor = static_cast<float>(p);
    with_float_type(dtype, [&](auto type) {
        using T = decltype(type);
        T* const x = as<T>(data);
        for (int64_t i = 0; i < n; ++i) x[i] = Computed<T>::store(Computed<T>::load(x[i]) / divisor);
    });
}

void premultiply(DType dtype, double factor, std::byte* out, const std::byte* in, int64_t n) {
    check_reduce_op(ReduceOp::premul_sum, dtype);
    const auto f = static_cast<float>(factor);
    with_float_type(dtype, [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < n; ++i)
            as<T>(out)[i] = Computed<T>::store(f * Computed<T>::load(as<T>(in)[i]));
    });
}

std::vector<float> to_floats(DType dtype, std::span<const std::byte> data) {
    const auto n = static_cast<int64_t>(data.size()) / bytes_per_element(dtype);
    std::vector<float> numbers(static_cast<std::size_t>(n));
    const auto fill = [&](auto type) {
        using T = decltype(type);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<float>(Computed<T>::load(as<T>(data.data())[i]));
    };
    switch (dtype) {
        case DType::float32:
            fill(float{});
            break;
        case DType::bfloat16:
            fill(BFloat16{});
            break;
        case DType::float16:
            fill(Float16{});
            break;
        case DType::int32:
            fill(int32_t{});
            break;
        case DType::int64:
            fill(int64_t{});
            break;
        case DType::uint8:
            fill(uint8_t{});
            break;
    }
    return numbers;
}

}  // namespace meshscope::comm
