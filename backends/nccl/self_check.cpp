#include "backends/nccl/self_check.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>

#include "core/base/error.h"
#include "core/comm/native.h"
#include "core/comm/parts.h"

namespace meshscope::backends::nccl {
namespace {

/// Element i of what rank r gives: 1 to 13, so that a sum over thousands of ranks is exact in float32.
int32_t given(int32_t rank, int64_t i) {
    return static_cast<int32_t>((3 * int64_t{rank} + 5 * i) % 13) + 1;
}

std::vector<comm::Part> even_parts(int32_t size, int64_t each) {
    std::vector<comm::Part> parts;
    for (int32_t r = 0; r < size; ++r) parts.push_back({r * each, each});
    return parts;
}

/// n numbers, value(0), value(1) …, in the bytes of float32 or int32.
template <class Value>
std::vector<std::byte> numbers(DType dtype, int64_t n, const Value& value) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(4 * n));
    for (int64_t i = 0; i < n; ++i) {
        const int32_t whole = value(i);
        const auto real = static_cast<float>(whole);
        std::memcpy(bytes.data() + 4 * i, dtype == DType::int32 ? static_cast<const void*>(&whole) : &real,
                    4);
    }
    return bytes;
}

/// Places where the two differ.
int64_t differences(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    if (a == b) return 0;
    int64_t n = 0;
    for (std::size_t i = 0; i + 4 <= a.size(); i += 4) n += std::memcmp(&a[i], &b[i], 4) != 0 ? 1 : 0;
    return n;
}

/// What one rank gives in a collective, and what it must hold after it.
struct Case {
    comm::IssuedCall call;
    std::vector<std::byte> input, expected;
};

int32_t reduced(ReduceOp op, int32_t size, int64_t i) {
    int32_t value = op == ReduceOp::min ? 14 : 0;
    for (int32_t r = 0; r < size; ++r) {
        const int32_t x = given(r, i);
        value = op == ReduceOp::sum   ? value + x
                : op == ReduceOp::max ? std::max(value, x)
                                      : std::min(value, x);
    }
    return value;
}

Case make_case(CollectiveOp op, ReduceOp reduce_op, DType dtype, int64_t n, int32_t me, int32_t size) {
    const int32_t root = size - 1;
    const bool parted = op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all;
    const bool gathers = op == CollectiveOp::all_gather || op == CollectiveOp::gather;
    const bool at_root = me == root;
    Case made;
    made.call.op = op;
    made.call.reduce_op = reduce_op;
    made.call.dtype = dtype;
    const auto give = [&](int64_t elements) {
        made.call.in_elements = elements;
        made.input = numbers(dtype, elements, [&](int64_t i) { return given(me, i); });
    };
    const auto expect = [&](int64_t elements, const auto& value) {
        made.call.out_elements = elements;
        made.expected = numbers(dtype, elements, value);
    };
    if (parted || op == CollectiveOp::scatter) made.call.in_parts = even_parts(size, n);
    if (gathers || op == CollectiveOp::all_to_all) made.call.out_parts = even_parts(size, n);
    switch (op) {
        case CollectiveOp::all_reduce:
            give(n);
            expect(n, [&](int64_t i) { return reduced(reduce_op, size, i); });
            break;
        case CollectiveOp::reduce:
            made.call.peer = root;
            give(n);
            if (at_root) expect(n, [&](int64_t i) { return reduced(reduce_op, size, i); });
            break;
        case CollectiveOp::broadcast:
            made.call.peer = root;
            give(n);
            expect(n, [&](int64_t i) { return given(root, i); });
            break;
        case CollectiveOp::all_gather:
            give(n);
            expect(n * size, [&](int64_t i) { return given(static_cast<int32_t>(i / n), i % n); });
            break;
        case CollectiveOp::gather:
            made.call.peer = root;
            give(n);
            if (at_root)
                expect(n * size, [&](int64_t i) { return given(static_cast<int32_t>(i / n), i % n); });
            break;
        case CollectiveOp::scatter:
            made.call.peer = root;
            if (at_root) give(n * size);
            expect(n, [&](int64_t i) { return given(root, me * n + i); });
            break;
        case CollectiveOp::reduce_scatter:
            give(n * size);
            expect(n, [&](int64_t i) { return reduced(reduce_op, size, me * n + i); });
            break;
        case CollectiveOp::all_to_all:
            give(n * size);
            expect(n * size, [&](int64_t i) { return given(static_cast<int32_t>(i / n), me * n + i % n); });
            break;
        case CollectiveOp::send:
            made.call.peer = (me + 1) % size;
            give(n);
            break;
        case CollectiveOp::recv:
            made.call.peer = (me + size - 1) % size;
            expect(n, [&](int64_t i) { return given(made.call.peer, i); });
            break;
        case CollectiveOp::barrier:
            break;
    }
    return made;
}

/// Device memory for the time of a case.
class Memory {
  public:
    Memory(RankDevice& device, std::size_t bytes)
        : device_(device), memory_(bytes == 0 ? nullptr : device.allocate(static_cast<int64_t>(bytes))) {}
    ~Memory() {
        if (memory_ != nullptr) device_.free(memory_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* get() const { return memory_; }

  private:
    RankDevice& device_;
    std::byte* memory_;
};

/// Runs a case twice; how many numbers are wrong, and how long the second took.
std::pair<int64_t, int64_t> run_case(comm::NativeCollectives& side, RankDevice& device, Case& one) {
    const Memory input(device, one.input.size()), output(device, one.expected.size());
    if (input.get() != nullptr)
        device.write(input.get(), one.input.data(), static_cast<int64_t>(one.input.size()));
    one.call.input = input.get();
    one.call.output = output.get();
    int64_t wrong = 0, ns = 0;
    for (int time = 0; time < 2; ++time) {
        // Nothing of the run before may pass for an answer.
        std::vector<std::byte> got(one.expected.size(), std::byte{0x7f});
        if (!got.empty()) device.write(output.get(), got.data(), static_cast<int64_t>(got.size()));
        const auto began = std::chrono::steady_clock::now();
        side.run(one.call);
        ns = (std::chrono::steady_clock::now() - began) / std::chrono::nanoseconds(1);
        if (!got.empty()) device.read(got.data(), output.get(), static_cast<int64_t>(got.size()));
        wrong += differences(got, one.expected);
    }
    return {wrong, ns};
}

std::vector<CheckedCollective> list(int32_t size, std::span<const int64_t> sizes) {
    std::vector<CheckedCollective> all;
    for (const int64_t n : sizes) {
        for (const DType dtype : {DType::float32, DType::int32})
            for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min})
                all.push_back({CollectiveOp::all_reduce, op, dtype, n});
        for (const CollectiveOp op : {CollectiveOp::reduce, CollectiveOp::reduce_scatter})
            all.push_back({op, ReduceOp::sum, DType::float32, n});
        for (const CollectiveOp op : {CollectiveOp::broadcast, CollectiveOp::all_gather, CollectiveOp::gather,
                                      CollectiveOp::scatter, CollectiveOp::all_to_all})
            all.push_back({op, ReduceOp::none, DType::float32, n});
        if (size == 1) continue;  // nobody to send to
        all.push_back({CollectiveOp::send, ReduceOp::none, DType::float32, n});
        all.push_back({CollectiveOp::recv, ReduceOp::none, DType::float32, n});
    }
    all.push_back({CollectiveOp::barrier, ReduceOp::none, DType::float32, 0});
    return all;
}

}  // namespace

std::vector<CheckedCollective> check_collectives(NcclWorld& world, const NcclWorld::DeviceOf& device_of,
                                                 std::span<const int64_t> sizes) {
    std::vector<CheckedCollective> all = list(world.size(), sizes);
    std::mutex mutex;
    world.run([&](comm::Transport& transport) {
        const std::unique_ptr<RankDevice> device = device_of(transport.rank());
        std::vector<GlobalRank> ranks;
        for (int32_t r = 0; r < world.size(); ++r) ranks.push_back(GlobalRank{r});
        const auto side = transport.abilities().library->native(ranks, comm::Channel{0});
        for (CheckedCollective& one : all) {
            Case mine = make_case(one.op, one.reduce_op, one.dtype, one.elements, transport.rank().value,
                                  world.size());
            const auto [wrong, ns] = run_case(*side, *device, mine);
            const std::lock_guard lock(mutex);
            one.wrong += wrong;
            one.ns = std::max(one.ns, ns);
        }
    });
    return all;
}

}  // namespace meshscope::backends::nccl
