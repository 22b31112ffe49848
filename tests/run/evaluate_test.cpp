// Distributed evaluation: what the ranks find out together is what one rank finds out alone.
#include "core/run/evaluate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "backends/registry.h"
#include "core/memory/ledger.h"
#include "core/run/dry.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

constexpr int64_t kSamples = 10;  // on 4 ranks two of them are dealt twice, on 3 as well

std::string text_of(const std::string& kind, const std::string& rest, const std::string& eval,
                    const std::string& optimizer = "lr = 0.1") {
    const std::string model =
        kind == "mlp" ? "kind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 3\n"
                      : "kind = \"gpt\"\ndim = 8\nhidden = 16\nlayers = 2\nvocab = 12\nseq = 6\nheads = 2\n";
    return "format = 1\n[model]\n" + model +
           "seed = 5\n[data]\nseed = 9\n[train]\nsteps = 4\nglobal_batch = 24\n" + "[optimizer]\n" +
           optimizer + "\n" + eval + rest;
}

const std::string kEval = "[eval]\nevery = 2\nsamples = 10\nbatch = 2\n";
const std::string kAlone = "[mesh]\nshape = [1]\nnames = [\"replicate\"]\n";

run::RunResult train(const std::string& text) {
    const auto backends = backends::make_registry();
    return run::run_scenario(scenario::parse_scenario(text, "eval.toml"), *backends);
}

/// Every data strategy, and tensor parallelism beside it.
std::vector<std::string> meshes(const std::string& kind) {
    const auto mesh = [](const std::string& shape, const std::string& names, const std::string& parallel) {
        return "[mesh]\nshape = " + shape + "\nnames = " + names + "\n[parallel]\n" + parallel + "\n";
    };
    std::vector<std::string> all{
        mesh("[2]", "[\"replicate\"]", "data = \"ddp\""),
        mesh("[4]", "[\"shard\"]", "data = \"fsdp2\"\nreshard_after_forward = \"default\""),
        mesh("[3]", "[\"shard\"]", "data = \"fsdp2\"\nreshard_after_forward = false"),
        mesh("[2, 2]", "[\"replicate\", \"shard\"]", "data = \"fsdp2\""),
        mesh("[4]", "[\"shard\"]", "data = \"fsdp1\"\nforward_prefetch = true"),
        mesh("[2]", "[\"shard\"]", "data = \"zero1\""),
        mesh("[2]", "[\"shard\"]", "data = \"zero2\""),
        mesh("[4]", "[\"shard\"]", "data = \"zero3\""),
        mesh("[2]", "[\"tp\"]", ""),
        mesh("[2, 2]", "[\"shard\", \"tp\"]", "data = \"fsdp2\"")};
    if (kind == "gpt")
        all.push_back(mesh("[3, 2]", "[\"replicate\", \"tp\"]",
                           "data = \"ddp\"\nsequence_parallel = true\nloss_parallel = true"));
    return all;
}

}  // namespace

TEST_CASE("the mean over the evaluation set is one process's, however the ranks share it out") {
    for (const std::string kind : {"mlp", "gpt"}) {
        const auto alone = train(text_of(kind, kAlone, kEval)).evaluations;
        REQUIRE(alone.size() == 2);
        CHECK(alone[0].step == 1);
        CHECK(alone[1].step == 3);
        CHECK(alone[1].loss < alone[0].loss);  // it learns, and the set is of the same kind as the data
        for (const std::string& rest : meshes(kind)) {
            INFO(kind << " " << rest);
            const auto shared = train(text_of(kind, rest, kEval)).evaluations;
            REQUIRE(shared.size() == 2);
            for (std::size_t i = 0; i < 2; ++i) {
                CHECK(shared[i].step == alone[i].step);
                CHECK(shared[i].samples == kSamples);
                CHECK(shared[i].loss == Approx(alone[i].loss).epsilon(2e-5));
            }
        }
    }
}

TEST_CASE("it is the loss of the held-out samples, each once") {
    // With a learning rate of 0 the weights stay those drawn from the seed, and the model can be asked here.
    const auto result = train(text_of("mlp", meshes("mlp")[1], kEval, "lr = 0.0"));
    const auto scenario = scenario::parse_scenario(text_of("mlp", kAlone, kEval), "eval.toml");
    const auto device = tensor::make_cpu_device();
    tensor::Allocator allocator(*device, nullptr);
    const auto model = nn::make_model(scenario.model);
    for (const auto& parameter : model->all_parameters()) {
        parameter->value =
            allocator.empty(parameter->shape, DType::float32, MemoryCategory::parameters, parameter->name);
        nn::draw_initial(*parameter, scenario.model_seed, 0, parameter->value.data<float>());
    }
    const auto x = allocator.empty(model->input_shape(kSamples), DType::float32, MemoryCategory::inputs, "x");
    const auto y =
        allocator.empty(model->target_shape(kSamples), DType::float32, MemoryCategory::inputs, "y");
    std::vector<int64_t> samples;
    for (int64_t i = 0; i < kSamples; ++i) samples.push_back(run::kFirstEvaluationSample + i);
    data::make_samples({.kind = "regression", .seed = 9, .samples = 0, .in = 6, .out = 6, .vocab = 0},
                       samples, x.data<float>(), y.data<float>());
    nn::Tape tape(allocator, nullptr);
    const double expected = tape.value(model->loss(tape, x, y)).item();
    for (const run::Evaluated& e : result.evaluations) CHECK(e.loss == Approx(expected).epsilon(2e-5));
}

TEST_CASE("training does not notice an evaluation: the same losses and weights, bit for bit") {
    std::vector<std::string> all = meshes("mlp");
    all.push_back(all[1] + "[parallel.mixed_precision]\nparam = \"bfloat16\"\n");
    for (const std::string& rest : all) {
        INFO(rest);
        const auto with = train(text_of("mlp", rest, "[eval]\nevery = 1\nsamples = 5\n"));
        const auto without = train(text_of("mlp", rest, ""));
        CHECK(with.evaluations.size() == 4);
        CHECK(without.evaluations.empty());
        CHECK(with.trace->info.losses == without.trace->info.losses);
        for (std::size_t p = 0; p < with.parameters.size(); ++p)
            CHECK(with.parameters[p].numbers == without.parameters[p].numbers);
    }
}

TEST_CASE(
    "each rank runs its DistributedSampler's share, and one gather a data dim brings the losses together") {
    const auto trace = train(text_of("mlp", meshes("mlp")[3], kEval)).trace;
    for (std::size_t r = 0; r < 4; ++r) {
        INFO("rank " << r);
        std::vector<std::string> gathers;
        std::set<int32_t> batches;
        for (const trace::Event& e : trace->ranks[r].events) {
            if (e.phase != Phase::evaluation || e.step != 1) continue;
            if (e.kind == trace::EventKind::compute && trace->text(e.name) == "linear")
                batches.insert(e.microbatch);
            if (trace->text(e.rule) != "eval.gather.losses") continue;
            gathers.push_back(trace->groups[static_cast<std::size_t>(e.group)].mesh_dim + " " +
                              std::to_string(e.in_elements) + "->" + std::to_string(e.out_elements) +
                              " padding " + std::to_string(e.padding));
        }
        // 10 samples on 4 ranks: 3 each, of which the last of ranks 2 and 3 were dealt before.
        const std::string padding = r < 2 ? "0" : "1";
        CHECK(gathers ==
              std::vector<std::string>{"shard 3->6 padding " + padding, "replicate 6->12 padding 0"});
        CHECK(batches == std::set<int32_t>{0, 1});  // two samples, then one
    }
}

TEST_CASE("as in PyTorch the backward after an evaluation prefetches FSDP2's last unit of it, for nobody") {
    // Seen in PyTorch 2.15: three gathers in backward, four after a forward under no_grad(), three again.
    // mlp's root has no parameters. The first layer's backward prefetches what ran before it: the
    // evaluation's last layer, whose own backward is over.
    const auto gathers = [](const run::RunResult& result, int32_t step) {
        std::vector<std::string> units;
        for (const trace::Event& e : result.trace->ranks[0].events)
            if (e.op == CollectiveOp::all_gather && e.kind == trace::EventKind::collective &&
                e.phase == Phase::backward && e.step == step)
                units.emplace_back(result.trace->text(e.unit));
        return units;
    };
    const std::string rest = "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n";
    const auto with = train(text_of("mlp", rest, kEval)), without = train(text_of("mlp", rest, ""));
    for (int32_t step = 0; step < 4; ++step) {
        auto expected = gathers(without, step);
        CHECK(expected == std::vector<std::string>{"layers.2", "layers.1", "layers.0"});
        if (step == 2) expected.emplace_back("layers.2");
        CHECK(gathers(with, step) == expected);
    }
}

TEST_CASE("an evaluation keeps nothing for a backward") {
    const auto trace = train(text_of("mlp", kAlone, kEval)).trace;
    int64_t now = 0, evaluation = 0, forward = 0;
    for (const trace::MemoryChange& m : trace->ranks[0].memory) {
        if (m.category != MemoryCategory::activations) continue;
        now += m.delta_bytes;
        if (m.phase == Phase::evaluation) evaluation = std::max(evaluation, now);
        if (m.phase == Phase::forward) forward = std::max(forward, now);
    }
    CHECK(now == 0);
    // Two rows: the stream, up's output and gelu's. Training's 24 rows keep all of that of three layers.
    CHECK(evaluation == 4 * 2 * (6 + 2 * 10));
    CHECK(forward >= 4 * 24 * (2 * 6 + 3 * 2 * 10));
}

TEST_CASE("a dry run predicts evaluations: memory, and every collective with its bytes") {
    for (const std::string& rest : meshes("gpt")) {
        INFO(rest);
        const std::string text = text_of("gpt", rest, kEval);
        const auto real = train(text).trace;
        const auto dry = run::run_dry(scenario::parse_scenario(text, "eval.toml")).trace;
        REQUIRE(dry->ranks.size() == real->ranks.size());
        const auto lines = [](const trace::Trace& trace, std::size_t rank) {
            std::vector<std::string> all;
            for (const trace::Event& e : trace.ranks[rank].events)
                if (e.kind == trace::EventKind::collective)
                    all.push_back(std::to_string(e.step) + " " + std::string(name(e.phase)) + " " +
                                  std::string(name(e.op)) + " " + std::to_string(e.in_elements) + " " +
                                  std::to_string(e.sent_bytes));
            return all;
        };
        for (std::size_t r = 0; r < real->ranks.size(); ++r) {
            CHECK(lines(*dry, r) == lines(*real, r));
            const auto rank = static_cast<int32_t>(r);
            CHECK(memory::peak(*dry, rank).bytes == memory::peak(*real, rank).bytes);
        }
    }
}

TEST_CASE("an evaluation that comes out NaN is told, though no training step saw one") {
    // One step of a lr that throws the weights out of range: its own loss was finite.
    std::string text =
        text_of("mlp", kAlone, "[eval]\nevery = 1\nsamples = 4\n", "kind = \"sgd\"\nlr = 1e10");
    text.replace(text.find("steps = 4"), 9, "steps = 1");
    const run::RunResult result = train(text);
    REQUIRE(result.trace->info.losses.size() == 1);
    CHECK(std::isfinite(result.trace->info.losses[0]));
    REQUIRE(result.evaluations.size() == 1);
    CHECK_FALSE(std::isfinite(result.evaluations[0].loss));
    REQUIRE(result.not_finite.has_value());
    CHECK(result.not_finite->step == 0);
}
