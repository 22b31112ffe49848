#include "core/tensor/kernel_call.h"

#include <string>

#include "core/base/error.h"
#include "core/tensor/dtype.h"

namespace meshscope::tensor {
namespace {

using Layout = Operand::Layout;
using Numbers = Operand::Numbers;

[[noreturn]] void refuse_dtype(DType dtype, DType wanted) {
    throw InvalidArgument(
        {"tensor.wrong_dtype", {{"dtype", std::string(name(dtype))}, {"wanted", std::string(name(wanted))}}});
}

bool is_float(DType dtype) {
    return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
}

}  // namespace

void KernelCall::take(const AttentionShape& shape) {
    for (const int64_t size : {shape.batch, shape.q_tokens, shape.k_tokens, shape.heads, shape.head_dim})
        if (size < 0) refuse({shape.batch, shape.q_tokens, shape.heads, shape.head_dim}, {-1, -1, -1, -1});
    if (shape.kv_heads < 1 || shape.heads % shape.kv_heads != 0)
        refuse({shape.batch, shape.k_tokens, shape.kv_heads, shape.head_dim},
               {shape.batch, shape.k_tokens, shape.heads, shape.head_dim});
    expect_positions(shape.q_positions, shape.q_tokens);
    expect_positions(shape.k_positions, shape.k_tokens);
    sizes_.b = shape.batch;
    sizes_.q = shape.q_tokens;
    sizes_.k = shape.k_tokens;
    sizes_.h = shape.heads;
    sizes_.g = shape.kv_heads;
    sizes_.e = shape.head_dim;
    sizes_.pairs = shape.batch * shape.heads * shape.pairs();
    attention_ = &shape;
}

void KernelCall::take(const RotaryShape& shape) {
    for (const int64_t size : {shape.batch, shape.tokens, shape.heads, shape.head_dim})
        if (size < 0) refuse({shape.batch, shape.tokens, shape.heads, shape.head_dim}, {-1, -1, -1, -1});
    if (shape.head_dim % 2 != 0)
        refuse({shape.batch, shape.tokens, shape.heads, shape.head_dim}, {-1, -1, -1, shape.head_dim + 1});
    expect_positions(shape.positions, shape.tokens);
    sizes_.b = shape.batch;
    sizes_.q = shape.tokens;
    sizes_.h = shape.heads;
    sizes_.e = shape.head_dim;
}

void KernelCall::take(const SgdStep& step) {
    sizes_.states = step.momentum == 0.0 ? 0 : 1;
    const Tensor& buffer = *given_[n_given_ - 1].tensor;
    if (sizes_.states == 1 && !buffer.defined()) refuse({}, given_[0].tensor->shape());
}

void KernelCall::expect_positions(const Tensor& positions, int64_t tokens) const {
    if (!positions.defined()) return;
    if (positions.n_elements() != tokens) refuse(positions.shape(), {tokens});
    if (positions.dtype() != DType::int64) refuse_dtype(positions.dtype(), DType::int64);
}

void KernelCall::check_shapes() {
    const std::span<const Operand> operands = declaration_.operands;
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (!is_given(i) && !operands[i].may_be_undefined) refuse(i);
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (const std::size_t next = declaration_.order[i]; is_given(next)) match(next);
}

void KernelCall::match(std::size_t i) {
    const Operand& operand = declaration_.operands[i];
    if (operand.layout == Layout::matrix) {
        const Shape& shape = given_[i].tensor->shape();
        if (shape.size() != 2) refuse(i);
        set(i, operand.sizes[0], shape[0]);
        set(i, operand.sizes[1], shape[1]);
        return;
    }
    if (operand.layout == Layout::row_list) return match_rows(i);
    int64_t known = 1;
    Size open = nullptr;
    for (std::size_t s = 0; s < static_cast<std::size_t>(operand.n_sizes); ++s) {
        const int64_t size = sizes_.*operand.sizes[s];
        if (size < 0)
            open = operand.sizes[s];
        else
            known *= size;
    }
    const int64_t n = given_[i].n_elements;
    if (open == nullptr ? n != known : (known == 0 ? n != 0 : n % known != 0)) refuse(i);
    if (open != nullptr) set(i, open, known == 0 ? 0 : n / known);
}

void KernelCall::match_rows(std::size_t i) {
    const Operand& operand = declaration_.operands[i];
    const Tensor& tensor = *given_[i].tensor;
    const Shape& shape = tensor.shape();
    const int64_t width = sizes_.*operand.sizes[1];
    if (shape.size() < 2 || shape.back() != width) refuse(shape, {-1, width});
    if (first_rows_ == nullptr) {
        first_rows_ = &tensor;
        int64_t rows = 1;
        for (std::size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
        return set(i, operand.sizes[0], rows);
    }
    Shape wanted = first_rows_->shape();
    wanted.back() = width;
    if (shape != wanted) refuse(shape, wanted);
}

void KernelCall::set(std::size_t i, Size size, int64_t value) {
    if (sizes_.*size >= 0 && sizes_.*size != value) refuse(i);
    sizes_.*size = value;
    if (size == &Sizes::D) sizes_.S = 2 * value + 1;
    if (size == &Sizes::S) {
        if (value % 2 == 0) refuse(i);
        sizes_.D = (value - 1) / 2;
    }
}

void KernelCall::check_dtypes() {
    const std::span<const Operand> operands = declaration_.operands;
    const Tensor* first = nullptr;  // of those that must be alike
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const Tensor* const tensor = given_[i].tensor;
        if (tensor == nullptr || !tensor->defined()) continue;
        const Numbers numbers = operands[i].numbers;
        const DType dtype = tensor->dtype();
        if (numbers == Numbers::of_call || numbers == Numbers::of_call_or_half) {
            if (dtype == DType::bfloat16) dtype_ = dtype;
            if (dtype == DType::float16 && numbers == Numbers::of_call_or_half) dtype_ = dtype;
        } else if (numbers != Numbers::float32 && numbers != Numbers::int64 && first == nullptr) {
            first = tensor;
            dtype_ = dtype;
        }
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const Tensor* const tensor = given_[i].tensor;
        if (tensor == nullptr || !tensor->defined()) continue;
        const DType dtype = tensor->dtype();
        switch (operands[i].numbers) {
            case Numbers::of_call:
            case Numbers::of_call_or_half:
            case Numbers::alike:
                if (dtype != dtype_) refuse_dtype(dtype, dtype_);
                break;
            case Numbers::floats:
                if (dtype != dtype_ && !(is_float(dtype) && is_float(dtype_)))
                    refuse_dtype(is_float(dtype) ? dtype_ : dtype, DType::float32);
                break;
            case Numbers::float32:
                if (dtype != DType::float32) refuse_dtype(dtype, DType::float32);
                break;
            case Numbers::int64:
                if (dtype != DType::int64) refuse_dtype(dtype, DType::int64);
                break;
            case Numbers::any:
                break;
        }
    }
}

KernelCost KernelCall::cost() const {
    KernelCost cost{.operations = declaration_.operations(sizes_), .bytes = 0, .dtype = dtype_};
    for (std::size_t i = 0; i < declaration_.operands.size(); ++i) {
        if (!is_given(i)) continue;
        const Operand& operand = declaration_.operands[i];
        const int64_t bytes = given_[i].tensor != nullptr ? given_[i].tensor->bytes()
                                                          : given_[i].n_elements * int64_t{sizeof(float)};
        const bool read_too = operand.use == Operand::Use::gradient && accumulates_;
        cost.bytes += bytes * operand.n_passes * (read_too ? 2 : 1);
    }
    return cost;
}

void KernelCall::show(OperandSink& sink, bool written) const {
    for (std::size_t i = 0; i < declaration_.operands.size(); ++i) {
        const Operand& operand = declaration_.operands[i];
        if (!operand.is_recorded || given_[i].tensor == nullptr || !given_[i].tensor->defined()) continue;
        const bool reads = operand.use == Operand::Use::read || operand.use == Operand::Use::updated ||
                           (operand.use == Operand::Use::gradient && accumulates_);
        if (written ? operand.use != Operand::Use::read : reads)
            sink.operand(declaration_.names[i], *given_[i].tensor, written);
    }
    if (written || attention_ == nullptr) return;
    if (attention_->q_positions.defined()) sink.operand("q_positions", attention_->q_positions, false);
    if (attention_->k_positions.defined()) sink.operand("k_positions", attention_->k_positions, false);
}

void KernelCall::refuse(const Shape& shape, const Shape& wanted) const {
    throw InvalidArgument(
        {"kernel.shape", {{"kernel", std::string(declaration_.name)}, {"shape", shape}, {"wanted", wanted}}});
}

void KernelCall::refuse(std::size_t i) const {
    const Operand& operand = declaration_.operands[i];
    Shape wanted;
    for (std::size_t s = 0; s < static_cast<std::size_t>(operand.n_sizes); ++s)
        wanted.push_back(sizes_.*operand.sizes[s]);
    refuse(given_[i].tensor != nullptr ? given_[i].tensor->shape() : Shape{given_[i].n_elements}, wanted);
}

}  // namespace meshscope::tensor
