// Tensor parallelism cuts layers, not the training: whatever the mesh, losses and weights equal those of one
// rank.
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

const std::string kToy = "kind = \"toy\"\nseed = 7\n";
const std::string kMlp = "kind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 3\nseed = 7\n";
const std::string kAlone = "[mesh]\nshape = [1]\nnames = [\"replicate\"]\n[parallel]\ndata = \"none\"\n";

std::string training(const std::string& model, const std::string& mesh_and_parallel,
                     const std::string& train = "") {
    return "format = 1\n[model]\n" + model +
           "[data]\nkind = \"regression\"\nsamples = 240\nseed = 3\n[train]\nsteps = 6\nglobal_batch = 24\n" +
           train + "[optimizer]\nkind = \"adamw\"\nlr = 0.003\nweight_decay = 0.1\n" + mesh_and_parallel;
}

std::string on_mesh(const std::string& shape, const std::string& names, const std::string& data) {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\ndata = \"" + data + "\"\n";
}

const std::vector<std::string> kMeshes{
    on_mesh("2", "\"tp\"", "none"),
    on_mesh("4", "\"tp\"", "none"),  // 10 and 5 on four ranks: uneven parts
    on_mesh("2", "\"tp\"", "none") + "tp_plan = \"linear\"\n",
    on_mesh("2, 2", "\"replicate\", \"tp\"", "ddp") + "bucket_cap_mb = 0.0003\n",
    on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp2"),
    on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp1"),
    on_mesh("2, 2", "\"tp\", \"shard\"", "fsdp2"),  // tp need not be the innermost dim
    on_mesh("2, 2, 2", "\"replicate\", \"shard\", \"tp\"", "fsdp2")};

/// The clip is below the first norms, so that it acts.
const std::string kClipped = "clip_norm = 0.5\n";

}  // namespace

TEST_CASE("tensor parallelism, alone and under DDP, FSDP and HSDP, trains like one rank") {
    for (const std::string& model : {kToy, kMlp}) {
        const auto alone = run_text(training(model, kAlone, kClipped));
        for (const std::string& other : kMeshes) {
            INFO(model << other);
            check_equal(run_text(training(model, other, kClipped)), alone);
        }
    }
}

TEST_CASE("tensor parallelism accumulates like one rank") {
    const std::string train = "accumulate = 3\n";
    const auto alone = run_text(training(kMlp, kAlone, train));
    for (const std::string& other : kMeshes) {
        INFO(other);
        check_equal(run_text(training(kMlp, other, train)), alone);
    }
}

TEST_CASE(
    "an mlp layer on t ranks sends 4 (t-1)/t of its activation each way: the first layer's input needs no "
    "sum") {
    // pytorch_rules 1.9: an all_reduce of b·s·h elements sends 2 (t-1)/t of them a rank, one forward and one
    // backward for each pair of a column-wise and a row-wise linear.
    for (const int64_t t : {2, 4}) {
        const auto result = run_text(training(kMlp, on_mesh(std::to_string(t), "\"tp\"", "none")));
        const int64_t activation = 24 * 6, all_reduces = 3 + 2;
        for (int64_t rank = 0; rank < t; ++rank) {
            int64_t bytes = 0;
            for (const trace::Event& e : result.trace->ranks[static_cast<std::size_t>(rank)].events)
                if (e.kind == trace::EventKind::collective && e.step == 1) bytes += e.sent_bytes;
            CHECK(bytes == all_reduces * 2 * (t - 1) * activation / t * 4);
        }
    }
}

namespace {

std::string tokens(const std::string& model, const std::string& mesh_and_parallel,
                   const std::string& train = "") {
    const std::string gpt = "kind = \"gpt\"\n", llama = "kind = \"llama\"\nkv_heads = 4\n";
    return "format = 1\n[model]\n" + (model == "llama" ? llama : gpt) +
           (model == "tied" ? "tied = true\n" : "") +
           "vocab = 24\nseq = 8\ndim = 16\nheads = 4\nhidden = 20\nlayers = 2\nseed = 5\n[data]\nseed = "
           "3\n[train]\nsteps = 4\nglobal_batch = 8\n" +
           train + "[optimizer]\nkind = \"adamw\"\nlr = 0.003\n" + mesh_and_parallel;
}

const std::vector<std::string> kCuts{"tp_plan = \"block\"\n", "tp_plan = \"linear\"\n",
                                     "sequence_parallel = true\n", "loss_parallel = true\n",
                                     "sequence_parallel = true\nloss_parallel = true\n"};

}  // namespace

TEST_CASE("gpt, tied or not, and llama train like one rank: both plans, sequence and loss parallel") {
    test::Sample sample(3);
    const std::string train = "clip_norm = 0.5\n";
    for (const std::string model : {"gpt", "tied", "llama"}) {
        const auto alone = run_text(tokens(model, kAlone, train));
        for (const std::string& cut : kCuts)
            for (const std::string& where :
                 {on_mesh("2", "\"tp\"", "none"), on_mesh("4", "\"tp\"", "none")}) {
                if (!sample.takes()) continue;
                INFO(model << " " << where << cut);
                check_equal(run_text(tokens(model, where + cut, train)), alone);
            }
    }
}

TEST_CASE("gpt and llama, cut by layers and by data at once, accumulating, train like one rank") {
    test::Sample sample(4);
    const std::string train = "accumulate = 2\nclip_norm = 0.5\n";
    for (const std::string model : {"tied", "llama"}) {
        const auto alone = run_text(tokens(model, kAlone, train));
        for (const std::string& cut : kCuts)
            for (const std::string& where :
                 {on_mesh("2, 2", "\"replicate\", \"tp\"", "ddp"),
                  on_mesh("2, 2", "\"shard\", \"tp\"", "fsdp2"),
                  on_mesh("2, 2, 2", "\"replicate\", \"shard\", \"tp\"", "fsdp2")}) {
                if (!sample.takes()) continue;
                INFO(model << " " << where << cut);
                check_equal(run_text(tokens(model, where + cut, train)), alone);
            }
    }
}

TEST_CASE("a transformer layer sends 8 b s h (t-1)/t elements a rank, with sequence parallelism as many") {
    // pytorch_rules 1.9, from arXiv 2205.05198: 2 all_reduces forward and 2 backward, or 4 all_gathers and 4
    // reduce_scatters, of b·s·h elements.
    for (const std::string cut : {"", "sequence_parallel = true\n"})
        for (const int64_t t : {2, 4}) {
            const auto result = run_text(tokens("gpt", on_mesh(std::to_string(t), "\"tp\"", "none") + cut));
            int64_t bytes = 0;
            for (const trace::Event& e : result.trace->ranks[0].events)
                if (e.kind == trace::EventKind::collective && e.step == 1 &&
                    result.trace->text(e.unit).starts_with("blocks.0"))
                    bytes += e.sent_bytes;
            INFO(cut << t << " ranks");
            CHECK(bytes == 8 * (8 * 8 * 16) * (t - 1) / t * 4);
        }
}
