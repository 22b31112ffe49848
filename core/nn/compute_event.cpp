#include "core/nn/compute_event.h"

#include <algorithm>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/host_access.h"

namespace meshscope::nn {
namespace {

/// Its numbers as float32, wherever it lies: of int64 exact up to 2^24.
std::vector<float> numbers_of(const tensor::Tensor& tensor) {
    std::vector<float> numbers;
    const auto fill = [&](const auto& from, const auto& widen) {
        numbers.resize(from.size());
        std::transform(from.begin(), from.end(), numbers.begin(), widen);
    };
    switch (tensor.dtype()) {
        case DType::float32:
            fill(tensor::HostNumbers<float>(tensor), [](float x) { return x; });
            break;
        case DType::bfloat16:
            fill(tensor::HostNumbers<uint16_t>(tensor), tensor::from_bfloat16);
            break;
        case DType::float16:
            fill(tensor::HostNumbers<tensor::Float16>(tensor), tensor::from_float16);
            break;
        case DType::int64:
            fill(tensor::HostNumbers<int64_t>(tensor), [](int64_t x) { return static_cast<float>(x); });
            break;
        default:
            break;
    }
    return numbers;
}

}  // namespace

void ComputeEvent::operand(std::string_view name, const tensor::Tensor& tensor, bool written) {
    const int64_t n = tensor.n_elements();
    const int64_t columns = tensor.shape().size() < 2 ? 1 : tensor.shape().back();
    const auto kind = written ? trace::SnapshotKind::output : trace::SnapshotKind::input;
    recorder_->add_operand(event_, kind, name, columns == 0 ? 0 : n / columns, columns,
                           recorder_->keeps_numbers(n) ? numbers_of(tensor) : std::vector<float>());
}

}  // namespace meshscope::nn
