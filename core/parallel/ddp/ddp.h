#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/parallel/ddp/buckets.h"
#include "core/parallel/ddp/hooks.h"
#include "core/parallel/ddp/options.h"
#include "core/parallel/strategy.h"
#include "core/parallel/working_copies.h"

namespace meshscope::parallel {

/// DistributedDataParallel: whole parameters on every rank, gradients averaged by all_reduce in buckets that
/// leave while backward still computes. Source: torch/nn/parallel/distributed.py,
/// torch/csrc/distributed/c10d/reducer.cpp.
///
/// - load(): the ranks check that they hold the same parameters (an all_gather of their number, a broadcast
/// of
///   rank 0's sizes and strides), then rank 0 broadcasts their values, once.
/// - The first synchronised backward uses one bucket and notes the order in which gradients arrive; before
/// the
///   next forward rank 0 broadcasts that order (parameters + 1 int32, then one int32 a bucket) and the
///   buckets are cut anew.
/// - A gradient is divided by the number of ranks as it enters its bucket; the all_reduce sums.
/// - While accumulating (Pass::last false) nothing travels: no_sync().
/// - gradient_as_bucket_view: a gradient that has entered its bucket is freed, and the parameter's gradient
/// is
///   that part of the bucket from then on; nothing is copied back.
/// - find_unused_parameters: buckets are cut at once, by the parameters' order, and never anew, because the
///   order of arrival may change; each rank's map of used parameters (one int32 each) is summed behind the
///   last bucket. A parameter that one rank did not use counts as a gradient of zeros there; one that no rank
///   used keeps none.
/// - static_graph: in the first synchronised backward gradients only count, and the map and all buckets are
///   reduced after it; buckets are cut anew by the order of the second one. From then on as without the flag.
/// - A hook replaces the reducer's division and all_reduce: see DdpHook.
/// - Buffers (batch norm's running statistics) are rank 0's: it broadcasts them with the first parameters,
/// and
///   again before each forward that follows a synchronised one (forward_sync_buffers): floats in one call,
///   counts in another. What the other ranks had noted in between is lost.
/// - Mixed precision: the model has copies in `param` (WorkingCopies); gradients enter their bucket, which is
///   of `reduce`, from the sum over micro-batches and are freed, and come out of it in float32. The numbers
///   are those of the reducer with _MixedPrecision, whose copies live from one pass to the next only.
/// - Frozen parameters (requires_grad = False) are broadcast with the others, and are in no bucket, no map,
/// no
///   order and no comparison of shapes.
/// - join: before each forward the ranks count themselves (an all_reduce of one number) and tell those
/// without
///   a batch whether gradients will travel (another one). A rank that has run out answers with zeros; after
///   the last step the ranks agree on one that took part in it, and it broadcasts its model.
class Ddp final : public Strategy {
  public:
    Ddp(const RankContext& context, nn::Model& model, DdpOptions options,
        const MixedPrecision& precision = {});

    void load(const InitialValues& values) override;
    /// load() without its word to the record of who keeps what, for a strategy around this one that says it.
    void load_values(const InitialValues& values);
    void before_forward(const Pass& pass) override;
    Tensor input(const Tensor& x) override;
    void attach(nn::Tape& tape) override;
    void after_backward(const Pass& pass) override;
    void shadow(const Pass& pass) override;
    void finish(bool had_batch, GroupRank last_joiner) override;
    void before_backward(const Pass& pass) override;
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;
    /// The order in which gradients first arrived (parameter indices): the buckets are cut by it, and where
    /// an element lies in its bucket decides in which order a ring adds it up. Behind it, of a
    /// static graph whose first backward is over, for each parameter -1 - n, where n ranks used it.
    std::vector<int64_t> remembered() const override;
    /// What does not fit this model is passed over.
    void remember(std::span<const int64_t> numbers) override;

  private:
    struct Bucket {
        std::size_t index = 0;
        std::string name;  ///< "bucket 0"
        std::vector<nn::Parameter*> parameters;
        std::vector<int64_t> first;  ///< where each parameter's gradient begins in the flat buffer
        int64_t elements = 0;
        Tensor flat;
        int32_t waiting_for = 0;
        comm::Work work;
    };

    bool tracks_used() const { return options_.find_unused_parameters || options_.static_graph; }
    /// Whether a later backward may find a parameter unused that an earlier one used.
    bool is_dynamic() const { return options_.find_unused_parameters && !options_.static_graph; }
    bool cuts_anew() const { return !is_dynamic(); }
    void verify_same_model();
    void broadcast_parameters(GroupRank root, std::string_view rule);
    void broadcast(std::span<const Tensor> values, GroupRank root, std::string_view rule);
    void broadcast_buffers();
    std::vector<std::vector<nn::Parameter*>> first_buckets() const;
    void rebuild_buckets();
    void make_buckets(const std::vector<std::vector<nn::Parameter*>>& parameters);
    void prepare_backward();
    void gradient_ready(nn::Parameter& parameter);
    int32_t& used(const nn::Parameter& parameter) {
        return used_[number_[static_cast<std::size_t>(parameter.index)]];
    }
    Tensor part_of(const nn::Parameter& parameter) const;
    void copy_in(nn::Parameter& parameter);
    void mark_ready(const nn::Parameter& parameter);
    void launch_full_buckets();
    FullBucket full(const Bucket& bucket) const;
    void launch(Bucket& bucket);
    void wait_for(Bucket& bucket);  ///< its collective, the hook's or our own
    void finish_bucket(Bucket& bucket);
    void reduce_used_map();
    void add_unused();
    void forget_used();
    float divisor();
    comm::Work count_active(float mine);
    comm::Work tell_sync(float mine);

    RankContext context_;
    nn::Model& model_;
    comm::ProcessGroup& group_;
    DdpOptions options_;
    WorkingCopies copies_;
    BucketCaps caps_;
    std::unique_ptr<CommHook> hook_;  ///< null: the reducer's own
    std::vector<LocalParameter> local_;
    std::vector<nn::Parameter*> trained_;  ///< those that are reduced
    std::vector<Bucket> buckets_;
    std::vector<std::pair<int32_t, int32_t>> place_;  ///< by parameter index: bucket, position in it
    std::vector<std::size_t> number_;                 ///< by parameter index: its place in trained_
    std::vector<nn::Parameter*> arrival_;             ///< order of the first synchronised backward
    bool rebuilt_ = false;
    bool static_pending_;        ///< static_graph's first synchronised backward has not ended
    std::vector<int32_t> used_;  ///< by place in trained_: whether a gradient came; find_unused, static_graph
    Tensor used_map_;            ///< the same, summed over the ranks
    comm::Work used_work_;
    Tensor active_, sync_flag_;  ///< Join's two numbers
    comm::Work active_work_;
    bool sync_ = true;
    bool buffers_differ_ = true;      ///< require_forward_param_sync: the last forward was a synchronised one
    std::size_t next_to_launch_ = 0;  ///< buckets leave in order, on every rank alike
};

}  // namespace meshscope::parallel
