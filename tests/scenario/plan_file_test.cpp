// What a plan was asked, as a file; its layouts as scenarios.
#include "core/scenario/plan_file.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/json_text.h"
#include "core/estimate/layout_figures.h"
#include "core/estimate/plan.h"
#include "core/nn/model/counts.h"
#include "core/scenario/layout_scenario.h"
#include "core/scenario/named_model.h"
#include "core/scenario/plan_json.h"
#include "core/scenario/scenario.h"
#include "tests/folder.h"
#include "tests/scenario/small_plan.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::scenario;
using test::small_plan;

namespace {

std::string read_back(const std::string& text, const test::Folder& folder) {
    try {
        read_plan_file(folder.write("plan.json", text));
    } catch (const InputError& error) {
        CHECK(error.diagnostics().front().position.file == folder.file("plan.json"));
        return error.diagnostics().front().message.id;
    }
    return "read";
}

std::string plan_text(const std::function<void(nlohmann::ordered_json&)>& change) {
    nlohmann::ordered_json question = question_json(small_plan(8));
    change(question);
    return json_text(nlohmann::ordered_json{{"parameters", 1}, {"gpus", 8}, {"question", question}});
}

}  // namespace

TEST_CASE("a model written as a scenario's table reads back the same, of every configuration there is") {
    int read = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test::golden_folder() + "/model_config")) {
        if (entry.path().extension() != ".json") continue;
        NamedModel model;
        try {
            model = named_model("hf:" + entry.path().string());
        } catch (const Error&) {
            continue;  // one of those that are refused, or a table of numbers
        }
        const std::string text = model_text(model.spec);
        const nn::ModelSpec again =
            parse_scenario("format = 1\n" + text + "[train]\nsteps = 1\nglobal_batch = 1\n", "m.toml").model;
        CHECK(model_text(again) == text);
        CHECK(nn::count_parameters(again).total() == nn::count_parameters(model.spec).total());
        CHECK(again.rope_scaling == model.spec.rope_scaling);
        CHECK(again.full_attention.size() == (model.spec.window > 0 ? model.spec.full_attention.size() : 0));
        ++read;
    }
    CHECK(read >= 6);
}

TEST_CASE("a plan's question comes back from its file, and is answered alike") {
    const test::Folder folder;
    PlanFile asked = small_plan(8);
    asked.question.only = {.tp = 2, .recompute = estimate::Recompute::full};
    asked.question.compiled = false;
    asked.question.profile.name = "mine";  // what no built-in profile is called
    const std::string text = json_text(nlohmann::ordered_json{
        {"parameters", 1}, {"gpus", 8}, {"gpus_per_node", 8}, {"question", question_json(asked)}});
    CHECK(begins_as_plan(text));
    CHECK(!begins_as_plan("{\"model_type\": \"llama\"}"));
    const PlanFile read = read_plan_file(folder.write("plan.json", text));
    CHECK(question_json(read) == question_json(asked));
    const estimate::Plan a = estimate::plan(asked.question), b = estimate::plan(read.question);
    CHECK(a.tried == b.tried);
    REQUIRE(!a.fitting.empty());
    CHECK(b.fitting.front().needed_bytes == a.fitting.front().needed_bytes);
    CHECK(b.fitting.front().time.total_s() ==
          Approx(a.fitting.front().time.total_s()).epsilon(1e-4));  // a profile's figures have six digits
}

TEST_CASE("files that are no plan's question are refused with what is wrong with them") {
    const test::Folder folder;
    CHECK(read_back("[1, 2]", folder) == "plan.file.not_json");
    CHECK(read_back("{", folder) == "plan.file.not_json");
    CHECK(read_back("{}" + std::string(kMostPlanBytes, ' '), folder) == "plan.file.too_large");
    CHECK(read_back("{\"parameters\": 1, \"layouts\": []}", folder) == "plan.file.no_question");
    CHECK(read_back(plan_text([](auto&) {}), folder) == "read");
    for (const char* key : {"model", "model_toml", "profile_toml", "stack", "compiled", "lora_rank", "gpus",
                            "gpus_per_node", "seq", "global_batch", "memory_bytes"})
        CHECK(read_back(plan_text([&](auto& q) { q.erase(key); }), folder) == "plan.file.key");
    CHECK(read_back(plan_text([](auto& q) { q["gpus"] = -1; }), folder) == "plan.file.key");
    CHECK(read_back(plan_text([](auto& q) { q["stack"] = "mine"; }), folder) == "plan.file.key");
    CHECK(read_back(plan_text([](auto& q) { q["only"] = {{"tp", "two"}}; }), folder) == "plan.file.key");
    CHECK(read_back(plan_text([](auto& q) { q["base_bits"] = 5; }), folder) == "estimate.base_bits");
    CHECK(read_back(plan_text([](auto& q) { q["model_toml"] = "[model]\nkind = \"toy\"\n"; }), folder) ==
          "plan.file.key");
}

TEST_CASE("a value of a question is refused by its key from the file's top, with what could stand there") {
    const test::Folder folder;
    const auto refusal = [&](const char* key, const nlohmann::ordered_json& value) {
        const std::string text = plan_text([&](auto& q) { q[key] = value; });
        try {
            read_plan_file(folder.write("plan.json", text));
        } catch (const InputError& error) {
            const Message& message = error.diagnostics().front().message;
            CHECK(message.id == "plan.file.key");
            return to_text(*message.find("key")) + ": " + to_text(*message.find("expected"));
        }
        return std::string("read");
    };
    CHECK(refusal("gpus", 0) == "question.gpus: 1 … 65536");
    CHECK(refusal("only", 3) == "question.only: {}");
    CHECK(refusal("only", {{"tp", "two"}}) == "question.only.tp: 1 … 65536");
    CHECK(refusal("only", {{"zero", 4}}) == "question.only.zero: 0 … 3");
    CHECK(refusal("only", {{"recompute", "some"}}) == "question.only.recompute: none, selective, full");
    CHECK(refusal("only", {{"recompute", 1}}) == "question.only.recompute: text");
}

TEST_CASE("a model named by a scenario is its architecture: what the scenario trains of it stays there") {
    const test::Folder folder;
    const std::string sizes =
                          "format = 1\n[model]\nkind = \"llama\"\ndim = 16\nhidden = 24\nlayers = 2\nvocab = "
                          "16\nseq = 8\nheads = 4\nkv_heads = 2\n",
                      train = "[train]\nsteps = 1\nglobal_batch = 1\n";
    const auto named = [&](const char* file, const std::string& text) {
        return named_model(folder.write(file, text)).spec;
    };
    const nn::ModelSpec plain = named("plain.toml", sizes + train);
    const nn::ModelSpec other = named("lora.toml", sizes +
                                                       "lora_rank = 2\nlora_alpha = 4\nlora_targets = "
                                                       "[\"wq\"]\n" +
                                                       train + "frozen = [\"blocks.1\"]\n");
    CHECK(other.lora_rank == 0);
    CHECK(other.lora_alpha == plain.lora_alpha);
    CHECK(other.lora_targets.empty());
    CHECK(other.frozen.empty());
    CHECK(model_text(other) == model_text(plain));
}

TEST_CASE("all keys of a question that are wrong are told at once, each by its name") {
    const test::Folder folder;
    const auto told = [&](const std::function<void(nlohmann::ordered_json&)>& change) {
        try {
            read_plan_file(folder.write("plan.json", plan_text(change)));
        } catch (const InputError& error) {
            std::string all;
            for (const Diagnostic& each : error.diagnostics()) {
                all += each.position.file == folder.file("plan.json")
                           ? ""
                           : each.position.file.substr(folder.path.string().size() + 1) + ":" +
                                 std::to_string(each.position.line) + " ";
                all += to_text(*each.message.find("key"));
                if (const MessageValue* const guess = each.hint.find("guess")) all += "?" + to_text(*guess);
                all += "; ";
            }
            return all;
        }
        return std::string("read");
    };
    CHECK(told([](auto& q) { q["gpuss"] = 8; }) == "question.gpuss; ");
    CHECK(told([](auto& q) {
              q["gpu"] = q["gpus"];
              q.erase("gpus");
          }) == "question.gpu?gpus; ");
    // What may be left out would be passed over in silence.
    CHECK(told([](auto& q) {
              q.erase("only");
              q["onlyy"] = {{"tp", 2}};
          }) == "question.onlyy?only; ");
    CHECK(told([](auto& q) {
              q["only"] = {{"ttp", 2}, {"micro", 0}, {"recompute", "no"}};
          }) == "question.only.ttp?tp; question.only.micro; question.only.recompute; ");
    CHECK(told([](auto& q) {
              q["seq"] = "long";
              q["compiled"] = 1;
          }) == "question.compiled; question.seq; ");
    // Of the texts in it the line is their own.
    CHECK(told([](auto& q) {
              q["model_toml"] = "[model]\nkind = \"llama\"\nheds = 2\n";
          }).find("plan.json (question.model_toml):3 model.heds?heads") != std::string::npos);
    CHECK(told([](auto& q) {
              q["profile_toml"] = "name = \"x\"\n[compute]\nflops = 2\n";
          }).find("plan.json (question.profile_toml):3 compute.flops") != std::string::npos);
}

TEST_CASE("every layout of a plan is a scenario of its ranks, batch and mesh") {
    for (const estimate::Stack stack : {estimate::Stack::torchtitan, estimate::Stack::megatron_core}) {
        const PlanFile file = small_plan(8, stack);
        const estimate::Plan made = estimate::plan(file.question);
        std::set<std::string> kinds;
        std::size_t played = 0;
        for (const estimate::Layouted& each : made.fitting) {
            if (const auto why = why_no_scenario(each.job)) {
                CHECK(why->id == "plan.no_scenario_micro_batches");
                continue;
            }
            const std::string text = layout_scenario(file.question, file.spec, each.job, 2);
            INFO(text);
            const std::optional<Scenario> read = parse_scenario(text, "layout.toml");
            CHECK(world_size(*read) == 8);
            CHECK(read->global_batch == file.question.global_batch);
            CHECK(read->steps == 2);
            CHECK(read->hardware.name == "h100");
            int64_t ranks = 1;
            for (const int64_t size : read->mesh_shape) ranks *= size;
            CHECK(ranks == each.job.layout.ranks());
            // What the estimate has: keys and values go round a ring; one node.
            if (each.job.layout.cp > 1)
                CHECK(read->parallel.context.method == parallel::ContextMethod::alltoall);
            CHECK(read->parallel.algorithm != Algorithm::two_level);
            ++played;
            kinds.insert(estimate::data_word(each.job.layout));
        }
        CHECK(kinds.size() >= 3);
        CHECK(played > made.fitting.size() / 2);
    }
}

TEST_CASE("a layout of eager software asks for PyTorch's kernels, a compiled one for ours") {
    for (const bool compiled : {false, true})
        for (const estimate::Stack stack : {estimate::Stack::torchtitan, estimate::Stack::megatron_core}) {
            PlanFile file = small_plan(8, stack);
            file.question.compiled = compiled;
            const bool eager = !compiled && stack == estimate::Stack::torchtitan;
            INFO(compiled << " " << estimate::traits(stack).word);
            const estimate::Plan made = estimate::plan(file.question);
            REQUIRE_FALSE(made.fitting.empty());
            const estimate::Job& job = made.fitting.front().job;
            REQUIRE_FALSE(why_no_scenario(job));
            const std::optional<Scenario> read =
                parse_scenario(layout_scenario(file.question, file.spec, job, 2), "layout.toml");
            CHECK((read->ops.ops == nn::Ops::pytorch) == eager);
            CHECK((read->ops.norm == nn::Pieces::kernel) == eager);
        }
}

TEST_CASE("a layout with LoRA is a scenario whose frozen weights are bfloat16, as the estimate has them") {
    PlanFile file = small_plan(4);
    file.question.lora_rank = 16;
    std::size_t written = 0;
    for (const estimate::Layouted& each : estimate::plan(file.question).fitting) {
        if (why_no_scenario(each.job)) continue;
        const std::optional<Scenario> read =
            parse_scenario(layout_scenario(file.question, file.spec, each.job, 2), "layout.toml");
        CHECK(read->model.lora_rank == 16);
        CHECK(read->model.lora_targets.empty());
        CHECK(read->parallel.precision.param == DType::bfloat16);
        // The estimate's adapters are the model's: every linear layer of the blocks.
        nn::ModelSpec plain = file.spec;
        const auto adapters = nn::count_parameters(read->model).total() - nn::count_parameters(plain).total();
        CHECK(static_cast<double>(adapters) ==
              Approx(static_cast<double>(estimate::parameters(each.job.shape)) *
                     estimate::trained_share(each.job)));
        ++written;
    }
    CHECK(written > 4);
    estimate::Job job;
    job.lora_rank = 16;
    job.base_bits = 4;
    CHECK(why_no_scenario(job)->id == "plan.no_scenario_4bit");
    job.base_bits = 16;
    job.layout.zero = 1;
    job.layout.shards = 2;
    CHECK(why_no_scenario(job)->id == "plan.no_scenario_lora");
}

TEST_CASE("on several nodes a layout's collectives use all adapters of a node") {
    const PlanFile file = small_plan(16);
    for (const estimate::Layouted& each : estimate::plan(file.question).fitting) {
        if (why_no_scenario(each.job)) continue;
        const std::optional<Scenario> read =
            parse_scenario(layout_scenario(file.question, file.spec, each.job, 2), "layout.toml");
        CHECK(read->parallel.algorithm == Algorithm::two_level);
        CHECK(read->node_of_rank == std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
    }
}

TEST_CASE("stages without a layer are only estimated: 126 layers on 128 stages, embedding and head counted") {
    estimate::Job job;
    job.shape.layers = 126;
    job.micro_batches = 32;
    job.layout.pp = 16;
    job.layout.virtual_stages = 8;
    const auto why = why_no_scenario(job);
    REQUIRE(why);
    CHECK(why->id == "plan.no_scenario_stages");
    job.layout.virtual_stages = 4;
    CHECK(!why_no_scenario(job));
}
