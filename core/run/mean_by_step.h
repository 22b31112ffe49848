#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace meshscope::run {

/// The mean over the ranks of each step's value, summed in rank order: every rank's part of the batch has the
/// same size. Ranks without a value for a step (outside the mesh, or out of batches) do not count.
inline std::vector<double> mean_by_step(const std::vector<std::vector<double>>& by_rank) {
    std::vector<double> mean;
    std::vector<double> ranks;
    for (const auto& values : by_rank) {
        mean.resize(std::max(mean.size(), values.size()));
        ranks.resize(mean.size());
        for (std::size_t s = 0; s < values.size(); ++s) {
            mean[s] += values[s];
            ++ranks[s];
        }
    }
    for (std::size_t s = 0; s < mean.size(); ++s) mean[s] /= ranks[s];
    return mean;
}

/// Of ranks that did not all come equally far: leaves the steps that every rank with a value finished.
inline void keep_common_steps(std::vector<std::vector<double>>& by_rank) {
    std::size_t steps = std::numeric_limits<std::size_t>::max();
    for (const std::vector<double>& of_rank : by_rank)
        if (!of_rank.empty()) steps = std::min(steps, of_rank.size());
    for (std::vector<double>& of_rank : by_rank)
        if (of_rank.size() > steps) of_rank.resize(steps);
}

}  // namespace meshscope::run
