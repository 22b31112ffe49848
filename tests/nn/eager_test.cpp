// What eager PyTorch's kernels hold, against PyTorch's own figures (tests/golden/eager).
#include "core/nn/layers/eager.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/memory_sink.h"
#include "core/nn/layers/activation.h"
#include "core/nn/ops.h"
#include "core/nn/recompute.h"
#include "core/tensor/dry_device.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::nn;

namespace {

/// Memory that kernels make: of inputs, parameters and what is held from outside nothing counts.
class Live final : public MemorySink {
  public:
    void on_allocate(uint64_t id, int64_t bytes, MemoryCategory category, std::string_view label) override {
        if (category == MemoryCategory::inputs || category == MemoryCategory::parameters) return;
        alive_[id] = bytes;
        now += bytes;
        peak = std::max(peak, now);
        labels.emplace_back(label);
    }
    void on_free(uint64_t id) override {
        const auto found = alive_.find(id);
        if (found == alive_.end()) return;
        now -= found->second;
        alive_.erase(found);
    }

    int64_t now = 0, peak = 0;
    std::vector<std::string> labels;

  private:
    std::unordered_map<uint64_t, int64_t> alive_;
};

struct Held {
    int64_t kept = 0, peak_forward = 0, peak_backward = 0;
};

/// A dry device, and what a layer is given there.
struct DryBench {
    explicit DryBench(DType all = DType::bfloat16) : dtype(all) {}

    std::unique_ptr<tensor::Device> device = tensor::make_dry_device();
    Live live;
    tensor::Allocator allocator{*device, &live};
    trace::Recorder recorder{GlobalRank{0}, trace::Level::collectives, 0};
    DType dtype;

    Tensor input(Shape shape) {
        return allocator.empty(std::move(shape), dtype, MemoryCategory::inputs, "input");
    }
    Tensor tokens(Shape shape) {
        return allocator.empty(std::move(shape), DType::int64, MemoryCategory::inputs, "tokens");
    }
    void fill(Parameter& parameter) {
        parameter.value = allocator.empty(parameter.shape, dtype, MemoryCategory::parameters, parameter.name);
    }

    /// Forward and backward, with the output and its gradient held from outside.
    Held run(const std::function<Variable(Tape&)>& forward) {
        Tape tape(allocator, &recorder);
        const Variable output = forward(tape);
        Held held{live.now, live.peak, 0};
        const Tensor value = tape.value(output);
        const Tensor grad =
            allocator.empty(value.shape(), value.dtype(), MemoryCategory::activations, "output grad");
        live.peak = live.now;
        tape.backward(output, grad);
        held.peak_backward = live.peak;
        return held;
    }
};

struct Golden {
    nlohmann::json all;
    Golden() {
        std::ifstream file(test::golden_folder() + "/eager/expected.json");
        all = nlohmann::json::parse(file);
    }
    int64_t size(const char* name) const { return all["sizes"][name].get<int64_t>(); }
    Held held(const std::string& name) const {
        const auto& found = all["cases"].at(name);
        return {found["kept"].get<int64_t>(), found["peak_forward"].get<int64_t>(),
                found["peak_backward"].get<int64_t>()};
    }
};

void check_same(const std::string& name, const Held& ours, const Held& theirs) {
    INFO(name);
    CHECK(ours.kept == theirs.kept);
    CHECK(ours.peak_forward == theirs.peak_forward);
    CHECK(ours.peak_backward == theirs.peak_backward);
}

const std::pair<const char*, DType> kDTypes[] = {{"bfloat16", DType::bfloat16}, {"float32", DType::float32}};

}  // namespace

TEST_CASE("eager norms hold byte for byte what PyTorch's hold, kept and at their peaks") {
    const Golden golden;
    struct Case {
        const char* name;
        bool zero_centered, trained, input_grad;
    };
    for (const auto& [name, zero_centered, trained, input_grad] :
         {Case{"llama_norm", false, true, true}, Case{"llama_norm frozen", false, false, true},
          Case{"llama_norm first", false, true, false}, Case{"gemma_norm", true, true, true}})
        for (const auto& [word, dtype] : kDTypes) {
            DryBench bench(dtype);
            Parameter weight;
            weight.shape = {golden.size("width")};
            weight.frozen = !trained;
            bench.fill(weight);
            const Tensor x = bench.input({golden.size("rows"), golden.size("width")});
            const Held held = bench.run([&](Tape& tape) {
                return eager_rms_norm(tape, input_grad ? tape.leaf(x) : tape.input(x), weight, zero_centered);
            });
            const std::string full = std::string(name) + " " + word;
            check_same(full, held, golden.held(full));
        }
}

TEST_CASE("eager gates, rotary positions and losses hold byte for byte what PyTorch's hold") {
    const Golden golden;
    const int64_t rows = golden.size("rows"), width = golden.size("width");
    for (const auto& [word, dtype] : kDTypes) {
        const auto check = [&](const char* name, const std::function<Variable(DryBench&, Tape&)>& forward) {
            DryBench bench(dtype);
            const std::string full = std::string(name) + " " + word;
            check_same(full, bench.run([&](Tape& tape) { return forward(bench, tape); }), golden.held(full));
        };
        check("silu_mul", [&](DryBench& bench, Tape& tape) {
            const Variable gate = tape.leaf(bench.input({rows, width})),
                           up = tape.leaf(bench.input({rows, width})), open = eager_silu(tape, gate),
                           product = multiply(tape, open, up);
            tape.release(open);
            return product;
        });
        for (const bool halves : {false, true})
            check(halves ? "rotary halves" : "rotary pairs", [&](DryBench& bench, Tape& tape) {
                return eager_rotary(tape, tape.leaf(bench.input({1, rows, width})),
                                    width / golden.size("heads"), halves);
            });
        check("cross_entropy", [&](DryBench& bench, Tape& tape) {
            return eager_cross_entropy(tape, tape.leaf(bench.input({rows, golden.size("classes")})),
                                       bench.tokens({rows}));
        });
    }
}

namespace {

ModelSpec llama(const Golden& golden, int64_t layers) {
    ModelSpec spec{.kind = "llama"};
    spec.dim = golden.size("width");
    spec.hidden = golden.size("hidden");
    spec.layers = layers;
    spec.vocab = golden.size("classes");
    spec.seq = golden.size("rows");
    spec.heads = golden.size("heads");
    spec.kv_heads = golden.size("kv_heads");
    return spec;
}

/// A llama's block `0` on its own.
Held block(const Golden& golden, DType dtype, const OpsForm& form) {
    DryBench bench(dtype);
    const auto model = make_model(llama(golden, 1));
    for (const auto& parameter : model->all_parameters()) bench.fill(*parameter);
    use_ops(*model, form);
    return bench.run([&](Tape& tape) {
        return model->layer(tape, 0, tape.leaf(bench.input({1, golden.size("rows"), golden.size("width")})));
    });
}

}  // namespace

TEST_CASE("a block of eager kernels keeps for backward, byte for byte, what PyTorch's saved tensors are") {
    const Golden golden;
    for (const auto& [word, dtype] : kDTypes) {
        INFO(word);
        const Held theirs = golden.held(std::string("block ") + word);
        CHECK(block(golden, dtype, {.ops = Ops::pytorch}).kept == theirs.kept);
        CHECK(block(golden, dtype, {}).kept < theirs.kept);
    }
}

TEST_CASE(
    "torch.nn.RMSNorm's one kernel keeps what the engine's own norm keeps, and silu's output is on top") {
    const Golden golden;
    const int64_t rows = golden.size("rows"), hidden = golden.size("hidden");
    const Held fused = block(golden, DType::bfloat16, {}),
               kernel = block(golden, DType::bfloat16, {.ops = Ops::pytorch, .norm = Pieces::kernel}),
               composed = block(golden, DType::bfloat16, {.ops = Ops::pytorch});
    CHECK(kernel.kept == fused.kept + 2 * rows * hidden);
    CHECK(composed.kept > kernel.kept);
}

TEST_CASE("recomputed layers keep their input alone whatever their kernels, and hold more while they run") {
    const Golden golden;
    const auto run = [&](const OpsForm& form) {
        DryBench bench;
        const auto model = make_model(llama(golden, 2));
        for (const auto& parameter : model->all_parameters()) bench.fill(*parameter);
        use_ops(*model, form);
        checkpoint_layers(*model, Recompute::full);
        return bench.run([&](Tape& tape) {
            Variable stream = tape.leaf(bench.input({1, golden.size("rows"), golden.size("width")}));
            for (int64_t i = 0; i < 2; ++i) stream = model->layer(tape, i, stream);
            return stream;
        });
    };
    const Held fused = run({}), eager = run({.ops = Ops::pytorch});
    CHECK(eager.kept == fused.kept);
    CHECK(eager.peak_backward > fused.peak_backward);
}

TEST_CASE("a loss of eager kernels holds twelve bytes a 16-bit logit in backward, the engine's own two") {
    const Golden golden;
    const int64_t logits = golden.size("rows") * golden.size("classes");
    const auto peak = [&](const OpsForm& form) {
        DryBench bench;
        const auto model = make_model(llama(golden, 1));
        use_ops(*model, form);
        Tape tape(bench.allocator, &bench.recorder);
        const Variable made = tape.leaf(bench.input({1, golden.size("rows"), golden.size("classes")}));
        const Variable loss = model->criterion(tape, made, bench.tokens({1, golden.size("rows")}));
        bench.live.peak = bench.live.now;
        tape.backward(loss);
        return bench.live.peak / logits;
    };
    CHECK(peak({.ops = Ops::pytorch}) == 12);
    CHECK(peak({.ops = Ops::pytorch, .loss = Pieces::kernel}) == 2);
    CHECK(peak({}) == 2);
}

TEST_CASE("kernels of eager PyTorch are recorded one by one, with the bytes that they move") {
    DryBench bench;
    const Tensor logits = bench.input({4, 10});
    bench.run([&](Tape& tape) { return eager_cross_entropy(tape, tape.leaf(logits), bench.tokens({4})); });
    const trace::RankRecord record = bench.recorder.take();
    std::vector<std::pair<std::string, int64_t>> events;
    for (const trace::Event& event : record.events)
        events.emplace_back(record.strings[event.name], event.touched_bytes);
    CHECK(events == std::vector<std::pair<std::string, int64_t>>{
                        {"aten::to", 40 * (2 + 4)},
                        {"aten::_log_softmax", 40 * (3 * 4 + 4)},
                        {"aten::nll_loss_forward", 4 * 8 + 4},
                        {"aten::nll_loss_backward", 4 * 8 + 40 * 4},
                        {"aten::_log_softmax_backward_data", 40 * (2 * 4 + 4 + 4)},
                        {"aten::to", 40 * (4 + 2)}});
    CHECK(std::ranges::count(bench.live.labels, "log_softmax output") == 1);
}
