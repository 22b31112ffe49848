#pragma once

// What kernel tests share: a fast device and a reference device, random tensors, and a distance.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/tensor/device.h"
#include "core/tensor/dtype.h"
#include "core/tensor/kernels.h"
#include "core/tensor/tensor.h"
#include "tests/test.h"

namespace meshscope::tensor {

struct Pair {
    std::unique_ptr<Device> fast_device = make_cpu_device(MatMul::fast);
    std::unique_ptr<Device> plain_device = make_cpu_device(MatMul::reference);
    Allocator allocator{*fast_device};
    const Kernels& fast = fast_device->kernels();
    const Kernels& plain = plain_device->kernels();
    uint64_t stream = 0;

    Tensor random(Shape shape) {
        Tensor t = allocator.empty(std::move(shape), DType::float32, MemoryCategory::temporaries, "t");
        uint64_t position = 0;
        for (float& x : t.data<float>()) x = static_cast<float>(normal(42, stream, position++));
        ++stream;
        return t;
    }
    Tensor of(const std::vector<float>& values, Shape shape) {
        return allocator.of(values, std::move(shape), MemoryCategory::temporaries, "t");
    }
    Tensor indices(const std::vector<int64_t>& values) {
        Tensor t = allocator.empty({static_cast<int64_t>(values.size())}, DType::int64,
                                   MemoryCategory::temporaries, "t");
        std::ranges::copy(values, t.data<int64_t>().begin());
        return t;
    }
    /// Numbers from 0 to `below` - 1, some of them twice.
    Tensor random_indices(int64_t n, int64_t below) {
        std::vector<int64_t> values;
        for (int64_t i = 0; i < n; ++i)
            values.push_back(static_cast<int64_t>(
                uniform_below(static_cast<uint64_t>(below), 42, stream, static_cast<uint64_t>(i))));
        ++stream;
        return indices(values);
    }
    Tensor copy(const Tensor& t) { return allocator.clone(t, MemoryCategory::temporaries, "copy"); }
};

/// The largest |a - b| / (1 + |b|).
inline double distance(const Tensor& a, const Tensor& b) {
    const auto as = a.data<float>();
    const auto bs = b.data<float>();
    REQUIRE(as.size() == bs.size());
    double worst = 0.0;
    for (std::size_t i = 0; i < as.size(); ++i) {
        const double d =
            std::abs(static_cast<double>(as[i]) - bs[i]) / (1.0 + std::abs(static_cast<double>(bs[i])));
        worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
    }
    return worst;
}

}  // namespace meshscope::tensor
