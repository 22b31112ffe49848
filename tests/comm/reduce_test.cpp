#include "core/comm/reduce.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/comm/copy_bytes.h"
#include "core/comm/parts.h"
#include "core/tensor/dtype.h"

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::comm;

namespace {

template <class T>
std::vector<T> reduce_two(ReduceOp op, DType dtype, std::vector<T> into, const std::vector<T>& from) {
    reduce_into(op, dtype, reinterpret_cast<std::byte*>(into.data()),
                reinterpret_cast<const std::byte*>(from.data()), static_cast<int64_t>(into.size()));
    return into;
}

std::vector<uint16_t> bf16(const std::vector<float>& numbers) {
    std::vector<uint16_t> bits;
    for (const float x : numbers) bits.push_back(tensor::to_bfloat16(x));
    return bits;
}

}  // namespace

TEST_CASE("integers wrap around, and their bits combine") {
    using I = std::vector<int32_t>;
    const int32_t most = std::numeric_limits<int32_t>::max();
    CHECK(reduce_two<int32_t>(ReduceOp::sum, DType::int32, {most, -5}, {1, 3}) == I{-most - 1, -2});
    CHECK(reduce_two<int32_t>(ReduceOp::product, DType::int32, {1 << 30, -3}, {4, 7}) == I{0, -21});
    CHECK(reduce_two<int32_t>(ReduceOp::band, DType::int32, {0b1100, -1}, {0b1010, 7}) == I{0b1000, 7});
    CHECK(reduce_two<int32_t>(ReduceOp::bor, DType::int32, {0b1100, 0}, {0b1010, 7}) == I{0b1110, 7});
    CHECK(reduce_two<int32_t>(ReduceOp::bxor, DType::int32, {0b1100, 7}, {0b1010, 7}) == I{0b0110, 0});
    CHECK(reduce_two<uint8_t>(ReduceOp::sum, DType::uint8, {250, 1}, {10, 2}) == std::vector<uint8_t>{4, 3});
    CHECK(reduce_two<uint8_t>(ReduceOp::product, DType::uint8, {16}, {17}) == std::vector<uint8_t>{16});
    CHECK(reduce_two<int64_t>(ReduceOp::min, DType::int64, {-9, 4}, {3, 2}) == std::vector<int64_t>{-9, 2});
}

TEST_CASE("MIN and MAX hand a NaN on, from either side") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
        const auto out = reduce_two<float>(op, DType::float32, {nan, 1, 2}, {1, nan, 3});
        CHECK(std::isnan(out[0]));
        CHECK(std::isnan(out[1]));
        CHECK(out[2] == (op == ReduceOp::min ? 2.0F : 3.0F));
    }
}

TEST_CASE("bfloat16 is added in float32: rounded at each step by reduce_into, once by reduce_many") {
    // 1 + 2^-8 is a tie that goes back to the even 1; added together first, 2^-8 + 2^-8 = 2^-7 is one step of
    // bfloat16.
    const float half_step = std::ldexp(1.0F, -8);
    const auto one = bf16({1});
    const auto small = bf16({half_step});
    CHECK(reduce_two<uint16_t>(ReduceOp::sum, DType::bfloat16,
                               reduce_two<uint16_t>(ReduceOp::sum, DType::bfloat16, one, small),
                               small) == bf16({1}));
    std::vector<uint16_t> out(1);
    const std::vector<const std::byte*> sources{reinterpret_cast<const std::byte*>(one.data()),
                                                reinterpret_cast<const std::byte*>(small.data()),
                                                reinterpret_cast<const std::byte*>(small.data())};
    reduce_many(ReduceOp::sum, DType::bfloat16, reinterpret_cast<std::byte*>(out.data()), sources, 1);
    CHECK(out == bf16({1 + 2 * half_step}));
}

TEST_CASE("reduce_many may write over any of its sources, beyond one block") {
    constexpr int64_t n = 2500;
    for (std::size_t target = 0; target < 3; ++target) {
        std::vector<std::vector<float>> x(3, std::vector<float>(n));
        for (std::size_t k = 0; k < 3; ++k)
            for (std::size_t i = 0; i < n; ++i) x[k][i] = static_cast<float>((k + 1) * 1000 + i);
        std::vector<const std::byte*> sources;
        for (const auto& each : x) sources.push_back(reinterpret_cast<const std::byte*>(each.data()));
        reduce_many(ReduceOp::sum, DType::float32, reinterpret_cast<std::byte*>(x[target].data()), sources,
                    n);
        bool right = true;
        for (std::size_t i = 0; i < n; ++i) right = right && x[target][i] == static_cast<float>(6000 + 3 * i);
        CHECK(right);
    }
}

TEST_CASE("reductions without a meaning are refused by name") {
    const auto refusal = [](ReduceOp op, DType dtype) -> std::string {
        try {
            check_reduce_op(op, dtype);
            return "";
        } catch (const InvalidArgument& error) {
            return error.what();
        }
    };
    for (const ReduceOp op : {ReduceOp::band, ReduceOp::bor, ReduceOp::bxor})
        for (const DType dtype : {DType::float32, DType::bfloat16})
            CHECK(refusal(op, dtype) == "comm.reduce_op_not_for_dtype(reduce_op=" + std::string(name(op)) +
                                            ", dtype=" + std::string(name(dtype)) + ")");
    for (const ReduceOp op : {ReduceOp::avg, ReduceOp::premul_sum})
        for (const DType dtype : {DType::int32, DType::int64, DType::uint8})
            CHECK_FALSE(refusal(op, dtype).empty());
    CHECK(refusal(ReduceOp::none, DType::float32) == "comm.reduce_op_missing()");
    CHECK(refusal(ReduceOp::avg, DType::bfloat16).empty());
    CHECK(refusal(ReduceOp::bxor, DType::uint8).empty());
}

TEST_CASE("chunks are torch.chunk's") {
    const auto sizes = [](int64_t n, int32_t p) {
        std::vector<int64_t> out;
        int64_t first = 0;
        for (const Part& part : chunk_parts(n, p)) {
            CHECK(part.first == first);
            first += part.elements;
            out.push_back(part.elements);
        }
        return out;
    };
    CHECK(sizes(5, 4) == std::vector<int64_t>{2, 2, 1, 0});  // FSDP2's rows of net2 on 4 ranks
    CHECK(sizes(10, 4) == std::vector<int64_t>{3, 3, 3, 1});
    CHECK(sizes(2, 4) == std::vector<int64_t>{1, 1, 0, 0});
    CHECK(sizes(0, 3) == std::vector<int64_t>{0, 0, 0});
}
