#include "app/cli/bench_collectives.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "app/cli/command.h"
#include "core/base/error.h"
#include "core/comm/choice.h"
#include "core/comm/cost.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport_group.h"
#include "core/tensor/device.h"
#include "core/tensor/tensor.h"

namespace meshscope::cli {
namespace {

using comm::TransportGroup;
using tensor::Tensor;

constexpr int64_t kLargestSize = int64_t{1} << 33;

/// Elements of a rank's part of the full buffer; at least one.
int64_t part_of(int64_t bytes, int32_t ranks) {
    return std::max<int64_t>(1, bytes / 4 / ranks);
}

/// Calls a block: enough that the clock and the barrier do not count, few enough that the whole stays short.
int32_t calls_of(int64_t bytes) {
    return static_cast<int32_t>(std::clamp<int64_t>((4 << 20) / bytes, 1, 100));
}

/// One op on one rank: its buffers, and how to call it.
class Player {
  public:
    Player(CollectiveOp op, int64_t part, TransportGroup& group, tensor::Allocator& memory)
        : op_(op), group_(group) {
        const auto make = [&](int64_t n) {
            return memory.zeros({n}, DType::float32, MemoryCategory::communication, "bench");
        };
        const int64_t whole = part * group.size();
        switch (op) {
            case CollectiveOp::all_gather:
                input_ = make(part), output_ = make(whole);
                break;
            case CollectiveOp::reduce_scatter:
                input_ = make(whole), output_ = make(part);
                break;
            case CollectiveOp::all_to_all:
                input_ = make(whole), output_ = make(whole);
                break;
            default:
                input_ = make(whole);
        }
    }

    void call() {
        switch (op_) {
            case CollectiveOp::all_gather:
                return group_.all_gather(output_, input_).wait();
            case CollectiveOp::reduce_scatter:
                return group_.reduce_scatter(output_, input_, ReduceOp::sum).wait();
            case CollectiveOp::all_to_all:
                return group_.all_to_all(output_, input_).wait();
            case CollectiveOp::broadcast:
                return group_.broadcast(input_, GroupRank{0}).wait();
            case CollectiveOp::reduce:
                return group_.reduce(input_, GroupRank{0}, ReduceOp::sum).wait();
            default:
                return group_.all_reduce(input_, ReduceOp::sum).wait();
        }
    }

  private:
    CollectiveOp op_;
    TransportGroup& group_;
    Tensor input_;
    Tensor output_;
};

/// Microseconds a call, for each block, of this rank.
std::vector<double> time_rank(const CollectivesBench& bench, CollectiveOp op, int64_t part,
                              comm::Transport& transport) {
    const auto device = tensor::make_cpu_device();
    trace::Recorder recorder(transport.rank(), bench.level, 0);
    tensor::Allocator memory(*device);
    // Nothing is computed beside the collectives, so a helper thread has nothing to overlap with.
    comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
    std::vector<GlobalRank> members;
    for (int32_t r = 0; r < bench.ranks; ++r) members.push_back(GlobalRank{r});
    TransportGroup group(transport, 0, "world", members, comm::Channel{0}, &recorder, executor,
                         comm::GroupOptions{.algorithm = bench.algorithm});
    Player player(op, part, group, memory);

    const int32_t calls = calls_of(part * bench.ranks * 4);
    std::vector<double> times;
    for (int32_t block = -2; block < bench.repeats; ++block) {  // two to warm up
        group.barrier().wait();
        const auto begin = std::chrono::steady_clock::now();
        for (int32_t i = 0; i < calls; ++i) player.call();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        if (block >= 0) times.push_back(took.count() / calls);
    }
    executor.finish();
    return times;
}

bool can_bench(CollectiveOp op) {
    return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
           op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all ||
           op == CollectiveOp::broadcast || op == CollectiveOp::reduce;
}

}  // namespace

void run_collectives_bench(const CollectivesBench& bench, const run::Backends& backends,
                           const std::function<void(const CollectivesBenchRow&)>& each) {
    for (const CollectiveOp op : bench.ops)
        if (!can_bench(op)) throw InvalidArgument({"bench.collectives.op", {{"op", std::string(name(op))}}});
    const auto world = backends.open(bench.backend, {bench.ranks});
    for (const CollectiveOp op : bench.ops)
        for (const int64_t size : bench.sizes) {
            const int64_t part = part_of(size, bench.ranks);
            std::vector<std::vector<double>> times(static_cast<std::size_t>(bench.ranks));
            world->run([&](comm::Transport& transport) {
                times[static_cast<std::size_t>(transport.rank().value)] =
                    time_rank(bench, op, part, transport);
            });
            std::vector<double> slowest(static_cast<std::size_t>(bench.repeats), 0);
            for (const auto& rank : times)
                for (std::size_t i = 0; i < rank.size(); ++i) slowest[i] = std::max(slowest[i], rank[i]);
            std::sort(slowest.begin(), slowest.end());

            CollectivesBenchRow row;
            row.op = op;
            row.bytes = part * bench.ranks * 4;
            row.ranks = bench.ranks;
            row.backend = bench.backend;
            row.algorithm = comm::choose_algorithm(op, bench.algorithm, bench.ranks, {.bytes = row.bytes});
            row.us = slowest[slowest.size() / 2];
            row.algbw_GBps = static_cast<double>(row.bytes) / row.us / 1e3;
            row.busbw_GBps = row.algbw_GBps * comm::bus_factor(op, bench.ranks);
            each(row);
        }
}

int64_t measured_bytes(int64_t bytes, int32_t ranks) {
    return part_of(bytes, ranks) * 4 * ranks;
}

std::vector<int64_t> parse_sizes(std::string_view text) {
    std::vector<int64_t> sizes;
    while (true) {
        const std::size_t comma = text.find(',');
        const std::string_view word = text.substr(0, comma);
        const auto refuse = [&] {
            throw UsageError({"bench.collectives.size", {{"word", std::string(word)}}});
        };
        int64_t value = 0;
        std::size_t i = 0;
        for (; i < word.size() && word[i] >= '0' && word[i] <= '9'; ++i) {
            value = value * 10 + (word[i] - '0');
            if (value > kLargestSize) refuse();
        }
        const std::size_t digits = i;
        if (i < word.size()) {
            const std::size_t power = std::string_view("KMG").find(word[i++]);
            if (power == std::string_view::npos) refuse();
            value <<= 10 * (power + 1);
        }
        if (digits == 0 || i != word.size() || value < 1 || value > kLargestSize) refuse();
        sizes.push_back(value);
        if (comma == std::string_view::npos) return sizes;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace meshscope::cli
