#include "core/run/made_batch.h"

#include <vector>

namespace meshscope::run {
namespace {

/// Both are made together: what is not wanted goes to memory of its own.
template <class T>
void make(const data::MadeData& data, std::span<const int64_t> samples, const tensor::Tensor& x,
          const tensor::Tensor& y) {
    std::vector<T> unwanted;
    const auto numbers = [&](const tensor::Tensor& tensor, int64_t in_a_row) {
        if (tensor.defined()) return tensor.data<T>();
        unwanted.resize(samples.size() * static_cast<std::size_t>(in_a_row));
        return std::span<T>(unwanted);
    };
    const std::span<T> xs = numbers(x, data.in);
    const std::span<T> ys = numbers(y, data.out);
    data::make_samples(data, samples, xs, ys);
}

}  // namespace

data::MadeData made_data(const scenario::Scenario& scenario, const nn::Model& model) {
    return {.kind = scenario.data_kind,
            .seed = scenario.data_seed,
            .samples = scenario.data_samples,
            .in = tensor::count(model.input_shape(1)),
            .out = tensor::count(model.target_shape(1)),
            .vocab = scenario.model.vocab};
}

void make_batch(const data::MadeData& data, std::span<const int64_t> samples, const tensor::Tensor& x,
                const tensor::Tensor& y) {
    if (!x.defined() && !y.defined()) return;
    if (data.kind == "tokens")
        make<int64_t>(data, samples, x, y);
    else
        make<float>(data, samples, x, y);
}

}  // namespace meshscope::run
