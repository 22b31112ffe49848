// What a native call costs of ours: over an MPI that does nothing, so that all of the time is the call's
// checks, its place in the order, its report and its record. Prints a JSON line an op and way of calling:
// nanoseconds a call, the least of some hundred means, by what is recorded.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "backends/mpi/mpi_transport.h"
#include "core/comm/native_group.h"
#include "core/comm/stream_executor.h"
#include "core/tensor/device.h"
#include "core/tensor/tensor.h"
#include "tests/mpi/idle_mpi.h"

using namespace meshscope;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kCalls = 1000;  // as many events as a recorder has touched memory for
constexpr int kRounds = 400;

struct Buffers {
    tensor::Tensor full, part;
};

using Call = void (*)(comm::ProcessGroup&, const Buffers&, bool async_op);

double nanoseconds(const MeshscopeMpi& mpi, trace::Level level, bool async_op, Call call) {
    double least = 1e9;
    const auto device = tensor::make_cpu_device();
    for (int round = 0; round < kRounds; ++round) {
        backends::mpi::MpiTransport transport(mpi, {1}, {0, 2, 2, 32767, 0}, false, std::chrono::seconds(60));
        trace::Recorder recorder(GlobalRank{0}, level, 0);
        tensor::Allocator memory(*device, &recorder);
        comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
        comm::NativeGroup group(executor, 0, "world", {GlobalRank{0}, GlobalRank{1}}, comm::Channel{0},
                                &recorder);
        const auto zeros = [&](int64_t n) {
            return memory.zeros({n}, DType::float32, MemoryCategory::temporaries, "bench");
        };
        const Buffers buffers{zeros(256), zeros(128)};
        for (int i = 0; i < 10; ++i) call(group, buffers, async_op);
        const auto begin = Clock::now();
        for (int i = 0; i < kCalls; ++i) call(group, buffers, async_op);
        const auto took = std::chrono::duration<double, std::nano>(Clock::now() - begin);
        least = std::min(least, took.count() / kCalls);
        executor.finish();
    }
    return least;
}

}  // namespace

int main() {
    const MeshscopeMpi mpi = test::idle_mpi();
    const std::pair<const char*, Call> calls[]{
        {"all_reduce",
         [](comm::ProcessGroup& group, const Buffers& b, bool async_op) {
             group.all_reduce(b.full, ReduceOp::sum, {.async_op = async_op}).wait();
         }},
        {"all_gather",
         [](comm::ProcessGroup& group, const Buffers& b, bool async_op) {
             group.all_gather(b.full, b.part, {}, {.async_op = async_op}).wait();
         }},
        {"reduce_scatter",
         [](comm::ProcessGroup& group, const Buffers& b, bool async_op) {
             group.reduce_scatter(b.part, b.full, ReduceOp::sum, {}, {.async_op = async_op}).wait();
         }},
        {"broadcast", [](comm::ProcessGroup& group, const Buffers& b, bool async_op) {
             group.broadcast(b.full, GroupRank{0}, {.async_op = async_op}).wait();
         }}};
    for (const bool async_op : {true, false})
        for (const auto& [op, call] : calls)
            std::printf("{\"op\":\"%s\",\"async_op\":%s,\"off_ns\":%.1f,\"collectives_ns\":%.1f}\n", op,
                        async_op ? "true" : "false", nanoseconds(mpi, trace::Level::off, async_op, call),
                        nanoseconds(mpi, trace::Level::collectives, async_op, call));
    return 0;
}
