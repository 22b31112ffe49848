// Targets that count nothing, tied heads on pipelines and padded vocabularies against what PyTorch computes
// (tests/golden/make/targets_oracle.py), on one rank and cut every way.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/data/safetensors.h"
#include "core/run/dry.h"
#include "core/scenario/scenario.h"
#include "tests/parallel/run_helper.h"
#include "tests/run/same_record.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::test;
using nlohmann::json;

namespace {

const std::string kFiles = test::golden_folder() + "/targets/";

const json& expected() {
    static const json kCases = [] {
        std::ifstream file(kFiles + "expected.json");
        return json::parse(file).at("cases");
    }();
    return kCases;
}

struct Targets {
    std::string file = "data";  ///< of kFiles
    std::string ignored = "-100", train = "", model = "", rest = "";
};

/// The oracle's model on the mesh and by the strategy that `rest` has.
std::string text_of(const std::string& name, const Targets& t) {
    const std::string of = expected().at(name).at("model").get<std::string>();
    return "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 32\nlayers = 4\nvocab = 30\nseq = "
           "8\nheads = 2\n" +
           t.model + "weights = \"" + kFiles + of + ".init.safetensors\"\n[data]\nfile = \"" + kFiles +
           t.file + ".safetensors\"\nignore_index = " + t.ignored +
           "\n[train]\nsteps = 3\nglobal_batch = 8\n" + t.train +
           "[optimizer]\nkind = \"sgd\"\nlr = 0.1\nmomentum = 0.9\n" + t.rest;
}

std::string placed(const std::string& shape, const std::string& names, const std::string& parallel) {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\n" + parallel;
}

/// Losses, norms and weights are PyTorch's, and the record is the predicted one.
void check_as_pytorch(const std::string& name, const Targets& t, bool bfloat16 = false) {
    INFO(name << " " << t.train << t.rest);
    const std::string text = text_of(name, t);
    const run::RunResult result = run_text(text);
    const json wanted = expected().at(name);
    const auto compare = [&](const std::vector<double>& found, const json& values, double epsilon) {
        REQUIRE(found.size() == values.size());
        for (std::size_t s = 0; s < found.size(); ++s)
            CHECK(found[s] == Approx(values[s].get<double>()).epsilon(epsilon));
    };
    compare(result.trace->info.losses, wanted["losses"], bfloat16 ? 2e-3 : 2e-5);
    if (wanted.contains("grad_norms")) compare(result.trace->info.grad_norms, wanted["grad_norms"], 1e-4);
    const data::SafetensorsFile final = data::read_safetensors(kFiles + name + ".final.safetensors");
    REQUIRE(result.parameters.size() == final.tensors.size());
    for (const run::NamedArray& parameter : result.parameters) {
        INFO(parameter.name);
        const data::NamedTensor* tensor = final.find(parameter.name);
        REQUIRE(tensor != nullptr);
        REQUIRE(tensor->shape == parameter.shape);
        const std::vector<float> numbers = tensor->floats();
        for (std::size_t i = 0; i < numbers.size(); ++i)
            CHECK(parameter.numbers[i] == Approx(numbers[i]).margin(bfloat16 ? 3e-3 : 2e-5).epsilon(2e-4));
    }
    const scenario::Scenario scenario = scenario::parse_scenario(text, "targets.toml");
    CHECK(first_difference(*run::run_dry(scenario).trace, *result.trace) == "");
}

const std::string kTied = "tied = true\n", kClip = "clip_norm = 0.5\n", kTwice = "accumulate = 2\n";
const std::string kGPipe = "schedule = \"GPipe\"\nmicrobatches = 4\n";

}  // namespace

TEST_CASE("the mean over the tokens that count is one process's, whatever ranks and micro-batches are") {
    check_as_pytorch("tokens", {});
    check_as_pytorch("tokens_accumulate", {.train = kTwice});
    check_as_pytorch("tokens_ddp2",
                     {.train = kTwice, .rest = placed("2", "\"replicate\"", "data = \"ddp\"\n")});
    check_as_pytorch("tokens_fsdp2", {.rest = placed("2", "\"shard\"", "data = \"fsdp2\"\n")});
    const std::vector<std::string> ways{
        placed("2", "\"replicate\"", "data = \"dp\"\n"),
        placed("2", "\"shard\"", "data = \"fsdp1\"\n"),
        placed("2", "\"shard\"", "data = \"zero1\"\n"),
        placed("2", "\"shard\"", "data = \"zero2\"\n"),
        placed("2", "\"shard\"", "data = \"zero3\"\n"),
        placed("2, 2", "\"replicate\", \"shard\"", "data = \"fsdp2\"\n"),
        placed("2", "\"tp\"", "loss_parallel = true\n"),
        placed("2", "\"tp\"", "sequence_parallel = true\n"),
        placed("2", "\"cp\"", ""),
        placed("2, 2", "\"replicate\", \"cp\"", "data = \"ddp\"\n"),
        placed("2", "\"pp\"", kGPipe),
        placed("2, 2", "\"pp\", \"shard\"", "data = \"fsdp2\"\nschedule = \"1F1B\"\nmicrobatches = 4\n"),
        placed("2", "\"pp\"", "schedule = \"ZBVZeroBubble\"\nmicrobatches = 4\n"),
    };
    for (const std::string& rest : ways) check_as_pytorch("tokens", {.rest = rest});
    check_as_pytorch("tokens", {.train = "recompute = \"full\"\n"});
}

TEST_CASE("with bfloat16 logits the mean over tokens is computed in float32") {
    check_as_pytorch("tokens_fsdp2_bf16",
                     {.rest = placed("2", "\"shard\"",
                                     "data = \"fsdp2\"\n[parallel.mixed_precision]\nparam = "
                                     "\"bfloat16\"\nreduce = \"float32\"\n")},
                     true);
    check_as_pytorch(
        "tokens_fsdp2_bf16",
        {.rest = placed("2, 2", "\"shard\", \"tp\"",
                        "data = \"fsdp2\"\nloss_parallel = true\n[parallel.mixed_precision]\nparam = "
                        "\"bfloat16\"\nreduce = \"float32\"\n")},
        true);
}

TEST_CASE("the mean of the micro-batches' means weighs tokens differently, as PyTorch's own does") {
    const Targets naive{.train = kTwice + "loss_mean = \"microbatches\"\n",
                        .rest = placed("2", "\"replicate\"", "data = \"ddp\"\n")};
    check_as_pytorch("microbatches_ddp2", naive);
    const auto losses = [](const std::string& name) { return expected()[name]["losses"]; };
    for (std::size_t s = 0; s < 3; ++s)
        CHECK(std::abs(losses("microbatches_ddp2")[s].get<double>() - losses("tokens")[s].get<double>()) >
              5e-3);
}

TEST_CASE("any token may be the one that counts nothing") {
    // The oracle's tokens are 1 and more, so that 0 stands for padding alone.
    check_as_pytorch("tokens", {.file = "token0", .ignored = "0"});
    check_as_pytorch("tokens", {.file = "token0", .ignored = "0", .rest = placed("2", "\"pp\"", kGPipe)});
}

TEST_CASE("tokens are counted once a step, by one number along each data dim") {
    const auto counts = [](const std::string& rest, const std::string& train = "") {
        const run::RunResult result = run_text(text_of("tokens", {.train = train, .rest = rest}));
        std::set<std::string> found;
        for (const auto& rank : result.trace->ranks) {
            std::string dims;
            for (const trace::Event& event : rank.events)
                if (event.step == 1 && result.trace->text(event.rule) == "loss.count_tokens") {
                    CHECK(event.in_elements == 1);
                    CHECK(event.dtype == DType::int64);
                    dims += result.trace->groups[static_cast<std::size_t>(event.group)].mesh_dim + " ";
                }
            found.insert(dims);
        }
        return found;
    };
    using Set = std::set<std::string>;
    CHECK(counts("") == Set{""});
    CHECK(counts(placed("2", "\"tp\"", "")) == Set{""});
    CHECK(counts(placed("2", "\"replicate\"", "data = \"ddp\"\n"), kTwice) == Set{"replicate "});
    CHECK(counts(placed("2, 2", "\"replicate\", \"shard\"", "data = \"fsdp2\"\n")) ==
          Set{"replicate shard "});
    CHECK(counts(placed("2, 2", "\"replicate\", \"cp\"", "data = \"ddp\"\n")) == Set{"replicate_cp "});
    // The last stage alone has targets.
    CHECK(counts(placed("2, 2", "\"pp\", \"replicate\"", "data = \"ddp\"\n" + kGPipe)) ==
          Set{"", "replicate "});
    // Replicas that train apart divide by their own.
    CHECK(counts(placed("2", "\"replicate\"", "data = \"local_sgd\"\nsync_every = 2\n")) == Set{""});
}

TEST_CASE("samples of made data have the lengths that are asked for, in whatever order they come") {
    const std::string text =
        "format = 1\n[model]\nkind = \"llama\"\ndim = 16\nhidden = 24\nlayers = 2\nvocab = 16\nseq = "
        "8\nheads = 2\n"
        "[data]\nlengths = [8, 3, 5, 2, 7]\nsamples = 16\n";
    const std::string train = "[train]\nsteps = 3\nglobal_batch = 8\n";
    const std::vector<double> one = run_text(text + train).trace->info.losses;
    for (const std::string rest :
         {"accumulate = 4\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n",
          "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\nloss_parallel "
          "= true\n",
          "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"1F1B\"\nmicrobatches = 8\n"}) {
        INFO(rest);
        const std::vector<double> losses = run_text(text + train + rest).trace->info.losses;
        REQUIRE(losses.size() == one.size());
        for (std::size_t s = 0; s < one.size(); ++s) CHECK(losses[s] == Approx(one[s]).epsilon(2e-6));
    }
    CHECK(run_text(text.substr(0, text.find("[data]")) + "[data]\nsamples = 16\n" + train)
              .trace->info.losses[0] != one[0]);
}

TEST_CASE(
    "a tied model trains on a pipeline as in one process: its two copies, their norm, what they add up") {
    check_as_pytorch("tied_clipped", {.train = kTwice + kClip, .model = kTied});
    const std::vector<std::string> ways{
        placed("2", "\"pp\"", kGPipe),
        placed("2", "\"pp\"", kGPipe + "stage_layers = [1, 3]\n"),
        placed("4", "\"pp\"", "schedule = \"1F1B\"\nmicrobatches = 4\n"),
        placed("2", "\"pp\"",
               "schedule = \"Interleaved1F1B\"\nmicrobatches = 4\nstage_layers = [1, 1, 1, 1]\n"),
        placed("2", "\"pp\"", "schedule = \"ZBVZeroBubble\"\nmicrobatches = 4\n"),
        placed("2, 2", "\"pp\", \"replicate\"", "data = \"ddp\"\n" + kGPipe),
        placed("2, 2", "\"pp\", \"shard\"", "data = \"fsdp2\"\nschedule = \"1F1B\"\nmicrobatches = 4\n"),
        placed("2, 2", "\"pp\", \"shard\"", "data = \"zero1\"\nbucket_cap_mb = 0.002\n" + kGPipe),
        placed("2, 2", "\"pp\", \"tp\"", "loss_parallel = true\n" + kGPipe),
        placed("2, 2", "\"pp\", \"tp\"", "sequence_parallel = true\n" + kGPipe),
    };
    for (const std::string& rest : ways)
        check_as_pytorch("tied_clipped", {.train = kClip, .model = kTied, .rest = rest});
}

TEST_CASE("a tied pipeline goes on from a checkpoint, of which each copy takes its own") {
    for (const std::string& rest : {placed("2", "\"pp\"", kGPipe),
                                    placed("2, 2", "\"pp\", \"shard\"", "data = \"zero1\"\n" + kGPipe)}) {
        INFO(rest);
        const Targets whole{.train = kClip, .model = kTied, .rest = rest};
        Targets restarted = whole;
        restarted.rest += "[checkpoint]\ntemporary = true\nevery = 1\nrestart_after = 2\n";
        const run::RunResult a = run_text(text_of("tied_clipped", whole));
        const run::RunResult b = run_text(text_of("tied_clipped", restarted));
        CHECK(a.trace->info.losses == b.trace->info.losses);
        REQUIRE(a.parameters.size() == b.parameters.size());
        for (std::size_t p = 0; p < a.parameters.size(); ++p)
            CHECK(a.parameters[p].numbers == b.parameters[p].numbers);
    }
}

TEST_CASE("first and last stage add up the tied gradient by one all_reduce of what each of them holds") {
    const auto sums = [](const std::string& rest) {
        const run::RunResult result =
            run_text(text_of("tied_clipped", {.train = kClip, .model = kTied, .rest = rest}));
        std::vector<int64_t> found;  // a rank's elements in step 1; 0: none
        for (const auto& rank : result.trace->ranks) {
            int64_t elements = 0;
            for (const trace::Event& event : rank.events)
                if (event.step == 1 && result.trace->text(event.rule) == "pp.tied.all_reduce")
                    elements += event.in_elements;
            found.push_back(elements);
        }
        return found;
    };
    CHECK(sums(placed("4", "\"pp\"", "schedule = \"1F1B\"\nmicrobatches = 4\n")) ==
          std::vector<int64_t>{480, 0, 0, 480});
    CHECK(sums(placed("2, 2", "\"pp\", \"shard\"", "data = \"fsdp2\"\n" + kGPipe)) ==
          std::vector<int64_t>{240, 240, 240, 240});
    // There and back on the same ranks: the first one has both copies.
    CHECK(sums(placed("2", "\"pp\"", "schedule = \"ZBVZeroBubble\"\nmicrobatches = 4\n")) ==
          std::vector<int64_t>{0, 0});
}

TEST_CASE("a padded vocabulary has rows that no token names, and a loss over all of them") {
    const std::string padded = "vocab_multiple = 12\n";
    for (const std::string& rest :
         {std::string(), placed("2", "\"tp\"", "loss_parallel = true\n"),
          placed("2", "\"shard\"", "data = \"fsdp2\"\n"), placed("2", "\"pp\"", kGPipe)})
        check_as_pytorch("padded", {.model = padded, .rest = rest});
}

TEST_CASE("a step in which no target counts comes to NaN, as in PyTorch, and the cause is told") {
    // The one token there is counts nothing.
    const auto ends = [](const std::string& train, const std::string& rest) {
        const run::RunResult result = run_text(
            "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 8\nlayers = 2\nvocab = 1\nseq = 4\nheads "
            "= "
            "2\n[data]\nignore_index = 0\n[train]\nsteps = 1\nglobal_batch = 4\n" +
            train + rest);
        REQUIRE(result.not_finite);
        CHECK(std::isnan(result.trace->info.losses.at(0)));
        return run::not_finite_message(*result.not_finite).id;
    };
    const std::string nothing = "run.not_finite_no_targets";
    for (const std::string train : {"", "loss_mean = \"microbatches\"\n"})
        for (const std::string& rest :
             {std::string(), placed("2", "\"replicate\"", "data = \"ddp\"\n"), placed("2", "\"pp\"", kGPipe),
              placed("2", "\"tp\"", "loss_parallel = true\n")}) {
            INFO(train << rest);
            CHECK(ends(train, rest) == nothing);
        }
    // Another cause keeps its own words.
    run::NotFinite other;
    other.found = true;
    other.op = "blocks.0: linear";
    CHECK(run::not_finite_message(other).id == "run.not_finite");
}
