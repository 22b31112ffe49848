// Models and worlds of the sizes that people train, run dry: counts to the last parameter, and one rank for
// all that do the same.
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/memory/ledger.h"
#include "core/run/dry.h"
#include "core/run/dry_roles.h"
#include "core/run/fit.h"
#include "core/run/summary.h"
#include "core/trace/store.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;

namespace {

struct Llama {
    int64_t dim, hidden, layers, heads, vocab = 128256, kv_heads = 8;
    int64_t parameters = 0;  ///< as its publisher counts them
};
constexpr Llama k8B{4096, 14336, 32, 32, 128256, 8, 8'030'261'248};
constexpr Llama k70B{8192, 28672, 80, 64, 128256, 8, 70'553'706'496};
constexpr Llama k405B{16384, 53248, 126, 128, 128256, 8, 405'853'388'800};

std::string text_of(const Llama& m, const std::string& train, const std::string& rest, int64_t seq = 1024) {
    return "format = 1\n[model]\nkind = \"llama\"\ndim = " + std::to_string(m.dim) +
           "\nhidden = " + std::to_string(m.hidden) + "\nlayers = " + std::to_string(m.layers) +
           "\nheads = " + std::to_string(m.heads) + "\nkv_heads = " + std::to_string(m.kv_heads) +
           "\nvocab = " + std::to_string(m.vocab) + "\nseq = " + std::to_string(seq) +
           "\n[train]\nsteps = 2\n" + train + "\n[optimizer]\nkind = \"adamw\"\n" + rest;
}

scenario::Scenario read(const std::string& text) {
    return scenario::parse_scenario(text, "large.toml");
}

/// Elements that a rank put into the collectives of an op in the last step.
int64_t put_in(const trace::RankTrace& rank, CollectiveOp op) {
    int64_t elements = 0;
    for (const trace::Event& e : rank.events)
        if (e.kind == trace::EventKind::collective && e.op == op && e.step == 1) elements += e.in_elements;
    return elements;
}

int64_t most_held(const trace::Trace& trace, MemoryCategory category) {
    int64_t now = 0, most = 0;
    for (const trace::MemoryChange& change : trace.ranks[0].memory)
        if (change.category == category) most = std::max(most, now += change.delta_bytes);
    return most;
}

int64_t peak_resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} * 1024;
}

const std::string kTwo = "[mesh]\nshape = [2]\n[parallel]\n";
const std::string kBfloat16 = "[parallel.mixed_precision]\nparam = \"bfloat16\"\nreduce = \"float32\"\n";

}  // namespace

TEST_CASE("models of 8, 70 and 405 billion parameters: every strategy holds and sends each of them once") {
    for (const Llama& model : {k8B, k70B, k405B}) {
        const int64_t n = model.parameters;
        INFO(n);
        const auto run = [&](const std::string& parallel) {
            return run::run_dry(read(text_of(model, "global_batch = 2", kTwo + parallel))).trace;
        };
        const auto ddp = run("data = \"ddp\"\n");
        CHECK(most_held(*ddp, MemoryCategory::parameters) == 4 * n);
        CHECK(most_held(*ddp, MemoryCategory::optimizer_state) == 8 * n);
        CHECK(put_in(ddp->ranks[0], CollectiveOp::all_reduce) == n);
        // All of these rows are even: no padding.
        for (const std::string strategy : {"\"fsdp2\"", "\"fsdp1\"", "\"zero3\""}) {
            INFO(strategy);
            const auto sharded = run("data = " + strategy + "\n");
            CHECK(most_held(*sharded, MemoryCategory::sharded_parameters) == 4 * n / 2);
            CHECK(most_held(*sharded, MemoryCategory::optimizer_state) == 8 * n / 2);
            CHECK(put_in(sharded->ranks[0], CollectiveOp::reduce_scatter) == n);
        }
        for (const std::string strategy : {"\"zero1\"", "\"zero2\""}) {
            INFO(strategy);
            const auto zero = run("data = " + strategy + "\n");
            CHECK(most_held(*zero, MemoryCategory::parameters) == 4 * n);
            CHECK(most_held(*zero, MemoryCategory::optimizer_state) == 8 * n / 2);
            CHECK(put_in(zero->ranks[0], CollectiveOp::all_gather) == n / 2);
        }
    }
}

TEST_CASE("405 billion parameters on 16,384 ranks take little memory, and each rank a 1/128 of its stage") {
    const std::string mesh =
        "[mesh]\nshape = [16, 128, 8]\nnames = [\"pp\", \"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n"
        "schedule = \"1F1B\"\nmicrobatches = 16\n";
    const auto scenario =
        read(text_of(k405B, "global_batch = 2048\nclip_norm = 1.0", mesh + kBfloat16, 8192));
    [[maybe_unused]] const int64_t before = peak_resident_bytes();
    const run::DryResult result = run::run_dry(scenario);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what is freed, or shadow it
    CHECK(peak_resident_bytes() - before < int64_t{300} << 20);
#endif
    // A rank a stage: the shards and the tensor-parallel parts are even.
    std::vector<int32_t> first;
    for (int32_t stage = 0; stage < 16; ++stage) first.push_back(stage * 1024);
    CHECK(result.ranks == first);
    int64_t bytes = 0;
    for (const int32_t rank : result.ranks)
        for (const trace::MemoryChange& m : result.trace->ranks[static_cast<std::size_t>(rank)].memory)
            if (m.category == MemoryCategory::sharded_parameters && m.step == -1) bytes += m.delta_bytes;
    // Each of the 8 tp ranks has the norms (2 a layer and the last one), the embedding and the head whole.
    const int64_t whole = (2 * k405B.layers + 1 + 2 * k405B.vocab) * k405B.dim;
    CHECK(bytes == 4 * ((k405B.parameters - whole) / 8 + whole) / 128);
}

TEST_CASE("padding of more than 2^31 elements is counted, and a record keeps it") {
    // w1 (1, 2^20) on 4,096 ranks: 4,095 rows of padding.
    const auto scenario = read(
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 1048576\nhidden = 1\nlayers = 1\nbias = false\n[train]\n"
        "steps = 1\nglobal_batch = 4096\n[mesh]\nshape = [4096]\n[parallel]\ndata = \"fsdp2\"\n");
    const auto dry = run::run_dry(scenario).trace;
    const auto most_padding = [](const trace::Trace& trace) {
        int64_t most = 0;
        for (const trace::Event& e : trace.ranks[0].events) most = std::max(most, e.padding);
        return most;
    };
    CHECK(most_padding(*dry) >= int64_t{4095} << 20);
    const test::Folder folder;
    trace::write_trace(*dry, folder.file("large.mscope"));
    CHECK(most_padding(trace::read_trace(folder.file("large.mscope"))) == most_padding(*dry));
}

TEST_CASE("a step that cannot be counted in 63 bits is refused with both numbers, a long one is not") {
    const std::string mesh = kTwo + "data = \"fsdp2\"\n";
    const auto refusal = [&](const std::string& batch) {
        return test::thrown_id(
            [&] { run::run_dry(read(text_of(k405B, "global_batch = " + batch, mesh, 131072))); });
    };
    CHECK(refusal("2147483646") == "predict.too_many_operations");
    CHECK(refusal("4") == "nothing thrown");
}

TEST_CASE("a large model does not fit into this machine, and is refused before it starts") {
    const auto scenario = read(text_of(k405B, "global_batch = 2", kTwo + "data = \"fsdp2\"\n"));
    CHECK(test::thrown_id([&] {
              run::require_fit(scenario, {}, FreeMemory{int64_t{1} << 40, MemoryBound::machine});
          }) == "run.does_not_fit");
    CHECK(run::least_bytes(scenario, 2) > 16 * k405B.parameters);
}

TEST_CASE("hours of one kernel are hours on the modelled clock of slow hardware, and add up") {
    // The logits' product of 64 · 8,192 tokens at 100 million operations a second.
    const auto scenario =
        read(text_of(k8B, "global_batch = 128\nrecompute = \"full\"", kTwo + "data = \"fsdp2\"\n", 8192));
    const auto trace = run::run_dry(scenario).trace;
    const time::Profile slow = time::classroom();
    const run::Summary summary = run::summarize(*trace, slow, time::Absent::as_present);
    const int64_t logits = 2 * 64 * int64_t{8192} * 4096 * 128256;
    CHECK(time::compute_ns(slow, "linear", DType::float32, logits, 0) == logits * 10);
    CHECK(summary.step_ns >= summary.ranks[0].overlap.compute_ns);
    CHECK(static_cast<double>(summary.ranks[0].overlap.compute_ns) >=
          10 * static_cast<double>(summary.ranks[0].flops));
}

TEST_CASE("under mixed precision every product is computed, and timed, in its dtype, but not the optimizer") {
    const Llama small{64, 96, 4, 8, 96, 8};
    for (const std::string mesh :
         {"[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n",
          "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp1\"\n",
          "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n",
          "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"cp\"]\n[parallel]\ndata = \"fsdp2\"\n",
          "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\nschedule = "
          "\"1F1B\"\nmicrobatches = 2\n"})
        for (const std::string recompute : {"none", "full"}) {
            INFO(mesh << recompute);
            const std::string train = "global_batch = 8\nrecompute = \"" + recompute + "\"";
            const auto trace = run::run_dry(read(text_of(small, train, mesh + kBfloat16, 16))).trace;
            std::map<std::string, int> products;
            for (const trace::RankTrace& rank : trace->ranks)
                for (const trace::Event& e : rank.events) {
                    if (e.kind != trace::EventKind::compute) continue;
                    const std::string kernel(trace->text(e.name));
                    INFO(kernel);
                    if (time::is_product(kernel) && !kernel.starts_with("attention.merge")) {
                        CHECK(e.dtype == DType::bfloat16);
                        ++products[kernel];
                    }
                    if (kernel == "adamw") CHECK(e.dtype == DType::float32);
                }
            CHECK(products["linear"] > 0);
            CHECK(products["linear.weight_grad"] > 0);
            CHECK(products["attention.backward"] > 0);
        }
}

TEST_CASE("of ranks that do the same work one is run, and everything that is predicted stays as it was") {
    const Llama small{64, 96, 6, 8, 96, 8};
    struct Case {
        std::string mesh;
        std::size_t few;
    };
    const std::string pp = "schedule = \"1F1B\"\nmicrobatches = 8\n";
    for (const Case& c : {
             Case{"[mesh]\nshape = [3, 2, 4, 2, 2]\nnames = [\"pp\", \"replicate\", \"shard\", \"cp\", "
                  "\"tp\"]\n[parallel]\ndata = \"fsdp2\"\n" +
                      pp,
                  3},
             // 96 rows do not go into 5: the last rank holds less, and every stage has both.
             Case{"[mesh]\nshape = [6, 5, 4]\nnames = [\"pp\", \"shard\", \"tp\"]\n[parallel]\ndata = "
                  "\"fsdp2\"\n" +
                      pp,
                  12},
             Case{
                 "[mesh]\nshape = [6, 2, 2, 4]\nnames = [\"pp\", \"replicate\", \"cp\", \"tp\"]\n[parallel]\n"
                 "data = \"ddp\"\nsequence_parallel = true\n" +
                     pp,
                 24},  // nor do the buckets' numbers go into the 4 ranks of replicate and cp
         }) {
        INFO(c.mesh);
        const auto scenario = read(text_of(small, "global_batch = 320\nclip_norm = 1.0", c.mesh, 16));
        run::DryOptions all;
        all.all_up_to = 1 << 20;
        const run::DryResult some = run::run_dry(scenario), every = run::run_dry(scenario, all);
        CHECK(some.ranks.size() == c.few);
        const time::Profile profile = time::classroom();
        const auto few = run::summarize(*some.trace, profile, time::Absent::as_present);
        const auto whole = run::summarize(*every.trace, profile, time::Absent::refused);
        CHECK(few.step_ns == whole.step_ns);
        REQUIRE(few.collectives.size() == whole.collectives.size());
        for (std::size_t i = 0; i < few.collectives.size(); ++i) {
            CHECK(few.collectives[i].op == whole.collectives[i].op);
            CHECK(few.collectives[i].calls == whole.collectives[i].calls);
            // Of a norm's one number some rank that is not run sends some more.
            CHECK(std::abs(few.collectives[i].sent_bytes - whole.collectives[i].sent_bytes) <=
                  64 * few.collectives[i].calls);
        }
        for (const run::Summary::Rank& rank : few.ranks) {
            const auto same = std::ranges::find(whole.ranks, rank.rank, &run::Summary::Rank::rank);
            REQUIRE(same != whole.ranks.end());
            CHECK(rank.peak.by_category == same->peak.by_category);
            CHECK(rank.sent_bytes == same->sent_bytes);
            CHECK(rank.flops == same->flops);
            CHECK(rank.overlap.compute_ns == same->overlap.compute_ns);
            CHECK(rank.overlap.exposed_ns == same->overlap.exposed_ns);
            CHECK(rank.bubble.idle_ns == same->bubble.idle_ns);
        }
        int64_t most_few = 0, most_whole = 0;
        for (const auto& rank : few.ranks) most_few = std::max(most_few, rank.peak.bytes);
        for (const auto& rank : whole.ranks) most_whole = std::max(most_whole, rank.peak.bytes);
        CHECK(most_few == most_whole);
    }
}
