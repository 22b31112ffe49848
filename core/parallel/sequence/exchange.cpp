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

    /// `size`: of the whole in that dim, which an uneven part does not tell.
    Tensor all_gather(const Tensor& part, int tensor_dim, int64_t size, std::string_view rule) {
        const Shape whole = resized(part.shape(), tensor_dim, size);
        const Cut cut = Cut::of(whole, tensor_dim, group_.size());
        const Tensor joined = empty(resized(whole, tensor_dim, cut.rows.padded_rows()), part.dtype(),
                                    cut.in_order(), "all_gather");
        group_.all_gather(joined, padded(part, tensor_dim, cut), {},
                          {.cause = {rule, unit_}, .async_op = false});
        if (cut.in_order()) return joined;
        const Tensor result = empty(whole, part.dtype(), true, "all_gather");
        copy_parts(result, joined, cut, true);
        return result;
    }

    Tensor reduce_scatter(const Tensor& whole, int tensor_dim, std::string_view rule) {
        const Cut cut = Cut::of(whole.shape(), tensor_dim, group_.size());
        Tensor joined = whole;
        if (!cut.in_order()) {
            joined = empty(resized(whole.shape(), tensor_dim, cut.rows.padded_rows()), whole.dtype(), false,
                           "reduce_scatter");
            if (!cut.even()) zero(joined);
            copy_parts(whole, joined, cut, false);
        }
        const Tensor result = empty(resized(whole.shape(), tensor_dim, cut.rows.rows_per_rank()),
                                    whole.dtype(), true, "reduce_scatter");
        group_.reduce_scatter(result, joined, ReduceOp::sum, {}, {.cause = {rule, unit_}, .async_op = false});
        return unpadded(result, tensor_dim, cut);
    }

    /// This rank's part.
    Tensor own_part(const Tensor& whole, int tensor_dim) {
        const Cut cut = Cut::of(whole.shape(), tensor_dim, group_.size());
        const int64_t rank = group_.rank().value, run = cut.run_of(rank);
        const Tensor result =
            empty(resized(whole.shape(), tensor_dim, cut.rows.rows_of(rank)), whole.dtype(), true, "part");
        const ComputeEvent event(tape_.recorder(), tape_.allocator(), "sp.pack", unit_);
        for (int64_t o = 0; run > 0 && o < cut.outer; ++o)
            event->copy(result.slice(o * run, run), whole.slice(cut.begin(rank, o), run));
        return result;
    }

  private:
    /// A part as it travels: of the first one's size, with zeros at its end where it is smaller.
    Tensor padded(const Tensor& part, int tensor_dim, const Cut& cut) {
        if (cut.rows.rows_of(group_.rank().value) == cut.rows.rows_per_rank()) return part;
        const Tensor result = empty(resized(part.shape(), tensor_dim, cut.rows.rows_per_rank()), part.dtype(),
                                    false, "padded part");
        zero(result);
        const ComputeEvent event(tape_.recorder(), tape_.allocator(), "sp.pack", unit_);
        copy_padded(event.kernels(), part, result, tensor_dim, true);
        return result;
    }

    /// The other way.
    Tensor unpadded(const Tensor& part, int tensor_dim, const Cut& cut) {
        const int64_t rows = cut.rows.rows_of(group_.rank().value);
        if (rows == cut.rows.rows_per_rank()) return part;
        const Tensor result =
            empty(resized(part.shape(), tensor_dim, rows), part.dtype(), true, "part without padding");
        const ComputeEvent event(tape_.recorder(), tape_.allocator(), "sp.unpack", unit_);
        copy_padded(event.kernels(), result, part, tensor_dim, false);
        return result;
    }

    void zero(const Tensor& padded) {
        const ComputeEvent event(tape_.recorder(), tape_.allocator(), "sp.pad", unit_);
        event->zero(padded);
    }

    const tensor::Kernels& kernels() const { return tape_.allocator().device().kernels(); }

    Tensor empty(Shape shape, DType dtype, bool activation, const char* what) {
        return tape_.allocator().empty(
            std::move(shape), dtype, activation ? MemoryCategory::activations : MemoryCategory::communication,
            unit_ + " " + what);
    }

    void copy_parts(const Tensor& whole, const Tensor& joined, const Cut& cut, bool to_whole) {
        const ComputeEvent event(tape_.recorder(), tape_.allocator(), to_whole ? "sp.unpack" : "sp.pack",
                                 unit_);
        parallel::copy_parts(event.kernels(), whole, joined, cut, to_whole);
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

Variable gather_parts(Tape& tape, Variable x, int tensor_dim, int64_t size, comm::ProcessGroup& group,
                      ExchangeRules rules) {
    const Tensor whole = Exchange(tape, group).all_gather(tape.value(x), tensor_dim, size, rules.forward);
    Tape::Node node;
    node.name = "sp.gather_parts";
    node.inputs = {x};
    node.backward_input = [x, tensor_dim, &group, rule = rules.backward](Tape& t, const Tensor& grad) {
        if (t.needs_grad(x)) t.accumulate(x, Exchange(t, group).reduce_scatter(grad, tensor_dim, rule));
    };
    return tape.append(std::move(node), whole);
}

Variable scatter_sum(Tape& tape, Variable x, int tensor_dim, comm::ProcessGroup& group, ExchangeRules rules) {
    const int64_t size = tape.value(x).dim(tensor_dim);
    const Tensor part = Exchange(tape, group).reduce_scatter(taken(tape, x), tensor_dim, rules.forward);
    Tape::Node node;
    node.name = "sp.scatter_sum";
    node.inputs = {x};
    node.backward_input = [x, tensor_dim, size, &group, rule = rules.backward](Tape& t, const Tensor& grad) {
        t.accumulate(x, Exchange(t, group).all_gather(grad, tensor_dim, size, rule));
    };
    return tape.append(std::move(node), part);
}

Variable gather_for_all(Tape& tape, Variable x, int tensor_dim, int64_t size, comm::ProcessGroup& group,
                        std::string_view rule) {
    const Tensor whole = Exchange(tape, group).all_gather(taken(tape, x), tensor_dim, size, rule);
    Tape::Node node;
    node.name = "sp.gather_for_all";
    node.inputs = {x};
    node.backward_input = [x, tensor_dim, &group](Tape& t, const Tensor& grad) {
        t.accumulate(x, Exchange(t, group).own_part(grad, tensor_dim));
    };
    return tape.append(std::move(node), whole);
}

}  // namespace meshscope::parallel
