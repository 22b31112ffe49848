#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/parallel/step_loss.h"
#include "core/parallel/step_runner.h"

namespace meshscope::parallel {

/// torch.nn.DataParallel: one process, several devices; each rank here is one of them, and the first is the
/// one that owns the model. Source: torch/nn/parallel/data_parallel.py, replicate.py, scatter_gather.py,
/// comm.py.
///
/// Each micro-batch: device 0 scatters the rows of the input, broadcasts all parameters (replicate), every
/// device runs forward on its rows, the outputs are gathered on device 0, which alone computes the loss and
/// its gradient, that gradient is scattered, every device runs backward, and the parameters' gradients are
/// summed on device 0 (the mean is in the loss already). The replicas are thrown away; only device 0 has an
/// optimizer.
///
/// So device 0 holds what one rank alone holds, and all outputs, and moves p-1 times the model both ways; the
/// others do nothing in between. Bytes a micro-batch of device 0, of P parameters, over p devices:
/// 4P(p-1) sent as replicas, 4P(p-1) received as gradients.
class DataParallel final : public StepRunner {
  public:
    /// `model` outlives it. `rows`: of a step's whole batch; `microbatches`: backward passes a step, whose
    /// gradients are summed. Both, and the devices, divide `rows`.
    DataParallel(const RankContext& context, nn::Model& model, int64_t rows, int32_t microbatches,
                 StepLoss::Options loss = {});

    void load(const InitialValues& values) override;
    /// Device 0's; the others have none.
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    bool reads_input() const override { return owns(); }
    bool reads_target() const override { return owns(); }
    bool updates() const override { return owns(); }
    std::optional<double> run(int32_t step, const Tensor& x, const Tensor& y) override;
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;

  private:
    bool owns() const { return group_.rank() == GroupRank{0}; }
    /// Parameters that travel together: at most 10 MiB (comm.py: buffer_size), or one that is larger.
    struct Chunk {
        std::vector<nn::Parameter*> parameters;
        int64_t elements = 0;
    };
    Tensor scatter_rows(const Tensor& whole, nn::Shape shape, DType dtype, std::string_view rule,
                        MemoryCategory category);
    void replicate();
    void sum_gradients();
    double run_microbatch(const Pass& pass, const Tensor& x, const Tensor& y);

    RankContext context_;
    nn::Model& model_;
    comm::ProcessGroup& group_;
    int32_t microbatches_;
    StepLoss loss_;
    int64_t rows_ = 0;  ///< of a micro-batch on one device
    std::vector<Chunk> chunks_;
    std::vector<LocalParameter> local_;
};

}  // namespace meshscope::parallel
