#include "core/run/made_batch.h"

#include <vector>

#include "core/tensor/host_access.h"

namespace meshscope::run {
namespace {

/// Both are made together: what is not wanted goes to memory of its own.
template <class T>
void make(const data::MadeData& data, std::span<const int64_t> samples, const tensor::Tensor& x,
          const tensor::Tensor& y) {
    const auto write = [&](const tensor::Tensor& tensor, int64_t in_a_row, auto&& fill) {
        if (tensor.defined()) return tensor::fill_numbers<T>(tensor, fill);
        std::vector<T> unwanted(samples.size() * static_cast<std::size_t>(in_a_row));
        fill(std::span<T>(unwanted));
    };
    write(x, data.in, [&](std::span<T> xs) {
        write(y, data.out, [&](std::span<T> ys) { data::make_samples(data, samples, xs, ys); });
    });
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
