#pragma once

#include "core/nn/module.h"
#include "core/nn/tape.h"

namespace meshscope::nn {

/// A module that maps one value to one value.
class Layer : public Module {
  public:
    using Module::Module;

    /// map_input, compute(), map_output, inside the module's region. The caller keeps x and releases it when
    /// nothing needs it any more. Throws what the kernels throw ("kernel.shape").
    Variable forward(Tape& tape, Variable x);

  protected:
    /// The layer itself. Releases what it made on the way, not `x`.
    virtual Variable compute(Tape& tape, Variable x) = 0;
    /// What is left to do after map_output; releases `output` where it gives another value.
    virtual Variable after_map(Tape&, Variable output) { return output; }
};

}  // namespace meshscope::nn
