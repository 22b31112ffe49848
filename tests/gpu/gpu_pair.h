#pragma once

// What GPU tests share: a CudaDevice over the stand-in, the reference on the CPU, and one call made on both.
//
// MESHSCOPE_TEST_GPU_MODULE names another module than the stand-in by its file: scripts/check-gpu takes the
// real one so, on a machine with a GPU, for the cases with the tag [device].

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/load_gpu.h"
#include "core/base/error.h"
#include "core/base/find_module.h"
#include "core/base/random.h"
#include "core/tensor/dtype.h"
#include "core/tensor/kernels.h"
#include "tests/stand_in/stand_in.h"
#include "tests/test.h"
#include "tests/thrown.h"

namespace meshscope::gpu_test {

using backends::cuda::CudaDevice;
using tensor::Kernels;
using tensor::Shape;
using tensor::Tensor;

inline std::string stand_in_path() {
    return find_module(backends::cuda::kStandInModule);
}

inline const MeshscopeGpu& stand_in() {
    return backends::cuda::load_gpu_module(stand_in_path());
}

/// The module that cases with the tag [device] run on.
inline std::string module_path() {
    const char* const named = std::getenv("MESHSCOPE_TEST_GPU_MODULE");
    return named == nullptr ? stand_in_path() : named;
}
inline const MeshscopeGpu& module_under_test() {
    return backends::cuda::load_gpu_module(module_path());
}
inline bool on_stand_in() {
    return module_under_test().is_stand_in != 0;
}

/// What tests can ask of the stand-in.
inline const MeshscopeGpuStandIn& control() {
    stand_in();
    void* const handle = dlopen(stand_in_path().c_str(), RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(handle != nullptr);
    using Entry = const MeshscopeGpuStandIn*();
    auto* const entry = reinterpret_cast<Entry*>(dlsym(handle, "meshscope_gpu_stand_in"));
    REQUIRE(entry != nullptr);
    return *entry();
}

/// What the stand-in has given out and not got back.
struct Held {
    int64_t streams = 0, events = 0, blocks = 0, bytes = 0;
    friend bool operator==(const Held&, const Held&) = default;
};
inline Held held() {
    Held h;
    control().held(&h.streams, &h.events, &h.blocks, &h.bytes);
    return h;
}

/// The largest |a - b| / (1 + |b|); infinities must be the same ones, NaN only where both are.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
    double worst = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
        const double d =
            std::abs(static_cast<double>(a[i]) - b[i]) / (1.0 + std::abs(static_cast<double>(b[i])));
        worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
    }
    return worst;
}

/// A call's tensors, by their places in `given`.
using Call = std::function<void(const Kernels&, const std::vector<Tensor>&)>;

struct GpuPair {
    std::unique_ptr<tensor::Device> cpu = tensor::make_cpu_device(tensor::MatMul::reference);
    CudaDevice gpu{{&module_under_test(), 0}};
    tensor::Allocator on_cpu{*cpu}, on_gpu{gpu};
    uint64_t stream = 0;

    /// Normal numbers, rounded to the dtype.
    Tensor random(Shape shape, DType dtype = DType::float32, float factor = 1.0F) {
        Tensor t = empty(shape, DType::float32);
        uint64_t position = 0;
        for (float& x : t.data<float>()) x = factor * static_cast<float>(normal(42, stream, position++));
        ++stream;
        if (dtype == DType::float32) return t;
        Tensor rounded = empty(std::move(shape), dtype);
        cpu->kernels().cast(rounded, t);
        return rounded;
    }
    Tensor of(const std::vector<float>& values) {
        return on_cpu.of(values, {static_cast<int64_t>(values.size())}, MemoryCategory::temporaries, "t");
    }
    Tensor indices(const std::vector<int64_t>& values) {
        Tensor t = empty({static_cast<int64_t>(values.size())}, DType::int64);
        std::copy(values.begin(), values.end(), t.data<int64_t>().begin());
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
    Tensor empty(Shape shape, DType dtype) {
        return on_cpu.empty(std::move(shape), dtype, MemoryCategory::temporaries, "t");
    }

    Tensor to_gpu(const Tensor& t) {
        if (!t.defined()) return {};
        Tensor there = on_gpu.empty(t.shape(), t.dtype(), MemoryCategory::temporaries, "there");
        gpu.upload(there.raw(), t.raw(), t.bytes());
        return there;
    }
    Tensor to_cpu(const Tensor& t) {
        if (!t.defined()) return {};
        Tensor here = empty(t.shape(), t.dtype());
        gpu.download(here.raw(), t.raw(), t.bytes());
        return here;
    }
    std::vector<float> floats(const Tensor& t) {
        Tensor wide = t;
        if (t.dtype() != DType::float32) {
            wide = empty(t.shape(), DType::float32);
            cpu->kernels().cast(wide, t);
        }
        const auto numbers = wide.data<float>();
        return {numbers.begin(), numbers.end()};
    }

    /// Makes the call on copies of `given` on the CPU and on the GPU, and gives the largest distance of any
    /// of the tensors afterwards (those that the call only reads are the same). On the GPU it is made twice,
    /// from the same numbers: a difference between the two is infinite.
    double distance_of(const std::vector<Tensor>& given, const Call& call) {
        const auto on_the_gpu = [&] {
            std::vector<Tensor> there, back;
            for (const Tensor& t : given) there.push_back(to_gpu(t));
            call(gpu.kernels(), there);
            for (const Tensor& t : there) back.push_back(to_cpu(t));
            return back;
        };
        const std::vector<Tensor> first = on_the_gpu(), second = on_the_gpu();
        std::vector<Tensor> here;
        for (const Tensor& t : given)
            here.push_back(t.defined() ? on_cpu.clone(t, MemoryCategory::temporaries, "here") : t);
        call(cpu->kernels(), here);
        double worst = 0.0;
        for (std::size_t i = 0; i < given.size(); ++i) {
            const Tensor& t = given[i];
            if (!t.defined() || t.dtype() == DType::int64 || t.n_elements() == 0) continue;
            const auto bytes = static_cast<std::size_t>(t.bytes());
            if (std::memcmp(first[i].raw(), second[i].raw(), bytes) != 0)
                return std::numeric_limits<double>::infinity();
            worst = std::max(worst, distance(floats(first[i]), floats(here[i])));
        }
        return worst;
    }
};

/// Of one rounding more or less, and of sums in another order.
inline double tolerance(DType dtype) {
    return dtype == DType::bfloat16 ? 1.0 / 128 : 1e-5;
}
inline const std::vector<DType> kFloats{DType::float32, DType::bfloat16};

}  // namespace meshscope::gpu_test
