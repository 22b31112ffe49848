#include "core/nn/layers/eager.h"

#include <utility>

#include "core/nn/layers/aten.h"
#include "core/nn/layers/common.h"
#include "core/nn/layers/feed_forward.h"
#include "core/nn/model.h"
#include "core/nn/ops.h"

namespace meshscope::nn {
namespace {

constexpr MemoryCategory kKept = MemoryCategory::activations;

/// What eager_rms_norm()'s nodes keep.
struct NormKept {
    DType dtype{};    ///< of x
    Tensor wide;      ///< x in float32
    Tensor rstd;      ///< one number a row
    Tensor factor;    ///< what is multiplied with the weight
    Tensor one_plus;  ///< zero-centered: 1 + weight, float32
};

/// MulBackward0 of factor · weight: the weight's gradient, and the factor's, which it returns.
Tensor backward_of_weight(Tape& t, Parameter& weight, NormKept& kept, Tensor grad, bool needs_input) {
    const Aten aten(t);
    Tensor by_row, factor_grad;
    if (weight.needs_grad()) by_row = aten.mul(grad, kept.factor, {"weight grad by row"});
    if (needs_input)
        factor_grad =
            aten.mul(grad, kept.one_plus.defined() ? kept.one_plus : weight.value, {"normalized grad"});
    Tensor weight_grad;
    if (by_row.defined()) {
        weight_grad = gradient(t, weight, kept.dtype);
        aten.sum_into(weight_grad, by_row);
    }
    for (Tensor* done : {&by_row, &grad, &kept.factor, &kept.one_plus}) done->reset();
    if (weight_grad.defined()) accumulate(t, weight, std::move(weight_grad));
    return factor_grad;
}

/// From the gradient of x·rstd in float32 to that of x in float32: two ways lead to it, through the product
/// and through the mean of squares.
Tensor backward_of_rstd(const Aten& aten, NormKept& kept, Tensor grad) {
    const int64_t rows = kept.rstd.n_elements();
    Tensor direct = aten.mul(grad, kept.rstd, {"input grad, direct"});
    Tensor rstd_grad = aten.mul(grad, kept.wide, {"rstd grad by element"});
    Tensor by_row = aten.sum(rstd_grad, rows, {"rstd grad"});
    grad.reset();
    rstd_grad.reset();
    Tensor mean_grad;
    {
        const Tensor cube = aten.pow(kept.rstd, {"rstd cubed"});
        const Tensor half = aten.mul(cube, {}, {"rstd cubed, halved"});
        mean_grad = aten.mul(half, by_row, {"mean grad"});
    }
    by_row.reset();
    kept.rstd.reset();
    Tensor square_grad = aten.div(mean_grad, kept.wide, {"square grad"});
    mean_grad.reset();
    Tensor through_mean;
    {
        const Tensor power = aten.pow(kept.wide, {"input"});
        const Tensor twice = aten.mul(power, {}, {"input, twice"});
        through_mean = aten.mul(square_grad, twice, {"input grad, through the mean"});
    }
    square_grad.reset();
    kept.wide.reset();
    return aten.add(direct, through_mean, {"input grad in float32", kept_if(kept.dtype == DType::float32)});
}

}  // namespace

Variable eager_rms_norm(Tape& tape, Variable x, Parameter& weight, bool zero_centered) {
    const Aten aten(tape);
    const Tensor input = tape.value(x);
    const bool needs_input = tape.needs_grad(x), is_wide = input.dtype() == DType::float32;
    const int64_t rows = input.n_elements() / tensor::count(weight.shape);
    NormKept kept;
    kept.dtype = input.dtype();
    kept.wide = aten.to(input, DType::float32, {"float32 copy", kept_if(needs_input)});
    Tensor square = aten.pow(kept.wide, {"squares"});
    Tensor mean = aten.mean(square, rows, {"mean of squares"});
    square.reset();
    {
        const Tensor sum = aten.add(mean, {}, {"mean + eps"});
        kept.rstd = aten.rsqrt(sum, {"rstd", kept_if(needs_input)});
    }
    if (zero_centered) mean.reset();  // the other form gives it a name
    // What the weight is multiplied with is kept for its gradient.
    const bool needs_factor = weight.needs_grad();
    const Tensor normal = aten.mul(
        kept.wide, kept.rstd, {"normalized in float32", kept_if(needs_factor && (is_wide || zero_centered))});
    if (!needs_input) {
        kept.wide.reset();
        kept.rstd.reset();
    }
    Tensor output;
    if (zero_centered) {
        kept.one_plus =
            aten.add(aten.to(weight.value, DType::float32, {"float32 weight"}), {}, {"1 + weight", kKept});
        kept.factor = normal;
        const Tensor product = aten.mul(normal, kept.one_plus, {"output in float32", kept_if(is_wide)});
        output = aten.to(product, kept.dtype, {"output", kKept});
    } else {
        kept.factor = aten.to(normal, kept.dtype, {"normalized", kept_if(needs_factor)});
        output = aten.mul(kept.factor, weight.value, {"output", kKept});
    }
    if (!needs_factor) kept.factor.reset();
    Tape::Node node;
    node.name = "rms_norm";
    node.inputs = {x};
    node.parameters = {&weight};
    node.backward_both = [x, needs_input, &weight, kept](Tape& t, Tensor grad) mutable {
        const Aten back(t);
        if (kept.one_plus.defined()) grad = back.to(grad, DType::float32, {"output grad in float32"});
        grad = backward_of_weight(t, weight, kept, std::move(grad), needs_input);
        if (!needs_input) return;
        Tensor wide = back.to(grad, DType::float32, {"normalized grad in float32"});
        grad.reset();
        wide = backward_of_rstd(back, kept, std::move(wide));
        grad = back.to(wide, kept.dtype, {"input grad", kKept});
        wide.reset();
        t.accumulate(x, std::move(grad));
    };
    return tape.append(std::move(node), std::move(output));
}

Variable eager_silu(Tape& tape, Variable x) {
    const Tensor input = tape.value(x);
    Tensor output = Aten(tape).silu(input, {"silu output", kKept});
    Tape::Node node;
    node.name = "silu";
    node.inputs = {x};
    node.backward_input = [x, input](Tape& t, const Tensor& grad_output) {
        t.accumulate(x, Aten(t).silu_backward(grad_output, input, {"silu input grad", kKept}));
    };
    return tape.append(std::move(node), std::move(output));
}

namespace {

/// Pairs of neighbours as complex numbers.
Tensor turn_neighbours(Tape& tape, const Tensor& x, const Aten::Made& made) {
    const Aten aten(tape);
    const bool is_last = x.dtype() == DType::float32;
    const Tensor wide = aten.to(x, DType::float32, {"rotary input in float32"});
    const Tensor turned = aten.mul(wide, {}, is_last ? made : Aten::Made{"rotary output in float32"});
    return aten.to(turned, x.dtype(), made);
}

/// By the conjugates of the table of `angles` complex numbers, which are made for it.
Tensor turn_neighbours_back(Tape& tape, Tensor grad, int64_t angles, const Aten::Made& made) {
    const Aten aten(tape);
    const DType dtype = grad.dtype();
    Tensor turned;
    {
        const Tensor wide = aten.to(grad, DType::float32, {"rotary output grad in float32"});
        grad.reset();
        const Tensor table = aten.clone_table(2 * angles, {"rotary conjugates"});
        turned = aten.mul(wide, {}, dtype == DType::float32 ? made : Aten::Made{"rotary grad in float32"});
    }
    return aten.to(turned, dtype, made);
}

Tensor turn_halves(Tape& tape, const Tensor& x, const Aten::Made& made) {
    const Aten aten(tape);
    const Tensor by_cosine = aten.mul(x, {}, {"rotary input · cos"});
    Tensor half = aten.neg_half(x, {"rotary half"});
    Tensor swapped = aten.cat_halves(x, {"rotary halves swapped"});
    half.reset();
    const Tensor by_sine = aten.mul(swapped, {}, {"rotary halves · sin"});
    swapped.reset();
    return aten.add(by_cosine, by_sine, made);
}

Tensor turn_halves_back(Tape& tape, const Tensor& grad, const Aten::Made& made) {
    const Aten aten(tape);
    Tensor swapped = aten.mul(grad, {}, {"rotary halves grad"});
    Tensor half = aten.neg_half(grad, {"rotary half grad"});
    Tensor second = aten.slice_backward(grad, {"rotary second half grad"});
    half.reset();
    Tensor first = aten.slice_backward(grad, {"rotary first half grad"});
    swapped.reset();
    const Tensor sum = aten.add(second, first, {"rotary halves grad sum"});
    second.reset();
    first.reset();
    return aten.add(sum, aten.mul(grad, {}, {"rotary grad · cos"}), made);
}

}  // namespace

Variable eager_rotary(Tape& tape, Variable x, int64_t head_dim, bool halves) {
    const Tensor input = tape.value(x);
    const int64_t angles = input.dim(1) * head_dim / 2;
    const Aten::Made made{"rotary output", kKept};
    Tensor output = halves ? turn_halves(tape, input, made) : turn_neighbours(tape, input, made);
    Tape::Node node;
    node.name = "rotary";
    node.inputs = {x};
    node.backward_both = [x, angles, halves](Tape& t, Tensor grad) {
        const Aten::Made made_back{"rotary input grad", kKept};
        t.accumulate(x, halves ? turn_halves_back(t, grad, made_back)
                               : turn_neighbours_back(t, std::move(grad), angles, made_back));
    };
    return tape.append(std::move(node), std::move(output));
}

Variable eager_cross_entropy(Tape& tape, Variable logits, const Tensor& targets) {
    const Aten aten(tape);
    const Tensor input = tape.value(logits);
    const DType dtype = input.dtype();
    const Tensor wide = aten.to(input, DType::float32, {"float32 logits"});
    Tensor output = aten.log_softmax(wide, {"log_softmax output", kKept});
    Tensor counted = tape.allocator().empty({1}, DType::float32, kKept, label(tape, "loss weight"));
    const Tensor loss = aten.nll_loss(targets, {"loss", kKept});
    Tape::Node node;
    node.name = "cross_entropy";
    node.inputs = {logits};
    node.backward_both = [logits, dtype, output = std::move(output), counted = std::move(counted), targets](
                             Tape& t, Tensor grad_loss) mutable {
        const Aten back(t);
        Tensor by_nll = back.nll_loss_backward(output, targets, {"nll_loss input grad"});
        grad_loss.reset();
        counted.reset();
        Tensor wide_grad = back.log_softmax_backward(
            by_nll, output, {"log_softmax input grad", kept_if(dtype == DType::float32)});
        by_nll.reset();
        output.reset();
        Tensor grad = back.to(wide_grad, dtype, {"logits grad", kKept});
        wide_grad.reset();
        t.accumulate(logits, std::move(grad));
    };
    return tape.append(std::move(node), loss);
}

void use_ops(Model& model, const OpsForm& form) {
    if (form.ops == Ops::fused) return;
    const std::function<void(Module&)> visit = [&](Module& module) {
        if (auto* norm = dynamic_cast<RmsNorm*>(&module)) norm->eager = form.eager_norm();
        if (auto* mlp = dynamic_cast<GatedMlp*>(&module)) mlp->eager = true;
        if (auto* attention = dynamic_cast<Attention*>(&module)) attention->eager = true;
        for (Module* child : module.children()) visit(*child);
    };
    visit(model);
    if (form.eager_loss() && !model.own_criterion) model.own_criterion = eager_cross_entropy;
}

}  // namespace meshscope::nn
