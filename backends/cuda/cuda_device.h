#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/gpu.h"
#include "core/tensor/device.h"
#include "core/tensor/kernels.h"

namespace meshscope::backends::cuda {

class CudaKernels;

/// One rank's share of a GPU: a compute stream of its own, in which its kernels run and its memory comes and
/// goes. Several ranks may have one on the same GPU. Calls return when the work is enqueued; only downloads
/// and synchronize() wait.
///
/// An index outside its table (embedding, cross_entropy) is noted on the GPU, where the call leaves zeros,
/// and is thrown by the next download or synchronize(), which looks at the note: no call stops the GPU for
/// it.
class CudaDevice final : public tensor::Device {
  public:
    /// Throws DeviceError "gpu.failed", "device.out_of_memory".
    explicit CudaDevice(const Gpu& gpu);
    /// Waits for its work. All memory was given back before.
    ~CudaDevice() override;
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    /// Aligned to 256 bytes. Freed memory is the process's pool's again when the stream comes to it.
    std::byte* allocate(int64_t bytes) override;
    void free(std::byte* memory, int64_t bytes) noexcept override;
    const tensor::Kernels& kernels() const override { return kernels_; }
    bool on_host() const override { return false; }
    void write(std::byte* to, const std::byte* from, int64_t bytes) override { upload(to, from, bytes); }
    void read(std::byte* to, const std::byte* from, int64_t bytes) override { download(to, from, bytes); }

    const Gpu& gpu() const { return gpu_; }
    /// The compute stream.
    const GpuStream& stream() const { return stream_; }
    /// What a device takes of its GPU's memory for itself, beside all tensors: the workspace of matrix
    /// products, and the note.
    static int64_t own_bytes();

    /// From the host's memory, which may be changed when this returns; in the stream's order. Thread-safe.
    void upload(void* to, const void* from, int64_t bytes) const;
    /// To the host's memory, when the stream has come to it. Throws InvalidArgument "kernel.index" as said
    /// above. Thread-safe.
    void download(void* to, const void* from, int64_t bytes) const;
    /// Waits for all work of the stream. Throws as download().
    void synchronize() const;

    /// Where an index kernel notes its first bad index, and the number of the call that it is to note.
    /// Thread- safe.
    MeshscopeIndexNote* index_note() const { return note_.as<MeshscopeIndexNote>(); }
    int64_t announce_indices(std::string_view kernel, int64_t rows) const;

    /// Memory for matrix products: used in the compute stream only.
    void* workspace() const { return workspace_.get(); }
    int64_t workspace_bytes() const { return workspace_.bytes(); }

  private:
    struct IndexCall {
        std::string kernel;
        int64_t rows = 0;
    };
    struct Staging {
        HostMemory memory;
        GpuEvent used;
    };

    /// Enqueues a copy of the note to the host, if any call may have written it. mutex_ is held here and
    /// below.
    void fetch_note() const;
    /// Throws what the note says. The stream was waited for after fetch_note().
    void look_at_note() const;

    Gpu gpu_;
    GpuStream stream_;
    GpuMemory note_, workspace_;
    HostMemory note_here_;
    std::unique_ptr<CudaKernels> work_;
    tensor::Kernels kernels_;
    mutable std::mutex mutex_;
    mutable std::vector<IndexCall> index_calls_;  ///< since the last look
    mutable int64_t first_index_call_ = 1;        ///< the number of the first of them
    mutable std::vector<Staging> staging_;
};

}  // namespace meshscope::backends::cuda
