// Ranks that share nothing but their transports: rank 0 ends with what a world of threads ends with.
#include "core/run/processes.h"

#include <atomic>
#include <cmath>

#include "backends/registry.h"
#include "core/data/safetensors.h"
#include "tests/folder.h"
#include "tests/run/apart.h"
#include "tests/run/golden_case.h"
#include "tests/run/same_record.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

using Start = std::pair<scenario::Scenario, run::RunOptions>;

/// The first thing in which two runs' results differ; "" where they are the same, bit for bit.
std::string difference(const run::RunResult& apart, const run::RunResult& together) {
    const std::string first = test::first_difference(*apart.trace, *together.trace);
    if (!first.empty()) return "trace: " + first;
    if (apart.trace->info.losses != together.trace->info.losses) return "losses";
    if (apart.trace->info.grad_norms != together.trace->info.grad_norms) return "gradient norms";
    if (!trace::identical(*apart.trace, *together.trace, trace::Ignore::times))
        return "numbers that travelled";
    if (apart.parameters.size() != together.parameters.size()) return "parameters";
    for (std::size_t i = 0; i < apart.parameters.size(); ++i) {
        if (apart.parameters[i].name != together.parameters[i].name) return "name";
        if (apart.parameters[i].numbers != together.parameters[i].numbers) return together.parameters[i].name;
    }
    if (apart.evaluations.size() != together.evaluations.size()) return "evaluations";
    for (std::size_t i = 0; i < apart.evaluations.size(); ++i)
        if (apart.evaluations[i].step != together.evaluations[i].step ||
            apart.evaluations[i].loss != together.evaluations[i].loss)
            return "evaluation";
    return "";
}

std::vector<run::RunResult> apart(const std::string& text, const run::RunOptions& options = {}) {
    const auto scenario = scenario::parse_scenario(text, "s.toml");
    return test::run_apart(scenario::world_size(scenario), [&](int32_t) { return Start{scenario, options}; });
}

run::RunResult together(const std::string& text, const run::RunOptions& options = {}) {
    return run::run_scenario(scenario::parse_scenario(text, "s.toml"), *backends::make_registry(), options);
}

std::string mlp(const std::string& rest, const std::string& steps = "4") {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 2\nseed = 7\n[data]\nseed = "
           "3\n[train]\nsteps = " +
           steps + "\nglobal_batch = 24\nclip_norm = 1.0\n[optimizer]\nkind = \"adamw\"\nlr = 0.01\n" + rest;
}

const std::string kFsdp4 = "[mesh]\nshape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n";

}  // namespace

TEST_CASE("golden runs of processes give rank 0 what threads give, bit for bit") {
    for (const std::string name : {"mlp_hsdp2x2_clip", "gpt_fsdp2_tp2", "mlp_pp4_1f1b", "toy_ddp4",
                                   "mlp_zero1_2", "gpt_fsdp2_bf16", "mlp_pp2_fsdp2_interleaved", "gpt_tp2"}) {
        INFO(name);
        const std::string text = golden::scenario_text(golden::read_case(name), name);
        const auto results = apart(text);
        CHECK(difference(results[0], together(text)) == "");
        for (std::size_t r = 1; r < results.size(); ++r) {
            CHECK_FALSE(results[r].here);
            CHECK(results[r].trace == nullptr);
        }
    }
}

TEST_CASE("evaluations and a world larger than the mesh come together too") {
    const std::string text =
        mlp("[eval]\nevery = 2\nsamples = 10\nbatch = 2\n[mesh]\nshape = [2]\nnames = "
            "[\"shard\"]\nworld = 3\n[parallel]\ndata = \"fsdp2\"\n");
    const auto results = apart(text);
    const auto whole = together(text);
    CHECK(whole.evaluations.size() == 2);
    CHECK(difference(results[0], whole) == "");
}

TEST_CASE("processes find the op that made the first NaN, as threads do") {
    // One huge target on one row: rank 3 has it, and squaring the error overflows there.
    const test::Folder folder;
    std::vector<data::NamedTensor> arrays;
    for (const std::string step : {"0", "1"}) {
        std::vector<float> y(24 * 6, 0.5F);
        if (step == "1") y.back() = 3e30F;
        arrays.push_back(data::named_floats("x" + step, {24, 6}, std::vector<float>(24 * 6, 0.5F)));
        arrays.push_back(data::named_floats("y" + step, {24, 6}, y));
    }
    data::write_safetensors(folder.file("d.safetensors"), arrays);
    std::string text = mlp(kFsdp4, "2");
    text.replace(text.find("[data]\nseed = 3"), 15,
                 "[data]\nfile = \"" + folder.file("d.safetensors") + "\"");
    const auto whole = together(text);
    REQUIRE(whole.not_finite);
    REQUIRE(whole.not_finite->found);
    CHECK(whole.not_finite->rank == 3);
    const auto found = apart(text)[0].not_finite;
    REQUIRE(found);
    CHECK(found->found);
    CHECK(found->op == whole.not_finite->op);
    CHECK(found->rank == whole.not_finite->rank);
    CHECK(found->step == whole.not_finite->step);
    CHECK(found->value == whole.not_finite->value);
}

TEST_CASE("only rank 0's wish to stop counts, and all stop together") {
    for (const int32_t asks : {0, 2}) {
        INFO(asks);
        const auto scenario = scenario::parse_scenario(mlp(kFsdp4, "40"), "s.toml");
        std::atomic<bool> stop{false};
        const auto results = test::run_apart(4, [&](int32_t rank) {
            run::RunOptions options;
            if (rank == asks) options.cancel = &stop;
            options.progress = [&](int32_t done, int32_t, double) {
                if (done == 3) stop = true;
            };
            return Start{scenario, options};
        });
        if (asks == 0)
            CHECK(results[0].trace->info.steps == 3);
        else
            CHECK(results[0].trace->info.steps == 40);
    }
}

TEST_CASE("processes that were started differently are told apart before the first step") {
    const auto a = scenario::parse_scenario(mlp(kFsdp4), "s.toml");
    const auto b = scenario::parse_scenario(mlp(kFsdp4, "5"), "s.toml");
    const auto told = [&](const std::function<Start(int32_t)>& start) {
        try {
            test::run_apart(4, start);
        } catch (const CommError& error) {
            return error.message().id + " " + std::to_string(error.rank().value) + " " +
                   std::get<std::string>(*error.message().find("what"));
        }
        return std::string("fine");
    };
    CHECK(told([&](int32_t r) {
              return Start{r == 2 ? b : a, {}};
          }) == "run.processes_differ_file 2 scenario");
    CHECK(told([&](int32_t r) {
              run::RunOptions options;
              if (r == 3) options.level = trace::Level::off;
              return Start{a, options};
          }) == "run.processes_differ 3 level");
    CHECK(told([&](int32_t r) {
              run::RunOptions options;
              options.checked = r == 1;
              return Start{a, options};
          }) == "run.processes_differ 1 checked");
}

TEST_CASE("automatic resuming goes on where there is something to go on from, and begins anew elsewhere") {
    const test::Folder folder;
    const std::string checkpoints = "[checkpoint]\nfolder = \"" + folder.file("c") + "\"\nevery = 2\n";
    const std::string text = mlp(kFsdp4 + checkpoints, "6");
    run::RunOptions again;
    again.resume = run::kResumeAuto;
    const auto unbroken = together(mlp(kFsdp4, "6"));

    // Nothing there yet: from the beginning. Then all is done: from the newest that leaves something to do.
    for (const std::size_t own_steps : {6U, 2U}) {
        const auto results = apart(text, again);
        CHECK(results[0].trace->info.losses == unbroken.trace->info.losses);
        int32_t own = 0;
        for (const trace::Event& e : results[0].trace->ranks[0].events) own = std::max(own, e.step + 1);
        CHECK(own == 6);
        int32_t first = 6;
        for (const trace::Event& e : results[0].trace->ranks[0].events)
            if (e.step >= 0) first = std::min(first, e.step);
        CHECK(static_cast<std::size_t>(6 - first) == own_steps);
        for (std::size_t i = 0; i < unbroken.parameters.size(); ++i)
            CHECK(results[0].parameters[i].numbers == unbroken.parameters[i].numbers);
    }
}
