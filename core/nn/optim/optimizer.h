#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/trace/recorder.h"

namespace meshscope::nn {

/// Which optimizer and how; fields that a kind does not use are ignored. PyTorch's AdamW has weight_decay
/// 0.01 unless told otherwise: the scenario reader puts that in.
struct OptimizerSpec {
    std::string kind = "sgd";  ///< sgd, adam, adamw
    double lr = 0.1;
    double momentum = 0.0;      ///< sgd
    double beta1 = 0.9;         ///< adam, adamw
    double beta2 = 0.999;       ///< adam, adamw
    double eps = 1e-8;          ///< adam, adamw: added after √v̂
    double weight_decay = 0.0;  ///< sgd, adam: added to the gradient; adamw: decoupled
    MemoryCategory memory = MemoryCategory::optimizer_state;  ///< of its state; offloaded: the host's
};

/// torch.optim.SGD, Adam and AdamW over a list of arrays: whole parameters, or the rows of them that this
/// rank owns (possibly none). Knows no rank: each element's update depends on that element alone.
class Optimizer {
  public:
    /// One array to be trained and its PyTorch name ("net1.weight"), after which its state is named.
    struct Slot {
        std::string name;
        tensor::Tensor value;
    };

    /// `recorder` may be null. State comes from `allocator` (category spec.memory), array by array in
    /// their first step, as PyTorch does: sgd with momentum one number an element ("net1.weight momentum"),
    /// adam and adamw two
    /// ("net1.weight exp_avg", "net1.weight exp_avg_sq"), sgd without momentum none.
    /// Throws InvalidArgument ("optimizer.unknown_kind").
    Optimizer(OptimizerSpec spec, std::vector<Slot> slots, tensor::Allocator& allocator,
              trace::Recorder* recorder = nullptr);

    /// One step, array by array in the order of the slots: grads[i] belongs to slots()[i]; an undefined one
    /// leaves its array and its state as they are. Recorded as one event "sgd", "adam" or "adamw". Throws
    /// InvalidArgument
    /// ("optimizer.gradients": how many there are and should be; "kernel.shape").
    void step(std::span<const tensor::Tensor> grads);

    const std::vector<Slot>& slots() const { return slots_; }
    const OptimizerSpec& spec() const { return spec_; }

    /// What one array carries from step to step, shaped as the array; a checkpoint keeps it.
    struct State {
        int64_t steps = 0;      ///< how often the array was updated
        tensor::Tensor first;   ///< sgd's momentum, or exp_avg; undefined where there is none
        tensor::Tensor second;  ///< exp_avg_sq
    };
    /// One a slot. Before an array's first step its tensors are undefined.
    const std::vector<State>& states() const { return states_; }
    /// PyTorch's names of `first` and `second`, as far as this optimizer has them: {"exp_avg",
    /// "exp_avg_sq"}, {"momentum_buffer"} or none.
    std::vector<std::string> state_names() const;
    /// Gives slot i the state of `steps` updates, all numbers 0: whoever resumes puts them in place. Nothing
    /// where steps is 0.
    void resume(std::size_t i, int64_t steps);

  private:
    enum class Kind { sgd, adam, adamw };

    int32_t states_an_element() const;
    void allocate_state(std::size_t i);
    void update_sgd(std::span<const tensor::Tensor> grads, const tensor::Kernels& kernels);
    /// All parameters whose updates so far are as many go together.
    void update_adam(std::span<const tensor::Tensor> grads, const tensor::Kernels& kernels);

    OptimizerSpec spec_;
    Kind kind_ = Kind::sgd;
    std::vector<Slot> slots_;
    std::vector<State> states_;
    tensor::Allocator* allocator_;
    trace::Recorder* recorder_;
};

}  // namespace meshscope::nn
