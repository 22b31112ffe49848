// What a dry run predicts is what the real run records, for every golden case: the whole record but its
// times.
#include "core/run/dry.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "backends/registry.h"
#include "core/memory/ledger.h"
#include "core/run/dry_roles.h"
#include "core/run/run.h"
#include "core/run/summary.h"
#include "core/scenario/words.h"
#include "core/time/step.h"
#include "tests/run/golden_case.h"
#include "tests/run/same_record.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;

namespace {

void check_dry_is_real(const std::string& text, const std::string& name) {
    const auto scenario = scenario::parse_scenario(text, name + ".toml");
    const auto backends = backends::make_registry();
    run::RunOptions options;
    options.level = trace::Level::collectives;
    const auto real = run::run_scenario(scenario, *backends, options).trace;
    const auto dry = run::run_dry(scenario).trace;
    INFO(name);
    CHECK(test::first_difference(*dry, *real) == "");
    for (std::size_t r = 0; r < real->ranks.size(); ++r) {
        CHECK_FALSE(real->ranks[r].events.empty());
        CHECK(memory::peak(*real, static_cast<int32_t>(r)).bytes > 0);
    }
}

std::string mlp(const std::string& mesh, const std::string& parallel, int64_t batch) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 256\nhidden = 768\nlayers = 3\n[train]\nsteps = 2\n"
           "global_batch = " +
           std::to_string(batch) + "\n[optimizer]\nkind = \"adamw\"\nlr = 0.001\n[mesh]\n" + mesh +
           "\n[parallel]\n" + parallel + "\n";
}

int64_t peak_resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

TEST_CASE("for every golden case a dry run records what the real run records: events, memory, bytes, order") {
    std::vector<std::string> names;  // whatever lies there: no list can forget one
    for (const auto& entry : std::filesystem::directory_iterator(test::golden_folder() + "/train"))
        if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    std::ranges::sort(names);
    CHECK(names.size() >= golden::names().size() + golden::unordered_names().size());
    for (const std::string& name : names)
        check_dry_is_real(golden::scenario_text(golden::read_case(name), name), name);
}

TEST_CASE("and by every algorithm that a scenario may name") {
    for (const std::string_view each : scenario::algorithms()) {
        const std::string algorithm(each);
        if (algorithm == name(Algorithm::native)) continue;  // threads have none
        for (const std::string name : {"toy_ddp4", "toy_fsdp3_uneven", "mlp_hsdp2x2_clip"})
            check_dry_is_real(
                golden::scenario_text(golden::read_case(name), name) + "algorithm = \"" + algorithm + "\"\n",
                name + " " + algorithm);
    }
}

TEST_CASE(
    "and with context parallelism: every method, alone, flattened with shard, beside tensor parallelism") {
    const std::string text =
        "format = 1\n[model]\nkind = \"llama\"\nvocab = 24\nseq = 16\ndim = 16\nheads = 8\nkv_heads = 4\n"
        "hidden = 20\nlayers = 2\n[train]\nsteps = 2\nglobal_batch = 4\nclip_norm = 0.5\n";
    for (const std::string method : {"allgather", "alltoall", "ulysses"})
        for (const std::string mesh :
             {"[mesh]\nshape = [4]\nnames = [\"cp\"]\n[parallel]\n",
              "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"cp\"]\n[parallel]\ndata = \"fsdp2\"\n",
              "[mesh]\nshape = [2, 2]\nnames = [\"cp\", \"tp\"]\n[parallel]\n",
              "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"cp\"]\n[parallel]\nschedule = "
              "\"1F1B\"\nmicrobatches = "
              "2\n"})
            check_dry_is_real(text + mesh + "cp = \"" + method + "\"\n", method);
}

TEST_CASE("and for DDP's hooks and Join, fully_shard's settings, DataParallel") {
    const std::string replicas = "shape = [2]\nnames = [\"replicate\"]",
                      hsdp = "shape = [2, 4]\nnames = [\"replicate\", \"shard\"]";
    const auto check = [](const std::string& mesh, const std::string& parallel,
                          const std::string& more = "") {
        std::string text = mlp(mesh, "data = " + parallel, 16) + more;
        text.replace(text.find("dim = 256\nhidden = 768"), 22,
                     "dim = 16\nhidden = 24");  // TSan computes slowly
        text.replace(text.find("steps = 2"), 9, "steps = 4\naccumulate = 2\nclip_norm = 1.0");
        check_dry_is_real(text, parallel);
    };
    check(replicas, "\"ddp\"\nddp_hook = \"fp16_compress\"\nstatic_graph = true");
    check(replicas, "\"ddp\"\nfind_unused_parameters = true\ngradient_as_bucket_view = true");
    check(replicas, "\"ddp\"\nddp_hook = \"powersgd\"", "[parallel.powersgd]\nstart_iteration = 2\n");
    for (const std::string batches : {"[4, 2]", "[2, 4]", "[4, 4]", "[1, 4]", "[4, 1]"})
        check(replicas, "\"ddp\"\njoin = true\nbucket_cap_mb = 0.001", "[data]\nbatches = " + batches + "\n");
    check(replicas, "\"dp\"");
    check(hsdp,
          "\"fsdp2\"\nreshard_after_forward = 2\ncpu_offload = true\ngradient_sync = \"all_reduce_last\"");
    check(hsdp, "\"fsdp2\"\nforward_prefetch = 2\nbackward_prefetch = 2\ngradient_sync = \"every\"",
          "[parallel.mixed_precision]\nparam = \"bfloat16\"\nreduce = \"float16\"\n");
    check(hsdp, "\"fsdp2\"\ngradient_divide_factor = 3\nreshard_after_backward = false");
}

TEST_CASE("and for mixed precision of whole parameters, alone and in a pipeline") {
    const std::string types = "[parallel.mixed_precision]\nparam = \"bfloat16\"\n";
    const auto check = [](const std::string& mesh, const std::string& parallel) {
        std::string text = mlp(mesh, "data = " + parallel, 16);
        text.replace(text.find("dim = 256\nhidden = 768"), 22, "dim = 16\nhidden = 24");
        if (parallel.find("schedule") == std::string::npos)
            text.replace(text.find("steps = 2"), 9, "steps = 2\naccumulate = 2\nclip_norm = 1.0");
        check_dry_is_real(text, parallel);
    };
    check("shape = [1]", "\"none\"\n" + types);
    check("shape = [2]\nnames = [\"replicate\"]", "\"ddp\"\nbucket_cap_mb = 0.001\n" + types);
    for (const std::string stage : {"zero1", "zero2", "zero3"})
        check("shape = [2]\nnames = [\"shard\"]", "\"" + stage + "\"\n" + types + "reduce = \"bfloat16\"\n");
    const std::string schedule = "\nschedule = \"1F1B\"\nmicrobatches = 4\n";
    check("shape = [3, 2]\nnames = [\"pp\", \"replicate\"]", "\"ddp\"" + schedule + types);
    check("shape = [3, 2]\nnames = [\"pp\", \"shard\"]", "\"zero1\"" + schedule + types);
    check("shape = [3]\nnames = [\"pp\"]", "\"none\"" + schedule + types);
}

TEST_CASE("a world larger than the mesh leaves the idle ranks empty") {
    const auto scenario =
        scenario::parse_scenario(mlp("shape = [2]\nworld = 3", "data = \"fsdp2\"", 8), "idle.toml");
    const run::DryResult result = run::run_dry(scenario);
    CHECK(result.ranks == std::vector<int32_t>{0, 1});
    CHECK(result.trace->ranks[2].events.empty());
}

TEST_CASE("what comes late in a scenario is run dry too: evaluation, PowerSGD, the end of uneven inputs") {
    const auto steps = [](const std::string& parallel, const std::string& more, int32_t of) {
        std::string text = mlp("shape = [2]", "data = \"ddp\"" + parallel, 8) + more;
        text.replace(text.find("steps = 2"), 9, "steps = " + std::to_string(of));
        return run::telling_steps(scenario::parse_scenario(text, "late.toml"));
    };
    const std::string eval = "[eval]\nevery = 5\nsamples = 16\nbatch = 8\n";
    const std::string powersgd = "\nddp_hook = \"powersgd\"\n[parallel.powersgd]\nstart_iteration = ";
    CHECK(steps("", "", 2) == 2);
    CHECK(steps("", "", 9) == 3);
    CHECK(steps("", eval, 9) == 6);
    CHECK(steps("", eval, 5) == 5);
    CHECK(steps(powersgd + "4\n", "", 9) == 6);
    CHECK(steps(powersgd + "1000\n", "", 2000) == 64);
}

TEST_CASE("with ZeroRedundancyOptimizer every rank owns other parameters: all are run of any world") {
    const auto scenario = scenario::parse_scenario(
        mlp("shape = [66]", "data = \"zero1\"\nzero_variant = \"pytorch\"", 66), "zero.toml");
    CHECK(run::run_dry(scenario).ranks.size() == 66);
}

TEST_CASE(
    "of a large world one rank of each role is run: first and last of each dim, every pipeline stage and "
    "every part of the sequence") {
    const auto ranks = [](std::vector<int64_t> shape, std::vector<std::string> names, int32_t all_up_to) {
        int64_t world = 1;
        for (const int64_t n : shape) world *= n;
        const auto mesh = mesh::DeviceMesh::init(shape, names, world);
        return run::distinct_ranks(mesh, static_cast<int32_t>(world), all_up_to);
    };
    CHECK(ranks({128}, {"shard"}, 64) == std::vector<int32_t>{0, 127});
    CHECK(ranks({3}, {"shard"}, 64) == std::vector<int32_t>{0, 1, 2});
    CHECK(ranks({4, 8}, {"replicate", "shard"}, 31) == std::vector<int32_t>{0, 7, 24, 31});
    CHECK(ranks({3, 8}, {"pp", "shard"}, 8) == std::vector<int32_t>{0, 7, 8, 15, 16, 23});
    CHECK(ranks({8, 4}, {"shard", "cp"}, 8) == std::vector<int32_t>{0, 1, 2, 3, 28, 29, 30, 31});
    CHECK(ranks({1, 8}, {"replicate", "shard"}, 4) == std::vector<int32_t>{0, 7});
}

TEST_CASE("one rank of 1,024 records what it would record among them: the ring's bytes to the last one") {
    // 3 layers of 256·768 + 768 + 768·256 + 256 parameters, each a unit; 32 ranks hold a shard, 32 replicas.
    const auto scenario = scenario::parse_scenario(
        mlp("shape = [32, 32]\nnames = [\"replicate\", \"shard\"]", "data = \"fsdp2\"", 2048), "hsdp.toml");
    const run::DryResult result = run::run_dry(scenario);
    CHECK(result.ranks == std::vector<int32_t>{0, 31, 992, 1023});
    const int64_t unit = 256 * 768 + 768 + 768 * 256 + 256;  // a multiple of 32·32: no padding, equal chunks
    for (const int32_t rank : result.ranks) {
        int64_t gathered = 0, scattered = 0, reduced = 0;
        for (const trace::Event& e : result.trace->ranks[static_cast<std::size_t>(rank)].events) {
            if (e.kind != trace::EventKind::collective || e.step != 1) continue;
            (e.op == CollectiveOp::all_gather       ? gathered
             : e.op == CollectiveOp::reduce_scatter ? scattered
                                                    : reduced) += e.sent_bytes;
        }
        CHECK(gathered == 2 * 3 * unit * 4 * 31 / 32);
        CHECK(scattered == 3 * unit * 4 * 31 / 32);
        CHECK(reduced == 3 * 2 * (unit / 32) * 4 * 31 / 32);
    }
}

TEST_CASE("a dry run of gigabytes takes no memory") {
    // 4 layers of 2 · 16384 · 65536 parameters: 34 GB of weights, and again that of gradients, twice that of
    // state.
    const auto scenario = scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 8192\nhidden = 32768\nlayers = 3\n[train]\nsteps = 2\n"
        "global_batch = 8\n[optimizer]\nkind = \"adam\"\n[mesh]\nshape = [8]\n[parallel]\ndata = \"fsdp2\"\n",
        "large.toml");
    const int64_t before = peak_resident_bytes();
    const run::DryResult result = run::run_dry(scenario);
    CHECK(memory::peak(*result.trace, 0).bytes > int64_t{1} << 32);
    CHECK(peak_resident_bytes() - before < int64_t{200} << 20);
}

TEST_CASE("a scenario of more ranks than can be started is refused when it is really run") {
    const auto scenario = scenario::parse_scenario(
        mlp("shape = [128, 64]\nnames = [\"replicate\", \"shard\"]", "data = \"fsdp2\"", 8192), "huge.toml");
    const auto backends = backends::make_registry();
    try {
        run::run_scenario(scenario, *backends);
        FAIL("it ran");
    } catch (const InvalidArgument& error) {
        CHECK(error.message().id == "run.too_many_ranks");
    }
}

TEST_CASE("what a pipeline's ranks do of the next step while others end this one is not counted twice") {
    const auto scenario = scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 64\nlayers = 4\nvocab = 12\nseq = 8\nheads "
        "= "
        "4\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n"
        "[parallel]\ndata = \"fsdp2\"\nschedule = \"1F1B\"\nmicrobatches = 2\n",
        "pipeline.toml");
    const auto trace = run::run_dry(scenario).trace;
    const time::Clock clock = time::modelled(*trace, time::classroom(), time::Absent::as_present);
    const auto span = [&](int32_t step) { return time::span_of_step(*trace, clock, step); };
    int64_t all = 0;
    for (int32_t step = 0; step < 3; ++step) all += time::step_ns(*trace, clock, step);
    CHECK(all == span(2).end_ns - span(0).begin_ns);
    CHECK(span(2).begin_ns < span(1).end_ns);  // the last stage gathers
    const run::Summary summary = run::summarize(*trace, time::classroom(), time::Absent::as_present);
    CHECK(summary.step_ns == span(2).end_ns - span(1).end_ns);
    for (const run::Summary::Rank& rank : summary.ranks) CHECK(rank.bubble.span_ns == summary.step_ns);
}
