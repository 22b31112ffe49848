#include "core/tensor/tensor.h"

#include <malloc.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/kernels.h"
#include "tests/tensor/memory_log.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::tensor;

TEST_CASE("a shape holds eight dims in itself, and says so when there are more") {
    Shape shape{2, 3};
    shape.push_back(4);
    CHECK(shape.insert(shape.begin(), 5) == shape.begin());
    CHECK(shape == Shape{5, 2, 3, 4});
    CHECK(shape.erase(shape.begin() + 1) == shape.begin() + 1);
    CHECK(std::vector<int64_t>(shape) == std::vector<int64_t>{5, 3, 4});
    CHECK(count(shape) == 60);
    CHECK(count(Shape()) == 1);
    CHECK_THROWS_AS(shape.at(3), std::out_of_range);
    shape.resize(Shape::kMostDims, 1);
    CHECK(count(shape) == 60);
    CHECK(test::thrown_id<InvalidArgument>([&] { shape.push_back(7); }) == "tensor.too_many_dims");
    CHECK(shape.size() == Shape::kMostDims);  // as it was
    CHECK_THROWS_AS(Shape(std::vector<int64_t>(9, 1)), InvalidArgument);
}

TEST_CASE("an allocation is reported once and freed when its last handle is dropped") {
    const auto device = make_cpu_device();
    test::MemoryLog log;
    Allocator allocator(*device, &log);
    Tensor part;
    {
        const Tensor whole =
            allocator.zeros({4, 3}, DType::float32, MemoryCategory::gradients, "net1.weight grad");
        CHECK_FALSE(whole.shared());
        part = whole.narrow(1, 2);
        CHECK(whole.shared());
        REQUIRE(log.alive.size() == 1);
        CHECK(log.alive.begin()->second.bytes == 48);
        CHECK(log.alive.begin()->second.category == MemoryCategory::gradients);
    }
    CHECK(log.live_bytes == 48);
    part = Tensor();
    CHECK(log.lines == std::vector<std::string>{"+net1.weight grad", "-net1.weight grad"});
}

TEST_CASE("views share memory and keep their place") {
    const auto device = make_cpu_device();
    Allocator allocator(*device);
    const std::vector<float> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const Tensor t = allocator.of(numbers, {4, 3}, MemoryCategory::inputs, "x");
    CHECK(reinterpret_cast<std::uintptr_t>(t.raw()) % 64 == 0);
    const Tensor rows = t.narrow(2, 2);
    CHECK(rows.shape() == Shape{2, 3});
    CHECK(rows.data<float>()[0] == 6.0F);
    CHECK(rows.view({3, 2}).data<float>()[5] == 11.0F);
    CHECK(rows.slice(1, 2).data<float>()[1] == 8.0F);
    CHECK(t.narrow(4, 0).n_elements() == 0);
    rows.data<float>()[0] = 60.0F;
    CHECK(t.data<float>()[6] == 60.0F);
    const Tensor copy = allocator.clone(t, MemoryCategory::temporaries, "copy");
    copy.data<float>()[0] = -1.0F;
    CHECK(t.data<float>()[0] == 0.0F);
}

TEST_CASE("an empty tensor takes no memory and is not reported") {
    const auto device = make_cpu_device();
    test::MemoryLog log;
    Allocator allocator(*device, &log);
    const Tensor empty =
        allocator.zeros({0, 5}, DType::float32, MemoryCategory::sharded_parameters, "empty shard");
    CHECK(empty.defined());
    CHECK(empty.data<float>().empty());
    CHECK(empty.narrow(0, 0).n_elements() == 0);
    CHECK(log.lines.empty());
}

TEST_CASE("each dtype has its own span, and no other") {
    const auto device = make_cpu_device();
    Allocator allocator(*device);
    const auto make = [&](DType dtype) { return allocator.zeros({3}, dtype, MemoryCategory::inputs, "t"); };
    CHECK(make(DType::float32).data<float>().size() == 3);
    CHECK(make(DType::bfloat16).data<uint16_t>().size() == 3);
    CHECK(make(DType::int32).data<int32_t>().size() == 3);
    CHECK(make(DType::int64).data<int64_t>().size() == 3);
    CHECK(make(DType::uint8).data<uint8_t>().size() == 3);
    CHECK(make(DType::bfloat16).bytes() == 6);
    CHECK(test::thrown_id([&] { make(DType::int64).data<float>(); }) == "tensor.wrong_dtype");
}

TEST_CASE("what cannot be is refused") {
    const auto device = make_cpu_device();
    test::MemoryLog log;
    Allocator allocator(*device, &log);
    const Tensor t = allocator.zeros({2, 3}, DType::float32, MemoryCategory::inputs, "t");
    CHECK(test::thrown_id([&] { t.view({7}); }) == "tensor.view");
    CHECK(test::thrown_id([&] { t.narrow(1, 2); }) == "tensor.out_of_range");
    CHECK(test::thrown_id([&] { t.narrow(-1, 1); }) == "tensor.out_of_range");
    CHECK(test::thrown_id([&] { t.slice(6, 1); }) == "tensor.out_of_range");
    CHECK(test::thrown_id([&] { t.slice(INT64_MAX, INT64_MAX); }) == "tensor.out_of_range");
    CHECK(test::thrown_id([] { Tensor().data<float>(); }) == "tensor.undefined");
    CHECK(test::thrown_id([] { count({-1, 2}); }) == "tensor.bad_shape");
    CHECK(test::thrown_id([] { count({INT64_MAX, INT64_MAX}); }) == "tensor.bad_shape");
    CHECK(count({}) == 1);
    CHECK(count({0, INT64_MAX}) == 0);
    const std::size_t reports = log.lines.size();
    try {
        allocator.empty({int64_t{1} << 52U}, DType::float32, MemoryCategory::inputs, "huge");
        FAIL("it was given");
    } catch (const DeviceError& error) {  // what it was for is told
        CHECK(error.message().id == "device.out_of_memory_for");
        CHECK(to_text(*error.message().find("what")) == "huge");
        CHECK(to_text(*error.message().find("category")) == "inputs");
    }
    CHECK(log.lines.size() == reports);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("freed blocks are used again, and never hold more of the machine than was in use at once") {
    const auto resident_bytes = [] {
        std::ifstream statm("/proc/self/statm");
        int64_t size = 0, resident = 0;
        statm >> size >> resident;
        return resident * 4096;
    };
    const auto device = make_cpu_device();
    constexpr int64_t kBlock = int64_t{16} << 20;
    std::byte* const first = device->allocate(kBlock);
    std::memset(first, 1, kBlock);
    device->free(first, kBlock);
    std::byte* const again = device->allocate(kBlock);
    CHECK(again == first);  // still mapped, its pages still there
    device->free(again, kBlock);
    const int64_t before = resident_bytes();
    for (int64_t i = 1; i <= 12; ++i) {  // twelve sizes, one at a time
        const int64_t bytes = kBlock + i * 4096;
        std::byte* const memory = device->allocate(bytes);
        std::memset(memory, 1, static_cast<std::size_t>(bytes));
        device->free(memory, bytes);
    }
    CHECK(resident_bytes() - before < 2 * kBlock);
}

TEST_CASE("small freed blocks are used again, and those of other sizes are given up for new ones") {
    const auto device = make_cpu_device();
    std::byte* const first = device->allocate(1000);
    device->free(first, 1000);
    std::byte* const again = device->allocate(1001);  // as many cache lines
    CHECK(again == first);
    device->free(again, 1001);
    const auto heap_bytes = [] { return static_cast<int64_t>(mallinfo2().uordblks + mallinfo2().hblkhd); };
    const int64_t before = heap_bytes();
    constexpr int64_t kBlock = 100'000;
    for (int64_t i = 0; i < 8; ++i) {  // 10 MB of each size, one size after the other
        std::vector<std::byte*> blocks;
        for (int n = 0; n < 100; ++n) blocks.push_back(device->allocate(kBlock + i * 64));
        CHECK(heap_bytes() - before < 15'000'000);
        for (std::byte* block : blocks) device->free(block, kBlock + i * 64);
        CHECK(heap_bytes() - before < 15'000'000);
    }
}
#endif
