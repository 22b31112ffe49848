// Frozen parameters, LoRA and training in bfloat16 alone, against what PyTorch computes and sends
// (tests/golden/make/frozen_oracle.py).
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/data/safetensors.h"
#include "core/run/dry.h"
#include "core/run/summary.h"
#include "core/scenario/scenario.h"
#include "tests/parallel/run_helper.h"
#include "tests/run/same_record.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::test;
using nlohmann::json;

namespace {

const std::string kFrozenFiles = test::golden_folder() + "/frozen/";

const json& frozen_golden() {
    static const json kAll = [] {
        std::ifstream file(kFrozenFiles + "expected.json");
        return json::parse(file);
    }();
    return kAll;
}

const json& wanted_of(const std::string& name) {
    return frozen_golden().at("cases").at(name);
}

std::string listed_words(const json& words) {
    std::string text;
    for (const json& word : words) text += (text.empty() ? "" : ", ") + word.dump();
    return "[" + text + "]";
}

const std::map<std::string, std::string> kDataWords{
    {"ddp", "ddp"},     {"zero1", "zero1\"\nzero_variant = \"pytorch"}, {"fsdp", "fsdp2"}, {"hsdp", "fsdp2"},
    {"fsdp1", "fsdp1"},
};

/// The oracle's case as a scenario. `rest` stands instead of its mesh and strategy; `train` beside its own.
std::string scenario_of(const std::string& name, std::string rest = "", const std::string& train = "") {
    const json& c = wanted_of(name).at("case");
    std::string model = "weights = \"" + kFrozenFiles + "plain.init.safetensors\"\n", own;
    if (c.contains("lora")) {
        const json& lora = c["lora"];
        model = "lora_rank = " + lora["r"].dump() + "\nlora_alpha = " + lora["alpha"].dump() +
                "\nlora_targets = " + listed_words(lora["targets"]) + "\nweights = \"" + kFrozenFiles +
                (lora["targets"].size() == 2 ? "lora" : "lora_all") + ".init.safetensors\"\n";
    }
    if (c.contains("frozen")) own += "frozen = " + listed_words(c["frozen"]) + "\n";
    if (c.contains("clip")) own += "clip_norm = " + c["clip"].dump() + "\n";
    if (c.contains("micro")) own += "accumulate = " + c["micro"].dump() + "\n";
    if (c.contains("pure")) own += "dtype = \"bfloat16\"\n";
    const std::string data = c.value("data", "");
    if (rest.empty() && data == "pp")
        rest = "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"GPipe\"\nmicrobatches = 4\n";
    else if (rest.empty() && !data.empty()) {
        const std::string mesh = data == "hsdp"  ? "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]"
                                 : data == "ddp" ? "shape = [2]\nnames = [\"replicate\"]"
                                                 : "shape = [2]\nnames = [\"shard\"]";
        rest = "[mesh]\n" + mesh + "\n[parallel]\ndata = \"" + kDataWords.at(data) + "\"\n";
        if (c.contains("mixed"))
            rest += "[parallel.mixed_precision]\nparam = \"bfloat16\"\nreduce = \"float32\"\n";
    }
    return "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 32\nlayers = 4\nvocab = 30\nseq = "
           "8\nheads = "
           "2\n" +
           model + "[data]\nfile = \"" + kFrozenFiles +
           "data.safetensors\"\n[train]\nsteps = 3\nglobal_batch = 8\n" + own + train +
           (c.contains("pure") ? "[optimizer]\nkind = \"adamw\"\nlr = 0.01\n"
                               : "[optimizer]\nkind = \"sgd\"\nlr = 0.1\nmomentum = 0.9\n") +
           rest;
}

void check_numbers(const std::vector<double>& found, const json& wanted, double epsilon) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t s = 0; s < found.size(); ++s)
        CHECK(found[s] == Approx(wanted[s].get<double>()).epsilon(epsilon));
}

/// Runs it: losses, norms and weights are PyTorch's, frozen weights untouched, and the record is the
/// predicted one, memory and all.
run::RunResult check_frozen_case(const std::string& name, const std::string& text) {
    INFO(name << "\n" << text);
    const json& wanted = wanted_of(name);
    const bool pure = wanted["case"].contains("pure"), bfloat16 = pure || wanted["case"].contains("mixed");
    run::RunResult result = run_text(text);
    check_numbers(result.trace->info.losses, wanted["losses"], pure ? 1e-2 : bfloat16 ? 3e-3 : 2e-5);
    if (wanted.contains("grad_norms"))
        check_numbers(result.trace->info.grad_norms, wanted["grad_norms"], 1e-4);
    const data::SafetensorsFile final = data::read_safetensors(kFrozenFiles + name + ".final.safetensors");
    REQUIRE(result.parameters.size() == final.tensors.size());
    std::size_t elements = 0, far = 0;
    for (const run::NamedArray& parameter : result.parameters) {
        INFO(parameter.name);
        const data::NamedTensor* tensor = final.find(parameter.name);
        REQUIRE(tensor != nullptr);
        REQUIRE(tensor->shape == parameter.shape);
        const std::vector<float> numbers = tensor->floats();
        elements += numbers.size();
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto near = Approx(numbers[i]).margin(bfloat16 ? 4e-3 : 2e-5).epsilon(2e-4);
            if (pure)
                far += parameter.numbers[i] == near ? 0U : 1U;
            else
                CHECK(parameter.numbers[i] == near);
        }
    }
    // AdamW's first steps go by a gradient's sign alone, which rounding to bfloat16 turns where it is near 0.
    CHECK(far <= elements / 100);
    CHECK(first_difference(*run::run_dry(scenario::parse_scenario(text, "frozen.toml")).trace,
                           *result.trace) == "");
    return result;
}

/// A step's collectives as PyTorch's dispatcher names them, beside ours; what clipping sends is left out.
std::vector<std::string> torch_rows(const json& calls, std::size_t ranks) {
    static const std::map<std::string, std::string> kWords{
        {"_allgather_base_", "AG"}, {"_reduce_scatter_base_", "RS"},
        {"allreduce_", "AR"},       {"broadcast_", "broadcast"},
        {"send", "send"},           {"recv_", "recv"}};
    std::vector<std::string> rows;
    for (const json& call : calls) {
        const auto op = call[0].get<std::string>();
        if (op == "allgather_") {  // FSDP1's on CPUs, of which the outputs were counted
            const auto out = call[2].get<std::size_t>();
            rows.push_back("AG " + std::to_string(out / ranks) + "->" + std::to_string(out));
            continue;
        }
        const std::string word = kWords.at(op);
        const bool both = word == "AG" || word == "RS";
        rows.push_back(word + " " + call[1].dump() + (both ? "->" + call[2].dump() : ""));
    }
    return rows;
}

std::vector<std::string> without_norms(const trace::Trace& trace, int32_t rank, int32_t step) {
    std::vector<std::string> rows = collectives_of(trace, rank, step);
    std::size_t at = 0;
    for (const trace::Event& event : trace.ranks[static_cast<std::size_t>(rank)].events) {
        if (event.kind != trace::EventKind::collective || event.step != step) continue;
        if (trace.text(event.rule).find("grad_norm") != std::string::npos)
            rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(at));
        else
            ++at;
    }
    return rows;
}

void check_calls(const std::string& name) {
    const run::RunResult result = check_frozen_case(name, scenario_of(name));
    const json& ranks = wanted_of(name)["ranks"];
    // PyTorch's stages tell each other shapes in the first step, and send and receive in another order.
    const bool pipeline = name.starts_with("pp");
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        for (int32_t step = pipeline ? 1 : 0; step < 3; ++step) {
            INFO(name << " rank " << rank << " step " << step);
            auto ours = without_norms(*result.trace, static_cast<int32_t>(rank), step);
            auto theirs = torch_rows(ranks[rank]["steps"][static_cast<std::size_t>(step)], ranks.size());
            if (pipeline)
                for (auto* const rows : {&ours, &theirs}) {
                    for (std::string& row : *rows)
                        row.erase(row.find(' '));  // a recv of ours puts nothing in
                    std::sort(rows->begin(), rows->end());
                }
            CHECK(ours == theirs);
        }
}

std::string one_dim(const std::string& dim, const std::string& data, const std::string& more = "") {
    return "[mesh]\nshape = [2]\nnames = [\"" + dim + "\"]\n[parallel]\ndata = \"" + data + "\"\n" + more;
}

/// Bytes of a category that rank 0 held at most.
int64_t peak_of(const run::RunResult& result, MemoryCategory category) {
    return held(*result.trace, 0, category).peak;
}

}  // namespace

TEST_CASE("what is frozen stays as it was, on one rank, under recomputation and over micro-batches") {
    for (const std::string name : {"lower", "upper", "mixed"}) {
        check_frozen_case(name, scenario_of(name));
        for (const std::string train :
             {"recompute = \"full\"\n", "recompute = \"selective\"\n", "accumulate = 2\n"})
            check_frozen_case(name, scenario_of(name, "", train));
    }
}

TEST_CASE("DDP reduces trained parameters alone, in PyTorch's buckets") {
    check_calls("ddp2_lower");
    check_calls("ddp2_mixed");
    check_frozen_case("lower",
                      scenario_of("lower", one_dim("replicate", "ddp", "find_unused_parameters = true\n")));
    check_frozen_case("mixed",
                      scenario_of("mixed", one_dim("replicate", "ddp", "gradient_as_bucket_view = true\n")));
    check_frozen_case("mixed", scenario_of("mixed", one_dim("replicate", "ddp", "static_graph = true\n")));
}

TEST_CASE("FSDP2 gathers frozen parameters and scatters the gradients of the others, as fully_shard does") {
    for (const std::string name : {"fsdp2_lower", "fsdp2_upper", "fsdp2_mixed", "fsdp2_mixed_accumulate",
                                   "hsdp2x2_mixed", "fsdp2_mixed_bf16"})
        check_calls(name);
    check_frozen_case("lower",
                      scenario_of("lower", one_dim("shard", "fsdp2", "reshard_after_forward = false\n")));
}

TEST_CASE(
    "FSDP1 computes and reduces all gradients of a unit with both kinds, and drops those of frozen ones") {
    check_calls("fsdp1_lower");
    check_calls("fsdp1_mixed");
    CHECK(frozen_golden()["fsdp1_refused"].get<std::string>().find("uniform `requires_grad`") !=
          std::string::npos);
    const std::string flat = one_dim("shard", "fsdp1", "use_orig_params = false\n");
    CHECK(test::thrown_id<InputError>([&] {
              scenario::parse_scenario(scenario_of("mixed", flat), "frozen.toml");
          }) == "scenario.frozen_flat_unit");
    // Blocks that are frozen or trained as a whole, and the root's modules apart.
    check_frozen_case(
        "lower", scenario_of("lower", one_dim("shard", "fsdp1",
                                              "use_orig_params = false\nunits = [\"tok\", \"pos\", "
                                              "\"blocks.0\", \"blocks.1\", \"blocks.2\", \"blocks.3\"]\n")));
}

TEST_CASE("ZeRO cuts trained parameters alone") {
    check_calls("zero1_mixed");
    for (const std::string data : {"zero1", "zero2", "zero3"}) {
        check_frozen_case("lower", scenario_of("lower", one_dim("shard", data)));
        check_frozen_case("mixed", scenario_of("mixed", one_dim("shard", data)));
    }
}

TEST_CASE("a pipeline sends no gradient below the first trained parameter") {
    check_calls("pp2_lower");
    check_calls("pp2_upper");
    const auto pipeline = [](const std::string& more, const std::string& shape = "2") {
        return "[mesh]\nshape = [" + shape + "]\nnames = [\"pp\"]\n[parallel]\n" + more +
               "microbatches = 4\n";
    };
    for (const std::string name : {"lower", "upper", "mixed"})
        for (const std::string& rest :
             {pipeline("schedule = \"1F1B\"\n", "4"), pipeline("schedule = \"Interleaved1F1B\"\n"),
              pipeline("schedule = \"ZBVZeroBubble\"\n"), pipeline("schedule = \"InterleavedZeroBubble\"\n")})
            check_frozen_case(name, scenario_of(name, rest));
    check_frozen_case("lower",
                      scenario_of("lower",
                                  "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = "
                                  "\"fsdp2\"\nschedule = \"1F1B\"\nmicrobatches = 4\n"));
}

TEST_CASE("frozen parameters are cut and connected by tensor and context parallelism like others") {
    for (const std::string name : {"lower", "upper", "mixed"})
        for (const std::string& rest :
             {std::string("[mesh]\nshape = [2]\nnames = [\"tp\"]\n"),
              std::string("[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\nsequence_parallel = true\n"),
              std::string("[mesh]\nshape = [2]\nnames = [\"cp\"]\n"),
              std::string(
                  "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n")})
            check_frozen_case(name, scenario_of(name, rest));
}

TEST_CASE("a frozen parameter has no gradient and no state, and a frozen layer keeps nothing of its input") {
    std::string text = scenario_of("lower");
    const run::RunResult lower = run_text(text);
    const std::size_t key = text.find("frozen = ");
    text.erase(key, text.find("[optimizer]") - key);
    const run::RunResult all = run_text(text);
    // 4736 of 9568 parameters are trained.
    CHECK(peak_of(lower, MemoryCategory::optimizer_state) == 4 * 4736);
    CHECK(peak_of(all, MemoryCategory::optimizer_state) == 4 * 9568);
    CHECK(peak_of(lower, MemoryCategory::gradients) == 4 * 4736);
    CHECK(peak_of(lower, MemoryCategory::parameters) == peak_of(all, MemoryCategory::parameters));
    CHECK(peak_of(lower, MemoryCategory::activations) < peak_of(all, MemoryCategory::activations));
    const memory::ModelState formula =
        run::zero_formula(scenario::parse_scenario(scenario_of("lower"), "f.toml"));
    CHECK(formula.optimizer == Approx(4 * 4736));
    CHECK(formula.gradients == Approx(4 * 4736));
    CHECK(formula.parameters == Approx(4 * 9568));
}

TEST_CASE("LoRA trains what peft's does, under every strategy that holds it") {
    check_frozen_case("lora", scenario_of("lora"));
    check_frozen_case("lora_all", scenario_of("lora_all"));
    for (const std::string name : {"lora_ddp2", "lora_fsdp2", "lora_zero1"}) check_calls(name);
    for (const std::string data : {"zero1", "zero2", "zero3", "fsdp1"})
        check_frozen_case("lora", scenario_of("lora", one_dim("shard", data)));
    check_frozen_case("lora", scenario_of("lora", "", "recompute = \"full\"\n"));
    for (const std::string name : {"lora", "lora_all"})
        for (const std::string& rest :
             {std::string("[mesh]\nshape = [2]\nnames = [\"tp\"]\n"),
              std::string("[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\nsequence_parallel = true\n"),
              std::string("[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\ntp_plan = \"linear\"\n"),
              std::string(
                  "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n"),
              std::string("[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = "
                          "\"1F1B\"\nmicrobatches = 4\n")})
            check_frozen_case(name, scenario_of(name, rest));
}

TEST_CASE("adapters begin by adding nothing, and the other weights are those of the model without them") {
    const std::string text =
                          "format = 1\n[model]\nkind = \"llama\"\ndim = 16\nhidden = 24\nlayers = 2\nvocab = "
                          "16\nseq = 8\nheads = 4\nkv_heads = 2\n",
                      train =
                          "[train]\nsteps = 2\nglobal_batch = 8\n[optimizer]\nkind = \"adamw\"\nlr = 0.01\n";
    const run::RunResult plain = run_text(text + train), lora = run_text(text + "lora_rank = 2\n" + train);
    CHECK(plain.trace->info.losses[0] == lora.trace->info.losses[0]);
    CHECK(plain.trace->info.losses[1] != lora.trace->info.losses[1]);
    // More tp ranks than key/value heads: neighbours share B's rows.
    for (const std::string shape : {"2", "4"}) {
        const run::RunResult cut = run_text(text + "lora_rank = 2\n" + train + "[mesh]\nshape = [" + shape +
                                            "]\nnames = [\"tp\"]\n");
        for (std::size_t s = 0; s < 2; ++s)
            CHECK(cut.trace->info.losses[s] == Approx(lora.trace->info.losses[s]).epsilon(2e-6));
        for (std::size_t p = 0; p < lora.parameters.size(); ++p)
            for (std::size_t i = 0; i < lora.parameters[p].numbers.size(); ++i)
                CHECK(cut.parameters[p].numbers[i] == Approx(lora.parameters[p].numbers[i]).margin(3e-5));
    }
}

TEST_CASE("training in bfloat16 alone holds two bytes of each parameter, gradient and moment") {
    check_frozen_case("bf16", scenario_of("bf16"));
    check_calls("bf16_ddp2");
    check_calls("bf16_fsdp2");
    const run::RunResult result = run_text(scenario_of("bf16"));
    CHECK(peak_of(result, MemoryCategory::parameters) == 2 * 9568);
    CHECK(peak_of(result, MemoryCategory::optimizer_state) == 4 * 9568);
    CHECK(peak_of(result, MemoryCategory::gradients) == 2 * 9568);
    const memory::ModelState formula =
        run::zero_formula(scenario::parse_scenario(scenario_of("bf16"), "f.toml"));
    CHECK(formula.total() == Approx(8 * 9568));
}

TEST_CASE("training goes on from a checkpoint with frozen parameters, adapters and bfloat16 bit for bit") {
    const std::string restarts = "[checkpoint]\ntemporary = true\nevery = 1\nrestart_after = 2\n";
    for (const std::string name : {"mixed", "ddp2_mixed", "zero1_mixed", "fsdp2_mixed", "fsdp1_mixed",
                                   "pp2_lower", "lora_fsdp2", "bf16_fsdp2"})
        for (const std::string kind : {"", "kind = \"rank0\"\n"}) {
            INFO(name << kind);
            const run::RunResult whole = run_text(scenario_of(name));
            const run::RunResult restarted = run_text(scenario_of(name) + restarts + kind);
            CHECK(whole.trace->info.losses == restarted.trace->info.losses);
            REQUIRE(whole.parameters.size() == restarted.parameters.size());
            for (std::size_t p = 0; p < whole.parameters.size(); ++p)
                CHECK(whole.parameters[p].numbers == restarted.parameters[p].numbers);
        }
}

TEST_CASE("what cannot be frozen, adapted or kept in bfloat16 is refused by name") {
    const std::string model = "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n",
                      train = "[train]\nsteps = 1\nglobal_batch = 4\n";
    const auto id_of = [&](const std::string& lora, const std::string& rest) {
        return test::thrown_id<InputError>(
            [&] { scenario::parse_scenario(model + lora + train + rest, "refused.toml"); });
    };
    CHECK(id_of("", "frozen = [\"layers.2\"]\n") == "scenario.frozen_unknown");
    CHECK(id_of("", "frozen = [\"layers.1-0\"]\n") == "scenario.frozen_range");
    // Only as far as the model goes: a thousand of these took minutes.
    std::string ranges;
    for (int i = 0; i < 1000; ++i) ranges += "\"layers.0-1048575\", ";
    CHECK(id_of("", "frozen = [" + ranges + "]\n") == "scenario.frozen_unknown");
    CHECK(id_of("", "frozen = [\"layers.0-9000000000000000000\"]\n") == "scenario.frozen_unknown");
    CHECK(id_of("", "frozen = [\"layers.0-1\"]\n") == "scenario.frozen_all");
    CHECK(id_of("", "frozen = [\"layers.0\"]\n[mesh]\nshape = [2]\n[parallel]\ndata = \"dp\"\n") ==
          "scenario.frozen_dp");
    CHECK(id_of("lora_alpha = 8\n", "") == "scenario.needs_lora");
    CHECK(id_of("lora_rank = 2\nlora_targets = [\"wq\"]\n", "") == "scenario.lora_target");
    CHECK(id_of("lora_rank = 2\nlora_targets = []\n", "") == "scenario.lora_no_targets");
    CHECK(id_of("", "dtype = \"bfloat16\"\n[mesh]\nshape = [2]\n[parallel]\ndata = \"zero1\"\n") ==
          "scenario.dtype_strategy");
    CHECK(id_of("", "dtype = \"bfloat16\"\n[parallel.mixed_precision]\nparam = \"bfloat16\"\n") ==
          "scenario.keys_exclude");
}
