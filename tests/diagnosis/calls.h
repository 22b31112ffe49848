#pragma once

#include <functional>
#include <vector>

#include "tests/diagnosis/harness.h"

// The calls that mistakes are put together from.

namespace meshscope::diagnosis {

using comm::ProcessGroup;
/// One call on a group of all ranks, waited for.
using Call = std::function<void(Place&, ProcessGroup&)>;

inline constexpr int64_t kN = 8;

inline Call all_reduce(int64_t n = kN, DType dtype = DType::float32, ReduceOp op = ReduceOp::sum) {
    return [=](Place& p, ProcessGroup& g) { g.all_reduce(p.zeros(n, dtype), op).wait(); };
}
inline Call broadcast(int32_t root = 0, int64_t n = kN, DType dtype = DType::float32) {
    return [=](Place& p, ProcessGroup& g) { g.broadcast(p.zeros(n, dtype), GroupRank{root}).wait(); };
}
inline Call reduce(int32_t root = 0, int64_t n = kN, DType dtype = DType::float32,
                   ReduceOp op = ReduceOp::sum) {
    return [=](Place& p, ProcessGroup& g) { g.reduce(p.zeros(n, dtype), GroupRank{root}, op).wait(); };
}
inline Call barrier() {
    return [](Place&, ProcessGroup& g) { g.barrier().wait(); };
}
/// Counts that give `first` elements to rank 0, `last` to the last and n to the others.
inline std::vector<int64_t> counts_of(int32_t p, int64_t first, int64_t last) {
    std::vector<int64_t> counts(static_cast<std::size_t>(p), kN);
    counts.front() = first;
    counts.back() = last;
    return counts;
}
inline int64_t sum(const std::vector<int64_t>& counts) {
    int64_t all = 0;
    for (const int64_t n : counts) all += n;
    return all;
}
/// In uneven parts when first and last differ from kN.
inline Call all_gather(int64_t n = kN, DType dtype = DType::float32) {
    return [=](Place& p, ProcessGroup& g) {
        g.all_gather(p.zeros(n * g.size(), dtype), p.zeros(n, dtype)).wait();
    };
}
inline Call uneven_all_gather(int64_t first, int64_t last) {
    return [=](Place& p, ProcessGroup& g) {
        const auto counts = counts_of(g.size(), first, last);
        g.all_gather(p.zeros(sum(counts)), p.zeros(counts[static_cast<std::size_t>(p.rank())]), counts)
            .wait();
    };
}
inline Call reduce_scatter(int64_t n = kN, DType dtype = DType::float32, ReduceOp op = ReduceOp::sum) {
    return [=](Place& p, ProcessGroup& g) {
        g.reduce_scatter(p.zeros(n, dtype), p.zeros(n * g.size(), dtype), op).wait();
    };
}
inline Call uneven_reduce_scatter(int64_t first, int64_t last) {
    return [=](Place& p, ProcessGroup& g) {
        const auto counts = counts_of(g.size(), first, last);
        g.reduce_scatter(p.zeros(counts[static_cast<std::size_t>(p.rank())]), p.zeros(sum(counts)),
                         ReduceOp::sum, counts)
            .wait();
    };
}
inline Call gather(int32_t root = 0, int64_t n = kN, DType dtype = DType::float32) {
    return [=](Place& p, ProcessGroup& g) {
        g.gather(p.zeros(n * g.size(), dtype), p.zeros(n, dtype), GroupRank{root}).wait();
    };
}
inline Call uneven_gather(int64_t first, int64_t last) {
    return [=](Place& p, ProcessGroup& g) {
        const auto counts = counts_of(g.size(), first, last);
        g.gather(p.zeros(sum(counts)), p.zeros(counts[static_cast<std::size_t>(p.rank())]), GroupRank{0},
                 counts)
            .wait();
    };
}
inline Call scatter(int32_t root = 0, int64_t n = kN, DType dtype = DType::float32) {
    return [=](Place& p, ProcessGroup& g) {
        g.scatter(p.zeros(n, dtype), p.zeros(n * g.size(), dtype), GroupRank{root}).wait();
    };
}
inline Call uneven_scatter(int64_t first, int64_t last) {
    return [=](Place& p, ProcessGroup& g) {
        const auto counts = counts_of(g.size(), first, last);
        g.scatter(p.zeros(counts[static_cast<std::size_t>(p.rank())]), p.zeros(sum(counts)), GroupRank{0},
                  counts)
            .wait();
    };
}
inline Call all_to_all(int64_t n = kN, DType dtype = DType::float32) {
    return [=](Place& p, ProcessGroup& g) {
        g.all_to_all(p.zeros(n * g.size(), dtype), p.zeros(n * g.size(), dtype)).wait();
    };
}
/// Gives its neighbour one element more, and itself one fewer, than the others expect.
inline Call all_to_all_shifted() {
    return [=](Place& p, ProcessGroup& g) {
        std::vector<int64_t> counts(static_cast<std::size_t>(g.size()), kN), in = counts;
        const auto me = static_cast<std::size_t>(p.rank());
        in[(me + 1) % in.size()] += 1;
        g.all_to_all(p.zeros(kN * g.size()), p.zeros(kN * g.size() + 1), counts, in).wait();
    };
}
inline Call premultiplied(double factor) {
    return [=](Place& p, ProcessGroup& g) {
        CallOptions options{};
        options.factor = factor;
        g.all_reduce(p.zeros(kN), ReduceOp::premul_sum, options).wait();
    };
}
inline Call on(Stream stream, Algorithm algorithm) {
    return [=](Place& p, ProcessGroup& g) {
        CallOptions options{};
        options.stream = stream;
        options.algorithm = algorithm;
        g.all_reduce(p.zeros(kN), ReduceOp::sum, options).wait();
    };
}
inline Call both(Call first, Call then) {
    return [=](Place& p, ProcessGroup& g) {
        first(p, g);
        then(p, g);
    };
}

}  // namespace meshscope::diagnosis
