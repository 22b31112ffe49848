#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/kinds.h"
#include "core/base/memory_sink.h"
#include "core/tensor/device.h"
#include "core/tensor/shape.h"
#include "core/tensor/storage.h"

namespace meshscope::tensor {

/// A contiguous row-major array on a device: a handle, copied cheaply; copies share the numbers. Handles of
/// the same numbers are made, copied and dropped by one thread at a time, their rank's; what runs beside it
/// (a helper, a queue) works on raw().
class Tensor {
  public:
    Tensor() = default;  ///< undefined: no memory

    bool defined() const { return static_cast<bool>(storage_); }
    /// Undefined from now on.
    void reset() {
        storage_ = {};
        shape_.clear();
        offset_bytes_ = n_elements_ = 0;
    }
    const Shape& shape() const { return shape_; }
    int64_t dim(int i) const { return shape_.at(static_cast<std::size_t>(i)); }
    int64_t n_elements() const { return n_elements_; }
    int64_t bytes() const { return n_elements_ * bytes_per_element(dtype_); }
    DType dtype() const { return dtype_; }
    /// The first byte; null when undefined or when the whole allocation is empty.
    std::byte* raw() const {
        return !defined() || storage_->memory() == nullptr ? nullptr : storage_->memory() + offset_bytes_;
    }
    /// Whether another handle (a copy, a view, a slice) looks at the same memory. Then it must not be changed
    /// in place.
    bool shared() const { return defined() && storage_.use_count() > 1; }

    /// The device it lies on. Throws InvalidArgument ("tensor.undefined").
    Device& device() const;

    /// The numbers; throws InvalidArgument ("tensor.wrong_dtype") when T is not the dtype (float, int32_t,
    /// int64_t, uint8_t, uint16_t for bfloat16, Float16), "tensor.undefined" when there are none,
    /// "tensor.not_on_host" when the host cannot read them itself (host_access.h can).
    template <class T>
    std::span<T> data() const;

    /// torch.Tensor.item() of a float32 or bfloat16 tensor: its only element, wherever it lies. Throws
    /// InvalidArgument: "tensor.undefined", "tensor.wrong_dtype", "tensor.view" when there are more or none.
    double item() const;

    /// Same numbers under another shape; throws InvalidArgument ("tensor.view") when the counts differ.
    Tensor view(Shape shape) const;
    /// Rows [first, first + rows) of dim 0, sharing memory. Throws InvalidArgument ("tensor.out_of_range").
    Tensor narrow(int64_t first, int64_t rows) const;
    /// Elements [first, first + n) as a 1-D tensor, sharing memory. Throws InvalidArgument
    /// ("tensor.out_of_range").
    Tensor slice(int64_t first, int64_t n) const;
    /// All elements as a 1-D tensor, sharing memory.
    Tensor flat() const { return slice(0, n_elements_); }

  private:
    friend class Allocator;
    std::shared_ptr<Storage> storage_;
    Shape shape_;
    int64_t offset_bytes_ = 0;
    int64_t n_elements_ = 0;
    DType dtype_ = DType::float32;
};

/// Makes a rank's tensors on a device and tells the rank's memory sink of each. Used on the rank's own
/// thread; the last handle of a tensor must be dropped there too. Outlives its tensors.
class Allocator {
  public:
    explicit Allocator(Device& device, MemorySink* sink = nullptr);

    /// Uninitialised. `label` says what it is, for the memory view ("net1.weight"). All four throw
    /// DeviceError
    /// ("device.out_of_memory") and InvalidArgument ("tensor.bad_shape").
    Tensor empty(Shape shape, DType dtype, MemoryCategory category, std::string_view label);
    Tensor zeros(Shape shape, DType dtype, MemoryCategory category, std::string_view label);
    /// A copy of `from`'s numbers in memory of its own.
    Tensor clone(const Tensor& from, MemoryCategory category, std::string_view label);
    /// A float32 tensor with these numbers.
    Tensor of(std::span<const float> numbers, Shape shape, MemoryCategory category, std::string_view label);

    Device& device() const { return *device_; }

  private:
    Device* device_;
    MemorySink* sink_;
    uint64_t next_id_ = 1;
};

}  // namespace meshscope::tensor
