#include "core/tensor/host_access.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using tensor::Tensor;

namespace {

/// Memory that holds every byte turned over, so that whoever reads or writes it past the device is found out.
class Elsewhere final : public tensor::Device {
  public:
    std::byte* allocate(int64_t bytes) override { return cpu_->allocate(bytes); }
    void free(std::byte* memory, int64_t bytes) noexcept override { cpu_->free(memory, bytes); }
    const tensor::Kernels& kernels() const override { return cpu_->kernels(); }
    bool on_host() const override { return false; }
    void write(std::byte* to, const std::byte* from, int64_t bytes) override {
        for (int64_t i = 0; i < bytes; ++i) to[i] = ~from[i];
    }
    void read(std::byte* to, const std::byte* from, int64_t bytes) override { write(to, from, bytes); }

  private:
    std::unique_ptr<Device> cpu_ = tensor::make_cpu_device();
};

}  // namespace

TEST_CASE("the host reads and writes a tensor's numbers wherever they lie") {
    const std::unique_ptr<tensor::Device> cpu = tensor::make_cpu_device();
    Elsewhere elsewhere;
    for (tensor::Device* const device : {cpu.get(), static_cast<tensor::Device*>(&elsewhere)}) {
        INFO((device == cpu.get() ? "on the CPU" : "elsewhere"));
        tensor::Allocator memory(*device);
        const Tensor t = memory.empty({2, 3}, DType::int64, MemoryCategory::inputs, "t");
        tensor::fill_numbers<int64_t>(
            t, [](std::span<int64_t> numbers) { std::iota(numbers.begin(), numbers.end(), 7); });
        const tensor::HostNumbers<int64_t> numbers(t);
        CHECK(std::vector<int64_t>(numbers.begin(), numbers.end()) ==
              std::vector<int64_t>{7, 8, 9, 10, 11, 12});
        CHECK(tensor::HostNumbers<int64_t>(t.narrow(1, 1))[2] == 12);  // where a view begins

        std::vector<std::byte> bytes(48);
        tensor::read_bytes(bytes.data(), t);
        bytes[0] = std::byte{99};
        tensor::write_bytes(t, bytes.data());
        CHECK(tensor::HostNumbers<int64_t>(t)[0] == 99);
        tensor::fill_bytes(t, [](std::byte* all) { std::fill(all, all + 48, std::byte{0}); });
        CHECK(tensor::HostNumbers<int64_t>(t)[5] == 0);

        const Tensor one = memory.empty({1}, DType::float32, MemoryCategory::inputs, "one");
        tensor::fill_numbers<float>(one, [](std::span<float> x) { x[0] = 0.5F; });
        CHECK(one.item() == 0.5);
        const Tensor nothing = memory.empty({0}, DType::float32, MemoryCategory::inputs, "nothing");
        CHECK(tensor::HostNumbers<float>(nothing).size() == 0);
        CHECK(test::thrown_id([&] { const tensor::HostNumbers<float> wrong(t); }) == "tensor.wrong_dtype");
        CHECK(test::thrown_id([&] { const tensor::HostNumbers<float> none{Tensor()}; }) ==
              "tensor.undefined");
    }
}

TEST_CASE("numbers that do not lie with the host cannot be taken for numbers that do") {
    Elsewhere elsewhere;
    tensor::Allocator memory(elsewhere);
    const Tensor t = memory.empty({4}, DType::float32, MemoryCategory::inputs, "t");
    CHECK(test::thrown_id([&] { static_cast<void>(t.data<float>()); }) == "tensor.not_on_host");
    CHECK(&t.device() == &elsewhere);
}
