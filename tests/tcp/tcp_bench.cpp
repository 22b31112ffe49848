// Collectives over TCP on loopback, ranks as processes: medians in µs for each size, one line a size.
// test_tcp_bench RANKS [ALGORITHM] [ITERATIONS]
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "backends/tcp/tcp_world.h"
#include "core/base/kinds.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport_group.h"
#include "core/tensor/device.h"
#include "tests/folder.h"

namespace {

using namespace meshscope;
using Clock = std::chrono::steady_clock;

double median_us(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void measure(comm::Transport& transport, Algorithm algorithm, int iterations) {
    const auto device = tensor::make_cpu_device();
    tensor::Allocator memory(*device, nullptr);
    comm::StreamExecutor executor(transport, comm::StreamExecutor::Mode::inline_in_wait);
    std::vector<GlobalRank> ranks;
    for (int32_t r = 0; r < transport.world_size(); ++r) ranks.push_back(GlobalRank{r});
    comm::TransportGroup group(transport, 0, "world", ranks, comm::Channel{0}, nullptr, executor, algorithm);
    const auto timed = [&](int64_t bytes, const char* name, const auto& call) {
        std::vector<double> times;
        const int n = bytes >= (16 << 20) ? std::max(iterations / 10, 5) : iterations;
        for (int i = 0; i < n + 2; ++i) {
            group.barrier().wait();
            const auto begin = Clock::now();
            call();
            const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
            if (i >= 2) times.push_back(us);
        }
        if (transport.rank().value == 0)
            std::cout << name << ' ' << bytes << " B: " << median_us(times) << " us" << std::endl;
    };
    const auto n = static_cast<int64_t>(ranks.size());
    for (const int64_t bytes : {1L << 10, 64L << 10, 1L << 20, 16L << 20, 64L << 20}) {
        const auto whole = memory.zeros({bytes / 4}, DType::float32, MemoryCategory::temporaries, "bench");
        timed(bytes, "all_reduce", [&] { group.all_reduce(whole, ReduceOp::sum).wait(); });
        const auto part = memory.zeros({bytes / 4 / n}, DType::float32, MemoryCategory::temporaries, "bench");
        timed(bytes, "all_gather", [&] { group.all_gather(whole, part).wait(); });
        timed(bytes, "reduce_scatter", [&] { group.reduce_scatter(part, whole, ReduceOp::sum).wait(); });
        timed(bytes, "broadcast", [&] { group.broadcast(whole, GroupRank{0}).wait(); });
    }
    executor.finish();
}

}  // namespace

int main(int argc, char** argv) {
    const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
    const Algorithm algorithm =
        argc > 2 ? parse_algorithm(argv[2]).value_or(Algorithm::ring) : Algorithm::ring;
    const int iterations = argc > 3 ? std::atoi(argv[3]) : 50;
    const test::Folder folder;
    std::vector<pid_t> children;
    for (int r = 0; r < ranks; ++r) {
        const pid_t pid = fork();
        if (pid != 0) {
            children.push_back(pid);
            continue;
        }
        const auto cores = std::max<long>(sysconf(_SC_NPROCESSORS_ONLN), 1);
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<std::size_t>(r % cores), &set);
        sched_setaffinity(0, sizeof set, &set);
        int status = 0;
        try {
            backends::tcp::TcpOptions options;
            options.rank = r;
            options.world_size = ranks;
            options.init_method = "file://" + folder.file("meet");
            backends::tcp::TcpWorld(options).run(
                [&](comm::Transport& transport) { measure(transport, algorithm, iterations); });
        } catch (const std::exception& error) {
            std::cerr << "rank " << r << ": " << error.what() << std::endl;
            status = 1;
        }
        _exit(status);
    }
    int failed = 0;
    for (const pid_t pid : children) {
        int status = 0;
        waitpid(pid, &status, 0);
        failed += status != 0;
    }
    return failed == 0 ? 0 : 1;
}
