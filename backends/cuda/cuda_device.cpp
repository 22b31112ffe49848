#include "backends/cuda/cuda_device.h"

#include <cstring>

#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/load_gpu.h"
#include "core/base/error.h"

namespace meshscope::backends::cuda {
namespace {

/// What cuBLASLt asks for on Hopper to be free in its choice; PyTorch gives it the same.
constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;
/// Uploads up to this go through page-locked memory and do not wait.
constexpr int64_t kMostStaged = int64_t{4} << 20;
constexpr std::size_t kMostStagings = 16;

}  // namespace

CudaDevice::CudaDevice(const Gpu& gpu)
    : gpu_(gpu),
      stream_(gpu),
      note_(stream_, sizeof(MeshscopeIndexNote)),
      workspace_(stream_, kWorkspaceBytes),
      note_here_(gpu, sizeof(MeshscopeIndexNote)),
      work_(std::make_unique<CudaKernels>(*this)),
      kernels_(*work_) {
    check(*gpu_.table, gpu_.table->set(stream_.handle(), note_.get(), 0, note_.bytes()), "set");
}

CudaDevice::~CudaDevice() {
    // Page-locked memory goes at once, so nothing may still be on its way to it.
    gpu_.table->stream_synchronize(stream_.handle());
}

int64_t CudaDevice::own_bytes() {
    return kWorkspaceBytes + static_cast<int64_t>(sizeof(MeshscopeIndexNote));
}

std::byte* CudaDevice::allocate(int64_t bytes) {
    void* memory = nullptr;
    const int code =
        bytes < 0 ? MESHSCOPE_GPU_OUT_OF_MEMORY : gpu_.table->allocate(stream_.handle(), bytes, &memory);
    if (code == MESHSCOPE_GPU_OUT_OF_MEMORY) throw DeviceError({"device.out_of_memory", {{"bytes", bytes}}});
    check(*gpu_.table, code, "allocate");
    return static_cast<std::byte*>(memory);
}

void CudaDevice::free(std::byte* memory, int64_t) noexcept {
    if (memory != nullptr) gpu_.table->free(stream_.handle(), memory);
}

void CudaDevice::upload(void* to, const void* from, int64_t bytes) const {
    if (bytes == 0) return;
    const auto copy = [&](const void* source) {
        check(*gpu_.table, gpu_.table->copy(stream_.handle(), to, source, bytes, MESHSCOPE_HOST_TO_DEVICE),
              "copy");
    };
    if (bytes > kMostStaged) {
        copy(from);
        stream_.synchronize();
        return;
    }
    const std::lock_guard lock(mutex_);
    Staging* free_one = nullptr;
    for (Staging& staging : staging_)
        if (staging.memory.bytes() >= bytes && staging.used.is_done()) free_one = &staging;
    if (free_one == nullptr) {
        if (staging_.size() == kMostStagings) {
            stream_.synchronize();
            staging_.clear();
        }
        // Of whole pages, so that sizes that differ a little share one.
        constexpr int64_t kPage = 4096;
        staging_.push_back({HostMemory(gpu_, (bytes + kPage - 1) / kPage * kPage), GpuEvent(gpu_)});
        free_one = &staging_.back();
    }
    std::memcpy(free_one->memory.get(), from, static_cast<std::size_t>(bytes));
    copy(free_one->memory.get());
    free_one->used.record(stream_);
}

void CudaDevice::download(void* to, const void* from, int64_t bytes) const {
    const std::lock_guard lock(mutex_);
    fetch_note();
    // Last before the wait: no error can come between them and leave a copy on its way to the caller's
    // memory.
    if (bytes > 0)
        check(*gpu_.table, gpu_.table->copy(stream_.handle(), to, from, bytes, MESHSCOPE_DEVICE_TO_HOST),
              "copy");
    stream_.synchronize();
    look_at_note();
}

void CudaDevice::synchronize() const {
    const std::lock_guard lock(mutex_);
    fetch_note();
    stream_.synchronize();
    look_at_note();
}

int64_t CudaDevice::announce_indices(std::string_view kernel, int64_t rows) const {
    const std::lock_guard lock(mutex_);
    index_calls_.push_back({std::string(kernel), rows});
    return first_index_call_ + static_cast<int64_t>(index_calls_.size()) - 1;
}

void CudaDevice::fetch_note() const {
    if (index_calls_.empty()) return;
    check(*gpu_.table,
          gpu_.table->copy(stream_.handle(), note_here_.get(), note_.get(), note_.bytes(),
                           MESHSCOPE_DEVICE_TO_HOST),
          "copy");
}

void CudaDevice::look_at_note() const {
    if (index_calls_.empty()) return;
    MeshscopeIndexNote note{};
    std::memcpy(&note, note_here_.get(), sizeof note);
    const std::vector<IndexCall> calls = std::move(index_calls_);
    const int64_t first = first_index_call_;
    index_calls_.clear();
    first_index_call_ += static_cast<int64_t>(calls.size());
    if (note.call < first) return;
    check(*gpu_.table, gpu_.table->set(stream_.handle(), note_.get(), 0, note_.bytes()), "set");
    const IndexCall& call = calls.at(static_cast<std::size_t>(note.call - first));
    throw InvalidArgument(
        {"kernel.index", {{"kernel", call.kernel}, {"index", note.index}, {"rows", call.rows}}});
}

}  // namespace meshscope::backends::cuda
