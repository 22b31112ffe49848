#include "app/cli/bench_collectives.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "app/cli/bench_timing.h"
#include "app/cli/command.h"
#include "app/cli/machine.h"
#include "core/base/clock.h"
#include "core/base/cores.h"
#include "core/base/error.h"
#include "core/base/free_memory.h"
#include "core/base/one_process.h"
#include "core/base/units.h"
#include "core/comm/choice.h"
#include "core/comm/cost.h"
#include "core/comm/native_group.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport_group.h"
#include "core/run/fit.h"
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
    Player(CollectiveOp op, int64_t part, comm::ProcessGroup& group, tensor::Allocator& memory)
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
        const comm::CallOptions options{.async_op = false};
        switch (op_) {
            case CollectiveOp::all_gather:
                group_.all_gather(output_, input_, {}, options);
                break;
            case CollectiveOp::reduce_scatter:
                group_.reduce_scatter(output_, input_, ReduceOp::sum, {}, options);
                break;
            case CollectiveOp::all_to_all:
                group_.all_to_all(output_, input_, {}, {}, options);
                break;
            case CollectiveOp::broadcast:
                group_.broadcast(input_, GroupRank{0}, options);
                break;
            case CollectiveOp::reduce:
                group_.reduce(input_, GroupRank{0}, ReduceOp::sum, options);
                break;
            default:
                group_.all_reduce(input_, ReduceOp::sum, options);
        }
    }

  private:
    CollectiveOp op_;
    comm::ProcessGroup& group_;
    Tensor input_;
    Tensor output_;
};

/// Bytes that one rank's core would have to copy if memcpy did the op's moving: half of what the op must read
/// and write, spread over the ranks.
///
/// | op | reads | writes |
/// | --- | --- | --- |
/// | all_reduce, all_gather, all_to_all | n a rank | n a rank |
/// | reduce_scatter | n a rank | n/p a rank |
/// | broadcast | n for each rank but the root | as much |
/// | reduce | n a rank | n in all |
int64_t moved_bytes(CollectiveOp op, int64_t n, int64_t p) {
    switch (op) {
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::reduce:
            return (n + n / p) / 2;
        case CollectiveOp::broadcast:
            return n * (p - 1) / p;
        default:
            return n;
    }
}

/// Plain copies beside the collective, of as many bytes.
class Copier {
  public:
    Copier(int64_t bytes, tensor::Allocator& memory)
        : from_(memory.zeros({bytes}, DType::uint8, MemoryCategory::communication, "bench")),
          to_(memory.zeros({bytes}, DType::uint8, MemoryCategory::communication, "bench")) {}
    void call() { std::memcpy(to_.raw(), from_.raw(), static_cast<std::size_t>(to_.bytes())); }

  private:
    Tensor from_;
    Tensor to_;
};

/// When a block of calls began and ended on one rank, in ns of the steady clock.
struct Block {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
};

/// Medians of blocks that all ranks timed.
class BlockTimes {
  public:
    BlockTimes(comm::ProcessGroup& group, tensor::Allocator& memory) : group_(group), memory_(memory) {}

    /// Of the slowest rank in each block.
    double of_the_slowest(const std::vector<Block>& mine) {
        return median_of(largest(mine, [](const Block& block) { return block.end_ns - block.begin_ns; }));
    }
    /// From the first rank's beginning to the last one's end. For calls in which no rank waits for another:
    /// where ranks share a core these run one after the other, and each rank's own time is half the story.
    double of_all(const std::vector<Block>& mine) {
        std::vector<int64_t> times = largest(mine, [](const Block& block) { return block.end_ns; });
        const auto minus_begins = largest(mine, [](const Block& block) { return -block.begin_ns; });
        for (std::size_t i = 0; i < times.size(); ++i) times[i] += minus_begins[i];
        return median_of(times);
    }

  private:
    /// By block, the largest of the ranks' numbers.
    template <class Number>
    std::vector<int64_t> largest(const std::vector<Block>& mine, const Number& number) {
        Tensor numbers = memory_.empty({static_cast<int64_t>(mine.size())}, DType::int64,
                                       MemoryCategory::communication, "bench");
        std::ranges::transform(mine, numbers.data<int64_t>().begin(), number);
        group_.all_reduce(numbers, ReduceOp::max, {.async_op = false});
        const auto all = numbers.data<int64_t>();
        return {all.begin(), all.end()};
    }
    static double median_of(const std::vector<int64_t>& times_ns) {
        return median({times_ns.begin(), times_ns.end()});
    }

    comm::ProcessGroup& group_;
    tensor::Allocator& memory_;
};

/// Blocks before those that count. Each kind finds in the caches what its own kind left there: as many blocks
/// as it takes where all of it just fits.
constexpr int32_t kWarmUpBlocks = 2;

/// One row, by all ranks together; all get the same. `share_cores`: they are threads, more than there are
/// cores. Half of the copies come before the collective and half behind it, so that a machine that drifts
/// touches both alike.
CollectivesBenchRow time_row(const CollectivesBench& bench, CollectiveOp op, int64_t size, bool share_cores,
                             comm::Transport& transport, comm::StreamExecutor& executor) {
    const auto device = tensor::make_cpu_device();
    trace::Recorder recorder(transport.rank(), bench.level, 0);
    tensor::Allocator memory(*device);
    std::vector<GlobalRank> members;
    for (int32_t r = 0; r < bench.ranks; ++r) members.push_back(GlobalRank{r});
    const bool native = bench.algorithm == Algorithm::native;
    const std::unique_ptr<comm::ProcessGroup> group =
        native ? std::unique_ptr<comm::ProcessGroup>(std::make_unique<comm::NativeGroup>(
                     executor, 0, "world", members, comm::Channel{0}, &recorder))
               : std::make_unique<TransportGroup>(executor, 0, "world", members, comm::Channel{0}, &recorder,
                                                  comm::GroupOptions{.algorithm = bench.algorithm});
    TransportGroup unrecorded(executor, 1, "clock", members, comm::Channel{1}, nullptr);
    const int64_t part = part_of(size, bench.ranks);
    const int64_t bytes = part * bench.ranks * 4;
    Player player(op, part, *group, memory);
    Copier copier(moved_bytes(op, bytes, bench.ranks), memory);

    const int32_t calls = calls_of(bytes);
    const auto time_block = [&](const auto& call) {
        call();
        unrecorded.barrier({.async_op = false});
        Block block{steady_ns(), 0};
        for (int32_t i = 0; i < calls; ++i) call();
        block.end_ns = steady_ns();
        // Who shares its core with this rank may not have seen the end yet.
        unrecorded.barrier({.async_op = false});
        return block;
    };
    std::vector<Block> blocks, copy_blocks;
    const auto time_blocks = [&](std::vector<Block>& into, int32_t n, const auto& call) {
        for (int32_t i = -kWarmUpBlocks; i < n; ++i) {
            const Block block = time_block(call);
            if (i >= 0) into.push_back(block);
        }
    };
    const auto copy = [&] { copier.call(); };
    time_blocks(copy_blocks, (bench.repeats + 1) / 2, copy);
    time_blocks(blocks, bench.repeats, [&] { player.call(); });
    time_blocks(copy_blocks, bench.repeats / 2, copy);
    BlockTimes times(unrecorded, memory);
    const double ns = times.of_the_slowest(blocks);
    const double copy_ns = share_cores ? times.of_all(copy_blocks) : times.of_the_slowest(copy_blocks);

    CollectivesBenchRow row;
    row.op = op;
    row.bytes = bytes;
    row.ranks = bench.ranks;
    row.backend = bench.backend;
    row.algorithm =
        native && bench.ranks > 1
            ? Algorithm::native
            : comm::choose_algorithm(op, bench.algorithm, bench.ranks,
                                     {.bytes = bytes, .shares_memory = transport.abilities().shares_memory});
    row.us = ns / calls / 1e3;
    row.algbw_GBps = static_cast<double>(row.bytes) / row.us / 1e3;
    row.busbw_GBps = row.algbw_GBps * comm::bus_factor(op, bench.ranks);
    row.memcpy_share = copy_ns / ns;
    executor.finish();
    return row;
}

bool can_bench(CollectiveOp op) {
    return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
           op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all ||
           op == CollectiveOp::broadcast || op == CollectiveOp::reduce;
}

/// What a rank's buffers take (Player, Copier).
int64_t bytes_of_rank(CollectiveOp op, int64_t size, int32_t ranks) {
    const int64_t part = part_of(size, ranks) * 4, whole = part * ranks;
    const bool two_whole = op == CollectiveOp::all_to_all;
    const bool and_part = op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter;
    return whole + (two_whole ? whole : and_part ? part : 0) + 2 * moved_bytes(op, whole, ranks);
}

}  // namespace

void require_room(const CollectivesBench& bench) {
    MemoryFacts facts = look_at_memory();
    if (!is_of_one_process(bench.backend)) facts.address_left_bytes.reset();  // each process has its own
    const std::optional<FreeMemory> free = free_memory(facts);
    if (!free) return;
    for (const CollectiveOp op : bench.ops)
        for (const int64_t size : bench.sizes) {
            // A rank's need has at most 36 bits, the ranks 10.
            const int64_t need = bytes_of_rank(op, size, bench.ranks) * bench.ranks;
            if (need <= free->bytes) continue;
            throw InvalidArgument({"bench.collectives.does_not_fit",
                                   {{"op", std::string(name(op))},
                                    {"size", size},
                                    {"ranks", int64_t{bench.ranks}},
                                    {"need", bytes_text(need)},
                                    {"free", bytes_text(free->bytes)}}});
        }
}

void run_collectives_bench(const CollectivesBench& bench, const run::Backends& backends,
                           const std::function<void(const CollectivesBenchRow&)>& each) {
    for (const CollectiveOp op : bench.ops)
        if (!can_bench(op)) throw InvalidArgument({"bench.collectives.op", {{"op", std::string(name(op))}}});
    // Ranks that are processes were looked at by who started them.
    if (is_of_one_process(bench.backend)) require_room(bench);
    // Nothing is computed beside the collectives, so a helper thread has nothing to overlap with.
    run::WorldRequest request{bench.ranks};
    request.one_thread_a_rank = [](int32_t) { return true; };
    const auto world = backends.open(bench.backend, request);
    if (world->device() != nullptr)
        throw InvalidArgument({"bench.collectives.device", {{"backend", bench.backend}}});
    const int32_t cores = usable_cores();  // before ranks are tied to theirs
    world->run([&](comm::Transport& transport) {
        const bool share_cores = transport.abilities().shares_memory && bench.ranks > cores;
        const int32_t rank = transport.rank().value;
        if (bench.pin) pin_thread(rank);
        comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
        for (const CollectiveOp op : bench.ops)
            for (const int64_t size : bench.sizes) {
                const CollectivesBenchRow row = time_row(bench, op, size, share_cores, transport, executor);
                if (rank == 0) each(row);
            }
    });
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
