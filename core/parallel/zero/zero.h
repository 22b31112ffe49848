#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/parallel/ddp/buckets.h"
#include "core/parallel/fsdp1/flat_layout.h"
#include "core/parallel/fsdp1/options.h"
#include "core/parallel/mixed_precision.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

enum class ZeroStage : uint8_t { optimizer = 1, gradients = 2, parameters = 3 };

struct ZeroOptions {
    std::optional<double> bucket_cap_mb;  ///< as DDP's; absent: 1 MiB, then 25
    Fsdp1Options units;                   ///< stage 3: units, prefetch and precision
    MixedPrecision precision;             ///< stages 1 and 2
};

/// ZeRO stages 1 and 2 (arXiv 1910.02054): every rank holds the whole parameters but updates only its part of
/// each bucket, so the optimizer's state is cut over the ranks. A gradient is divided by the number of ranks
/// and moved into its bucket's flat array as soon as it is ready.
///
/// - Stage 1 keeps all flat gradients until the step's last backward has ended, then reduce_scatters them.
/// - Stage 2 reduce_scatters a bucket as soon as it is full, in every micro-batch, and frees it: a rank keeps
///   gradients of its own part only. At most one bucket is on its way while the next is filled.
/// - After the optimizer's step the buckets' parameters are all_gathered, in place.
///
/// Bytes a rank, Ψ parameters, N ranks, float32 and Adam: 4Ψ + 4Ψ + 8Ψ/N, and 4Ψ + 4Ψ/N + 8Ψ/N. Sent in a
/// step: 2·(N-1)/N · 4Ψ, as DDP's.
///
/// Frozen parameters lie in no bucket: each is whole on every rank, in `param`, and the first rank answers
/// for it.
///
/// Mixed precision, as the paper has it: all parameters in `param`, this rank's part in float32 too, which
/// the optimizer updates and the parameters are copied from before they are gathered; gradients, fresh in
/// `param`, are summed, kept and sent in `reduce`, and the optimizer gets float32. With gradients in
/// float32: 2Ψ + 4Ψ + 12Ψ/N bytes at stage 1, 2Ψ + 16Ψ/N at stage 2.
class Zero final : public Strategy {
  public:
    /// `stage` optimizer or gradients; see make_zero for the third.
    Zero(const RankContext& context, nn::Model& model, ZeroStage stage, const ZeroOptions& options);

    void load(const InitialValues& values) override;
    void before_forward(const Pass& pass) override;
    Tensor input(const Tensor& x) override { return cast_input(x, precision_.param, context_); }
    void before_backward(const Pass& pass) override { before_forward(pass); }
    void attach(nn::Tape& tape) override;
    void after_backward(const Pass& pass) override;
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;

  private:
    struct Bucket {
        std::string name;  ///< "bucket 0"
        std::vector<nn::Parameter*> parameters;
        FlatLayout layout;
        std::vector<FlatLayout::Piece> pieces;  ///< of this rank
        Tensor values;                          ///< all parameters; this rank updates its part
        Tensor master;                          ///< its part in float32, where `values` are of another type
        Tensor gradients;                       ///< all, until they are scattered
        Tensor scattered;                       ///< this rank's part, just reduced
        Tensor gradient_part;                   ///< this rank's part, summed over micro-batches
        std::size_t waiting_for = 0;
        comm::Work scatter;
    };

    void make_buckets(const std::optional<double>& bucket_cap_mb);
    void gradient_ready(nn::Parameter& parameter);
    void scatter(Bucket& bucket);
    void settle(Bucket& bucket);
    void gather_parameters();
    void read_values(Bucket& bucket, const InitialValues& values);
    void load_frozen(const InitialValues& values);
    Tensor part_of(const Bucket& bucket) const;  ///< of `values`, this rank's

    RankContext context_;
    nn::Model& model_;
    comm::ProcessGroup& group_;
    ZeroStage stage_;
    MixedPrecision precision_;
    std::vector<Bucket> buckets_;
    std::vector<std::pair<std::size_t, std::size_t>> place_;  ///< by parameter index: bucket, position
    std::vector<LocalParameter> local_;
    Bucket* on_its_way_ = nullptr;
};

/// The strategy of a stage. Stage 3 also cuts the parameters: FSDP1's flat units, all of them freed after
/// forward and after backward, gradients reduced in every micro-batch; (N-1)/N · 3 · 4Ψ bytes a step.
std::unique_ptr<Strategy> make_zero(const RankContext& context, nn::Model& model, ZeroStage stage,
                                    const ZeroOptions& options);

}  // namespace meshscope::parallel
