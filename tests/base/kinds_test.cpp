#include "core/base/kinds.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("every word of a vocabulary reads back as itself") {
    for (int i = 0; i < 11; ++i)
        CHECK(parse_collective_op(name(static_cast<CollectiveOp>(i))) == static_cast<CollectiveOp>(i));
    for (int i = 0; i < 10; ++i)
        CHECK(parse_reduce_op(name(static_cast<ReduceOp>(i))) == static_cast<ReduceOp>(i));
    for (int i = 0; i < 6; ++i) CHECK(parse_dtype(name(static_cast<DType>(i))) == static_cast<DType>(i));
    for (int i = 0; i < kMemoryCategories; ++i)
        CHECK(parse_memory_category(name(static_cast<MemoryCategory>(i))) == static_cast<MemoryCategory>(i));
    CHECK_FALSE(parse_collective_op("allreduce"));
    CHECK_FALSE(parse_dtype(""));
}

TEST_CASE("the words are PyTorch's") {
    CHECK(name(CollectiveOp::reduce_scatter) == "reduce_scatter");
    CHECK(name(ReduceOp::premul_sum) == "premul_sum");
    CHECK(name(DType::bfloat16) == "bfloat16");
    CHECK(bytes_per_element(DType::bfloat16) == 2);
    CHECK(name(DType::float16) == "float16");
    CHECK(bytes_per_element(DType::float16) == 2);
    CHECK(bytes_per_element(DType::int64) == 8);
}
