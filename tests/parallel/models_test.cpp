// The shapes of real models, made small, against what transformers' own classes computed
// (tests/golden/models): on one rank, and cut every way that the strategies have.
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/data/safetensors.h"
#include "core/nn/model/counts.h"
#include "core/run/dry.h"
#include "core/scenario/model_config.h"
#include "tests/parallel/run_helper.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::test;
using nlohmann::json;

namespace {

const std::string kFolder = test::golden_folder() + "/models/";

/// By name: losses and the number of parameters.
const json& cases() {
    static const json kCases = [] {
        std::ifstream file(kFolder + "expected.json");
        return json::parse(file).at("cases");
    }();
    return kCases;
}

/// tests/golden/make/models_oracle.py's case; `rest` holds [mesh] and [parallel].
std::string text(const std::string& name, const std::string& rest = "", const std::string& train = "") {
    return "format = 1\n[model]\nkind = \"hf:" + kFolder + name + "/config.json\"\nweights = \"" + kFolder +
           name + "/init.safetensors\"\n[data]\nfile = \"" + kFolder +
           "data.safetensors\"\n[train]\nsteps = 3\nglobal_batch = 4\n" + train +
           "[optimizer]\nkind = \"sgd\"\nlr = 0.05\nmomentum = 0.9\n" + rest;
}

std::string on_mesh(const std::string& shape, const std::string& names, const std::string& parallel) {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\n" + parallel;
}

void check_as_transformers(const std::string& name, const std::string& rest) {
    INFO(name << " " << rest);
    const json wanted = cases().at(name);
    const run::RunResult result = run_text(text(name, rest));
    const std::vector<double>& losses = result.trace->info.losses;
    REQUIRE(losses.size() == wanted["losses"].size());
    for (std::size_t s = 0; s < losses.size(); ++s)
        CHECK(losses[s] == Approx(wanted["losses"][s].get<double>()).epsilon(2e-5));
    const data::SafetensorsFile final = data::read_safetensors(kFolder + name + "/final.safetensors");
    REQUIRE(result.parameters.size() == final.tensors.size());
    for (const run::NamedArray& parameter : result.parameters) {
        INFO(parameter.name);
        const data::NamedTensor* tensor = final.find(parameter.name);
        REQUIRE(tensor != nullptr);
        REQUIRE(tensor->shape == parameter.shape);
        const std::vector<float> numbers = tensor->floats();
        REQUIRE(numbers.size() == parameter.numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            CHECK(parameter.numbers[i] == Approx(numbers[i]).margin(2e-5).epsilon(2e-4));
    }
}

const std::string kTp2 = on_mesh("2", "\"tp\"", "");

}  // namespace

TEST_CASE("each real shape trains as transformers' class of it does, and has as many parameters") {
    CHECK(cases().size() == 11);
    for (const auto& [name, wanted] : cases().items()) {
        check_as_transformers(name, "");
        const scenario::ModelConfig config = scenario::read_model_config(kFolder + name + "/config.json");
        CHECK(nn::count_parameters(config.spec).total() == wanted["parameters"].get<int64_t>());
    }
}

TEST_CASE("each real shape trains the same under DDP, FSDP2 and FSDP1") {
    for (const auto& [name, wanted] : cases().items()) {
        check_as_transformers(name, on_mesh("2", "\"replicate\"", "data = \"ddp\"\n"));
        check_as_transformers(name, on_mesh("2", "\"shard\"", "data = \"fsdp2\"\n"));
        check_as_transformers(name, on_mesh("2", "\"shard\"", "data = \"fsdp1\"\n"));
    }
}

TEST_CASE("each real shape trains the same cut by tensor and sequence parallelism, beside FSDP2 too") {
    for (const auto& [name, wanted] : cases().items()) {
        if (name == "olmo2") continue;  // its norms go over all heads: refused
        check_as_transformers(name, kTp2);
        check_as_transformers(name,
                              on_mesh("2", "\"tp\"", "sequence_parallel = true\nloss_parallel = true\n"));
        check_as_transformers(name, on_mesh("2, 2", "\"shard\", \"tp\"", "data = \"fsdp2\"\n"));
    }
}

TEST_CASE("each real shape trains the same cut by context parallelism, windows too") {
    for (const auto& [name, wanted] : cases().items())
        for (const std::string method : {"allgather", "alltoall", "ulysses"})
            check_as_transformers(name, on_mesh("2", "\"cp\"", "cp = \"" + method + "\"\n"));
    // Two key/value heads for four ranks: Ulysses repeats them.
    for (const std::string name : {"mistral_window", "qwen2_bias", "gemma"}) {
        check_as_transformers(name, on_mesh("4", "\"cp\"", "cp = \"ulysses\"\n"));
        check_as_transformers(name, on_mesh("2, 2", "\"cp\", \"tp\"", "cp = \"ulysses\"\n"));
    }
    check_as_transformers("mistral_window", on_mesh("4", "\"cp\"", "cp_load_balance = false\n"));
    check_as_transformers("qwen2_bias", on_mesh("4", "\"cp\"", "cp = \"alltoall\"\n"));
}

TEST_CASE("each real shape trains the same as a pipeline, those whose head is the embedding too") {
    for (const auto& [name, wanted] : cases().items())
        check_as_transformers(name, on_mesh("2", "\"pp\"", "schedule = \"1F1B\"\nmicrobatches = 2\n"));
}

TEST_CASE("where tp has more ranks than there are key/value heads, neighbours share each of them") {
    for (const std::string name : {"llama_head_dim", "qwen2_bias", "qwen3_norms", "mistral_window"}) {
        check_as_transformers(name, on_mesh("4", "\"tp\"", ""));
        check_as_transformers(name, on_mesh("2, 4", "\"shard\", \"tp\"", "data = \"fsdp2\"\n"));
        check_as_transformers(name, on_mesh("2, 4", "\"replicate\", \"tp\"", "data = \"ddp\"\n"));
    }
    // Each copy's gradient counts once in the norm.
    const auto norms = [](const std::string& rest) {
        return run_text(text("qwen2_bias", rest, "clip_norm = 0.5\n")).trace->info.grad_norms;
    };
    const std::vector<double> alone = norms("");
    REQUIRE(alone.size() == 3);
    for (const std::string& cut :
         {on_mesh("4", "\"tp\"", ""), on_mesh("2, 4", "\"shard\", \"tp\"", "data = \"fsdp2\"\n")}) {
        const std::vector<double> shared = norms(cut);
        REQUIRE(shared.size() == 3);
        for (std::size_t s = 0; s < 3; ++s) CHECK(shared[s] == Approx(alone[s]).epsilon(1e-4));
    }
}

TEST_CASE("what a config says is overruled by the scenario's own keys, for a small cut of a large model") {
    const std::string config = test::golden_folder() + "/model_config/Llama-3.1-8B.json";
    const std::string small =
        "format = 1\n[model]\nkind = \"hf:" + config +
        "\"\nlayers = 2\ndim = 32\nhidden = 48\nheads = 4\nkv_heads = 2\nvocab = 50\nseq = 24\n"
        "[train]\nsteps = 2\nglobal_batch = 2\n";
    const run::RunResult result = run_text(small);
    CHECK(result.trace->info.losses.size() == 2);
    CHECK(result.parameters.front().numbers.size() == 50 * 32);
}
