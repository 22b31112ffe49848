#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/kinds.h"
#include "core/run/run.h"
#include "core/trace/event.h"

namespace meshscope::cli {

struct CommandContext;

/// What `meshscope bench collectives` is asked.
struct CollectivesBench {
    std::string backend = "threads";
    int32_t ranks = 4;
    std::vector<int64_t> sizes{1 << 10, 1 << 16, 1 << 20, 1 << 24};  ///< bytes of the full buffer
    std::vector<CollectiveOp> ops{CollectiveOp::all_reduce, CollectiveOp::all_gather,
                                  CollectiveOp::reduce_scatter, CollectiveOp::broadcast};
    Algorithm algorithm = Algorithm::direct;  ///< wished for; choose_algorithm decides
    trace::Level level = trace::Level::off;   ///< what is recorded while the clock runs
    int32_t repeats = 15;                     ///< timed blocks a size; the median counts
    bool pin = false;                         ///< tie every rank's thread to a core
};

/// One size of one op. float32, SUM; all_reduce and broadcast in place, the others out of place.
struct CollectivesBenchRow {
    CollectiveOp op = CollectiveOp::all_reduce;
    int64_t bytes =
        0;  ///< the full buffer (all_gather's output, reduce_scatter's input), cut to whole even parts
    int32_t ranks = 1;
    std::string backend;
    Algorithm algorithm = Algorithm::none;  ///< that ran
    double us = 0;                          ///< one call; median of blocks, the slowest rank's of each
    double algbw_GBps = 0;                  ///< bytes / us
    double busbw_GBps = 0;                  ///< algbw · comm::bus_factor
    /// What memcpy on all ranks at once takes, in the same run, to read and write as many bytes as the op
    /// must, over us. Above 1 the op is faster: it writes where it has read, which a copy cannot.
    double memcpy_share = 0;
};

/// What the buffers of all ranks would take, on this machine, is held against what is free. Throws
/// InvalidArgument "bench.collectives.does_not_fit".
void require_room(const CollectivesBench& bench);

/// Really runs the collectives and calls `each` after every row, on rank 0's thread, where rank 0 lives.
/// Every block begins with a barrier and calls the op often enough to dwarf it; the ranks' results are not
/// checked here (tests/contract does). Throws InvalidArgument
/// ("bench.collectives.…", backend errors), CommError, DeviceError when there is no memory.
void run_collectives_bench(const CollectivesBench& bench, const run::Backends& backends,
                           const std::function<void(const CollectivesBenchRow&)>& each);

/// The same in processes of this program on this machine, started for it; unpinned. Throws CommError
/// "launch.failed" when one fails, what start_processes throws.
void bench_in_processes(const CollectivesBench& bench, const CommandContext& context,
                        const std::function<void(const CollectivesBenchRow&)>& each);

/// What is measured when `bytes` are asked for: each rank's part is a whole number of float32, at least one.
int64_t measured_bytes(int64_t bytes, int32_t ranks);

/// "1K,64K,3M,2G,100" in bytes, K = 1024. Throws UsageError ("bench.collectives.size").
std::vector<int64_t> parse_sizes(std::string_view text);

}  // namespace meshscope::cli
