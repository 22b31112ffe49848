#include "core/parallel/sequence/exchange.h"

#include <string>
#include <utility>

#include "core/parallel/sequence/cut.h"
#include "core/parallel/strategy.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

using nn::Shape;
using nn::Tape;
using nn::Variable;

/// What the nodes below need at each call.
class Exchange {
  public:
    Exchange(Tape& tape, comm::ProcessGroup& group) : tape_(tape), group_(group), unit_(tape.unit()) {}

    Tensor all_gather(const Tensor& part, int tensor_dim, std::string_view rule) {
        const Shape whole = scaled(part.shape(), tensor_dim, group_.size(), 1);
        const Cut cut = Cut::of(whole, tensor_dim, group_.size());
        const Tensor joined = empty(whole, part.dtype(), cut.in_order(), "all_gather");
        group_.all_gather(joined, part, {}, {.cause = {rule, unit_}, .async_op = false});
        if (cut.in_order()) return joined;
        const Tensor result = empty(whole, part.dtype(), true, "all_gather");
        copy_parts(result, joined, cut, true);
        return result;
    }

    Tensor reduce_scatter(const Tensor& whole, int tensor_dim, std::string_view rule) {
        const Cut cut = Cut::of(whole.shape(), tensor_dim, group_.size());
        Tensor joined = whole;
        if (!cut.in_order()) {
            joined = empty(whole.shape(), whole.dtype(), false, "reduce_scatter");
            copy_parts(whole, joined, cut, false);
        }
        const Tensor result =
            empty(scaled(whole.shape(), tensor_dim, 1, group_.size()), whole.dtype(), true, "reduce_scatter");
        group_.reduce_scatter(result, joined, ReduceOp::sum, {}, {.cause = {rule, unit_}, .async_op = false});
        return result;
    }

    /// This rank's part.
    Tensor own_part(const Tensor& whole, int tensor_dim) {
        const Cut cut = Cut::of(whole.shape(), tensor_dim, group_.size());
        const Tensor result =
            empty(scaled(whole.shape(), tensor_dim, 1, group_.size()), whole.dtype(), true, "part");
        const ComputeScope scope(tape_.recorder(), "sp.pack", unit_, 0, 2 * result.bytes());
        for (int64_t o = 0; o < cut.outer; ++o)
            kernels().copy(result.slice(o * cut.run, cut.run),
                           whole.slice((o * cut.parts + group_.rank().value) * cut.run, cut.run));
        return result;
    }

  private:
    const tensor::Kernels& kernels() const { return tape_.allocator().device().kernels(); }

    Tensor empty(Shape shape, DType dtype, bool activation, const char* what) {
        return tape_.allocator().empty(
            std::move(shape), dtype, activation ? MemoryCategory::activations : MemoryCategory::communication,
            unit_ + " " + what);
    }

    void copy_parts(const Tensor& whole, const Tensor& joined, const Cut& cut, bool to_whole) {
        const ComputeScope scope(tape_.recorder(), to_whole ? "sp.unpack" : "sp.pack", unit_, 0,
                                 2 * whole.bytes());
        parallel::copy_parts(kernels(), whole, joined, cut, to_whole);
    }

    Tape& tape_;
    comm::ProcessGroup& group_;
    std::string unit_;
};

/// Takes x's value out of the tape: what follows needs only the exchanged one.
Tensor taken(Tape& tape, Variable x) {
    Tensor value = tape.value(x);
    tape.release(x);
    return value;
}

}  // namespace

Variable gather_parts(Tape& tape, Variable x, int tensor_dim, comm::ProcessGroup& group,
                      ExchangeRules rules) {
    const Tensor whole = Exchange(tape, group).all_gather(tape.value(x), tensor_dim, rules.forward);
    Tape::Node node;
    node.name = "sp.gather_parts";
    node.inputs = {x};
    node.backward_input = [x, tensor_dim, &group, rule = rules.backward](Tape& t, const Tensor& grad) {
        if (t.needs_grad(x)) t.accumulate(x, Exchange(t, group).reduce_scatter(grad, tensor_dim, rule));
    };
    return tape.append(std::move(node), whole, tape.needs_grad(x));
}

Variable scatter_sum(Tape& tape, Variable x, int tensor_dim, comm::ProcessGroup& group, ExchangeRules rules) {
    const Tensor part = Exchange(tape, group).reduce_scatter(taken(tape, x), tensor_dim, rules.forward);
    Tape::Node node;
    node.name = "sp.scatter_sum";
    node.inputs = {x};
    node.backward_input = [x, tensor_dim, &group, rule = rules.backward](Tape& t, const Tensor& grad) {
        t.accumulate(x, Exchange(t, group).all_gather(grad, tensor_dim, rule));
    };
    return tape.append(std::move(node), part, tape.needs_grad(x));
}

Variable gather_for_all(Tape& tape, Variable x, int tensor_dim, comm::ProcessGroup& group,
                        std::string_view rule) {
    const Tensor whole = Exchange(tape, group).all_gather(taken(tape, x), tensor_dim, rule);
    Tape::Node node;
    node.name = "sp.gather_for_all";
    node.inputs = {x};
    node.backward_input = [x, tensor_dim, &group](Tape& t, const Tensor& grad) {
        t.accumulate(x, Exchange(t, group).own_part(grad, tensor_dim));
    };
    return tape.append(std::move(node), whole, tape.needs_grad(x));
}

}  // namespace meshscope::parallel
