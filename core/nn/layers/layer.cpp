#include "core/nn/layers/layer.h"

namespace meshscope::nn {

Variable Layer::forward(Tape& tape, Variable x) {
    tape.enter(*this);
    const Variable output = around ? around(tape, x, *this) : work(tape, x);
    tape.leave(*this);
    return output;
}

Variable Layer::work(Tape& tape, Variable x) {
    const Variable input = map_input ? map_input(tape, x) : x;
    Variable output = compute(tape, input);
    if (input.id != x.id) tape.release(input);
    if (map_output) {
        const Variable mapped = map_output(tape, output);
        if (mapped.id != output.id) tape.release(output);
        output = mapped;
    }
    return after_map(tape, output);
}

}  // namespace meshscope::nn
