// Activation checkpointing under every strategy: the same bits, less memory, and the collectives that it
// costs.
#include <algorithm>

#include "core/memory/ledger.h"
#include "core/run/dry.h"
#include "core/run/summary.h"
#include "tests/parallel/run_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

constexpr int64_t kLayers = 3, kDim = 16, kSeq = 8, kSteps = 2;

/// gpt, so wide inside that activations make the peak.
std::string text_of(const std::string& rest, const std::string& recompute) {
    return "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 64\nlayers = 3\nvocab = 12\nseq = 8\n"
           "heads = 4\nseed = 3\n[train]\nsteps = 2\nglobal_batch = 16\nrecompute = \"" +
           recompute + "\"\n[optimizer]\nlr = 0.1\n" + rest;
}

struct Case {
    const char* name;
    std::string rest;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> kCases{
        {"single", "[mesh]\nshape = [1]\nnames = [\"replicate\"]\n"},
        {"ddp", "[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\nbucket_cap_mb = 0.01\n"},
        {"fsdp2", "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n"},
        {"hsdp",
         "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"},
        {"fsdp2 bfloat16",
         "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\nmixed_precision.param = \"bfloat16\"\n"},
        {"fsdp1", "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp1\"\n"},
        {"zero1", "[mesh]\nshape = [2]\n[parallel]\ndata = \"zero1\"\n"},
        {"zero2", "[mesh]\nshape = [2]\n[parallel]\ndata = \"zero2\"\n"},
        {"zero3", "[mesh]\nshape = [2]\n[parallel]\ndata = \"zero3\"\n"},
        {"tp", "[mesh]\nshape = [2]\nnames = [\"tp\"]\n"},
        {"tp linear", "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\ntp_plan = \"linear\"\n"},
        {"sp",
         "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\nsequence_parallel = true\nloss_parallel = "
         "true\n"},
        {"cp", "[mesh]\nshape = [2]\nnames = [\"cp\"]\n"},
        {"cp ring", "[mesh]\nshape = [2]\nnames = [\"cp\"]\n[parallel]\ncp = \"alltoall\"\n"},
        {"fsdp2 x tp", "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n"},
        {"GPipe",
         "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"GPipe\"\nmicrobatches = 4\n"},
        {"1F1B x fsdp2",
         "[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\nschedule = "
         "\"1F1B\"\nmicrobatches = 2\n"}};
    return kCases;
}

/// The most activations that a rank held at once.
int64_t most_activations(const trace::Trace& trace, std::size_t rank) {
    int64_t now = 0, most = 0;
    for (const trace::MemoryChange& m : trace.ranks[rank].memory) {
        if (m.category != MemoryCategory::activations) continue;
        now += m.delta_bytes;
        most = std::max(most, now);
    }
    return most;
}

/// A rank's collectives of a step: all that are, or are not, done for the second time.
std::vector<std::string> rules_of(const trace::Trace& trace, int32_t step, bool again) {
    std::vector<std::string> rules;
    for (const trace::Event& e : trace.ranks[0].events) {
        const std::string rule(trace.text(e.rule));
        if (e.kind != trace::EventKind::collective || e.step != step ||
            rule.starts_with("recompute.") != again)
            continue;
        CHECK((!again || e.phase == Phase::backward));
        rules.push_back(rule + " " + std::to_string(e.in_elements) + "->" + std::to_string(e.out_elements));
    }
    return rules;
}

}  // namespace

TEST_CASE("under every strategy recomputation changes no bit of losses and weights, and takes less memory") {
    for (const Case& c : cases()) {
        const auto none = run_text(text_of(c.rest, "none"));
        REQUIRE(none.trace->info.losses.size() == kSteps);
        std::vector<int64_t> before(none.trace->ranks.size(), INT64_MAX);
        for (std::size_t r = 0; r < before.size(); ++r) before[r] = most_activations(*none.trace, r);
        for (const std::string recompute : {"selective", "full"}) {
            INFO(c.name << " " << recompute);
            const auto result = run_text(text_of(c.rest, recompute));
            CHECK(result.trace->info.losses == none.trace->info.losses);
            for (std::size_t p = 0; p < none.parameters.size(); ++p)
                CHECK(result.parameters[p].numbers == none.parameters[p].numbers);
            for (std::size_t r = 0; r < before.size(); ++r) {
                INFO("rank " << r);
                const int64_t now = most_activations(*result.trace, r);
                CHECK(now < before[r]);
                before[r] = now;  // full takes less than selective
            }
        }
    }
}

TEST_CASE("a unit of FSDP is gathered once for the second forward and the backward together") {
    for (const std::string strategy : {"fsdp2", "fsdp1", "zero3"}) {
        INFO(strategy);
        const std::string rest = "[mesh]\nshape = [2]\n[parallel]\ndata = \"" + strategy + "\"\n";
        const auto none = run_text(text_of(rest, "none")), full = run_text(text_of(rest, "full"));
        for (int32_t step = 0; step < kSteps; ++step) {
            CHECK(rules_of(*full.trace, step, false) == rules_of(*none.trace, step, false));
            CHECK(rules_of(*full.trace, step, true).empty());
        }
    }
}

TEST_CASE("mlp's collectives under FSDP2 and tensor parallelism are those that PyTorch 2.15 makes") {
    // Seen there on two gloo ranks, three layers of 6 and 10, checkpoint_wrapper(early_stop=False) and then
    // fully_shard, or parallelize_module and then checkpoint_wrapper; four samples.
    const auto mlp = [](const std::string& rest, const std::string& recompute) {
        return run_text(
            "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 3\n[train]\nsteps = 2\n"
            "global_batch = 4\nrecompute = \"" +
            recompute + "\"\n" + rest);
    };
    const std::string fsdp = "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n";
    const std::string tp = "[mesh]\nshape = [2]\nnames = [\"tp\"]\n";
    const std::string gather = "AG 68->136", scatter = "RS 136->68";
    CHECK(
        collectives_of(*mlp(fsdp, "full").trace, 0, 1) ==
        std::vector<std::string>{gather, gather, gather, gather, gather, scatter, gather, scatter, scatter});
    // Forward three; backward two, for the first layer's input needs no gradient.
    CHECK(collectives_of(*mlp(tp, "none").trace, 0, 1) == std::vector<std::string>(3 + 2, "AR 24"));
    CHECK(collectives_of(*mlp(tp, "full").trace, 0, 1) == std::vector<std::string>(3 + 3 + 2, "AR 24"));
}

TEST_CASE("tensor parallelism's forward collectives run again in backward, one for one") {
    // A layer's forward has two all_reduces of the whole batch's activations; with sequence parallelism two
    // all_gathers and two reduce_scatters.
    const int64_t whole = 16 * kSeq * kDim, part = whole / 2;
    const std::string sum =
        "recompute.tp.rowwise.partial_sum " + std::to_string(whole) + "->" + std::to_string(whole);
    const std::string gather =
        "recompute.sp.gather.input " + std::to_string(part) + "->" + std::to_string(whole);
    const std::string scatter =
        "recompute.sp.scatter.partial_sum " + std::to_string(whole) + "->" + std::to_string(part);
    for (const std::string recompute : {"selective", "full"})
        for (const bool sequence : {false, true}) {
            INFO(recompute << (sequence ? " sp" : " tp"));
            const std::string rest = std::string("[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\n") +
                                     (sequence ? "sequence_parallel = true\n" : "");
            const auto none = run_text(text_of(rest, "none")), with = run_text(text_of(rest, recompute));
            std::vector<std::string> expected;
            for (int64_t layer = 0; layer < kLayers; ++layer)
                for (int block = 0; block < 2; ++block) {
                    if (sequence) expected.push_back(gather);
                    expected.push_back(sequence ? scatter : sum);
                }
            CHECK(rules_of(*with.trace, 1, true) == expected);
            CHECK(rules_of(*with.trace, 1, false) == rules_of(*none.trace, 1, false));
        }
}

TEST_CASE(
    "what ring attention made is kept by selective, as attention on one rank: no block, no exchange again") {
    for (const std::string method : {"allgather", "alltoall"}) {
        INFO(method);
        const std::string rest =
            "[mesh]\nshape = [2]\nnames = [\"cp\"]\n[parallel]\ncp = \"" + method + "\"\n";
        const auto attentions = [](const trace::Trace& trace) {
            int64_t all = 0, again = 0;
            for (const trace::Event& e : trace.ranks[0].events) {
                all += trace.text(e.name) == "attention";
                again += trace.text(e.name) == "attention.recompute";
            }
            return std::pair(all, again);
        };
        const auto none = run_text(text_of(rest, "none")).trace;
        const auto selective = run_text(text_of(rest, "selective")).trace;
        const auto full = run_text(text_of(rest, "full")).trace;
        const int64_t blocks = attentions(*none).first;
        CHECK(blocks > 0);
        CHECK(attentions(*selective) == std::pair(blocks, int64_t{0}));
        CHECK(attentions(*full) == std::pair(blocks, blocks));
        CHECK(rules_of(*selective, 0, true).empty());
        CHECK(rules_of(*full, 0, true).size() == kLayers);  // each one's keys and values
    }
}

TEST_CASE("with full the activations of a forward are one input a layer, and the flops a third more") {
    const auto flops = [](const trace::Trace& trace, bool layers_only) {
        int64_t sum = 0;
        for (const trace::Event& e : trace.ranks[0].events)
            if (e.step == 1 && e.kind == trace::EventKind::compute && e.phase != Phase::optimizer &&
                (!layers_only || trace.text(e.unit).starts_with("blocks.")) &&
                trace.text(e.name).starts_with("linear"))
                sum += e.flops;
        return sum;
    };
    const auto none = run_text(text_of(cases()[0].rest, "none")).trace;
    const auto full = run_text(text_of(cases()[0].rest, "full")).trace;
    // A product's backward is two products: forward, and forward again, are one each.
    CHECK(flops(*full, true) * 3 == flops(*none, true) * 4);
    CHECK(flops(*full, false) - flops(*none, false) == flops(*none, true) / 3);
    // So a step takes longer on the modelled clock.
    const auto ns = [](const trace::Trace& trace) {
        return run::summarize(trace, time::classroom(), time::Absent::refused).step_ns;
    };
    CHECK(ns(*full) > ns(*none));
}

TEST_CASE("a dry run predicts recomputation: memory and collectives equal the real run's") {
    for (const Case& c : cases()) {
        INFO(c.name);
        const std::string text = text_of(c.rest, "full");
        const auto real = run_text(text).trace;
        const auto dry = run::run_dry(scenario::parse_scenario(text, "test.toml")).trace;
        REQUIRE(dry->ranks.size() == real->ranks.size());
        for (std::size_t r = 0; r < real->ranks.size(); ++r) {
            const auto rank = static_cast<int32_t>(r);
            CHECK(memory::peak(*dry, rank).bytes == memory::peak(*real, rank).bytes);
            for (int32_t step = 0; step < kSteps; ++step)
                CHECK(collectives_of(*dry, rank, step) == collectives_of(*real, rank, step));
        }
    }
}
