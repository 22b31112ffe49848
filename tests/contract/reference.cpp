#include "tests/contract/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/tensor/dtype.h"

namespace meshscope::contract {
namespace {

/// One number of any dtype, wide enough for all: floats in f, integers in i (wrapped by hand).
struct Number {
    float f = 0;
    uint64_t i = 0;
};

bool is_float(DType dtype) {
    return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
}

Number load(DType dtype, const std::byte* at) {
    Number x;
    switch (dtype) {
        case DType::float32:
            std::memcpy(&x.f, at, 4);
            break;
        case DType::bfloat16: {
            uint16_t bits = 0;
            std::memcpy(&bits, at, 2);
            x.f = tensor::from_bfloat16(bits);
            break;
        }
        case DType::float16: {
            tensor::Float16 half;
            std::memcpy(&half.bits, at, 2);
            x.f = tensor::from_float16(half);
            break;
        }
        case DType::int32: {
            int32_t v = 0;
            std::memcpy(&v, at, 4);
            x.i = static_cast<uint64_t>(static_cast<int64_t>(v));
            break;
        }
        case DType::int64:
            std::memcpy(&x.i, at, 8);
            break;
        case DType::uint8:
            x.i = static_cast<uint64_t>(*at);
            break;
    }
    return x;
}

void store(DType dtype, Number x, std::byte* at) {
    if (dtype == DType::float32) {
        std::memcpy(at, &x.f, 4);
    } else if (dtype == DType::bfloat16) {
        const uint16_t bits = tensor::to_bfloat16(x.f);
        std::memcpy(at, &bits, 2);
    } else if (dtype == DType::float16) {
        const uint16_t bits = tensor::to_float16(x.f).bits;
        std::memcpy(at, &bits, 2);
    } else {
        std::memcpy(at, &x.i,
                    static_cast<std::size_t>(bytes_per_element(dtype)));  // little-endian: the low bytes
    }
}

Number rounded(DType dtype, Number x) {
    std::byte memory[8];
    store(dtype, x, memory);
    return load(dtype, memory);
}

Number combine(DType dtype, ReduceOp op, Number a, Number b) {
    Number x;
    const auto sa = static_cast<int64_t>(a.i);
    const auto sb = static_cast<int64_t>(b.i);
    switch (op) {
        case ReduceOp::sum:
        case ReduceOp::avg:
        case ReduceOp::premul_sum:
            x = {a.f + b.f, a.i + b.i};
            break;
        case ReduceOp::product:
            x = {a.f * b.f, a.i * b.i};
            break;
        case ReduceOp::min:
            x = {std::min(a.f, b.f), static_cast<uint64_t>(std::min(sa, sb))};
            break;
        case ReduceOp::max:
            x = {std::max(a.f, b.f), static_cast<uint64_t>(std::max(sa, sb))};
            break;
        case ReduceOp::band:
            x.i = a.i & b.i;
            break;
        case ReduceOp::bor:
            x.i = a.i | b.i;
            break;
        case ReduceOp::bxor:
            x.i = a.i ^ b.i;
            break;
        case ReduceOp::none:
            break;
    }
    return is_float(dtype) ? x : rounded(dtype, x);
}

/// The sums of `places` in pairs d apart, for d = 1, 2, 4 … (near) or …, 4, 2, 1, until one is left.
Number pairwise(DType dtype, ReduceOp op, std::vector<Number> places, bool near) {
    while (places.size() > 1) {
        std::vector<Number> sums;
        for (std::size_t i = 0; i < places.size() / 2; ++i) {
            const std::size_t a = near ? 2 * i : i, b = near ? 2 * i + 1 : i + places.size() / 2;
            sums.push_back(rounded(dtype, combine(dtype, op, places[a], places[b])));
        }
        places = std::move(sums);
    }
    return places[0];
}

}  // namespace

std::vector<ReduceOp> reduce_ops_of(DType dtype) {
    if (is_float(dtype))
        return {ReduceOp::sum, ReduceOp::product, ReduceOp::min,
                ReduceOp::max, ReduceOp::avg,     ReduceOp::premul_sum};
    return {ReduceOp::sum,  ReduceOp::product, ReduceOp::min, ReduceOp::max,
            ReduceOp::band, ReduceOp::bor,     ReduceOp::bxor};
}

Bytes input_of(DType dtype, int32_t rank, int64_t n) {
    const int64_t size = bytes_per_element(dtype);
    Bytes bytes(static_cast<std::size_t>(n * size));
    for (int64_t i = 0; i < n; ++i) {
        // A small multiplicative hash of (rank, i): signs, sizes and low bits all vary.
        const uint64_t h =
            (static_cast<uint64_t>(i) * 2654435761U + static_cast<uint64_t>(rank) * 40503U + 12345U) *
            0x9E3779B97F4A7C15ULL;
        Number x;
        x.i = h;
        x.f = 0.25F + static_cast<float>((h >> 40U) % 100003U) / 25000.0F;
        if ((h & 1U) != 0) x.f = -x.f;
        store(dtype, x, bytes.data() + i * size);
    }
    return bytes;
}

Bytes reduced(DType dtype, ReduceOp op, double factor, const std::vector<Bytes>& inputs, Order order,
              const std::vector<int32_t>& chunk_of, int32_t root) {
    const int64_t size = bytes_per_element(dtype);
    const auto p = static_cast<int32_t>(inputs.size());
    const auto n = static_cast<int64_t>(inputs[0].size()) / size;
    Bytes result(inputs[0].size());
    for (int64_t i = 0; i < n; ++i) {
        const auto x = [&](int32_t rank) {
            Number v = load(dtype, inputs[static_cast<std::size_t>(rank % p)].data() + i * size);
            if (op == ReduceOp::premul_sum) v = rounded(dtype, {static_cast<float>(factor) * v.f, 0});
            return v;
        };
        Number sum;
        if (order == Order::tree && p > 1) {
            std::vector<Number> s;  // by v = rank - root
            for (int32_t v = 0; v < p; ++v) s.push_back(x(root + v));
            for (int32_t bit = 1; bit < p; bit *= 2)
                for (int32_t v = 0; v + bit < p; v += 2 * bit) {
                    Number& into = s[static_cast<std::size_t>(v)];
                    into = rounded(dtype, combine(dtype, op, into, s[static_cast<std::size_t>(v + bit)]));
                }
            sum = s[0];
        } else if (order == Order::near || order == Order::far) {
            int32_t q = 1;
            while (q * 2 <= p) q *= 2;
            std::vector<Number> places;
            for (int32_t rank = 0; rank < p; ++rank) {
                const bool paired = rank < 2 * (p - q);
                places.push_back(paired ? rounded(dtype, combine(dtype, op, x(rank), x(rank + 1))) : x(rank));
                if (paired) ++rank;
            }
            sum = pairwise(dtype, op, std::move(places), order == Order::near);
        } else {
            const int32_t first =
                order == Order::ring && p > 1 ? chunk_of[static_cast<std::size_t>(i)] + 1 : 0;
            sum = x(first);
            for (int32_t k = 1; k < p; ++k) {
                sum = combine(dtype, op, sum, x(first + k));
                if (order == Order::ring) sum = rounded(dtype, sum);
            }
        }
        if (op == ReduceOp::avg) sum.f /= static_cast<float>(p);
        store(dtype, sum, result.data() + i * size);
    }
    return result;
}

std::vector<int32_t> chunks_of(int64_t n, int32_t p) {
    std::vector<int32_t> chunks(static_cast<std::size_t>(n));
    const int64_t k = (n + p - 1) / p;
    for (int64_t i = 0; i < n; ++i) chunks[static_cast<std::size_t>(i)] = static_cast<int32_t>(i / k);
    return chunks;
}

Bytes piece(const Bytes& bytes, DType dtype, int64_t first, int64_t n) {
    const auto size = bytes_per_element(dtype);
    return {bytes.begin() + first * size, bytes.begin() + (first + n) * size};
}

}  // namespace meshscope::contract
