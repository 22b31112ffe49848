#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/tensor/device.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"

namespace meshscope::tensor {

// How the host reads and writes the numbers of a tensor, wherever they lie. On a CPU device these are the
// tensor's own memory and nothing is copied; on others a copy of the host's is read or written, and the call
// waits for what was asked of the device before.

/// Throws as Tensor::data<T>() does, but for where the numbers lie.
template <class T>
void expect_dtype(const Tensor& tensor) {
    if (!tensor.defined() || tensor.dtype() != DTypeOf<T>::value) static_cast<void>(tensor.data<T>());
}

/// A tensor's numbers to be read; of a device's, as they were when this was made. May not outlive the tensor.
/// T as for Tensor::data(). Throws InvalidArgument: "tensor.undefined", "tensor.wrong_dtype".
template <class T>
class HostNumbers {
  public:
    explicit HostNumbers(const Tensor& tensor) {
        expect_dtype<T>(tensor);
        if (tensor.device().on_host()) {
            numbers_ = tensor.data<T>();
            return;
        }
        copy_.resize(static_cast<std::size_t>(tensor.n_elements()));
        tensor.device().read(reinterpret_cast<std::byte*>(copy_.data()), tensor.raw(), tensor.bytes());
        numbers_ = copy_;
    }
    HostNumbers(const HostNumbers&) = delete;
    HostNumbers& operator=(const HostNumbers&) = delete;

    auto begin() const { return numbers_.begin(); }
    auto end() const { return numbers_.end(); }
    std::size_t size() const { return numbers_.size(); }
    const T& operator[](std::size_t i) const { return numbers_[i]; }
    std::span<const T> get() const { return numbers_; }

  private:
    std::vector<T> copy_;
    std::span<const T> numbers_;
};

/// Lets `fill(std::span<T>)` write every number of a tensor. Throws as HostNumbers.
template <class T, class Fill>
void fill_numbers(const Tensor& tensor, Fill&& fill) {
    expect_dtype<T>(tensor);
    if (tensor.device().on_host()) return std::forward<Fill>(fill)(tensor.data<T>());
    std::vector<T> numbers(static_cast<std::size_t>(tensor.n_elements()));
    std::forward<Fill>(fill)(std::span<T>(numbers));
    tensor.device().write(tensor.raw(), reinterpret_cast<const std::byte*>(numbers.data()), tensor.bytes());
}

/// The numbers of a float32 or bfloat16 tensor. Throws as HostNumbers.
inline std::vector<float> floats_of(const Tensor& tensor) {
    std::vector<float> numbers(static_cast<std::size_t>(tensor.n_elements()));
    if (tensor.dtype() == DType::bfloat16)
        std::ranges::transform(HostNumbers<uint16_t>(tensor).get(), numbers.begin(), from_bfloat16);
    else
        std::ranges::copy(HostNumbers<float>(tensor).get(), numbers.begin());
    return numbers;
}

/// Writes as many numbers as a float32 or bfloat16 tensor has; bfloat16's are rounded, ties to even.
inline void write_floats(const Tensor& tensor, std::span<const float> numbers) {
    if (tensor.dtype() == DType::bfloat16)
        return fill_numbers<uint16_t>(tensor, [&](std::span<uint16_t> bits) {
            std::ranges::transform(numbers, bits.begin(), to_bfloat16);
        });
    fill_numbers<float>(tensor, [&](std::span<float> to) { std::ranges::copy(numbers, to.begin()); });
}

/// Lets `fill(std::byte*)` write every byte of a tensor, of any dtype.
template <class Fill>
void fill_bytes(const Tensor& tensor, Fill&& fill) {
    if (tensor.device().on_host()) return std::forward<Fill>(fill)(tensor.raw());
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
    std::forward<Fill>(fill)(bytes.data());
    tensor.device().write(tensor.raw(), bytes.data(), tensor.bytes());
}

/// Writes all of a tensor's bytes, of any dtype; as many are read from `from`.
inline void write_bytes(const Tensor& tensor, const std::byte* from) {
    tensor.device().write(tensor.raw(), from, tensor.bytes());
}
/// Reads all of a tensor's bytes, of any dtype.
inline void read_bytes(std::byte* to, const Tensor& tensor) {
    tensor.device().read(to, tensor.raw(), tensor.bytes());
}

}  // namespace meshscope::tensor
