#include "core/parallel/tensor/exchange.h"

#include <string>
#include <utility>

#include "core/parallel/strategy.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

using nn::Tape;
using nn::Variable;

Tensor all_reduced(Tape& tape, const Tensor& value, ReduceOp op, comm::ProcessGroup& group,
                   std::string_view rule) {
    const std::string unit(tape.unit());
    const bool in_place = !value.shared();
    Tensor result = value;
    if (!in_place) {
        result = tape.allocator().empty(value.shape(), value.dtype(), MemoryCategory::activations,
                                        unit + " all_reduce");
        const ComputeEvent event(tape.recorder(), tape.allocator(), "tp.copy", unit);
        event->copy(result, value);
    }
    group.all_reduce(result, op, {.cause = {rule, unit}, .async_op = false});
    return result;
}

Variable share_input(Tape& tape, Variable x, comm::ProcessGroup& group) {
    if (!tape.needs_grad(x)) return x;
    Tape::Node node;
    node.name = "tp.share_input";
    node.inputs = {x};
    node.backward_input = [x, &group](Tape& t, const Tensor& grad_output) {
        t.accumulate(x, all_reduced(t, grad_output, ReduceOp::sum, group, "tp.colwise.input_grad"));
    };
    return tape.append(std::move(node), tape.value(x));
}

Variable sum_partial(Tape& tape, Variable x, comm::ProcessGroup& group, std::string_view rule) {
    const Tensor partial = tape.value(x);
    tape.release(x);
    const Tensor sum = all_reduced(tape, partial, ReduceOp::sum, group, rule);
    Tape::Node node;
    node.name = "tp.sum_partial";
    node.inputs = {x};
    node.backward_input = [x](Tape& t, const Tensor& grad_output) { t.accumulate(x, grad_output); };
    return tape.append(std::move(node), sum);
}

}  // namespace meshscope::parallel
