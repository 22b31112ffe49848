#include "core/run/finite.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/nn/layers/loss.h"
#include "core/tensor/dtype.h"
#include "core/tensor/host_access.h"

namespace meshscope::run {
namespace {

std::string word(float x) {
    return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

}  // namespace

Message not_finite_message(const NotFinite& found, const std::string& phase) {
    if (!found.found) return {"run.not_finite_unplaced", {{"step", int64_t{found.step}}}};
    if (found.op == nn::kLossOfNothing)
        return {"run.not_finite_no_targets",
                {{"step", int64_t{found.step}},
                 {"rank", int64_t{found.rank}},
                 {"microbatch", int64_t{found.microbatch}}}};
    return {"run.not_finite",
            {{"value", found.value},
             {"step", int64_t{found.step}},
             {"rank", int64_t{found.rank}},
             {"op", found.op},
             {"phase", phase},
             {"microbatch", int64_t{found.microbatch}}}};
}

Message not_finite_message(const NotFinite& found) {
    return not_finite_message(found, std::string(name(found.phase)));
}

std::optional<std::string> first_not_finite(const tensor::Tensor& tensor) {
    if (!tensor.defined() || tensor.n_elements() == 0) return std::nullopt;
    if (tensor.dtype() == DType::float32) {
        for (const float x : tensor::HostNumbers<float>(tensor))
            if (!std::isfinite(x)) return word(x);
    } else if (tensor.dtype() == DType::bfloat16) {
        for (const uint16_t bits : tensor::HostNumbers<uint16_t>(tensor))
            if (const float x = tensor::from_bfloat16(bits); !std::isfinite(x)) return word(x);
    } else if (tensor.dtype() == DType::float16) {
        for (const tensor::Float16 half : tensor::HostNumbers<tensor::Float16>(tensor))
            if (const float x = tensor::from_float16(half); !std::isfinite(x)) return word(x);
    }
    return std::nullopt;
}

void FiniteWatch::at(int32_t step, int32_t microbatch, Phase phase) {
    where_.step = step;
    where_.microbatch = microbatch;
    where_.phase = phase;
}

void FiniteWatch::watch(nn::Tape& tape) {
    tape.watch(
        [this, &tape](std::string_view op, const tensor::Tensor& made) { look(tape.unit(), op, made); });
}

void FiniteWatch::look(std::string_view unit, std::string_view op, const tensor::Tensor& made) {
    ++where_.order;
    if (found_ || elsewhere_) return;
    std::optional<std::string> value = first_not_finite(made);
    if (!value) return;
    found_ = where_;
    found_->found = true;
    found_->rank = rank_.value;
    found_->op = (unit.empty() ? std::string() : std::string(unit) + ": ") + std::string(op);
    found_->value = std::move(*value);
}

void FiniteWatch::received(const tensor::Tensor& from_elsewhere) {
    elsewhere_ = elsewhere_ || (!found_ && first_not_finite(from_elsewhere));
}

std::optional<NotFinite> first_of(const std::vector<std::optional<NotFinite>>& findings) {
    std::optional<NotFinite> first;
    const auto key = [](const NotFinite& f) { return std::tuple(f.step, f.order, f.rank); };
    for (const std::optional<NotFinite>& finding : findings)
        if (finding && (!first || key(*finding) < key(*first))) first = finding;
    return first;
}

}  // namespace meshscope::run
