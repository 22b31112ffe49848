#include "core/data/sampler.h"

#include <numeric>
#include <random>
#include <utility>

#include "core/base/error.h"

namespace meshscope::data {

std::vector<int64_t> randperm(int64_t n, uint64_t seed) {
    if (n > kMostShuffled)
        throw InvalidArgument({"sampler.too_many", {{"samples", n}, {"most", kMostShuffled}}});
    std::vector<int64_t> order(static_cast<std::size_t>(n < 0 ? 0 : n));
    std::iota(order.begin(), order.end(), int64_t{0});
    // The standard fixes mt19937's seeding and every number of it, and they are PyTorch's.
    std::mt19937 generator(static_cast<uint32_t>(seed));
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        const std::size_t other = i + generator() % (order.size() - i);
        std::swap(order[i], order[other]);
    }
    return order;
}

DistributedSampler::DistributedSampler(SamplerOptions options) : options_(options) {
    if (options_.samples < 0 || options_.world_size < 1)
        throw InvalidArgument(
            {"sampler.bad_options", {{"samples", options_.samples}, {"world_size", options_.world_size}}});
    samples_per_rank_ = options_.samples / options_.world_size;
    if (!options_.drop_last && options_.samples % options_.world_size != 0) ++samples_per_rank_;
    set_epoch(0);
}

void DistributedSampler::set_epoch(uint64_t epoch) {
    epoch_ = epoch;
    if (options_.shuffle) order_ = randperm(options_.samples, options_.seed + epoch);
}

int64_t DistributedSampler::index(int64_t rank, int64_t i) const {
    // The whole list, begun again as often as needed: with fewer samples than ranks that is more than once.
    const int64_t place = (i * options_.world_size + rank) % options_.samples;
    return options_.shuffle ? order_[static_cast<std::size_t>(place)] : place;
}

std::vector<int64_t> DistributedSampler::indices(int64_t rank) const {
    std::vector<int64_t> result(static_cast<std::size_t>(samples_per_rank_));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = index(rank, static_cast<int64_t>(i));
    return result;
}

std::vector<std::vector<int64_t>> batches_of(const std::vector<int64_t>& indices, int64_t batch_size,
                                             bool drop_last) {
    if (batch_size < 1) throw InvalidArgument({"sampler.bad_batch", {{"batch_size", batch_size}}});
    std::vector<std::vector<int64_t>> batches;
    for (std::size_t first = 0; first < indices.size();) {
        const std::size_t left = indices.size() - first;
        const bool whole = std::cmp_greater_equal(left, batch_size);
        if (!whole && drop_last) break;
        const std::size_t n = whole ? static_cast<std::size_t>(batch_size) : left;
        const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(first);
        batches.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(n));
        first += n;
    }
    return batches;
}

}  // namespace meshscope::data
