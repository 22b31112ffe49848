#pragma once

#include <vector>

#include "core/parallel/ddp/hooks.h"

namespace meshscope::parallel {

/// PowerSGD (arXiv 1905.13727) as torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py has it.
///
/// Of a gradient M (n, m) only two thin matrices travel, P (n, r) and Q (m, r), and every rank goes on with
/// P·Qᵀ:
///   P = M·Q, summed over the ranks; its columns orthonormalised (P is then the same everywhere);
///   Q = Mᵀ·P, summed and divided by the ranks; M ← P·Qᵀ.
/// Q begins with orthonormalised random columns, and from then on (warm start) with the last Q: a power
/// iteration. What P·Qᵀ lost, M - P·Qᵀ, stays on the rank and is added to its next gradient (error feedback).
/// Gradients for which that saves too little, all vectors among them, travel whole.
///
/// Three all_reduces a bucket, always: the whole ones, P, Q; one of 0 elements where there is nothing, as
/// PyTorch. Bytes a rank sends (ring, p ranks): 2(p-1)/p · 4 · (rest + Σ r·(n + m)).
///
/// Where PyTorch's numbers and ours differ: random numbers are drawn from (seed, reduction, bucket, matrix,
/// element) instead of its generator's stream; Gram-Schmidt orthonormalises at every rank, where PyTorch
/// takes QR above 2 (the same space); a column of zeros stays zeros, where PyTorch divides 0 by 0.
class PowerSgd final : public CommHook {
  public:
    PowerSgd(const PowerSgdOptions& options, const RankContext& context, comm::ProcessGroup& group);

    void launch(const FullBucket& bucket) override;
    void finish(const FullBucket& bucket) override;

    /// PyTorch's _should_compress.
    static bool pays(int64_t n, int64_t m, int64_t rank, double min_compression_rate) {
        return static_cast<double>((n + m) * rank) * min_compression_rate < static_cast<double>(n * m);
    }

  private:
    /// A gradient that is compressed. P and Q lie transposed: one of their columns is contiguous here.
    struct Matrix {
        Tensor gradient;  ///< (n, m), in the bucket
        Tensor p;         ///< (r, n), in State::ps
        Tensor q;         ///< (r, m), in State::qs
    };
    /// What a bucket carries from one reduction to the next, and while it is reduced.
    struct State {
        Tensor error, ps, qs;
        std::vector<Matrix> matrices;
        std::vector<Tensor> whole;  ///< gradients that are not compressed
        comm::Work work;
        bool plain = false;  ///< before start_iteration
    };

    void reduce_plainly(const FullBucket& bucket, State& state);
    void feed_error(const FullBucket& bucket, State& state);
    void sort_out(const FullBucket& bucket, State& state);
    void prepare_qs(const FullBucket& bucket, State& state);
    Tensor pack_whole(const FullBucket& bucket, const State& state);
    void draw(const Tensor& q, std::size_t bucket, std::size_t matrix);
    /// Makes the rows of (r, length) orthonormal, first first: modified Gram-Schmidt.
    void orthonormalise(const Tensor& rows, const tensor::Kernels& kernels);
    comm::Work sum(const Tensor& numbers, std::string_view rule, const std::string& unit);

    PowerSgdOptions options_;
    RankContext context_;
    comm::ProcessGroup& group_;
    std::vector<State> states_;  ///< by bucket
    int64_t iteration_ = 0;      ///< reductions that ended
};

}  // namespace meshscope::parallel
