#pragma once

#include <algorithm>
#include <vector>

namespace meshscope::run {

/// The mean over the ranks of each step's value, summed in rank order: every rank's part of the batch has the
/// same size. Ranks without values (outside the mesh) do not count.
inline std::vector<double> mean_by_step(const std::vector<std::vector<double>>& by_rank) {
    std::vector<double> mean;
    double ranks = 0;
    for (const auto& values : by_rank) {
        if (values.empty()) continue;
        mean.resize(std::max(mean.size(), values.size()));
        for (std::size_t s = 0; s < values.size(); ++s) mean[s] += values[s];
        ++ranks;
    }
    for (double& value : mean) value /= ranks;
    return mean;
}

}  // namespace meshscope::run
