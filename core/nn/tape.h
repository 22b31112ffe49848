#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/nn/module.h"
#include "core/tensor/tensor.h"
#include "core/trace/recorder.h"

namespace meshscope::nn {

/// A value on the tape.
struct Variable {
    int32_t id = -1;
};

/// Autograd for one forward and one backward pass. Nodes are appended as layers compute and run backward from the last.
///
/// A node's backward has two parts, weight gradient and input gradient, so schedules may split them. Within a node the
/// parameters' gradients become ready in a fixed order (a linear's bias, then its weight), then the input's gradient.
/// The input of the first layer needs no gradient and none is computed for it.
class Tape {
  public:
    /// `recorder` may be null. Activations and their gradients come from `allocator`.
    Tape(tensor::Allocator& allocator, trace::Recorder* recorder);
    ~Tape();

    tensor::Allocator& allocator() const;
    trace::Recorder* recorder() const;

    /// Data: no gradient flows into it.
    Variable input(Tensor value);
    const Tensor& value(Variable v) const;
    /// Undefined before backward reached it (and after, where it was freed).
    const Tensor& grad(Variable v) const;

    /// Called whenever a parameter's gradient of this backward pass is complete (all its uses seen), in order.
    void on_gradient_ready(std::function<void(Parameter&)> hook);

    /// A module's region: everything appended between enter and leave. They call the module's forward hooks; regions
    /// nest. Backward hooks fire as ModuleHooks says.
    void enter(Module& module);
    void leave(Module& module);

    /// Appends a node. `backward_weight` and `backward_input` get the gradient of `output`; the tape calls weight first.
    /// Both must be callable after the forward values of other nodes were freed; what they need they keep.
    struct Node {
        std::string_view name;             ///< "linear"; lives as long as the program
        std::vector<Variable> inputs;
        std::vector<Parameter*> parameters;  ///< in the order their gradients become ready
        std::function<void(Tape&, const Tensor& grad_output)> backward_weight;  ///< may be empty
        std::function<void(Tape&, const Tensor& grad_output)> backward_input;   ///< may be empty
    };
    Variable append(Node node, Tensor value, bool needs_grad);
    bool needs_grad(Variable v) const;

    /// Adds `grad` to a variable's gradient; called from backward_input. Takes the tensor over when it is the first.
    void accumulate(Variable v, Tensor grad);
    /// Adds `grad` to parameter.grad; called from backward_weight.
    void accumulate(Parameter& parameter, Tensor grad);

    /// Runs everything backward from `loss` (one element), whose gradient is `seed`. Frees activations as it goes.
    void backward(Variable loss, float seed = 1.0F);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace meshscope::nn
