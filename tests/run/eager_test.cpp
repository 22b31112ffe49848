// [memory] ops = "pytorch": what a dry run predicts of eager PyTorch's kernels, and that no run computes with
// them.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/run/dry.h"
#include "core/run/plan.h"
#include "core/run/summary.h"
#include "core/time/read_profile.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;

namespace {

scenario::Scenario llama(const std::string& memory, const std::string& rest) {
    return scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"llama\"\ndim = 64\nhidden = 96\nlayers = 4\nvocab = 128\nseq = 16\n"
        "heads = 4\nkv_heads = 2\n" +
            memory + rest,
        "eager.toml");
}

const std::string kEager = "[memory]\nops = \"pytorch\"\n";
const std::string kKernel = kEager + "norm = \"kernel\"\n";
const std::string kFsdp =
    "[train]\nsteps = 2\nglobal_batch = 4\n[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n"
    "mixed_precision.param = \"bfloat16\"\n";

/// Op, elements and bytes of every collective of rank 0.
std::vector<std::string> issued_by_rank_0(const trace::Trace& trace) {
    std::vector<std::string> calls;
    for (const trace::Event& e : trace.ranks[0].events)
        if (e.kind == trace::EventKind::collective)
            calls.push_back(std::string(name(e.op)) + " " + std::to_string(e.in_elements) + " " +
                            std::to_string(e.out_elements) + " " + std::to_string(e.sent_bytes));
    return calls;
}

/// The most that activations and temporaries hold together on rank 0.
int64_t most_activations(const trace::Trace& trace) {
    int64_t now = 0, most = 0;
    for (const trace::MemoryChange& m : trace.ranks[0].memory) {
        if (m.category != MemoryCategory::activations && m.category != MemoryCategory::temporaries) continue;
        now += m.delta_bytes;
        most = std::max(most, now);
    }
    return most;
}

/// The most that allocations with one of these labels hold together on rank 0.
int64_t most_of(const trace::Trace& trace, const std::set<std::string>& labels) {
    int64_t now = 0, most = 0;
    for (const trace::MemoryChange& m : trace.ranks[0].memory) {
        if (!labels.contains(std::string(trace.text(m.label)))) continue;
        now += m.delta_bytes;
        most = std::max(most, now);
    }
    return most;
}

}  // namespace

TEST_CASE("a dry run of eager PyTorch's kernels holds more, takes longer and sends the same") {
    for (const std::string& rest :
         {kFsdp, kFsdp + "[eval]\nevery = 1\nsamples = 4\n",
          std::string("[train]\nsteps = 2\nglobal_batch = 4\nrecompute = \"selective\"\n"),
          std::string("[train]\nsteps = 2\nglobal_batch = 4\n[mesh]\nshape = [2]\nnames = "
                      "[\"tp\"]\n[parallel]\nsequence_parallel = true\nloss_parallel = true\n"),
          std::string("[train]\nsteps = 2\nglobal_batch = 4\n[mesh]\nshape = [2]\nnames = "
                      "[\"pp\"]\n[parallel]\nschedule = \"1F1B\"\nmicrobatches = 2\n"),
          std::string("[train]\nsteps = 2\nglobal_batch = 8\n[mesh]\nshape = [2, 2]\nnames = "
                      "[\"pp\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\nschedule = "
                      "\"InterleavedZeroBubble\"\nmicrobatches = 4\n"),
          std::string("[train]\nsteps = 2\nglobal_batch = 4\n[mesh]\nshape = [2]\nnames = "
                      "[\"cp\"]\n[parallel]\ncp = \"alltoall\"\n"),
          std::string(
              "[train]\nsteps = 2\nglobal_batch = 4\n[mesh]\nshape = [2]\n[parallel]\ndata = \"dp\"\n")}) {
        INFO(rest);
        const auto ours = run::run_dry(llama("", rest)).trace;
        const auto eager = run::run_dry(llama(kEager, rest)).trace;
        const auto kernel = run::run_dry(llama(kKernel, rest)).trace;
        CHECK(issued_by_rank_0(*eager) == issued_by_rank_0(*ours));
        CHECK(most_activations(*kernel) > most_activations(*ours));
        CHECK(most_activations(*eager) > most_activations(*kernel));
        const time::Profile profile = time::named_profile("h100");
        CHECK(run::summarize(*eager, profile, time::Absent::as_present).step_ns >
              run::summarize(*ours, profile, time::Absent::as_present).step_ns);
    }
}

TEST_CASE("the loss over cut logits holds what PyTorch's loss_parallel holds, but for a few numbers a row") {
    std::ifstream file(test::golden_folder() + "/eager/expected.json");
    const auto golden = nlohmann::json::parse(file);
    const auto rows = golden["sizes"]["rows"].get<int64_t>(),
               classes = golden["sizes"]["parallel_classes"].get<int64_t>();
    const std::string text =
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 8\nhidden = 8\nlayers = 1\nheads = 2\nseq = " +
        std::to_string(rows) + "\nvocab = " + std::to_string(2 * classes) +
        "\n[train]\nsteps = 1\nglobal_batch = 1\n[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\n"
        "loss_parallel = true\nmixed_precision.param = \"bfloat16\"\n" +
        kEager;
    const auto trace = run::run_dry(scenario::parse_scenario(text, "eager.toml")).trace;
    const auto held = [&](const char* when) {
        return golden["cases"]["loss_parallel bfloat16"][when].get<double>();
    };
    CHECK(static_cast<double>(
              most_of(*trace, {"float32 logits", "shifted logits", "exponentials", "log_softmax output"})) ==
          Approx(held("peak_forward")).epsilon(0.001));
    CHECK(static_cast<double>(
              most_of(*trace, {"log_softmax output", "nll_loss input grad", "softmax",
                               "log_softmax input grad, unscaled", "log_softmax input grad"})) ==
          Approx(held("peak_backward")).epsilon(0.001));
    CHECK(static_cast<double>(most_of(*trace, {"log_softmax output"})) ==
          Approx(held("kept")).epsilon(0.001));
}

TEST_CASE(
    "log_softmax's gradient is kept where it is the logits' own, over cut logits and whole ones alike") {
    for (const std::string& dtype : {std::string("bfloat16"), std::string("float32")})
        for (const std::string& cut : {std::string("true"), std::string("false")}) {
            INFO(dtype << ", loss_parallel = " << cut);
            const auto trace =
                run::run_dry(llama(kEager,
                                   "[train]\nsteps = 1\nglobal_batch = 1\n[mesh]\nshape = [2]\nnames = "
                                   "[\"tp\"]\n[parallel]\nloss_parallel = " +
                                       cut + "\nmixed_precision.param = \"" + dtype + "\"\n"))
                    .trace;
            std::vector<MemoryCategory> categories;
            for (const trace::MemoryChange& m : trace->ranks[0].memory)
                if (m.delta_bytes > 0 && trace->text(m.label) == "log_softmax input grad")
                    categories.push_back(m.category);
            CHECK(categories == std::vector{dtype == "float32" ? MemoryCategory::activations
                                                               : MemoryCategory::temporaries});
        }
}

TEST_CASE("a run with eager PyTorch's kernels is refused, for they compute nothing") {
    CHECK(test::thrown_id<InvalidArgument>([] { run::plan_run(llama(kEager, kFsdp), {}); }) ==
          "run.memory_ops");
    CHECK_NOTHROW(run::plan_run(llama("[memory]\nops = \"fused\"\n", kFsdp), {}));
}

TEST_CASE("the count of what a llama's blocks keep is not said of other kernels than the engine's") {
    CHECK(run::activation_formula(llama("", kFsdp)));
    CHECK_FALSE(run::activation_formula(llama(kEager, kFsdp)));
}
