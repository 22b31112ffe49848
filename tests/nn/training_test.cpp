// Whole trainings on one rank against PyTorch's. What PyTorch did with several ranks has the same mathematics
// on the global batch, so every golden case holds here too, whatever its strategy was.
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/data/made_data.h"
#include "core/data/safetensors.h"
#include "core/nn/optim/clip.h"
#include "core/nn/optim/optimizer.h"
#include "tests/nn/bench.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::nn;
using meshscope::test::Bench;
using nlohmann::json;

namespace {

const std::string kFolder = test::golden_folder() + "/train/";

json read_json(const std::string& path) {
    std::ifstream in(path);
    return json::parse(in);
}

/// A training on one rank: the loop that every strategy wraps.
struct Training {
    Bench& bench;
    Model& model;
    Optimizer optimizer;

    Training(Bench& b, Model& m, OptimizerSpec spec)
        : bench(b), model(m), optimizer(std::move(spec), slots(m), b.allocator) {}

    static std::vector<Optimizer::Slot> slots(const Model& model) {
        std::vector<Optimizer::Slot> result;
        for (const auto& p : model.all_parameters()) result.push_back({p->name, p->value});
        return result;
    }

    struct Outcome {
        double loss, norm;
    };
    Outcome step(const Tensor& x, const Tensor& y, double clip_norm) {
        Tape tape(bench.allocator, nullptr);
        const Variable loss = model.loss(tape, x, y);
        tape.backward(loss);
        std::vector<Tensor> grads;
        for (const auto& p : model.all_parameters()) grads.push_back(std::exchange(p->grad, Tensor()));
        double norm = 0.0;
        if (clip_norm > 0.0) {
            norm = std::sqrt(sum_of_squares(grads, bench.allocator));
            clip_gradients(grads, norm, clip_norm, bench.allocator);
        }
        optimizer.step(grads);
        return {tape.value(loss).data<float>()[0], norm};
    }
};

Tensor tensor_of(Bench& bench, const data::NamedTensor* t, MemoryCategory category) {
    REQUIRE(t != nullptr);
    if (t->dtype == DType::int64) {
        const Tensor result = bench.allocator.empty(t->shape, DType::int64, category, t->name);
        std::memcpy(result.raw(), t->bytes.data(), t->bytes.size());
        return result;
    }
    return bench.allocator.of(t->floats(), t->shape, category, t->name);
}

ModelSpec spec_of(const json& model) {
    const auto size = [&](const char* key) { return model.value(key, int64_t{0}); };
    return {.kind = model["kind"],
            .dim = size("dim"),
            .hidden = size("hidden"),
            .layers = size("layers"),
            .vocab = size("vocab"),
            .seq = size("seq"),
            .heads = size("heads"),
            .kv_heads = size("kv_heads"),
            .rope_theta = model.value("rope_theta", 10000.0),
            .tied = model.value("tied", false),
            .bias = model.value("bias", true)};
}

void check_case(const std::string& name) {
    CAPTURE(name);
    const json golden = read_json(kFolder + name + ".json");
    const json& made = golden["case"];
    const json& how = made["optimizer"];
    Bench bench;
    const auto model = make_model(spec_of(made["model"]));
    const auto init = data::read_safetensors(kFolder + name + ".init.safetensors");
    for (const auto& p : model->all_parameters()) {
        p->value = tensor_of(bench, init.find(p->name), MemoryCategory::parameters);
        REQUIRE(p->value.shape() == p->shape);
    }
    CHECK(init.tensors.size() == model->all_parameters().size());
    const std::string kind = how["kind"];
    Training training(bench, *model,
                      {kind, how["lr"], how.value("momentum", 0.0), 0.9, 0.999, 1e-8,
                       how.value("weight_decay", kind == "adamw" ? 0.01 : 0.0)});
    const auto batches = data::read_safetensors(kFolder + name + ".data.safetensors");
    const int steps = made["steps"];
    for (int s = 0; s < steps; ++s) {
        CAPTURE(s);
        const Tensor x = tensor_of(bench, batches.find("x" + std::to_string(s)), MemoryCategory::inputs);
        const Tensor y = tensor_of(bench, batches.find("y" + std::to_string(s)), MemoryCategory::inputs);
        const auto outcome = training.step(x, y, made.value("clip_norm", 0.0));
        CHECK(outcome.loss ==
              Approx(golden["losses"][static_cast<std::size_t>(s)].get<double>()).epsilon(2e-5).margin(0));
        if (made.contains("clip_norm"))
            CHECK(outcome.norm == Approx(golden["grad_norms"][static_cast<std::size_t>(s)].get<double>())
                                      .epsilon(2e-5)
                                      .margin(0));
    }
    const auto final = data::read_safetensors(kFolder + name + ".final.safetensors");
    for (const auto& p : model->all_parameters()) {
        CAPTURE(p->name);
        const std::vector<float> wanted = final.find(p->name)->floats();
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const double tolerance = 2e-5 + 2e-4 * std::abs(static_cast<double>(wanted[i]));
            CHECK(std::abs(static_cast<double>(p->value.data<float>()[i]) - wanted[i]) <= tolerance);
        }
    }
}

}  // namespace

TEST_CASE("toy trained with SGD on one rank ends where PyTorch ends") {
    check_case("toy_single");
}

TEST_CASE("every case, whatever its strategy, has PyTorch's losses and parameters on one rank") {
    std::map<std::string, int> cases;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
        if (entry.path().extension() != ".json") continue;
        const json made = read_json(entry.path().string())["case"];
        // Computed in bfloat16 there: other mathematics.
        if (made["strategy"].contains("mixed_precision")) continue;
        check_case(entry.path().stem().string());
        ++cases[made["model"]["kind"]];
    }
    CHECK(cases["toy"] + cases["mlp"] >= 12);
    CHECK(cases["gpt"] >= 10);
    CHECK(cases["llama"] >= 9);
}

TEST_CASE("made data can be learned: the loss falls to nothing") {
    Bench bench;
    const auto model = make_model({"mlp", 4, 16, 2});
    bench.fill(*model);
    Training training(bench, *model, {"adam", 0.01});
    const data::MadeData made{"regression", 1, 64, 4, 4};
    double first = 0.0;
    double last = 0.0;
    for (int64_t s = 0; s < 300; ++s) {
        const Tensor x = bench.allocator.empty({16, 4}, DType::float32, MemoryCategory::inputs, "x");
        const Tensor y = bench.allocator.empty({16, 4}, DType::float32, MemoryCategory::inputs, "y");
        data::make_samples(made, data::batch_samples(made, s, 16, 0, 16), x.data<float>(), y.data<float>());
        last = training.step(x, y, 0.0).loss;
        if (s == 0) first = last;
    }
    CHECK(first > 0.5);
    CHECK(last < first / 100);
}

namespace {
/// Five steps of a small mlp; every parameter's numbers at the end. No assertions inside: it runs on threads.
std::vector<float> train_a_while() {
    Bench bench;
    const auto model = make_model({"mlp", 8, 16, 3});
    bench.fill(*model);
    Training training(bench, *model, {"adamw", 0.01, 0.0, 0.9, 0.999, 1e-8, 0.01});
    for (uint64_t s = 0; s < 5; ++s)
        training.step(bench.random({6, 8}, 2 * s), bench.random({6, 8}, 2 * s + 1), 0.5);
    std::vector<float> all;
    for (const auto& p : model->all_parameters())
        all.insert(all.end(), p->value.data<float>().begin(), p->value.data<float>().end());
    return all;
}
}  // namespace

TEST_CASE("the same training gives the same bits again, also on threads side by side") {
    const std::vector<float> alone = train_a_while();
    CHECK(train_a_while() == alone);
    std::array<std::vector<float>, 4> together;
    {
        std::vector<std::thread> threads;
        for (std::vector<float>& result : together)
            threads.emplace_back([&result] { result = train_a_while(); });
        for (std::thread& thread : threads) thread.join();
    }
    for (const std::vector<float>& result : together) CHECK(result == alone);
}
