// Which parameters a scenario may freeze or adapt, and what bfloat16 does not go together with.
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/nn/model/frozen.h"
#include "core/run/plan.h"
#include "core/scenario/scenario.h"
#include "tests/parallel/run_helper.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::test;

TEST_CASE("entries freeze modules and parameters by name, and LoRA's layers are those that a model has") {
    nn::ModelSpec spec{.kind = "llama", .dim = 8, .hidden = 8, .layers = 3};
    spec.vocab = spec.seq = 4;
    spec.heads = spec.kv_heads = 2;
    const auto model = nn::make_model(spec);
    const std::set<std::string> names = nn::names_in(*model);
    for (const char* name : {"tok", "blocks.2", "blocks.2.attn.wq", "blocks.2.attn.wq.weight", "head.weight"})
        CHECK(names.contains(name));
    for (const char* name : {"", "blocks", "blocks.3", "wq"}) CHECK_FALSE(names.contains(name));
    nn::freeze(*model, {"blocks.0-1", "ln_f.weight", "elsewhere"});
    for (const auto& parameter : model->all_parameters())
        CHECK(parameter->frozen ==
              (parameter->name.starts_with("blocks.0.") || parameter->name.starts_with("blocks.1.") ||
               parameter->name == "ln_f.weight"));
    using Names = std::vector<std::string>;
    CHECK(nn::adaptable_layers("toy") == Names{"net1", "net2"});
    CHECK(nn::adaptable_layers("mlp") == Names{"up", "down"});
    CHECK(nn::adaptable_layers("gpt") == Names{"wq", "wk", "wv", "wo", "up", "down"});
    CHECK(nn::adaptable_layers("llama") == Names{"wq", "wk", "wv", "wo", "gate", "up", "down"});
}

TEST_CASE("the toy model has adapters, too, and trains nothing else") {
    const auto after = [](int64_t steps) {
        return run_text(
                   "format = 1\n[model]\nkind = \"toy\"\nlora_rank = 2\nlora_targets = "
                   "[\"net2\"]\n[train]\nsteps = " +
                   std::to_string(steps) + "\nglobal_batch = 8\n")
            .parameters;
    };
    const std::vector<run::NamedArray> one = after(1), three = after(3);
    REQUIRE(one.size() == 6);
    for (std::size_t p = 0; p < one.size(); ++p) {
        INFO(one[p].name);
        const bool adapter = one[p].name.find(".lora_") != std::string::npos;
        CHECK(adapter == one[p].name.starts_with("net2.lora_"));
        CHECK((one[p].numbers != three[p].numbers) == adapter);
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
    CHECK(id_of("lora_rank = 4096\n", "") == "nothing thrown");
    CHECK(id_of("lora_rank = 4097\n", "") == "scenario.out_of_range");
    // On a GPU the optimizer has no kernels for it: told before a driver is looked for.
    const scenario::Scenario bfloat16 =
        scenario::parse_scenario(model + train + "dtype = \"bfloat16\"\n", "bfloat16.toml");
    for (const char* backend : {"cuda", "nccl"}) {
        run::RunOptions options;
        options.backend = backend;
        CHECK(test::thrown_id<InvalidArgument>([&] { run::plan_run(bfloat16, options); }) ==
              "run.dtype_backend");
    }
}

TEST_CASE("what batch norm does not go together with is named as the user wrote it") {
    const auto key_of = [](const std::string& train, const std::string& parallel) {
        try {
            scenario::parse_scenario(
                "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\nnorm = "
                "\"batch\"\n[train]\nsteps = 1\nglobal_batch = 4\n" +
                    train + parallel,
                "norm.toml");
        } catch (const InputError& error) {
            CHECK(error.diagnostics().front().message.id == "scenario.precision_batch_norm");
            return to_text(*error.diagnostics().front().message.find("key"));
        }
        return std::string("read");
    };
    CHECK(key_of("dtype = \"bfloat16\"\n", "") == "train.dtype");
    CHECK(key_of("", "[parallel.mixed_precision]\nparam = \"bfloat16\"\n") == "parallel.mixed_precision");
}
