// CudaDevice over the stand-in: order, memory, indices that are wrong, launches that every GPU takes, the
// reduction kernels, and errors.
#include <atomic>
#include <thread>

#include "backends/cuda/gpu_launch.h"
#include "core/base/find_module.h"
#include "core/comm/reduce.h"
#include "tests/gpu/gpu_pair.h"

using namespace meshscope;
using namespace meshscope::gpu_test;
using namespace meshscope::backends::cuda;

namespace {

Gpu gpu() {
    return {&stand_in(), 0};
}

/// Sets the stand-in back when a test ends, whichever way.
struct Normal {
    ~Normal() {
        control().fail("", 0, 0);
        control().machine(0, 13000, 1);
        control().room(int64_t{8} << 30);
        control().delay(0);
    }
};

/// One step of everything that a device does: each function of the table that it calls is called.
void use_everything() {
    CudaDevice device(gpu());
    tensor::Allocator allocator(device);
    const auto make = [&](Shape shape, DType dtype) {
        return allocator.empty(std::move(shape), dtype, MemoryCategory::temporaries, "t");
    };
    const Tensor x = make({2, 3}, DType::float32), w = make({4, 3}, DType::float32);
    const Tensor y = make({2, 4}, DType::float32), copy = make({2, 4}, DType::float32);
    device.kernels().upload(x, std::vector<float>(6, 1.0F));
    device.kernels().fill(w, 2.0F);
    device.kernels().linear_forward(y, x, w, {});
    device.kernels().copy(copy, y);
    const std::vector<int64_t> at{1, 0, 2};
    const Tensor indices = make({3}, DType::int64), rows = make({3, 3}, DType::float32);
    device.upload(indices.raw(), at.data(), indices.bytes());
    device.kernels().embedding_forward(rows, w, indices);
    GpuStream other(device.gpu(), Urgent::yes);
    GpuEvent before(device.gpu(), Timed::yes), after(device.gpu(), Timed::yes);
    before.record(device.stream());
    other.wait(before);
    after.record(other);
    after.synchronize();
    if (after.elapsed_ns(before) < 0.0 || !after.is_done()) throw std::runtime_error("events");
    other.synchronize();
    if (!other.is_done()) throw std::runtime_error("stream");
    std::vector<float> numbers(8);
    device.kernels().download(numbers, copy);
    if (numbers != std::vector<float>(8, 6.0F)) throw std::runtime_error("numbers");
    device.synchronize();
}

}  // namespace

TEST_CASE("a device gives back all that it took") {
    const Held before = held();
    use_everything();
    CHECK(held() == before);
}

TEST_CASE("each call of the table that fails becomes an error that names it, and nothing is lost") {
    const Normal normal;
    // As the runtime numbers them: out of memory, no kernel image, an illegal address, a launch failure, and
    // one that it does not have.
    for (const char* const call :
         {"stream_make", "stream_synchronize", "stream_query", "stream_wait", "event_make", "event_record",
          "event_query", "event_synchronize", "event_elapsed", "allocate", "host_allocate", "copy", "set",
          "launch", "product"})
        for (const int32_t code : {2, 209, 700, 719, 9999}) {
            const int64_t calls_before = control().calls(call);
            use_everything();
            const int64_t times = control().calls(call) - calls_before;
            CAPTURE(call, code, times);
            REQUIRE(times > 0);
            for (int64_t nth = 1; nth <= times; ++nth) {
                const Held before = held();
                const int64_t made_before = control().calls(call);
                control().fail(call, nth, code);
                std::string id = "nothing thrown", named;
                try {
                    use_everything();
                } catch (const DeviceError& error) {
                    id = error.message().id;
                    named = error.what();
                }
                control().fail("", 0, 0);
                // What the device is done with is used again, so how many calls there are depends on its
                // speed.
                if (nth > 1 && control().calls(call) - made_before < nth) continue;
                // The last wait is the destructor's, which has nobody to tell.
                if (id == "nothing thrown" && std::string(call) == "stream_synchronize" && nth == times)
                    continue;
                const bool memory = code == MESHSCOPE_GPU_OUT_OF_MEMORY &&
                                    (std::string(call) == "allocate" || std::string(call) == "host_allocate");
                // Of a tensor it is said which.
                if (memory)
                    CHECK((id == "device.out_of_memory" || id == "device.out_of_memory_for"));
                else
                    CHECK(id == "gpu.failed");
                if (!memory) CHECK(named.find(call) != std::string::npos);
                CHECK(held() == before);
            }
        }
}

TEST_CASE("what a machine lacks is told apart") {
    const Normal normal;
    const auto told = [](int32_t code, int32_t driver, int32_t devices) {
        control().machine(code, driver, devices);
        return test::thrown_id<DeviceError>([] { expect_gpu(stand_in()); });
    };
    CHECK(told(0, 13000, 1) == "nothing thrown");
    CHECK(told(MESHSCOPE_GPU_NO_DRIVER, 0, 0) == "gpu.no_driver");
    CHECK(told(MESHSCOPE_GPU_NO_DRIVER, 11040, 0) == "gpu.driver_too_old");
    CHECK(told(MESHSCOPE_GPU_NO_DEVICE, 13000, 0) == "gpu.no_device");
    CHECK(told(0, 13000, 0) == "gpu.no_device");
    CHECK(told(999, 13000, 0) == "gpu.cannot_start");
    control().machine(MESHSCOPE_GPU_NO_DEVICE, 13000, 0);
    CHECK(test::thrown_id<DeviceError>([] { CudaDevice device(gpu()); }) == "gpu.failed");
    CHECK(cuda_version(13020) == "13.2");
}

TEST_CASE("a module that is not there or is none is refused with its name") {
    CHECK(find_module("meshscope-none.so").empty());
    CHECK(test::thrown_id<InvalidArgument>([] { load_gpu_module(""); }) == "gpu.not_built");
    CHECK(test::thrown_id<InvalidArgument>([] { load_gpu_module("/nowhere/meshscope-cuda.so"); }) ==
          "gpu.cannot_load");
    CHECK(test::thrown_id<InvalidArgument>([] { load_gpu_module("libm.so.6"); }) == "gpu.cannot_load");
    CHECK(test::thrown_id<InvalidArgument>([] { load_gpu_module(MESHSCOPE_OTHER_VERSION); }) ==
          "gpu.other_version");
}

TEST_CASE("the real module loads without a driver and says what is missing") {
    const std::string path = find_module(kCudaModule);
    if (path.empty()) {
        WARN("no CUDA toolkit was there when this was built: the real module is not tested");
        return;
    }
    const MeshscopeGpu& real = load_gpu_module(path);
    CHECK(real.is_stand_in == 0);
    char words[256] = "";
    real.library(words, sizeof words);
    CHECK(std::string(words).find("cuBLASLt") != std::string::npos);
    MeshscopeGpuMachine machine{};
    REQUIRE(real.machine(&machine) == 0);
    CHECK(machine.runtime_version >= 12000);
    const std::string id = test::thrown_id<DeviceError>([&] { expect_gpu(real); });
    if (machine.code == 0)
        CHECK(id == (machine.devices > 0 ? "nothing thrown" : "gpu.no_device"));
    else if (machine.code == MESHSCOPE_GPU_NO_DRIVER)
        CHECK(id == (machine.driver_version == 0 ? "gpu.no_driver" : "gpu.driver_too_old"));
    else
        CHECK(id == (machine.code == MESHSCOPE_GPU_NO_DEVICE ? "gpu.no_device" : "gpu.cannot_start"));
}

TEST_CASE("memory that a device has not is refused, and what was freed can be had again") {
    const Normal normal;
    CudaDevice device(gpu());
    CHECK(test::thrown_id<DeviceError>([&] { device.allocate(-1); }) == "device.out_of_memory");
    device.synchronize();
    control().room(held().bytes + 1000);
    CHECK(test::thrown_id<DeviceError>([&] { device.allocate(1001); }) == "device.out_of_memory");
    for (int i = 0; i < 3; ++i) {
        std::byte* const memory = device.allocate(1000);
        CHECK(reinterpret_cast<uintptr_t>(memory) % 256 == 0);
        device.free(memory, 1000);
        device.synchronize();
    }
}

TEST_CASE("an index outside its table is told at the next download, with the call that met it", "[device]") {
    GpuPair p;
    const Tensor table = p.to_gpu(p.random({5, 2})), y = p.to_gpu(p.random({3, 2}));
    const Tensor good = p.to_gpu(p.indices({0, 4, 2})), bad = p.to_gpu(p.indices({1, 5, -1}));
    const Tensor loss = p.to_gpu(p.random({1})), lse = p.to_gpu(p.random({3}));
    const Tensor logits = p.to_gpu(p.random({3, 4}));
    const Kernels& kernels = p.gpu.kernels();
    std::vector<float> numbers(6);
    const auto message = [&] {
        try {
            kernels.download(numbers, y);
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string("nothing thrown");
    };
    kernels.embedding_forward(y, table, good);
    CHECK(message() == "nothing thrown");
    kernels.embedding_forward(y, table, good);
    kernels.embedding_forward(y, table, bad);
    kernels.cross_entropy_forward(loss, lse, logits, bad, 1.0);
    const std::string first = message();
    CAPTURE(first);
    CHECK(first.find("kernel.index") != std::string::npos);
    CHECK(first.find("embedding") != std::string::npos);
    CHECK(first.find('5') != std::string::npos);
    CHECK(message() == "nothing thrown");  // told once
    // The rows of the wrong indices are zeros, the others are right.
    CHECK((numbers[2] == 0.0F && numbers[3] == 0.0F && numbers[4] == 0.0F && numbers[5] == 0.0F));
    CHECK(numbers[0] != 0.0F);
    kernels.cross_entropy_forward(loss, lse, logits, bad, 1.0);
    CHECK(test::thrown_id<InvalidArgument>([&] { p.gpu.synchronize(); }) == "kernel.index");
}

TEST_CASE("operands of different dtypes or shapes are refused before anything is enqueued") {
    GpuPair p;
    const Kernels& kernels = p.gpu.kernels();
    const Tensor a = p.to_gpu(p.random({4})), b = p.to_gpu(p.random({4}, DType::bfloat16));
    const Tensor c = p.to_gpu(p.random({5})), i = p.to_gpu(p.indices({0, 1, 2, 3}));
    const int64_t launches = control().calls("launch");
    CHECK(test::thrown_id<InvalidArgument>([&] { kernels.add(a, a, b); }) == "tensor.wrong_dtype");
    CHECK(test::thrown_id<InvalidArgument>([&] { kernels.add(a, a, i); }) == "tensor.wrong_dtype");
    CHECK(test::thrown_id<InvalidArgument>([&] { kernels.adam_step(b, b, b, b, {}); }) ==
          "tensor.wrong_dtype");
    CHECK(test::thrown_id<InvalidArgument>([&] { kernels.add(a, a, c); }) == "kernel.shape");
    CHECK(control().calls("launch") == launches);
}

TEST_CASE("streams are not ordered but by events") {
    const Normal normal;
    const GpuStream one(gpu()), other(gpu());
    const GpuMemory memory(one, 8);
    HostMemory back(gpu(), 8);
    control().delay(20'000'000);
    const GpuEvent event(gpu());
    stand_in().set(one.handle(), memory.get(), 7, 8);
    event.record(one);
    CHECK_FALSE(event.is_done());
    CHECK_FALSE(one.is_done());
    other.wait(event);
    stand_in().copy(other.handle(), back.get(), memory.get(), 8, MESHSCOPE_DEVICE_TO_HOST);
    other.synchronize();
    CHECK(back.get()[0] == std::byte{7});
    CHECK(event.is_done());
    // What one stream does, another need not wait for.
    std::atomic<bool> called{false};
    stand_in().stream_call(
        one.handle(), [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &called);
    CHECK(other.is_done());
    one.synchronize();
    CHECK(called);
}

TEST_CASE("every launch that is asked for fits every GPU from compute capability 8.0 on") {
    for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{255}, int64_t{1} << 20, int64_t{1} << 40})
        for (const LaunchShape& s : {shape_of_elements(n), shape_of_partial_sums(n), shape_of_one_block()}) {
            CAPTURE(n);
            CHECK((s.grid[0] >= 1 && s.grid[0] <= 8192 && s.block[0] % 32 == 0 && s.block[0] <= 256));
        }
    for (const int64_t width : {0, 1, 33, 255, 100000}) {
        const LaunchShape rows = shape_of_rows(1000, width), columns = shape_of_columns(width, 3);
        CHECK(
            (rows.grid[0] == 1000 && rows.block[0] % 32 == 0 && rows.block[0] >= 32 && rows.block[0] <= 256));
        CHECK((columns.grid[0] == (width + 31) / 32 && columns.grid[1] == 3 &&
               columns.block[0] * columns.block[1] == 256));
    }
    for (const auto& [rows, slices] : {std::pair<int64_t, int64_t>{0, 1}, {255, 1}, {256, 2}, {1 << 20, 64}})
        CHECK(column_slices(rows) == slices);
    for (int64_t head_dim = 1; head_dim <= MESHSCOPE_ATTENTION_MOST_HEAD_DIM; ++head_dim) {
        const LaunchShape s = shape_of_attention(100, 3, 2, head_dim);
        CAPTURE(head_dim, attention_tile(head_dim), s.shared_bytes);
        // 99 KiB by asking is the least of those GPUs (8.6, 8.9); heads up to 96 need 48 KiB, and do not ask.
        CHECK(s.shared_bytes <= 96U << 10);
        if (head_dim <= 96) CHECK(s.shared_bytes <= 48U << 10);
        CHECK(attention_tile(head_dim) >= 16);
        CHECK((s.grid[0] == 7 && s.grid[1] == 3 && s.grid[2] == 2 && s.block[0] == 128));
    }
    MeshscopeGpuInfo info{};
    REQUIRE(stand_in().info(0, &info) == 0);
    CHECK(info.most_shared_bytes_asked == 99 << 10);
}

TEST_CASE("a launch that no GPU takes, or that names no kernel, is refused by its number") {
    const GpuStream stream(gpu());
    MeshscopeElements p{};
    const auto code = [&](int32_t kernel, int32_t dtype, LaunchShape shape, int32_t bytes) {
        MeshscopeGpuLaunch launch{};
        launch.kernel = kernel;
        launch.dtype = dtype;
        launch.parameters = &p;
        launch.parameter_bytes = bytes;
        std::copy_n(shape.grid, 3, launch.grid);
        std::copy_n(shape.block, 3, launch.block);
        launch.shared_bytes = shape.shared_bytes;
        return stand_in().launch(stream.handle(), &launch);
    };
    constexpr auto kBytes = static_cast<int32_t>(sizeof p);
    const LaunchShape good = shape_of_elements(1);
    CHECK(code(MESHSCOPE_KERNEL_FILL, MESHSCOPE_FLOAT32, good, kBytes) == 0);
    CHECK(code(MESHSCOPE_KERNEL_FILL, MESHSCOPE_FLOAT32, good, kBytes - 8) == MESHSCOPE_GPU_INVALID_VALUE);
    CHECK(code(MESHSCOPE_KERNEL_FILL, MESHSCOPE_INT64, good, kBytes) == MESHSCOPE_GPU_INVALID_VALUE);
    CHECK(code(MESHSCOPE_KERNELS, MESHSCOPE_FLOAT32, good, kBytes) == MESHSCOPE_GPU_INVALID_VALUE);
    for (const LaunchShape& bad :
         {LaunchShape{{0, 1, 1}, {32, 1, 1}, 0}, LaunchShape{{1, 65536, 1}, {32, 1, 1}, 0},
          LaunchShape{{1, 1, 1}, {1025, 1, 1}, 0}, LaunchShape{{1, 1, 1}, {32, 1, 1}, 100U << 10}})
        CHECK(code(MESHSCOPE_KERNEL_FILL, MESHSCOPE_FLOAT32, bad, kBytes) ==
              MESHSCOPE_GPU_INVALID_CONFIGURATION);
}

TEST_CASE("the host's memory where a GPU's is meant is refused, and the other way round, as a GPU would") {
    const GpuStream stream(gpu());
    const GpuMemory memory(stream, 256);
    const HostMemory pinned(gpu(), 256);
    std::vector<std::byte> host(256);
    const auto copied = [&](void* to, const void* from, int32_t kind) {
        return stand_in().copy(stream.handle(), to, from, 256, kind);
    };
    CHECK(copied(memory.get(), host.data(), MESHSCOPE_HOST_TO_DEVICE) == 0);
    CHECK(copied(pinned.get(), memory.get(), MESHSCOPE_DEVICE_TO_HOST) == 0);
    stream.synchronize();
    CHECK(copied(memory.get(), host.data(), MESHSCOPE_DEVICE_TO_DEVICE) == MESHSCOPE_GPU_INVALID_VALUE);
    CHECK(copied(host.data(), memory.get(), MESHSCOPE_DEVICE_TO_DEVICE) == MESHSCOPE_GPU_INVALID_VALUE);
    CHECK(copied(host.data(), pinned.get(), MESHSCOPE_HOST_TO_DEVICE) == MESHSCOPE_GPU_INVALID_VALUE);
    CHECK(copied(memory.get(), memory.get(), MESHSCOPE_DEVICE_TO_HOST) == MESHSCOPE_GPU_INVALID_VALUE);
    CHECK(stand_in().set(stream.handle(), host.data(), 0, 256) == MESHSCOPE_GPU_INVALID_VALUE);

    const auto filled = [&](void* out) {
        MeshscopeElements p{};
        p.out = out;
        p.n = 4;
        MeshscopeGpuLaunch launch{};
        launch.kernel = MESHSCOPE_KERNEL_FILL;
        launch.dtype = MESHSCOPE_FLOAT32;
        launch.parameters = &p;
        launch.parameter_bytes = sizeof p;
        std::fill_n(launch.grid, 3, 1U);
        std::fill_n(launch.block, 3, 1U);
        return stand_in().launch(stream.handle(), &launch);
    };
    CHECK(filled(memory.get()) == 0);
    CHECK(filled(memory.as<std::byte>() + 64) == 0);
    CHECK(filled(host.data()) == 700);
    stream.synchronize();
}

TEST_CASE("each number that a driver may answer becomes an error that has it, and words") {
    for (int code = 1; code <= 1000; ++code) {
        std::string id = "nothing thrown", said;
        try {
            check(stand_in(), code, "event_make");
        } catch (const DeviceError& error) {
            id = error.message().id;
            said = error.what();
        }
        CAPTURE(code, said);
        CHECK(id == "gpu.failed");
        CHECK(said.find("event_make") != std::string::npos);
        CHECK(said.find(std::to_string(code)) != std::string::npos);
    }
}

TEST_CASE("reductions on the GPU give the same bits as on the CPU, for each dtype and op", "[device]") {
    GpuPair p;
    constexpr int64_t n = 300;
    const std::vector<std::pair<ReduceOp, int32_t>> ops{
        {ReduceOp::sum, MESHSCOPE_REDUCE_SUM}, {ReduceOp::product, MESHSCOPE_REDUCE_PRODUCT},
        {ReduceOp::min, MESHSCOPE_REDUCE_MIN}, {ReduceOp::max, MESHSCOPE_REDUCE_MAX},
        {ReduceOp::avg, MESHSCOPE_REDUCE_SUM}, {ReduceOp::band, MESHSCOPE_REDUCE_BAND},
        {ReduceOp::bor, MESHSCOPE_REDUCE_BOR}, {ReduceOp::bxor, MESHSCOPE_REDUCE_BXOR}};
    for (const DType dtype :
         {DType::float32, DType::bfloat16, DType::float16, DType::int32, DType::int64, DType::uint8})
        for (const auto& [op, number] : ops) {
            const bool is_float = dtype != DType::int32 && dtype != DType::int64 && dtype != DType::uint8;
            const bool bitwise = number >= MESHSCOPE_REDUCE_BAND;
            if (is_float ? bitwise : op == ReduceOp::avg) continue;
            CAPTURE(name(dtype), name(op));
            MeshscopeReduce launch_this{};
            std::vector<Tensor> here, there;
            std::vector<const std::byte*> sources;
            for (int s = 0; s < 3; ++s) {
                Tensor t = p.empty({n}, dtype);
                if (is_float) {
                    t = p.random({n}, dtype);
                } else {  // any bits: overflow wraps around
                    for (int64_t i = 0; i < t.bytes(); ++i)
                        t.raw()[i] = static_cast<std::byte>(
                            uniform_below(256, 9, static_cast<uint64_t>(s), static_cast<uint64_t>(i)));
                }
                here.push_back(t);
                there.push_back(p.to_gpu(t));
                sources.push_back(here.back().raw());
                launch_this.sources[s] = there.back().raw();
            }
            const Tensor wanted = p.empty({n}, dtype), out = p.to_gpu(here[0]);
            comm::reduce_many(op, dtype, wanted.raw(), sources, n);
            launch_this.out = out.raw();
            launch_this.n = n;
            launch_this.n_sources = 3;
            launch_this.reduction = number;
            launch_this.divisor = op == ReduceOp::avg ? 3 : 0;
            launch(p.gpu.stream(), MESHSCOPE_KERNEL_REDUCE, static_cast<int32_t>(dtype), launch_this,
                   shape_of_elements(n));
            const Tensor got = p.to_cpu(out);
            CHECK(std::memcmp(got.raw(), wanted.raw(), static_cast<std::size_t>(got.bytes())) == 0);
        }
}
