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

/// Autograd for one forward and one backward pass. Nodes are appended as layers compute and run backward from
/// the last.
///
/// A node's backward has two parts, weight gradient and input gradient, so schedules may split them. Within a
/// node the parameters' gradients become ready in a fixed order (a linear's bias, then its weight), then the
/// input's gradient. The input of the first layer needs no gradient and none is computed for it.
class Tape {
  public:
    /// Whether backward will come. Off is torch.no_grad(): values are computed and nothing is kept for a
    /// backward, so an activation is freed as soon as the model releases it; nothing needs a gradient.
    enum class Grad : uint8_t { on, off };
    /// What a tape of a layer's work kept of it for the tape that does the work once more: of some nodes
    /// their values, in order.
    struct Kept {
        std::vector<Tensor> values;
        std::size_t next = 0;
    };

    /// `recorder` may be null. Activations and their gradients come from `allocator`.
    Tape(tensor::Allocator& allocator, trace::Recorder* recorder, Grad grad = Grad::on);
    /// A tape for a piece of the work of `around`, which outlives it: same memory, record and watcher, and
    /// unit() continues there. Of a parameter whose gradient is complete in this tape, `around` learns that
    /// one of the uses is done that its own node announced.
    Tape(Tape& around, Grad grad);
    ~Tape();

    tensor::Allocator& allocator() const;
    trace::Recorder* recorder() const;

    /// Data: no gradient flows into it.
    Variable input(Tensor value);
    /// A value made elsewhere whose gradient is wanted (another stage's output): grad() keeps it after
    /// backward.
    Variable leaf(Tensor value);
    /// Undefined where it was released, or freed by backward.
    const Tensor& value(Variable v) const;
    /// Undefined before backward reached it (and after, where it was freed).
    const Tensor& grad(Variable v) const;
    /// Gives the gradient away: the tape keeps it no longer.
    Tensor take_grad(Variable v);
    /// The model needs this value no more: the tape drops its handle, as Python drops a local name. What a
    /// node keeps for its backward stays alive with the node. Costs nothing where nobody else holds the
    /// memory but frees it at once.
    void release(Variable v);

    /// Called whenever a parameter's gradient of this backward pass is complete (all its uses seen), in
    /// order. Hooks run in the order they were added; `parameter.grad` holds the sum with earlier passes.
    void on_gradient_ready(std::function<void(Parameter&)> hook);

    /// Called with every value that a node made, right after it was made: in forward its output, in backward
    /// the gradients of its inputs and parameters. `op` is the node's name. For looking, not for changing;
    /// one watcher at most.
    void watch(std::function<void(std::string_view op, const Tensor& made)> watcher);

    /// A module's region: everything appended between enter and leave. They call the module's forward hooks;
    /// regions nest. Backward hooks fire as ModuleHooks says, outer regions' pre_backward first and
    /// post_backward last; a region through which no gradient flows fires none. leave() throws
    /// InvalidArgument ("tape.region") unless `module` is the innermost region.
    void enter(Module& module);
    void leave(Module& module);
    /// The innermost module's name: of the open region in forward, of the running node's in backward; ""
    /// outside of all.
    std::string_view unit() const;

    /// Kernels that are worth more than the memory of what they make (matrix products, attention) ask reuse()
    /// for their output first, and hand what they made to keep(). A tape with `kept` appends it there while
    /// Grad is off, and gives it back while it is on; any other tape does nothing and gives nothing.
    void keep_in(Kept* kept);
    Tensor reuse();
    void keep(const Tensor& made);

    /// Appends a node. It needs a gradient, and `value` with it, where one of its inputs does or one of its
    /// parameters is trained; any other is dropped, with all that it keeps. Of its parameters those that are
    /// frozen are dropped, and where none is left, backward_weight. `backward_weight` and `backward_input`
    /// get the gradient of `output`; the tape calls weight first. Both must be callable after the forward
    /// values of other nodes were freed; what they need they keep: the tape drops them, and with them what
    /// they keep, as soon as the node has run.
    struct Node {
        std::string_view name;  ///< "linear"; lives as long as the program
        std::vector<Variable> inputs;
        std::vector<Parameter*> parameters;  ///< in the order their gradients become ready
        std::function<void(Tape&, const Tensor& grad_output)> backward_weight;  ///< may be empty
        std::function<void(Tape&, const Tensor& grad_output)> backward_input;   ///< may be empty
        /// Instead of the two: both parts at once, when backward_input()'s time has come. It owns the
        /// gradient.
        std::function<void(Tape&, Tensor grad_output)> backward_both{};
    };
    Variable append(Node node, Tensor value);
    bool needs_grad(Variable v) const;

    /// Adds `grad` to a variable's gradient; called from backward_input, and nothing happens where no
    /// gradient is needed. Takes the tensor over when it is the first. A later one is added in place where
    /// nobody else holds the sum so far, else into new memory (a residual hands one tensor to both its
    /// inputs), as PyTorch's engine does; recorded as "grad_sum".
    void accumulate(Variable v, Tensor grad);
    /// Adds `grad` to parameter.grad (takes it over when that is undefined); called from backward_weight,
    /// once for each use of the parameter. After its last use in this pass the gradient-ready hooks run,
    /// before this returns.
    void accumulate(Parameter& parameter, Tensor grad);

    /// Runs everything backward from `loss` (one element), whose gradient is `seed`, nodes in the reverse of
    /// the order they were appended; nodes that do not lead to `loss` are left out. Frees activations as it
    /// goes; the loss's value stays. Once a tape: throws InvalidArgument ("tape.backward_twice", "tape.loss",
    /// "tape.region" while one is open).
    void backward(Variable loss, float seed = 1.0F);
    /// The same from any output, of which `grad` (its shape) is the gradient that came from elsewhere:
    /// another stage. Its value stays. Throws InvalidArgument ("tape.gradient") where the shapes differ.
    void backward(Variable output, Tensor grad);

    /// The first half alone, for zero-bubble schedules: only the nodes' backward_input, and all of the module
    /// hooks. What backward_weight() needs stays alive: each node's gradient and what its closure keeps; the
    /// rest is freed as it goes.
    void backward_input(Variable loss, float seed = 1.0F);
    void backward_input(Variable output, Tensor grad);
    /// The second half, any time after: the nodes' backward_weight in the order of backward(), with the
    /// gradient-ready hooks. Once a tape, after backward_input: throws InvalidArgument
    /// ("tape.weight_first"). The parameters' gradients are bit for bit those of backward().
    void backward_weight();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace meshscope::nn
