#include "core/parallel/tensor/vocab_loss.h"

#include <utility>

#include "core/nn/layers/aten.h"
#include "core/parallel/strategy.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernel_parts.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

using nn::Tape;
using nn::Variable;

namespace {

/// One number a row, of all ranks.
void reduce_rows(const Tensor& numbers, ReduceOp op, const char* rule, comm::ProcessGroup& group) {
    group.all_reduce(numbers, op, {.cause = {rule, "loss"}, .async_op = false});
}

}  // namespace

Variable vocab_cross_entropy(Tape& tape, Variable logits, const Tensor& targets, int64_t first,
                             int64_t classes, comm::ProcessGroup& group, const nn::LossForm& form) {
    for (const int64_t target : tensor::HostNumbers<int64_t>(targets))
        tensor::expect_target("cross_entropy", target, classes);
    const Tensor input = tape.value(logits);
    const auto a_number_a_row = [&](const char* what, MemoryCategory category) {
        return tape.allocator().empty(targets.shape(), DType::float32, category, what);
    };
    const Tensor largest = a_number_a_row("loss row maximum", MemoryCategory::temporaries);
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "tp.loss.row_max", "loss");
        event->row_max(largest, input);
    }
    reduce_rows(largest, ReduceOp::max, "tp.loss.max", group);
    const Tensor sums = a_number_a_row("loss row sum", MemoryCategory::temporaries);
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "tp.loss.row_sum_exp", "loss");
        event->row_sum_exp(sums, input, largest);
    }
    reduce_rows(sums, ReduceOp::sum, "tp.loss.sum_exp", group);
    const Tensor picked = a_number_a_row("loss picked logit", MemoryCategory::temporaries);
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "tp.loss.pick_targets", "loss");
        event->pick_targets(picked, input, targets, first);
    }
    reduce_rows(picked, ReduceOp::sum, "tp.loss.picked", group);
    const Tensor lse = a_number_a_row("log-sum-exp", MemoryCategory::activations);
    const Tensor loss =
        tape.allocator().empty({1}, form.dtype_of(input), MemoryCategory::activations, "loss");
    const double divisor = form.divisor_of(targets);
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "cross_entropy", "loss");
        event->cross_entropy_of_parts(loss, lse, largest, sums, picked, targets, divisor);
    }
    Tape::Node node;
    node.name = divisor == 0 ? nn::kLossOfNothing : "tp.vocab_cross_entropy";
    node.inputs = {logits};
    node.backward_input = [logits, input, lse, targets, first, divisor](Tape& t, const Tensor& grad_loss) {
        Tensor grad = t.allocator().empty(input.shape(), input.dtype(), MemoryCategory::activations,
                                          "cross_entropy input grad");
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "cross_entropy.backward", "loss");
            event->cross_entropy_part_backward(grad, grad_loss, input, lse, targets, first, divisor);
        }
        t.accumulate(logits, std::move(grad));
    };
    return tape.append(std::move(node), loss);
}

Variable eager_vocab_cross_entropy(Tape& tape, Variable logits, const Tensor& targets,
                                   comm::ProcessGroup& group) {
    const nn::Aten aten(tape);
    constexpr auto kKept = MemoryCategory::activations;
    const Tensor input = tape.value(logits);
    const int64_t rows = targets.n_elements();
    const Tensor wide = aten.to(input, DType::float32, {"float32 logits"});
    const Tensor largest = aten.amax(wide, rows, {"loss row maximum"});
    reduce_rows(largest, ReduceOp::max, "tp.loss.max", group);
    Tensor shifted = aten.sub(wide, largest, {"shifted logits"});
    Tensor powers = aten.exp(shifted, {"exponentials"});
    const Tensor sums = aten.sum(powers, rows, {"loss row sum"});
    powers.reset();
    reduce_rows(sums, ReduceOp::sum, "tp.loss.sum_exp", group);
    Tensor output = aten.sub(shifted, aten.log(sums, {"log-sum-exp"}), {"log_softmax output", kKept});
    shifted.reset();
    const Tensor picked = aten.gather(output, targets, {"loss picked logit"});
    reduce_rows(picked, ReduceOp::sum, "tp.loss.picked", group);
    const Tensor loss = aten.nll_loss(targets, {"loss", kKept});
    Tape::Node node;
    node.name = "tp.vocab_cross_entropy";
    node.inputs = {logits};
    node.backward_both = [logits, dtype = input.dtype(), output = std::move(output)](
                             Tape& t, Tensor grad_loss) mutable {
        const nn::Aten back(t);
        Tensor wide_grad;
        {
            const Tensor ones = back.zeros(output, {"nll_loss input grad"});
            Tensor softmax = back.exp(output, {"softmax"});
            const Tensor sum = back.add(ones, softmax, {"log_softmax input grad, unscaled"});
            softmax.reset();
            // In float32 it is the logits' gradient itself.
            wide_grad =
                back.mul(sum, grad_loss, {"log_softmax input grad", nn::kept_if(dtype == DType::float32)});
        }
        grad_loss.reset();
        output.reset();
        Tensor grad = back.to(wide_grad, dtype, {"logits grad", kKept});
        wide_grad.reset();
        t.accumulate(logits, std::move(grad));
    };
    return tape.append(std::move(node), loss);
}

}  // namespace meshscope::parallel
