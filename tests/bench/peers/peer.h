// What the side-by-side programs share: how they are asked, how they time, how they print. The method is that
// of `meshscope bench collectives` (app/cli/bench_collectives.cpp): blocks that begin with a barrier, the
// slowest rank of each block, the median of the blocks.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace peer {

struct Request {
    std::vector<int64_t> sizes{1 << 10, 1 << 16, 1 << 20, 1 << 24};  // bytes of the full buffer
    std::vector<std::string> ops{"all_reduce", "all_gather", "reduce_scatter", "broadcast"};
    int repeats = 15;
    int ranks = 2;       // only where the program starts them itself
    std::string folder;  // likewise
};

inline std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text)
        if (c == ',')
            words.emplace_back();
        else
            words.back() += c;
    return words;
}

/// Reads --sizes BYTES,… --ops OP,… --repeats N --ranks N --folder PATH.
inline Request read(int argc, char** argv) {
    Request request;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string key = argv[i], value = argv[i + 1];
        if (key == "--sizes") {
            request.sizes.clear();
            for (const std::string& word : split(value)) request.sizes.push_back(std::stoll(word));
        } else if (key == "--ops") {
            request.ops = split(value);
        } else if (key == "--repeats") {
            request.repeats = std::stoi(value);
        } else if (key == "--ranks") {
            request.ranks = std::stoi(value);
        } else if (key == "--folder") {
            request.folder = value;
        } else {
            std::fprintf(stderr, "unknown option %s\n", argv[i]);
            std::exit(2);
        }
    }
    return request;
}

/// Ties the calling thread to the core of its rank, counted around the cores that the process may use.
inline void pin(int rank) {
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    int place = rank % CPU_COUNT(&usable);
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &usable) && place-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
}

/// Elements of a rank's part of the full buffer.
inline int64_t part_of(int64_t bytes, int ranks) {
    return std::max<int64_t>(1, bytes / 4 / ranks);
}

/// Calls a block: as many as `meshscope bench collectives` makes.
inline int calls_of(int64_t bytes) {
    return static_cast<int>(std::clamp<int64_t>((4 << 20) / bytes, 1, 100));
}

/// Median microseconds a call. `call` is the collective, `barrier` begins a block, `largest` gives the
/// largest of all ranks' numbers to all of them.
template <class Call, class Barrier, class Largest>
double time_calls(int64_t bytes, int repeats, const Call& call, const Barrier& barrier,
                  const Largest& largest) {
    const auto block = [&](int calls) {
        barrier();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) call();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        return largest(took.count() / calls);
    };
    block(2);
    const double first = block(2);
    // No block beyond 40 ms: some libraries take milliseconds a call when ranks outnumber cores.
    const int calls = std::clamp(static_cast<int>(40e3 / std::max(first, 1e-3)), 1, calls_of(bytes));
    block(calls);
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) times.push_back(block(calls));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

inline void print(const std::string& op, int64_t bytes, int ranks, const char* library, double us) {
    std::printf("{\"op\":\"%s\",\"bytes\":%lld,\"ranks\":%d,\"backend\":\"%s\",\"us\":%.3f}\n", op.c_str(),
                static_cast<long long>(bytes), ranks, library, us);
    std::fflush(stdout);
}

}  // namespace peer
