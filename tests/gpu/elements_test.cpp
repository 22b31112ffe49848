// Element kernels, casts, matrix products and optimizers of the GPU's code against the CPU's reference.
#include "tests/gpu/gpu_pair.h"

using namespace meshscope;
using namespace meshscope::gpu_test;

namespace {

// 0, 1, odd, a block, more than a block, more than all blocks of a small grid.
const std::vector<int64_t> kCounts{0, 1, 31, 256, 257, 5000};

struct ElementCase {
    const char* name;
    std::size_t n_tensors;
    Call call;
};

const std::vector<ElementCase> kElements{
    {"fill", 1, [](const Kernels& k, const auto& t) { k.fill(t[0], -2.3F); }},
    {"zero", 1, [](const Kernels& k, const auto& t) { k.zero(t[0]); }},
    {"copy", 2, [](const Kernels& k, const auto& t) { k.copy(t[0], t[1]); }},
    {"scale", 1, [](const Kernels& k, const auto& t) { k.scale(t[0], 0.37F); }},
    {"axpy", 2, [](const Kernels& k, const auto& t) { k.axpy(t[0], -1.7F, t[1]); }},
    {"axpy of itself", 1, [](const Kernels& k, const auto& t) { k.axpy(t[0], 2.0F, t[0]); }},
    {"add", 3, [](const Kernels& k, const auto& t) { k.add(t[0], t[1], t[2]); }},
    {"multiply", 3, [](const Kernels& k, const auto& t) { k.multiply(t[0], t[1], t[2]); }},
    {"multiply in place", 2, [](const Kernels& k, const auto& t) { k.multiply(t[0], t[0], t[1]); }},
    {"relu", 2, [](const Kernels& k, const auto& t) { k.relu_forward(t[0], t[1]); }},
    {"relu backward", 3, [](const Kernels& k, const auto& t) { k.relu_backward(t[0], t[1], t[2]); }},
    {"gelu tanh", 2, [](const Kernels& k, const auto& t) { k.gelu_tanh_forward(t[0], t[1]); }},
    {"gelu tanh backward", 3,
     [](const Kernels& k, const auto& t) { k.gelu_tanh_backward(t[0], t[1], t[2]); }},
    {"gelu", 2, [](const Kernels& k, const auto& t) { k.gelu_forward(t[0], t[1]); }},
    {"gelu backward", 3, [](const Kernels& k, const auto& t) { k.gelu_backward(t[0], t[1], t[2]); }},
    {"silu_mul", 3, [](const Kernels& k, const auto& t) { k.silu_mul_forward(t[0], t[1], t[2]); }},
    {"silu_mul backward", 5,
     [](const Kernels& k, const auto& t) { k.silu_mul_backward(t[0], t[1], t[2], t[3], t[4]); }},
};

}  // namespace

TEST_CASE("element kernels of the GPU agree with the reference, in float32 and bfloat16", "[device]") {
    GpuPair p;
    for (const ElementCase& one : kElements)
        for (const DType dtype : kFloats)
            for (const int64_t n : kCounts) {
                CAPTURE(one.name, n, name(dtype));
                std::vector<Tensor> given;
                for (std::size_t i = 0; i < one.n_tensors; ++i) given.push_back(p.random({n}, dtype, 3.0F));
                CHECK(p.distance_of(given, one.call) <= tolerance(dtype));
            }
}

TEST_CASE("element kernels of the GPU keep NaN, infinity and the ends of gelu", "[device]") {
    GpuPair p;
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    const Tensor x = p.of({0.0F, -0.0F, inf, -inf, nan, 30.0F, -30.0F, 1e30F, -1e-30F});
    for (const char* const which : {"relu", "add"}) {
        const bool relu = std::string(which) == "relu";
        CHECK(p.distance_of({x, x}, [&](const Kernels& k, const auto& t) {
            if (relu)
                k.relu_forward(t[0], t[1]);
            else
                k.add(t[0], t[0], t[1]);
        }) == 0.0);
    }
    const Tensor ends = p.of({30.0F, -30.0F, -9.0F, -4.0F, 1e-20F});
    CHECK(p.distance_of({ends, ends},
                        [](const Kernels& k, const auto& t) { k.gelu_tanh_forward(t[0], t[1]); }) <= 1e-6);
}

TEST_CASE("casts of the GPU give the same bits as the CPU, between float32, bfloat16 and float16",
          "[device]") {
    GpuPair p;
    // Ties, the limits of float16 and of bfloat16, subnormal numbers, and the special ones.
    std::vector<float> edges{1.0F + 0x1p-8F, 1.0F + 0x3p-8F, 65519.0F, 65520.0F, 0x1p-24F, 0x1p-25F,
                             0x3p-25F,       3.4028235e38F,  -0.0F,    6.1e-5F,  1e-40F};
    edges.push_back(std::numeric_limits<float>::infinity());
    edges.push_back(std::nanf(""));
    const Tensor small = p.of(edges), many = p.random({4000}, DType::float32, 100.0F);
    for (const Tensor& numbers : {small, many})
        for (const DType from : {DType::float32, DType::bfloat16, DType::float16})
            for (const DType to : {DType::float32, DType::bfloat16, DType::float16}) {
                CAPTURE(name(from), name(to), numbers.n_elements());
                Tensor start = p.empty(numbers.shape(), from), wanted = p.empty(numbers.shape(), to);
                p.cpu->kernels().cast(start, numbers);
                p.cpu->kernels().cast(wanted, start);
                const Tensor there = p.to_gpu(wanted);
                p.gpu.kernels().zero(there);
                p.gpu.kernels().cast(there, p.to_gpu(start));
                const Tensor got = p.to_cpu(there);
                CHECK(std::memcmp(got.raw(), wanted.raw(), static_cast<std::size_t>(got.bytes())) == 0);
            }
}

TEST_CASE("float16 gradients are scaled and added on the GPU", "[device]") {
    GpuPair p;
    const Tensor a = p.random({300}, DType::float16), b = p.random({300}, DType::float16);
    CHECK(p.distance_of({a, b}, [](const Kernels& k, const auto& t) {
        k.add(t[0], t[0], t[1]);
        k.scale(t[0], 0.3F);
    }) == 0.0);
}

TEST_CASE("matrix products, rows and bias gradients of the GPU agree with the reference", "[device]") {
    GpuPair p;
    struct Sizes {
        int64_t rows, inputs, outputs;
    };
    for (const auto& [rows, inputs, outputs] :
         {Sizes{0, 3, 4}, Sizes{2, 0, 3}, Sizes{3, 4, 0}, Sizes{1, 1, 1}, Sizes{5, 7, 3}, Sizes{33, 40, 65},
          Sizes{300, 4, 3}})
        for (const DType dtype : kFloats)
            for (const bool accumulate : {false, true}) {
                CAPTURE(rows, inputs, outputs, name(dtype), accumulate);
                const Tensor x = p.random({rows, inputs}, dtype), y = p.random({rows, outputs}, dtype);
                const Tensor w = p.random({outputs, inputs}, dtype, 0.3F), b = p.random({outputs}, dtype);
                // Two roundings of sums of up to 65 products.
                const double most = 2 * tolerance(dtype);
                CHECK(p.distance_of({y, x, w, b}, [](const Kernels& k, const auto& t) {
                    k.linear_forward(t[0], t[1], t[2], t[3]);
                }) <= most);
                CHECK(p.distance_of({y, x, w}, [](const Kernels& k, const auto& t) {
                    k.linear_forward(t[0], t[1], t[2], {});
                }) <= most);
                CHECK(p.distance_of({x, y, w}, [](const Kernels& k, const auto& t) {
                    k.linear_input_grad(t[0], t[1], t[2]);
                }) <= most);
                CHECK(p.distance_of({w, y, x}, [=](const Kernels& k, const auto& t) {
                    k.linear_weight_grad(t[0], t[1], t[2], accumulate);
                }) <= most);
                CHECK(p.distance_of({b, y}, [=](const Kernels& k, const auto& t) {
                    k.linear_bias_grad(t[0], t[1], accumulate);
                }) <= most);
                CHECK(p.distance_of({y, y, b}, [](const Kernels& k, const auto& t) {
                    k.add_rows(t[0], t[1], t[2]);
                }) <= most);
            }
}

TEST_CASE("losses, sums and optimizers of the GPU agree with the reference", "[device]") {
    GpuPair p;
    for (const int64_t n : {0, 1, 100, 5000, 600000}) {
        CAPTURE(n);
        if (n > 5000) {  // more than one partial sum a thread
            const Tensor x = p.random({n});
            const double wanted = p.cpu->kernels().sum_of_squares(x);
            CHECK(std::abs(p.gpu.kernels().sum_of_squares(p.to_gpu(x)) - wanted) <= 1e-12 * wanted);
            continue;
        }
        for (const DType dtype : kFloats) {
            const Tensor x = p.random({n}, dtype), dx = p.random({n}, dtype), target = p.random({n});
            const Tensor loss = p.random({1});
            CHECK(p.distance_of({loss, x, target}, [](const Kernels& k, const auto& t) {
                k.mse_forward(t[0], t[1], t[2]);
            }) <= 1e-6);
            CHECK(p.distance_of({dx, loss, x, target}, [](const Kernels& k, const auto& t) {
                k.mse_backward(t[0], t[1], t[2], t[3]);
            }) <= tolerance(dtype));
            const double wanted = p.cpu->kernels().sum_of_squares(x);
            CHECK(std::abs(p.gpu.kernels().sum_of_squares(p.to_gpu(x)) - wanted) <= 1e-12 * wanted);
        }
        const Tensor value = p.random({n}), grad = p.random({n}), m = p.random({n});
        Tensor v = p.random({n});
        p.cpu->kernels().multiply(v, v, v);  // squares are not below 0
        for (const bool first : {false, true})
            for (const double momentum : {0.0, 0.9})
                CHECK(p.distance_of({value, grad, m}, [=](const Kernels& k, const auto& t) {
                    k.sgd_step(t[0], t[1], t[2], {0.1, momentum, 0.01, first});
                }) <= 1e-6);
        for (const bool decoupled : {false, true})
            for (const int64_t step : {1, 1000})
                CHECK(p.distance_of({value, grad, m, v}, [=](const Kernels& k, const auto& t) {
                    k.adam_step(t[0], t[1], t[2], t[3], {1e-2, 0.9, 0.999, 1e-8, 0.1, decoupled, step});
                }) <= 3e-6);
    }
}

TEST_CASE("Adam of many parameters is one launch on the GPU, and agrees with one after another on the CPU",
          "[device]") {
    GpuPair p;
    // None, one, a chunk, and more than one of them; an empty one between.
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{}, {0}, {1}, {2048, 0, 5}, {3, 2049, 7, 6000}}) {
        std::vector<Tensor> given;
        for (const int64_t n : sizes) {
            for (int i = 0; i < 4; ++i) given.push_back(p.random({n}));
            p.cpu->kernels().multiply(given.back(), given.back(), given.back());
        }
        const int64_t launches = on_stand_in() ? control().calls("launch") : 0;
        CHECK(p.distance_of(given, [](const Kernels& k, const auto& t) {
            std::vector<tensor::AdamTensors> all;
            for (std::size_t i = 0; i < t.size(); i += 4)
                all.push_back({&t[i], &t[i + 1], &t[i + 2], &t[i + 3]});
            k.adam_steps(all, {1e-2, 0.9, 0.999, 1e-8, 0.1, true, 3});
        }) <= 3e-6);
        // distance_of makes the call twice.
        const bool nothing = sizes.empty() || sizes == std::vector<int64_t>{0};
        if (on_stand_in()) CHECK(control().calls("launch") - launches == (nothing ? 0 : 2));
    }
}

TEST_CASE("numbers go to the GPU and come back, and the host's copy may be changed at once", "[device]") {
    GpuPair p;
    if (on_stand_in()) control().delay(200'000);
    const Tensor there = p.on_gpu.empty({100}, DType::float32, MemoryCategory::temporaries, "there");
    std::vector<float> numbers(100), back(100);
    for (int round = 0; round < 40; ++round) {  // more than there are page-locked buffers
        numbers.assign(100, static_cast<float>(round));
        p.gpu.kernels().upload(there, numbers);
        numbers.assign(100, -1.0F);
    }
    p.gpu.kernels().download(back, there);
    if (on_stand_in()) control().delay(0);
    CHECK(back == std::vector<float>(100, 39.0F));
    CHECK(test::thrown_id<InvalidArgument>(
              [&] { p.gpu.kernels().upload(there, std::span(back).first(3)); }) == "kernel.shape");
}
