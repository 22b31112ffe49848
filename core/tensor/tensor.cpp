#include "core/tensor/tensor.h"

#include <utility>

#include "core/base/error.h"
#include "core/tensor/dtype.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::tensor {

Device& Tensor::device() const {
    if (!defined()) throw InvalidArgument({"tensor.undefined", {}});
    return storage_->device();
}

template <class T>
std::span<T> Tensor::data() const {
    if (!defined()) throw InvalidArgument({"tensor.undefined", {}});
    if (dtype_ != DTypeOf<T>::value)
        throw InvalidArgument(
            {"tensor.wrong_dtype",
             {{"dtype", std::string(name(dtype_))}, {"wanted", std::string(name(DTypeOf<T>::value))}}});
    if (!storage_->on_host()) throw InvalidArgument({"tensor.not_on_host", {}});
    return {reinterpret_cast<T*>(raw()), static_cast<std::size_t>(n_elements_)};
}

template std::span<float> Tensor::data<float>() const;
template std::span<uint16_t> Tensor::data<uint16_t>() const;
template std::span<int32_t> Tensor::data<int32_t>() const;
template std::span<int64_t> Tensor::data<int64_t>() const;
template std::span<uint8_t> Tensor::data<uint8_t>() const;
template std::span<Float16> Tensor::data<Float16>() const;

Tensor Tensor::view(Shape shape) const {
    if (count(shape) != n_elements_)
        throw InvalidArgument({"tensor.view", {{"shape", shape_}, {"wanted", shape}}});
    Tensor result = *this;
    result.shape_ = std::move(shape);
    return result;
}

Tensor Tensor::narrow(int64_t first, int64_t rows) const {
    const int64_t available = shape_.empty() ? 0 : shape_[0];
    if (first < 0 || rows < 0 || rows > available || first > available - rows)
        throw InvalidArgument(
            {"tensor.out_of_range", {{"first", first}, {"n", rows}, {"available", available}}});
    const int64_t row_elements = available == 0 ? 0 : n_elements_ / available;
    Tensor result = *this;
    result.shape_[0] = rows;
    result.n_elements_ = rows * row_elements;
    result.offset_bytes_ += first * row_elements * bytes_per_element(dtype_);
    return result;
}

double Tensor::item() const {
    const Tensor one = view({1});
    if (dtype_ == DType::bfloat16) return double{from_bfloat16(HostNumbers<uint16_t>(one)[0])};
    return double{HostNumbers<float>(one)[0]};
}

Tensor Tensor::slice(int64_t first, int64_t n) const {
    if (first < 0 || n < 0 || n > n_elements_ || first > n_elements_ - n)
        throw InvalidArgument(
            {"tensor.out_of_range", {{"first", first}, {"n", n}, {"available", n_elements_}}});
    Tensor result = *this;
    result.shape_ = {n};
    result.n_elements_ = n;
    result.offset_bytes_ += first * bytes_per_element(dtype_);
    return result;
}

Allocator::Allocator(Device& device, MemorySink* sink) : device_(&device), sink_(sink) {}

Tensor Allocator::empty(Shape shape, DType dtype, MemoryCategory category, std::string_view label) {
    Tensor result;
    result.n_elements_ = count(shape);
    result.shape_ = std::move(shape);
    result.dtype_ = dtype;
    try {
        result.storage_ =
            std::make_shared<Storage>(*device_, sink_, next_id_, result.bytes(), category, label);
    } catch (const DeviceError& error) {
        if (error.message().id != "device.out_of_memory" || label.empty()) throw;
        throw DeviceError({"device.out_of_memory_for",
                           {{"bytes", result.bytes()},
                            {"what", std::string(label)},
                            {"category", std::string(name(category))}}});
    }
    ++next_id_;
    return result;
}

Tensor Allocator::zeros(Shape shape, DType dtype, MemoryCategory category, std::string_view label) {
    Tensor result = empty(std::move(shape), dtype, category, label);
    device_->kernels().zero(result);
    return result;
}

Tensor Allocator::clone(const Tensor& from, MemoryCategory category, std::string_view label) {
    if (!from.defined()) throw InvalidArgument({"tensor.undefined", {}});
    Tensor result = empty(from.shape(), from.dtype(), category, label);
    device_->kernels().copy(result, from);
    return result;
}

Tensor Allocator::of(std::span<const float> numbers, Shape shape, MemoryCategory category,
                     std::string_view label) {
    if (count(shape) != static_cast<int64_t>(numbers.size()))
        throw InvalidArgument(
            {"tensor.view",
             {{"shape", std::vector<int64_t>{static_cast<int64_t>(numbers.size())}}, {"wanted", shape}}});
    Tensor result = empty(std::move(shape), DType::float32, category, label);
    device_->kernels().upload(result, numbers);
    return result;
}

}  // namespace meshscope::tensor
