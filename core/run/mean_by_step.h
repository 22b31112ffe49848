#pragma once

#include <algorithm>
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

}  // namespace meshscope::run
