#pragma once

#include <cstdint>
#include <vector>

namespace meshscope::data {

/// The most samples that can be shuffled here: from 2³²/20 on PyTorch draws its permutation in another way.
inline constexpr int64_t kMostShuffled = (int64_t{1} << 32) / 20 - 1;

/// torch.randperm(n) on a CPU generator that was seeded with `seed`: a mt19937 of the seed's low 32 bits, and
/// for i = 0 … n-2 position i changes places with i + (next 32 bits mod (n - i)). Cost: n draws, 8·n bytes.
/// Throws InvalidArgument ("sampler.too_many": samples, most).
/// Source: aten/src/ATen/native/cpu/…randperm_cpu, ATen/core/MT19937RNGEngine.h.
std::vector<int64_t> randperm(int64_t n, uint64_t seed);

/// What a DistributedSampler is made with, in PyTorch's words.
struct SamplerOptions {
    int64_t samples = 0;
    int64_t world_size = 1;
    bool shuffle = false;
    uint64_t seed = 0;
    bool drop_last = false;
};

/// torch.utils.data.DistributedSampler: which samples each rank sees in an epoch. The list of all samples (in
/// order, or shuffled by seed + epoch) is made a multiple of world_size long, by beginning again at its front
/// or, with drop_last, by cutting its end; rank r takes every world_size-th of it, from place r on. All ranks
/// get equally many.
///
/// Example: 11 samples on 2 ranks: 0 2 4 6 8 10 and 1 3 5 7 9 0.
class DistributedSampler {
  public:
    /// Throws InvalidArgument ("sampler.bad_options": samples < 0 or world_size < 1; "sampler.too_many" when
    /// they are to be shuffled).
    explicit DistributedSampler(SamplerOptions options);

    const SamplerOptions& options() const { return options_; }
    /// Samples of each rank: ⌈samples / world_size⌉; with drop_last ⌊…⌋.
    int64_t samples_per_rank() const { return samples_per_rank_; }
    /// Whether the i-th sample of a rank is padding: it was seen in this epoch already.
    bool is_padding(int64_t rank, int64_t i) const {
        return i * options_.world_size + rank >= options_.samples;
    }

    /// Another epoch shuffles anew; without this every epoch has the order of epoch 0.
    void set_epoch(uint64_t epoch);
    uint64_t epoch() const { return epoch_; }
    /// The i-th sample of a rank in this epoch. `rank` and `i` must lie in range. Cost: a look-up.
    int64_t index(int64_t rank, int64_t i) const;
    /// All samples of a rank in this epoch, in order.
    std::vector<int64_t> indices(int64_t rank) const;

  private:
    SamplerOptions options_;
    int64_t samples_per_rank_ = 0;
    uint64_t epoch_ = 0;
    std::vector<int64_t> order_;  ///< the shuffled samples; empty when they are not shuffled
};

/// torch.utils.data.BatchSampler: a rank's samples cut into batches of `batch_size`; the last may be shorter,
/// or is left out with drop_last. Cost: a copy. Throws InvalidArgument ("sampler.bad_batch": batch_size < 1).
std::vector<std::vector<int64_t>> batches_of(const std::vector<int64_t>& indices, int64_t batch_size,
                                             bool drop_last);

}  // namespace meshscope::data
