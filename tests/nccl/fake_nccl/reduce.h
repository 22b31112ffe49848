#pragma once

#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/tensor/dtype.h"

// The stand-in's arithmetic: ranks are added in the order of their numbers; 16-bit floats in float32, rounded
// once at the end, as are the quotients of avg. premul_sum multiplies each rank's numbers by the factor,
// which the caller gave in the numbers' own type, and rounds them before they are added.
namespace fake_nccl {

struct Reduction {
    ncclRedOp_t op = ncclSum;
    bool premultiplied = false;
    unsigned char scalar[8] = {};
};

inline size_t bytes_of(ncclDataType_t type) {
    switch (type) {
        case ncclInt8:
        case ncclUint8:
            return 1;
        case ncclFloat16:
        case ncclBfloat16:
            return 2;
        case ncclInt32:
        case ncclUint32:
        case ncclFloat32:
            return 4;
        default:
            return 8;
    }
}

struct Float32 {
    using Bits = float;
    static float load(Bits x) { return x; }
    static Bits store(float x) { return x; }
};
struct Bfloat16 {
    using Bits = uint16_t;
    static float load(Bits x) { return meshscope::tensor::from_bfloat16(x); }
    static Bits store(float x) { return meshscope::tensor::to_bfloat16(x); }
};
struct Half {
    using Bits = uint16_t;
    static float load(Bits x) { return meshscope::tensor::from_float16({x}); }
    static Bits store(float x) { return meshscope::tensor::to_float16(x).bits; }
};

template <class T>
T combine(ncclRedOp_t op, T a, T b) {
    switch (op) {
        case ncclProd:
            return static_cast<T>(a * b);
        case ncclMax:
            return std::max(a, b);
        case ncclMin:
            return std::min(a, b);
        default:
            return static_cast<T>(a + b);
    }
}

template <class Type>
void reduce_floats(const Reduction& how, const std::vector<const unsigned char*>& in, size_t first, size_t n,
                   unsigned char* out) {
    using Bits = typename Type::Bits;
    const auto read = [&](size_t r, size_t i) {
        Bits bits{};
        std::memcpy(&bits, in[r] + (first + i) * sizeof bits, sizeof bits);
        if (!how.premultiplied) return Type::load(bits);
        Bits factor{};
        std::memcpy(&factor, how.scalar, sizeof factor);
        return Type::load(Type::store(Type::load(factor) * Type::load(bits)));
    };
    for (size_t i = 0; i < n; ++i) {
        float sum = read(0, i);
        for (size_t r = 1; r < in.size(); ++r) sum = combine(how.op, sum, read(r, i));
        if (how.op == ncclAvg) sum /= static_cast<float>(in.size());
        const Bits bits = Type::store(sum);
        std::memcpy(out + i * sizeof bits, &bits, sizeof bits);
    }
}

/// Computes in U, whose sums wrap; compares as T.
template <class T, class U>
void reduce_integers(const Reduction& how, const std::vector<const unsigned char*>& in, size_t first,
                     size_t n, unsigned char* out) {
    for (size_t i = 0; i < n; ++i) {
        T sum{};
        for (size_t r = 0; r < in.size(); ++r) {
            T x{};
            std::memcpy(&x, in[r] + (first + i) * sizeof x, sizeof x);
            if (r == 0)
                sum = x;
            else if (how.op == ncclMax || how.op == ncclMin)
                sum = combine<T>(how.op, sum, x);
            else
                sum = static_cast<T>(combine<U>(how.op, static_cast<U>(sum), static_cast<U>(x)));
        }
        std::memcpy(out + i * sizeof sum, &sum, sizeof sum);
    }
}

/// Reduces elements [first, first + n) of every rank's numbers.
inline void reduce(ncclDataType_t type, const Reduction& how, const std::vector<const unsigned char*>& in,
                   size_t first, size_t n, unsigned char* out) {
    switch (type) {
        case ncclFloat32:
            return reduce_floats<Float32>(how, in, first, n, out);
        case ncclBfloat16:
            return reduce_floats<Bfloat16>(how, in, first, n, out);
        case ncclFloat16:
            return reduce_floats<Half>(how, in, first, n, out);
        case ncclInt32:
            return reduce_integers<int32_t, uint32_t>(how, in, first, n, out);
        case ncclInt64:
            return reduce_integers<int64_t, uint64_t>(how, in, first, n, out);
        default:
            return reduce_integers<uint8_t, uint32_t>(how, in, first, n, out);
    }
}

}  // namespace fake_nccl
