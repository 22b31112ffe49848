#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/parallel/ddp/buckets.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

struct DdpOptions {
    std::optional<double> bucket_cap_mb;  ///< absent: 1 MiB for the first bucket, then 25
};

/// DistributedDataParallel: whole parameters on every rank, gradients averaged by all_reduce in buckets that
/// leave while backward still computes. Source: torch/nn/parallel/distributed.py,
/// torch/csrc/distributed/c10d/reducer.cpp.
///
/// - load(): the ranks check that they hold the same parameters (an all_gather of their number, a broadcast
/// of rank 0's
///   sizes and strides), then rank 0 broadcasts their values, once.
/// - The first synchronised backward uses one bucket and notes the order in which gradients arrive; before
/// the next
///   forward rank 0 broadcasts that order (parameters + 1 int32, then one int32 a bucket) and the buckets are
///   cut anew.
/// - A gradient is divided by the number of ranks as it enters its bucket; the all_reduce sums.
/// - While accumulating (Pass::last false) nothing travels: no_sync().
class Ddp final : public Strategy {
  public:
    Ddp(const RankContext& context, nn::Model& model, DdpOptions options);

    void load(const InitialValues& values) override;
    void before_forward(const Pass& pass) override;
    void attach(nn::Tape& tape) override;
    void after_backward(const Pass& pass) override;
    void before_backward(const Pass& pass) override;
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;
    /// The order in which gradients first arrived (parameter indices): the buckets are cut by it, and where
    /// an element lies in its bucket decides in which order a ring adds it up.
    std::vector<int64_t> remembered() const override;
    void remember(std::span<const int64_t> arrival) override;

  private:
    struct Bucket {
        std::string name;  ///< "bucket 0"
        std::vector<nn::Parameter*> parameters;
        std::vector<int64_t> first;  ///< where each parameter's gradient begins in the flat buffer
        int64_t elements = 0;
        Tensor flat;
        int32_t waiting_for = 0;
        comm::Work work;
    };

    void verify_same_model();
    void broadcast_parameters();
    void rebuild_buckets();
    void make_buckets(const std::vector<std::vector<nn::Parameter*>>& parameters);
    void prepare_backward();
    void gradient_ready(nn::Parameter& parameter);
    void launch(Bucket& bucket);

    RankContext context_;
    nn::Model& model_;
    comm::ProcessGroup& group_;
    BucketCaps caps_;
    std::vector<LocalParameter> local_;
    std::vector<Bucket> buckets_;
    std::vector<std::pair<int32_t, int32_t>> place_;  ///< by parameter index: bucket, position in it
    std::vector<nn::Parameter*> arrival_;             ///< order of the first synchronised backward
    bool rebuilt_ = false;
    bool sync_ = true;
    std::size_t next_to_launch_ = 0;  ///< buckets leave in order, on every rank alike
};

}  // namespace meshscope::parallel
