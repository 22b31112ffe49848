// Activation checkpointing: the same bits with less memory, and what runs again is marked.
#include "core/nn/recompute.h"

#include <bit>

#include "core/nn/layers/activation.h"
#include "core/nn/layers/linear.h"
#include "core/nn/layers/loss.h"
#include "tests/nn/bench.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::nn;
using meshscope::test::Bench;
using Lines = std::vector<std::string>;

namespace {

const ModelSpec kMlp{.kind = "mlp", .dim = 8, .hidden = 16, .layers = 3};
const ModelSpec kGpt{
    .kind = "gpt", .dim = 8, .hidden = 20, .layers = 2, .vocab = 11, .seq = 5, .heads = 2, .tied = true};
const ModelSpec kLlama{
    .kind = "llama", .dim = 8, .hidden = 12, .layers = 2, .vocab = 11, .seq = 5, .heads = 4, .kv_heads = 2};

constexpr int64_t kRows = 4;

struct Data {
    Tensor x, y;
};

Data data_for(Bench& bench, const Model& model) {
    const auto make = [&](const Shape& shape, DType dtype, uint64_t stream) {
        return dtype == DType::int64 ? bench.tokens(shape, 11, stream) : bench.random(shape, stream);
    };
    return {make(model.input_shape(kRows), model.input_dtype(), 1),
            make(model.target_shape(kRows), model.target_dtype(), 2)};
}

int64_t alive(const Bench& bench) {
    int64_t bytes = 0;
    for (const auto& [id, entry] : bench.memory.alive)
        if (entry.category == MemoryCategory::activations) bytes += entry.bytes;
    return bytes;
}

/// Bytes of activations that are alive after forward.
int64_t kept_by(const ModelSpec& spec, Recompute recompute) {
    Bench bench;
    const auto model = make_model(spec);
    bench.fill(*model);
    checkpoint_layers(*model, recompute);
    const Data data = data_for(bench, *model);
    Tape tape(bench.allocator, nullptr);
    model->loss(tape, data.x, data.y);
    return alive(bench);
}

}  // namespace

TEST_CASE("losses, gradients and the order in which they are ready are bit for bit those of keeping all") {
    for (const ModelSpec& spec : {kMlp, kGpt, kLlama}) {
        Lines loss_and_gradients[3], ready[3];
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
            INFO(spec.kind << " " << static_cast<int>(recompute));
            const auto which = static_cast<std::size_t>(recompute);
            Bench bench;
            const auto model = make_model(spec);
            bench.fill_wide(*model, 0.5F);
            checkpoint_layers(*model, recompute);
            const Data data = data_for(bench, *model);
            for (int pass = 0; pass < 2; ++pass) {  // the second adds to the gradients of the first
                Tape tape(bench.allocator, nullptr);
                tape.on_gradient_ready([&](Parameter& p) { ready[which].push_back(p.name); });
                const Variable loss = model->loss(tape, data.x, data.y);
                tape.backward(loss, 0.5F);
                loss_and_gradients[which].push_back(std::to_string(tape.value(loss).item()));
            }
            for (const auto& parameter : model->all_parameters()) {
                REQUIRE(parameter->grad.defined());
                for (const float x : parameter->grad.data<float>())
                    loss_and_gradients[which].push_back(std::to_string(std::bit_cast<uint32_t>(x)));
            }
            CHECK(loss_and_gradients[which] == loss_and_gradients[0]);
            CHECK(ready[which] == ready[0]);
            CHECK(ready[which].size() == 2 * model->all_parameters().size());
        }
    }
}

TEST_CASE("with full a layer keeps its input alone, with selective what its products made as well") {
    // Numbers a row. mlp keeps of a layer its input (the batch itself, for the first), up's output (gelu's
    // input) and gelu's output; besides them the prediction and the loss.
    const int64_t d = kMlp.dim, h = kMlp.hidden, layers = kMlp.layers;
    CHECK(kept_by(kMlp, Recompute::none) == 4 * (kRows * (layers * (d + 2 * h)) + 1));
    CHECK(kept_by(kMlp, Recompute::full) == 4 * (kRows * layers * d + 1));
    CHECK(kept_by(kMlp, Recompute::selective) == 4 * (kRows * layers * (d + h + d) + 1));
}

TEST_CASE(
    "a gpt block keeps 8 dim + 2 hidden a token with none, 7 dim + hidden with selective, dim with full") {
    // none: the inputs of both norms, their outputs, q, k, v, attention's output; mlp's two. Then figures a
    // token: mean and rstd of two norms, a log-sum-exp a head. selective: the block's input, q, k, v,
    // attention's output (and its log-sum-exp), wo's output, up's, down's.
    const int64_t tokens = kRows * kGpt.seq, d = kGpt.dim, h = kGpt.hidden;
    const int64_t none = 8 * d + 2 * h + 4 + kGpt.heads, selective = 7 * d + h + kGpt.heads;
    const int64_t all = kept_by(kGpt, Recompute::none);
    CHECK(all - kept_by(kGpt, Recompute::full) == 4 * kGpt.layers * tokens * (none - d));
    CHECK(all - kept_by(kGpt, Recompute::selective) == 4 * kGpt.layers * tokens * (none - selective));
}

TEST_CASE("llama's rotary positions and SwiGLU run again with selective, its products do not") {
    // none: norms' inputs and outputs, rotated q and k, v, attention's output; gate, up and their product; a
    // rstd a norm. selective: the input, q, k, v as their layers made them, attention's, wo's output; gate,
    // up, down.
    const int64_t tokens = kRows * kLlama.seq, d = kLlama.dim, h = kLlama.hidden;
    const int64_t kv = d / kLlama.heads * kLlama.kv_heads;
    const int64_t none = 6 * d + 2 * kv + 3 * h + 2 + kLlama.heads;
    const int64_t selective = 5 * d + 2 * kv + 2 * h + kLlama.heads;
    const int64_t all = kept_by(kLlama, Recompute::none);
    CHECK(all - kept_by(kLlama, Recompute::full) == 4 * kLlama.layers * tokens * (none - d));
    CHECK(all - kept_by(kLlama, Recompute::selective) == 4 * kLlama.layers * tokens * (none - selective));
}

TEST_CASE("what runs again runs just before the layer's backward, and is marked") {
    for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
        Bench bench;
        const auto model = make_model({.kind = "mlp", .dim = 8, .hidden = 16, .layers = 2, .bias = false});
        bench.fill(*model);
        checkpoint_layers(*model, recompute);
        const Data data = data_for(bench, *model);
        Tape tape(bench.allocator, &bench.recorder);
        bench.recorder.set_phase(Phase::forward);
        const Variable loss = model->loss(tape, data.x, data.y);
        bench.recorder.set_phase(Phase::backward);
        tape.backward(loss);
        const trace::RankRecord record = bench.recorder.take();
        Lines backward;
        for (const trace::Event& e : record.events)
            if (e.phase == Phase::backward)
                backward.push_back((e.rule == 0 ? "" : record.strings[e.rule] + ": ") +
                                   record.strings[e.name] + " " + record.strings[e.unit]);
        Lines expected{"mse.backward "};
        for (const std::string layer : {"layers.1", "layers.0"}) {
            if (recompute == Recompute::full)
                expected.push_back("recompute.forward: linear.recompute " + layer + ".up");
            expected.push_back("recompute.forward: gelu_tanh.recompute " + layer);
            if (recompute == Recompute::full)
                expected.push_back("recompute.forward: linear.recompute " + layer + ".down");
            for (const std::string op : {"linear.weight_grad ", "linear.input_grad "})
                expected.push_back(op + layer + ".down");
            expected.push_back("gelu_tanh.backward " + layer);
            expected.push_back("linear.weight_grad " + layer + ".up");
            if (layer == "layers.1") {
                expected.push_back("linear.input_grad " + layer + ".up");
                expected.push_back("grad_sum layers.1");  // the residual's share
            }
        }
        CHECK(backward == expected);
    }
}

TEST_CASE("hooks of the layer fire as ever, those of the modules in it once more for the second forward") {
    Bench bench;
    const auto model = make_model({.kind = "mlp", .dim = 8, .hidden = 16, .layers = 1});
    bench.fill(*model);
    checkpoint_layers(*model, Recompute::full);
    Lines calls;
    for (const std::string name : {"layers.0", "layers.0.up"}) {
        ModuleHooks& hooks = model->find(name)->hooks;
        const auto log = [&calls, name](const char* what) {
            return [&calls, name, what](Module&) { calls.push_back(what + name.substr(8)); };
        };
        hooks.pre_forward.push_back(log("pre_forward"));
        hooks.post_forward.push_back(log("post_forward"));
        hooks.pre_backward.push_back(log("pre_backward"));
        hooks.post_backward.push_back(log("post_backward"));
    }
    const Data data = data_for(bench, *model);
    Tape tape(bench.allocator, nullptr);
    tape.backward(model->loss(tape, data.x, data.y));
    CHECK(calls == Lines{"pre_forward", "pre_forward.up", "post_forward.up", "post_forward", "pre_backward",
                         "pre_forward.up", "post_forward.up", "pre_backward.up", "post_backward.up",
                         "post_backward"});
}

TEST_CASE("a parameter that a checkpointed layer shares is ready after its last use, wherever that is") {
    Bench bench;
    Parameter w{0, "w", {4, 4}, 4, bench.random({4, 4}, 1), {}};
    const Tensor x = bench.random({2, 4}, 2), y = bench.random({2, 4}, 3);
    std::vector<float> plain;
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
        Linear first("first", &w, nullptr), second("second", &w, nullptr);
        if (recompute != Recompute::none)
            second.around = [](Tape& tape, Variable v, Layer& layer) {
                return checkpoint(tape, v, layer, Recompute::full);
            };
        w.grad = {};
        int ready = 0;
        Tape tape(bench.allocator, nullptr);
        tape.on_gradient_ready([&](Parameter&) { ++ready; });
        tape.backward(mse(tape, second.forward(tape, relu(tape, first.forward(tape, tape.input(x)))), y));
        CHECK(ready == 1);
        const auto grad = w.grad.data<float>();
        if (plain.empty()) plain.assign(grad.begin(), grad.end());
        CHECK(std::vector<float>(grad.begin(), grad.end()) == plain);
    }
}

TEST_CASE("a tape without gradients keeps nothing but what is asked for, and has no backward") {
    Bench bench;
    const auto model = make_model(kGpt);
    bench.fill(*model);
    const Data data = data_for(bench, *model);
    float with = 0;
    {
        Tape tape(bench.allocator, nullptr);
        with = static_cast<float>(tape.value(model->loss(tape, data.x, data.y)).item());
    }
    Tape tape(bench.allocator, nullptr, Tape::Grad::off);
    const Variable loss = model->loss(tape, data.x, data.y);
    CHECK(static_cast<float>(tape.value(loss).item()) == with);
    CHECK(alive(bench) == 4);  // the loss
    CHECK_FALSE(tape.needs_grad(loss));
    CHECK(test::thrown_id([&] { tape.backward(loss); }) == "tape.loss");
}
