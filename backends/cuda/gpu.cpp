#include "backends/cuda/gpu.h"

#include <utility>

#include "backends/cuda/load_gpu.h"
#include "core/base/error.h"

namespace meshscope::backends::cuda {
namespace {

void check_memory(const Gpu& gpu, int code, int64_t bytes, const char* call) {
    if (code == MESHSCOPE_GPU_OUT_OF_MEMORY) throw DeviceError({"device.out_of_memory", {{"bytes", bytes}}});
    check(*gpu.table, code, call);
}

}  // namespace

GpuStream::GpuStream(const Gpu& gpu, Urgent urgent) : gpu_(gpu) {
    check(*gpu_.table, gpu_.table->stream_make(gpu_.device, urgent == Urgent::yes ? 1 : 0, &handle_),
          "stream_make");
}
GpuStream::~GpuStream() {
    if (handle_.bits != 0) gpu_.table->stream_free(handle_);
}
GpuStream::GpuStream(GpuStream&& other) noexcept
    : gpu_(other.gpu_), handle_(std::exchange(other.handle_, {0})) {}
GpuStream& GpuStream::operator=(GpuStream&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(handle_, other.handle_);
    return *this;
}
void GpuStream::wait(const GpuEvent& event) const {
    check(*gpu_.table, gpu_.table->stream_wait(handle_, event.handle()), "stream_wait");
}
void GpuStream::synchronize() const {
    check(*gpu_.table, gpu_.table->stream_synchronize(handle_), "stream_synchronize");
}
bool GpuStream::is_done() const {
    int32_t done = 0;
    check(*gpu_.table, gpu_.table->stream_query(handle_, &done), "stream_query");
    return done != 0;
}

GpuEvent::GpuEvent(const Gpu& gpu, Timed timed) : gpu_(gpu) {
    check(*gpu_.table, gpu_.table->event_make(gpu_.device, timed == Timed::yes ? 1 : 0, &handle_),
          "event_make");
}
GpuEvent::~GpuEvent() {
    if (handle_.bits != 0) gpu_.table->event_free(handle_);
}
GpuEvent::GpuEvent(GpuEvent&& other) noexcept
    : gpu_(other.gpu_), handle_(std::exchange(other.handle_, {0})) {}
GpuEvent& GpuEvent::operator=(GpuEvent&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(handle_, other.handle_);
    return *this;
}
void GpuEvent::record(const GpuStream& stream) const {
    check(*gpu_.table, gpu_.table->event_record(handle_, stream.handle()), "event_record");
}
void GpuEvent::synchronize() const {
    check(*gpu_.table, gpu_.table->event_synchronize(handle_), "event_synchronize");
}
bool GpuEvent::is_done() const {
    int32_t done = 0;
    check(*gpu_.table, gpu_.table->event_query(handle_, &done), "event_query");
    return done != 0;
}
double GpuEvent::elapsed_ns(const GpuEvent& earlier) const {
    double ns = 0.0;
    check(*gpu_.table, gpu_.table->event_elapsed(earlier.handle_, handle_, &ns), "event_elapsed");
    return ns;
}

GpuMemory::GpuMemory(const GpuStream& stream, int64_t bytes) : stream_(&stream), bytes_(bytes) {
    const Gpu& gpu = stream.gpu();
    check_memory(gpu, gpu.table->allocate(stream.handle(), bytes, &memory_), bytes, "allocate");
}
GpuMemory::~GpuMemory() {
    if (memory_ != nullptr) stream_->gpu().table->free(stream_->handle(), memory_);
}
GpuMemory::GpuMemory(GpuMemory&& other) noexcept
    : stream_(other.stream_), memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

HostMemory::HostMemory(const Gpu& gpu, int64_t bytes) : gpu_(gpu), bytes_(bytes) {
    check_memory(gpu, gpu.table->host_allocate(bytes, &memory_), bytes, "host_allocate");
}
HostMemory::~HostMemory() {
    if (memory_ != nullptr) gpu_.table->host_free(memory_);
}
HostMemory::HostMemory(HostMemory&& other) noexcept
    : gpu_(other.gpu_), memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

}  // namespace meshscope::backends::cuda
