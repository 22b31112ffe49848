#include "backends/cuda/cuda_queues.h"

#include <algorithm>
#include <array>
#include <functional>

#include "backends/cuda/load_gpu.h"
#include "core/base/error.h"

namespace meshscope::backends::cuda {
namespace {

constexpr std::size_t kStreams = static_cast<std::size_t>(Stream::p2p) + 1;
constexpr uint32_t kThreads = 256;
constexpr int64_t kMostBlocks = 1024;  // a kernel strides over what is left

static_assert(static_cast<int>(DType::float32) == MESHSCOPE_FLOAT32 &&
              static_cast<int>(DType::bfloat16) == MESHSCOPE_BFLOAT16 &&
              static_cast<int>(DType::int32) == MESHSCOPE_INT32 &&
              static_cast<int>(DType::int64) == MESHSCOPE_INT64 &&
              static_cast<int>(DType::uint8) == MESHSCOPE_UINT8 &&
              static_cast<int>(DType::float16) == MESHSCOPE_FLOAT16);

int32_t reduction_of(ReduceOp op) {
    switch (op) {
        case ReduceOp::product:
            return MESHSCOPE_REDUCE_PRODUCT;
        case ReduceOp::min:
            return MESHSCOPE_REDUCE_MIN;
        case ReduceOp::max:
            return MESHSCOPE_REDUCE_MAX;
        case ReduceOp::band:
            return MESHSCOPE_REDUCE_BAND;
        case ReduceOp::bor:
            return MESHSCOPE_REDUCE_BOR;
        case ReduceOp::bxor:
            return MESHSCOPE_REDUCE_BXOR;
        default:  // AVG and PREMUL_SUM add
            return MESHSCOPE_REDUCE_SUM;
    }
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    const std::less<const std::byte*> before;
    return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
           before(b.data(), a.data() + a.size());
}

}  // namespace

CudaQueues::CudaQueues(const Gpu& gpu) : gpu_(gpu), lanes_(kStreams), lane_(&lane_of(Stream::compute)) {}

void CudaQueues::compute_in(const GpuStream& stream) {
    compute_ = &stream;
    clock_.emplace(stream);
}

CudaQueues::Lane& CudaQueues::lane_of(Stream stream) {
    std::unique_ptr<Lane>& lane = lanes_.at(static_cast<std::size_t>(stream));
    if (!lane) lane = std::make_unique<Lane>(gpu_);
    return *lane;
}

comm::DeviceQueues::Mark CudaQueues::mark(const GpuStream& stream) {
    const std::lock_guard lock(mutex_);
    if (free_marks_.empty()) {
        marks_.emplace_back(gpu_);
        free_marks_.push_back(static_cast<Mark>(marks_.size()) - 1);
    }
    const Mark mark = free_marks_.back();
    marks_[static_cast<std::size_t>(mark)].record(stream);
    free_marks_.pop_back();
    return mark;
}

void CudaQueues::hold(const GpuStream& stream, Mark mark) {
    if (mark == kNothing) return;
    const std::lock_guard lock(mutex_);
    stream.wait(marks_[static_cast<std::size_t>(mark)]);
    free_marks_.push_back(mark);  // recorded again, it does not change what this stream waits for
}

comm::DeviceQueues::Mark CudaQueues::issued() {
    return compute_ == nullptr ? kNothing : mark(*compute_);
}

void CudaQueues::wait(Mark mark) {
    if (compute_ != nullptr) hold(*compute_, mark);
}

void CudaQueues::begin(Stream stream, Mark issued, std::span<const std::byte> input,
                       std::span<const std::byte> output) {
    Lane& own = lane_of(stream);
    lane_ = &own;
    hold(own.stream, issued);
    for (const std::unique_ptr<Lane>& each : lanes_) {
        if (!each || each->in_use.empty()) continue;
        Lane& lane = *each;
        const auto shared = [&](std::span<const std::byte> used) {
            return overlap(used, input) || overlap(used, output);
        };
        if (lane.ended.is_done())
            lane.in_use.clear();
        else if (&lane != &own && std::ranges::any_of(lane.in_use, shared))
            own.stream.wait(lane.ended);
    }
    for (const auto used : {input, output})
        if (!used.empty()) own.in_use.push_back(used);
}

comm::DeviceQueues::Mark CudaQueues::end() {
    lane_->ended.record(running());
    return mark(running());
}

void CudaQueues::drain() noexcept {
    drain_collectives();
    if (compute_ != nullptr) static_cast<void>(gpu_.table->stream_synchronize(compute_->handle()));
}

void CudaQueues::drain_collectives() noexcept {
    for (const std::unique_ptr<Lane>& lane : lanes_)
        if (lane) static_cast<void>(gpu_.table->stream_synchronize(lane->stream.handle()));
}

void CudaQueues::copy(std::byte* to, const std::byte* from, int64_t bytes) {
    if (bytes == 0) return;
    check(*gpu_.table, gpu_.table->copy(running().handle(), to, from, bytes, MESHSCOPE_DEVICE_TO_DEVICE),
          "copy");
}

void CudaQueues::launch(int32_t kernel, DType dtype, const void* parameters, std::size_t parameter_bytes,
                        int64_t n) {
    if (n == 0) return;
    MeshscopeGpuLaunch launch{};
    launch.kernel = kernel;
    launch.dtype = static_cast<int32_t>(dtype);
    launch.parameters = parameters;
    launch.parameter_bytes = static_cast<int32_t>(parameter_bytes);
    const auto blocks = static_cast<uint32_t>(std::min((n + kThreads - 1) / kThreads, kMostBlocks));
    std::ranges::copy(std::array<uint32_t, 3>{blocks, 1, 1}, launch.grid);
    std::ranges::copy(std::array<uint32_t, 3>{kThreads, 1, 1}, launch.block);
    check(*gpu_.table, gpu_.table->launch(running().handle(), &launch), "launch");
}

void CudaQueues::reduce(ReduceOp op, DType dtype, std::byte* out, std::span<const std::byte* const> sources,
                        int64_t n, bool average) {
    const auto total = static_cast<int32_t>(sources.size());
    // More than one launch takes go on from what the launches before have made; floats of 16 bits are rounded
    // between.
    bool first = true;
    while (!sources.empty()) {
        MeshscopeReduce parameters{};
        parameters.out = out;
        parameters.n = n;
        parameters.reduction = reduction_of(op);
        if (!first) parameters.sources[parameters.n_sources++] = out;
        const std::size_t taken =
            std::min(sources.size(), static_cast<std::size_t>(MESHSCOPE_MOST_SOURCES - parameters.n_sources));
        for (const std::byte* const source : sources.first(taken))
            parameters.sources[parameters.n_sources++] = source;
        sources = sources.subspan(taken);
        if (sources.empty() && average) parameters.divisor = total;
        launch(MESHSCOPE_KERNEL_REDUCE, dtype, &parameters, sizeof parameters, n);
        first = false;
    }
}

void CudaQueues::divide(DType dtype, std::byte* data, int64_t n, int32_t p) {
    MeshscopeElements parameters{};
    parameters.out = data;
    parameters.a = data;
    parameters.n = n;
    parameters.number = p;
    launch(MESHSCOPE_KERNEL_DIVIDE, dtype, &parameters, sizeof parameters, n);
}

void CudaQueues::premultiply(DType dtype, double factor, std::byte* out, const std::byte* in, int64_t n) {
    MeshscopeElements parameters{};
    parameters.out = out;
    parameters.a = in;
    parameters.n = n;
    parameters.number = static_cast<double>(static_cast<float>(factor));
    launch(MESHSCOPE_KERNEL_SCALE, dtype, &parameters, sizeof parameters, n);
}

std::byte* CudaQueues::allocate(int64_t bytes) {
    void* memory = nullptr;
    const int code = gpu_.table->allocate(running().handle(), bytes, &memory);
    if (code == MESHSCOPE_GPU_OUT_OF_MEMORY) throw DeviceError({"device.out_of_memory", {{"bytes", bytes}}});
    check(*gpu_.table, code, "allocate");
    return static_cast<std::byte*>(memory);
}

void CudaQueues::free(std::byte* memory) noexcept {
    if (memory != nullptr) static_cast<void>(gpu_.table->free(running().handle(), memory));
}

void CudaQueues::copy_host(void* to, const void* from, int64_t bytes, int32_t kind) {
    if (bytes == 0) return;
    check(*gpu_.table, gpu_.table->copy(running().handle(), to, from, bytes, kind), "copy");
    check(*gpu_.table, gpu_.table->stream_synchronize(running().handle()), "stream_synchronize");
}

void CudaQueues::read(std::byte* to, const std::byte* from, int64_t bytes) {
    copy_host(to, from, bytes, MESHSCOPE_DEVICE_TO_HOST);
}

void CudaQueues::write(std::byte* to, const std::byte* from, int64_t bytes) {
    copy_host(to, from, bytes, MESHSCOPE_HOST_TO_DEVICE);
}

}  // namespace meshscope::backends::cuda
