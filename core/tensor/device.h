#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace meshscope::tensor {

class Kernels;

/// Where tensors live and who computes on them. The CPU is the first; nn and the strategies never ask which
/// one it is.
class Device {
  public:
    virtual ~Device() = default;
    /// Uninitialised memory, aligned to 64 bytes; throws DeviceError ("device.out_of_memory": bytes).
    virtual std::byte* allocate(int64_t bytes) = 0;
    virtual void free(std::byte* memory, int64_t bytes) noexcept = 0;
    /// Every operation of the engine on this device.
    virtual const Kernels& kernels() const = 0;

    /// Whether the host reads and writes this memory itself. Where not, Tensor::data() refuses, and the
    /// helpers of host_access.h go through read and write.
    virtual bool on_host() const { return true; }
    /// Copies `bytes` from the host's memory to the device's, and back. In the order of the kernels that were
    /// asked for before; returns when the host's bytes may be changed, or are there. By the thread that uses
    /// kernels(). The defaults copy at once.
    virtual void write(std::byte* to, const std::byte* from, int64_t bytes);
    virtual void read(std::byte* to, const std::byte* from, int64_t bytes);
};

/// Which implementation of the kernels a CPU device uses: fast ones, or each formula written down plainly
/// (slow; what the fast ones are tested against).
enum class MatMul { fast, reference };

/// A CPU device: matrix products as core/tensor/blas.h has them, on one thread, unless `reference` is asked
/// for. Ranks may share one device or have one each.
std::unique_ptr<Device> make_cpu_device(MatMul mat_mul = MatMul::fast);

/// What does the matrix products of fast CPU devices: "oneDNN", "OpenBLAS" or "plain loops".
std::string_view mat_mul_library();
/// As use_matrix_product_library() in core/tensor/blas.h.
void use_mat_mul_library(std::string_view word);

}  // namespace meshscope::tensor
