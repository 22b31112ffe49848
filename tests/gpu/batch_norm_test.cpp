// Batch norm of the GPU against the CPU's reference.
#include "tests/gpu/gpu_pair.h"

using namespace meshscope;
using namespace meshscope::gpu_test;

TEST_CASE("batch norm of the GPU agrees with the reference, of one part and of several", "[device]") {
    GpuPair p;
    constexpr double kEps = 1e-5, kMost = 1e-5;
    for (const int64_t rows : {1, 2, 37})
        for (const int64_t width : {1, 33, 300}) {
            CAPTURE(rows, width);
            const Tensor x = p.random({rows, width}), dy = p.random({rows, width}),
                         y = p.random({rows, width});
            const Tensor weight = p.random({width}), bias = p.random({width});
            const Tensor statistics = p.random({2 * width + 1});
            CHECK(p.distance_of({statistics, x}, [=](const Kernels& k, const auto& t) {
                k.batch_norm_stats(t[0], t[1], kEps);
            }) <= kMost);
            // Two parts of unlike rows: 3 and `rows`.
            std::vector<float> two;
            for (const int64_t n : {int64_t{3}, rows}) {
                p.cpu->kernels().batch_norm_stats(statistics, p.random({n, width}), kEps);
                for (const float number : p.floats(statistics)) two.push_back(number);
            }
            const Tensor mean = p.random({width}), invstd = p.random({width}), parts = p.of(two);
            int64_t counted = 0;
            CHECK(p.distance_of({mean, invstd, weight, bias, parts}, [&](const Kernels& k, const auto& t) {
                counted = k.batch_norm_gather_stats(t[0], t[1], t[2], t[3], t[4], 0.1, kEps);
                CHECK(counted == 3 + rows);
            }) <= kMost);
            p.cpu->kernels().batch_norm_gather_stats(mean, invstd, p.random({width}), p.random({width}),
                                                     parts, 0.1, kEps);
            CHECK(p.distance_of({y, x, mean, invstd, weight, bias}, [](const Kernels& k, const auto& t) {
                k.batch_norm_elemt(t[0], t[1], t[2], t[3], t[4], t[5]);
            }) <= kMost);
            const Tensor sums = p.random({2 * width}), dw = p.random({width}), db = p.random({width});
            CHECK(p.distance_of({sums, dw, db, dy, x, mean, invstd}, [](const Kernels& k, const auto& t) {
                k.batch_norm_backward_reduce(t[0], t[1], t[2], t[3], t[4], t[5], t[6]);
            }) <= kMost);
            p.cpu->kernels().batch_norm_backward_reduce(sums, dw, db, dy, x, mean, invstd);
            CHECK(p.distance_of({dy, x, mean, invstd, weight, sums}, [=](const Kernels& k, const auto& t) {
                k.batch_norm_backward_elemt(t[0], t[0], t[1], t[2], t[3], t[4], t[5], 3 + rows);
            }) <= kMost);
        }
}
