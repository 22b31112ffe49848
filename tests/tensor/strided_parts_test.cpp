// What lies in parts on one side and in order on the other, as a shard group's gathers and scatters have it.
#include "core/tensor/strided_parts.h"

#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/tensor/dry_device.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

struct Bench {
    std::unique_ptr<Device> device;
    Allocator memory{*device};

    Tensor numbers(int64_t n, float first) {
        const Tensor t = memory.empty({n}, DType::float32, MemoryCategory::temporaries, "t");
        std::iota(t.data<float>().begin(), t.data<float>().end(), first);
        return t;
    }
};

std::vector<float> read(const Tensor& t) {
    return {t.data<float>().begin(), t.data<float>().end()};
}

}  // namespace

TEST_CASE("parts are gathered in their order, and spread with zeros where a part is short") {
    Bench bench{make_cpu_device()};
    // Three ranks send five numbers each, of which two from the second on are wanted.
    const Tensor gathered = bench.numbers(15, 0), whole = bench.numbers(6, 100);
    gather_parts(bench.device->kernels(), whole, gathered, {.first = 1, .stride = 5, .count = 3});
    CHECK(read(whole) == std::vector<float>{1, 2, 6, 7, 11, 12});

    // Five numbers to three ranks: two, two and one, in rooms of two that are four apart.
    const Tensor spread = bench.numbers(12, 100);
    spread_parts(bench.device->kernels(), spread, {.first = 1, .stride = 4, .count = 3}, 2,
                 bench.numbers(5, 1), [](int64_t r) { return r < 2 ? 2 : 1; });
    CHECK(read(spread) == std::vector<float>{100, 1, 2, 103, 104, 3, 4, 107, 108, 5, 0, 111});

    // A rank without any gets zeros alone.
    const Tensor short_of = bench.numbers(4, 100);
    spread_parts(bench.device->kernels(), short_of, {.first = 0, .stride = 2, .count = 2}, 2,
                 bench.numbers(2, 1), [](int64_t r) { return r == 0 ? 2 : 0; });
    CHECK(read(short_of) == std::vector<float>{1, 2, 0, 0});
}

TEST_CASE("a device that does nothing takes all parts at once, whatever their number") {
    Bench bench{make_dry_device()};
    const auto empty = [&](int64_t n) {
        return bench.memory.empty({n}, DType::float32, MemoryCategory::temporaries, "t");
    };
    constexpr int64_t kRanks = int64_t{1} << 20;
    gather_parts(bench.device->kernels(), empty(2 * kRanks), empty(5 * kRanks),
                 {.first = 1, .stride = 5, .count = kRanks});
    spread_parts(bench.device->kernels(), empty(4 * kRanks), {.first = 1, .stride = 4, .count = kRanks}, 2,
                 empty(kRanks), [](int64_t) -> int64_t { throw std::logic_error("asked part by part"); });
}
