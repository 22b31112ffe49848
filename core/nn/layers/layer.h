#pragma once

#include <functional>

#include "core/nn/module.h"
#include "core/nn/tape.h"

namespace meshscope::nn {

/// A module that maps one value to one value.
class Layer : public Module {
  public:
    using Module::Module;

    /// work() inside the module's region. The caller keeps x and releases it when nothing needs it any more.
    /// Throws what the kernels throw ("kernel.shape").
    Variable forward(Tape& tape, Variable x);

    /// Applies the hook map_input, then compute(), then map_output.
    Variable work(Tape& tape, Variable x);

    /// Called instead of work(), with the layer, so that something from outside decides when it is done:
    /// activation checkpointing uses it. Inside of the hooks, so of an FSDP unit that is this layer, as
    /// fully_shard(checkpoint_wrapper(layer)) has it. Empty: work().
    std::function<Variable(Tape&, Variable x, Layer& layer)> around;

  protected:
    /// The layer itself. Releases what it made on the way, not `x`.
    virtual Variable compute(Tape& tape, Variable x) = 0;
    /// What is left to do after map_output; releases `output` where it gives another value.
    virtual Variable after_map(Tape&, Variable output) { return output; }
};

}  // namespace meshscope::nn
