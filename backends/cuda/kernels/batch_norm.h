#pragma once

// Batch norm: a column is one thread's, so that its rows are added in their order; float32, in double.

#include "backends/cuda/kernels/elements.h"

namespace meshscope::gpu {

__global__ inline void batch_norm_stats(MeshscopeBatchNorm p) {
    const auto rows = static_cast<double>(p.rows);
    each(p.width, [&](int64_t column) {
        double sum = 0.0;
        for (int64_t r = 0; r < p.rows; ++r) sum += p.x[r * p.width + column];
        const double mean = sum / rows;
        double squares = 0.0;
        for (int64_t r = 0; r < p.rows; ++r) {
            const double away = p.x[r * p.width + column] - mean;
            squares += away * away;
        }
        p.out[column] = static_cast<float>(mean);
        p.out[p.width + column] = static_cast<float>(1.0 / sqrt(squares / rows + p.eps));
        if (column == 0) p.out[2 * p.width] = static_cast<float>(p.rows);
    });
}

__global__ inline void batch_norm_gather_stats(MeshscopeBatchNorm p) {
    const int64_t part_size = 2 * p.width + 1;
    const auto rows = static_cast<double>(p.all_rows);
    each(p.width, [&](int64_t column) {
        double sum = 0.0;
        for (int64_t part = 0; part < p.parts; ++part) {
            const float* const of_part = p.statistics + part * part_size;
            sum += static_cast<double>(of_part[2 * p.width]) * of_part[column];
        }
        const double centre = sum / rows;
        // What each part's rows lie from its own mean, and that mean from the mean of all.
        double squares = 0.0;
        for (int64_t part = 0; part < p.parts; ++part) {
            const float* const of_part = p.statistics + part * part_size;
            const double away = of_part[column] - centre;
            const double factor = of_part[p.width + column];
            squares += of_part[2 * p.width] * (1.0 / (factor * factor) - p.eps + away * away);
        }
        p.out[column] = static_cast<float>(centre);
        p.out2[column] = static_cast<float>(1.0 / sqrt(squares / rows + p.eps));
        const double kept = 1.0 - p.momentum;
        p.running_mean[column] = static_cast<float>(kept * p.running_mean[column] + p.momentum * centre);
        p.running_var[column] =
            static_cast<float>(kept * p.running_var[column] + p.momentum * (squares / (rows - 1.0)));
    });
}

__global__ inline void batch_norm_elemt(MeshscopeBatchNorm p) {
    each(p.rows * p.width, [&](int64_t i) {
        const int64_t column = i % p.width;
        const double h = (static_cast<double>(p.x[i]) - p.mean[column]) * p.invstd[column];
        p.out[i] = static_cast<float>(h * p.weight[column] + p.bias[column]);
    });
}

__global__ inline void batch_norm_backward_reduce(MeshscopeBatchNorm p) {
    each(p.width, [&](int64_t column) {
        double sum = 0.0, weighed = 0.0;
        for (int64_t r = 0; r < p.rows; ++r) {
            const int64_t i = r * p.width + column;
            sum += p.dy[i];
            weighed += p.dy[i] * (static_cast<double>(p.x[i]) - p.mean[column]);
        }
        p.out[column] = p.out3[column] = static_cast<float>(sum);
        p.out[p.width + column] = static_cast<float>(weighed);
        p.out2[column] = static_cast<float>(weighed * p.invstd[column]);
    });
}

__global__ inline void batch_norm_backward_elemt(MeshscopeBatchNorm p) {
    const auto rows = static_cast<double>(p.all_rows);
    each(p.rows * p.width, [&](int64_t i) {
        const int64_t column = i % p.width;
        const double factor = p.invstd[column];
        const double away = static_cast<double>(p.x[i]) - p.mean[column];
        const double weighed = p.sums[p.width + column];
        p.out[i] =
            static_cast<float>(p.weight[column] * factor *
                               (p.dy[i] - p.sums[column] / rows - away * factor * factor * weighed / rows));
    });
}

}  // namespace meshscope::gpu
