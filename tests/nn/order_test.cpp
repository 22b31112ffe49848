// What happens when: kernels, hooks, and the moments at which gradients become ready.
#include "core/base/error.h"
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

void log_hooks(Module& module, Lines& lines) {
    const std::string name = module.name().empty() ? "model" : module.name();
    module.hooks.pre_forward.push_back([&lines, name](Module&) { lines.push_back("pre_forward " + name); });
    module.hooks.post_forward.push_back([&lines, name](Module&) { lines.push_back("post_forward " + name); });
    module.hooks.pre_backward.push_back([&lines, name](Module&) { lines.push_back("pre_backward " + name); });
    module.hooks.post_backward.push_back(
        [&lines, name](Module&) { lines.push_back("post_backward " + name); });
    for (Module* child : module.children()) log_hooks(*child, lines);
}

}  // namespace

TEST_CASE("parameters stand in PyTorch's order and modules are found by name") {
    const auto toy = make_model({"toy", 0, 0, 0});
    const auto mlp = make_model({"mlp", 8, 16, 2});
    const auto names = [](const Model& model) {
        Lines lines;
        for (const auto& p : model.all_parameters()) lines.push_back(p->name);
        return lines;
    };
    CHECK(names(*toy) == Lines{"net1.weight", "net1.bias", "net2.weight", "net2.bias"});
    CHECK(names(*mlp) == Lines{"layers.0.up.weight", "layers.0.up.bias", "layers.0.down.weight",
                               "layers.0.down.bias", "layers.1.up.weight", "layers.1.up.bias",
                               "layers.1.down.weight", "layers.1.down.bias"});
    CHECK(toy->default_units().empty());
    CHECK(mlp->default_units() == Lines{"layers.0", "layers.1"});
    CHECK(mlp->find("") == mlp.get());
    REQUIRE(mlp->find("layers.1") != nullptr);
    CHECK(mlp->find("layers.1")->parameters().size() == 4);
    CHECK(mlp->find("layers.1")->parameters()[0]->index == 4);
    CHECK(mlp->find("layers.2") == nullptr);
    const std::vector<Parameter*> all = mlp->parameters();
    REQUIRE(all.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) CHECK(all[i] == mlp->all_parameters()[i].get());
}

TEST_CASE("toy's kernels run in order, and the first layer's input gets no gradient") {
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    Tape tape(bench.allocator, &bench.recorder);
    tape.backward(model->loss(tape, bench.random({8, 10}, 1), bench.random({8, 5}, 2)));
    CHECK(bench.events() == Lines{"linear net1", "relu ", "linear net2", "mse ", "mse.backward ",
                                  "linear.weight_grad net2", "linear.input_grad net2", "relu.backward ",
                                  "linear.weight_grad net1"});
}

TEST_CASE("mlp's kernels run in order, and a residual's two gradients are summed") {
    Bench bench;
    const auto model = make_model({"mlp", 8, 16, 2});
    bench.fill(*model);
    Tape tape(bench.allocator, &bench.recorder);
    tape.backward(model->loss(tape, bench.random({4, 8}, 1), bench.random({4, 8}, 2)));
    CHECK(bench.events() == Lines{"linear layers.0.up",
                                  "gelu_tanh layers.0",
                                  "linear layers.0.down",
                                  "add ",
                                  "linear layers.1.up",
                                  "gelu_tanh layers.1",
                                  "linear layers.1.down",
                                  "add ",
                                  "mse ",
                                  "mse.backward ",
                                  "linear.weight_grad layers.1.down",
                                  "linear.input_grad layers.1.down",
                                  "gelu_tanh.backward layers.1",
                                  "linear.weight_grad layers.1.up",
                                  "linear.input_grad layers.1.up",
                                  "grad_sum layers.1.up",
                                  "linear.weight_grad layers.0.down",
                                  "linear.input_grad layers.0.down",
                                  "gelu_tanh.backward layers.0",
                                  "linear.weight_grad layers.0.up"});
}

TEST_CASE("a linear's events count 2·B·I·O operations and the bytes of its three matrices") {
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    Tape tape(bench.allocator, &bench.recorder);
    tape.backward(model->loss(tape, bench.random({8, 10}, 1), bench.random({8, 5}, 2)));
    const auto events = bench.recorder.take().events;
    CHECK(events[0].flops == 2 * 8 * 10 * 10);
    CHECK(events[0].touched_bytes == 4 * (80 + 100 + 80));
    CHECK(events[5].flops == 2 * 8 * 10 * 5 + 8 * 5);  // net2's weight gradient, and its bias'
    CHECK(events[6].flops == 2 * 8 * 10 * 5);
}

TEST_CASE("gradients become ready from the last layer to the first, each bias before its weight") {
    // golden/README.md: layers.1.down.bias, down.weight, up.bias, up.weight is the order that DDP's buckets
    // show.
    Bench bench;
    const auto model = make_model({"mlp", 8, 16, 2});
    bench.fill(*model);
    for (int pass = 0; pass < 2; ++pass) {  // also while accumulating
        Lines ready;
        Tape tape(bench.allocator, &bench.recorder);
        tape.on_gradient_ready([&](Parameter& p) {
            CHECK(p.grad.defined());
            ready.push_back(p.name);
        });
        tape.backward(model->loss(tape, bench.random({4, 8}, 1), bench.random({4, 8}, 2)));
        CHECK(ready == Lines{"layers.1.down.bias", "layers.1.down.weight", "layers.1.up.bias",
                             "layers.1.up.weight", "layers.0.down.bias", "layers.0.down.weight",
                             "layers.0.up.bias", "layers.0.up.weight"});
    }
}

TEST_CASE("a weight is ready before the kernel of its layer's input gradient runs") {
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    Tape tape(bench.allocator, &bench.recorder);
    std::vector<int32_t> events_before;
    tape.on_gradient_ready([&](Parameter&) { events_before.push_back(bench.recorder.last_event()); });
    tape.backward(model->loss(tape, bench.random({8, 10}, 1), bench.random({8, 5}, 2)));
    CHECK(events_before == std::vector<int32_t>{5, 5, 8, 8});  // the two weight_grad events of the list above
}

TEST_CASE("hooks surround each module's work, forward and backward") {
    Bench bench;
    const auto model = make_model({"mlp", 8, 16, 2});
    bench.fill(*model);
    Lines lines;
    log_hooks(*model, lines);
    Tape tape(bench.allocator, nullptr);
    tape.on_gradient_ready([&](Parameter& p) { lines.push_back("ready " + p.name); });
    const Variable loss = model->loss(tape, bench.random({4, 8}, 1), bench.random({4, 8}, 2));
    CHECK(lines == Lines{"pre_forward model", "pre_forward layers.0", "pre_forward layers.0.up",
                         "post_forward layers.0.up", "pre_forward layers.0.down",
                         "post_forward layers.0.down", "post_forward layers.0", "pre_forward layers.1",
                         "pre_forward layers.1.up", "post_forward layers.1.up", "pre_forward layers.1.down",
                         "post_forward layers.1.down", "post_forward layers.1", "post_forward model"});
    lines.clear();
    tape.backward(loss);
    CHECK(lines ==
          Lines{"pre_backward model",          "pre_backward layers.1",      "pre_backward layers.1.down",
                "ready layers.1.down.bias",    "ready layers.1.down.weight", "post_backward layers.1.down",
                "pre_backward layers.1.up",    "ready layers.1.up.bias",     "ready layers.1.up.weight",
                "post_backward layers.1.up",   "post_backward layers.1",     "pre_backward layers.0",
                "pre_backward layers.0.down",  "ready layers.0.down.bias",   "ready layers.0.down.weight",
                "post_backward layers.0.down", "pre_backward layers.0.up",   "ready layers.0.up.bias",
                "ready layers.0.up.weight",    "post_backward layers.0.up",  "post_backward layers.0",
                "post_backward model"});
}

TEST_CASE("parameters may be away between a module's forward and its backward") {
    // What FSDP does: the value is dropped after forward, and put back, elsewhere in memory, before backward.
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    const Tensor x = bench.random({8, 10}, 1);
    const Tensor y = bench.random({8, 5}, 2);
    {
        Tape tape(bench.allocator, nullptr);
        tape.backward(model->loss(tape, x, y));
    }
    std::vector<std::vector<float>> expected;
    for (const auto& p : model->all_parameters()) {
        expected.emplace_back(p->grad.data<float>().begin(), p->grad.data<float>().end());
        p->grad = Tensor();
    }

    Module& net2 = *model->find("net2");
    std::vector<float> kept(net2.parameters()[0]->value.data<float>().begin(),
                            net2.parameters()[0]->value.data<float>().end());
    net2.hooks.post_forward.push_back([](Module& m) { m.parameters()[0]->value = Tensor(); });
    net2.hooks.pre_backward.push_back([&](Module& m) {
        m.parameters()[0]->value =
            bench.allocator.of(kept, {5, 10}, MemoryCategory::unsharded_parameters, "net2.weight");
    });
    Tape tape(bench.allocator, nullptr);
    const Variable loss = model->loss(tape, x, y);
    CHECK_FALSE(net2.parameters()[0]->value.defined());
    tape.backward(loss);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto grad = model->all_parameters()[i]->grad.data<float>();
        CHECK(std::vector<float>(grad.begin(), grad.end()) == expected[i]);
    }
}

TEST_CASE("a module through which no gradient flows fires no backward hooks") {
    Bench bench;
    Module frozen("frozen");
    Lines lines;
    log_hooks(frozen, lines);
    Parameter weight{0, "w", {3, 4}, 4, bench.random({3, 4}, 1), {}};
    Linear layer("l", &weight, nullptr);
    Tape tape(bench.allocator, nullptr);
    tape.enter(frozen);
    const Variable x = relu(tape, tape.input(bench.random({2, 4}, 2)));
    tape.leave(frozen);
    const Variable unused = layer.forward(tape, x);  // does not lead to the loss
    CHECK(tape.needs_grad(unused));
    tape.backward(mse(tape, layer.forward(tape, x), bench.random({2, 3}, 3)));
    CHECK(lines == Lines{"pre_forward frozen", "post_forward frozen"});
    CHECK(weight.grad.defined());
}

TEST_CASE("wrong uses of the tape are refused") {
    Bench bench;
    Module a("a");
    Module b("b");
    Tape tape(bench.allocator, nullptr);
    const Variable x = tape.leaf(bench.random({2, 3}, 1));
    CHECK(test::thrown_id([&] { tape.backward(x); }) == "tape.loss");
    CHECK(test::thrown_id([&] { tape.leave(a); }) == "tape.region");
    tape.enter(a);
    tape.enter(b);
    CHECK(test::thrown_id([&] { tape.leave(a); }) == "tape.region");
    const Variable loss = mse(tape, x, bench.random({2, 3}, 2));
    CHECK(test::thrown_id([&] { tape.backward(loss); }) == "tape.region");
    tape.leave(b);
    tape.leave(a);
    tape.backward(loss);
    CHECK(test::thrown_id([&] { tape.backward(loss); }) == "tape.backward_twice");
    CHECK(test::thrown_id([&] { tape.value({77}); }) == "tape.variable");
    Parameter stray{0, "stray", {1}, 1, {}, {}};
    CHECK(test::thrown_id([&] { tape.accumulate(stray, bench.random({1}, 1)); }) == "tape.parameter");
}
