// Tensor parallelism cuts layers, not the training: whatever the mesh, losses and weights equal those of one
// rank.
#include <cmath>

#include "tests/parallel/run_helper.h"
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

void check_equal(const run::RunResult& a, const run::RunResult& b) {
    REQUIRE(a.trace->info.losses.size() == b.trace->info.losses.size());
    for (std::size_t s = 0; s < a.trace->info.losses.size(); ++s)
        CHECK(a.trace->info.losses[s] == Approx(b.trace->info.losses[s]).epsilon(2e-5));
    REQUIRE(a.trace->info.grad_norms.size() == b.trace->info.grad_norms.size());
    for (std::size_t s = 0; s < a.trace->info.grad_norms.size(); ++s)
        CHECK(a.trace->info.grad_norms[s] == Approx(b.trace->info.grad_norms[s]).epsilon(1e-4));
    REQUIRE(a.parameters.size() == b.parameters.size());
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
        INFO(a.parameters[p].name);
        double worst = 0;
        for (std::size_t i = 0; i < a.parameters[p].numbers.size(); ++i) {
            const double x = double(a.parameters[p].numbers[i]), y = double(b.parameters[p].numbers[i]);
            worst = std::max(worst, std::abs(x - y) - 2e-4 * std::abs(y));
        }
        CHECK(worst <= 2e-5);
    }
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
    "an mlp layer on t ranks sends 4 (t-1)/t of its activation each way; the first layer's input needs no "
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
