// DDP's hooks, flags and Join, as torch/nn/parallel/distributed.py and reducer.cpp have them.
#include <algorithm>

#include "backends/registry.h"
#include "core/run/dry.h"
#include "core/tensor/dtype.h"
#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using Rows = std::vector<std::string>;

namespace {

std::string ddp(int64_t ranks, const std::string& keys) {
    return "[mesh]\nshape = [" + std::to_string(ranks) +
           "]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n" + keys + "\n";
}

/// Net2 (55 elements) fills a bucket, net1 (110) the next.
const std::string kTwoBuckets = "bucket_cap_mb = 0.0002";

bool same_bits(const run::RunResult& a, const run::RunResult& b) {
    bool same = a.trace->info.losses == b.trace->info.losses;
    for (std::size_t p = 0; p < a.parameters.size(); ++p)
        same = same && a.parameters[p].numbers == b.parameters[p].numbers;
    return same;
}

/// The numbers of a rank's first collective of that rule, going in or coming out.
std::vector<float> numbers_of(const trace::Trace& trace, int32_t rank, const std::string& rule,
                              trace::SnapshotKind kind) {
    const trace::RankTrace& record = trace.ranks[static_cast<std::size_t>(rank)];
    for (const trace::Event& event : record.events) {
        if (event.step != 0 || trace.text(event.rule) != rule) continue;
        for (const trace::Snapshot& s : record.snapshots)
            if (s.event == event.id && s.kind == kind) {
                const auto first = record.values.begin() + s.values;
                return {first, first + s.elements};
            }
    }
    return {};
}

}  // namespace

TEST_CASE("ten Linear(1024,1024): one all_reduce of 41,984,000 bytes, then three in the order of arrival") {
    const auto dry =
        run::run_dry(scenario::parse_scenario(
                         "format = 1\n[model]\nkind = \"mlp\"\ndim = 1024\nhidden = 1024\nlayers = 5\n"
                         "[train]\nsteps = 3\nglobal_batch = 2\n" +
                             ddp(2, ""),
                         "test.toml"),
                     {});
    const auto rows = [](std::vector<int64_t> bytes) {
        Rows found;
        for (const int64_t n : bytes) found.push_back("AR " + std::to_string(n / 4));
        return found;
    };
    CHECK(collectives_of(*dry.trace, 1, 0) == rows({41'984'000}));
    Rows second{"broadcast 21", "broadcast 3"};
    std::ranges::copy(rows({4'198'400, 29'388'800, 8'396'800}), std::back_inserter(second));
    CHECK(collectives_of(*dry.trace, 1, 1) == second);
    CHECK(collectives_of(*dry.trace, 1, 2) == rows({4'198'400, 29'388'800, 8'396'800}));
}

TEST_CASE("the hook allreduce divides the whole bucket: the same bits as the reducer's own way") {
    for (const int64_t ranks : {2, 3}) {
        const auto own = run_text(mlp_scenario(ddp(ranks, kTwoBuckets), kMomentumSgd));
        const auto hook =
            run_text(mlp_scenario(ddp(ranks, kTwoBuckets + "\nddp_hook = \"allreduce\""), kMomentumSgd));
        CHECK(same_bits(own, hook));
        CHECK(collectives_of(*own.trace, 0, 2) == collectives_of(*hook.trace, 0, 2));
    }
}

TEST_CASE("the compress hooks send half the bytes and round as their type does") {
    const auto whole = run_text(toy_scenario(ddp(2, ""), kMomentumSgd));
    for (const bool fp16 : {true, false}) {
        const auto half = run_text(toy_scenario(
            ddp(2, std::string("ddp_hook = \"") + (fp16 ? "fp16" : "bf16") + "_compress\""), kMomentumSgd));
        CHECK(sent_bytes(*half.trace, 0, 1, CollectiveOp::all_reduce) * 2 ==
              sent_bytes(*whole.trace, 0, 1, CollectiveOp::all_reduce));
        const auto rounded = [fp16](float x) {
            return fp16 ? tensor::from_float16(tensor::to_float16(x))
                        : tensor::from_bfloat16(tensor::to_bfloat16(x));
        };
        std::vector<std::vector<float>> inputs;
        for (const int32_t rank : {0, 1}) {
            // What travels uncompressed is half of the gradient: exactly, so the gradient is twice that.
            const auto halves =
                numbers_of(*whole.trace, rank, "ddp.bucket.all_reduce", trace::SnapshotKind::input);
            const auto sent =
                numbers_of(*half.trace, rank, "ddp.hook.compressed", trace::SnapshotKind::input);
            REQUIRE(halves.size() == 165);
            REQUIRE(sent.size() == 165);
            for (std::size_t i = 0; i < 165; ++i)
                REQUIRE(sent[i] == rounded(0.5F * rounded(2.0F * halves[i])));
            inputs.push_back(sent);
        }
        const auto sums = numbers_of(*half.trace, 0, "ddp.hook.compressed", trace::SnapshotKind::output);
        REQUIRE(sums.size() == 165);
        for (std::size_t i = 0; i < 165; ++i) REQUIRE(sums[i] == rounded(inputs[0][i] + inputs[1][i]));
        // A gradient is off by 2⁻⁹ of itself (bfloat16), 2⁻¹² (float16): the loss, of mean values, by less.
        for (std::size_t s = 0; s < whole.trace->info.losses.size(); ++s)
            CHECK(half.trace->info.losses[s] ==
                  Approx(whole.trace->info.losses[s]).epsilon(fp16 ? 0.001 : 0.01));
    }
}

TEST_CASE("gradients that live in their buckets save one copy of all gradients, and change no bit") {
    const auto copied = run_text(mlp_scenario(ddp(2, kTwoBuckets), kMomentumSgd, "accumulate = 2"));
    const auto views = run_text(mlp_scenario(ddp(2, kTwoBuckets + "\ngradient_as_bucket_view = true"),
                                             kMomentumSgd, "accumulate = 2"));
    CHECK(same_bits(copied, views));
    CHECK(held(*copied.trace, 0, MemoryCategory::communication).last ==
          held(*views.trace, 0, MemoryCategory::communication).last);
    // 3 · (60 + 10 + 60 + 6) parameters; as the optimizer runs, copies are there, views take nothing.
    const auto gradients_at_optimizer = [](const run::RunResult& result) {
        int64_t now = 0, at = -1;
        for (const trace::MemoryChange& change : result.trace->ranks[0].memory) {
            if (change.category == MemoryCategory::gradients) now += change.delta_bytes;
            if (change.phase == Phase::backward && change.step == 9) at = now;
        }
        return at;
    };
    CHECK(gradients_at_optimizer(copied) == 4 * 408);
    CHECK(gradients_at_optimizer(views) == 0);
}

TEST_CASE("static_graph reduces its first step behind backward and cuts buckets anew after its second") {
    const auto plain = run_text(toy_scenario(ddp(2, kTwoBuckets), kMomentumSgd));
    CHECK(collectives_of(*plain.trace, 1, 0) == Rows{"AR 165"});
    CHECK(collectives_of(*plain.trace, 1, 1) == Rows{"broadcast 5", "broadcast 2", "AR 55", "AR 110"});
    const auto fixed = run_text(toy_scenario(ddp(2, kTwoBuckets + "\nstatic_graph = true"), kMomentumSgd));
    CHECK(collectives_of(*fixed.trace, 1, 0) == Rows{"AR 4", "AR 165"});
    CHECK(collectives_of(*fixed.trace, 1, 1) == Rows{"AR 165"});
    CHECK(collectives_of(*fixed.trace, 1, 2) == Rows{"broadcast 5", "broadcast 2", "AR 55", "AR 110"});
    // The first step's bucket leaves after all of backward; without the flag as its last gradient comes.
    for (const trace::Event& event : fixed.trace->ranks[0].events)
        if (event.step == 0 && event.phase == Phase::backward && event.kind == trace::EventKind::compute &&
            fixed.trace->text(event.name) == "ddp.copy_to_bucket") {
            CHECK(std::ranges::none_of(fixed.trace->ranks[0].events, [&](const trace::Event& later) {
                return later.step == 0 && later.id > event.id &&
                       fixed.trace->text(later.name) == "linear.weight_grad";
            }));
        }
}

TEST_CASE(
    "find_unused_parameters cuts by the parameters' order, never anew, and sums a map behind the last") {
    const auto result =
        run_text(toy_scenario(ddp(2, kTwoBuckets + "\nfind_unused_parameters = true"), kMomentumSgd));
    for (const int32_t step : {0, 1, 2})
        CHECK(collectives_of(*result.trace, 0, step) == Rows{"AR 5", "AR 60", "AR 100", "AR 4"});
}

TEST_CASE("DDP trains like one rank with every flag") {
    static test::Sample sample(3);
    const std::string train = GENERATE("clip_norm = 0.5", "accumulate = 2\nclip_norm = 1.0");
    const auto alone = run_text(mlp_scenario(one_rank(), kMomentumSgd, train));
    for (const std::string keys :
         {"ddp_hook = \"allreduce\"", "gradient_as_bucket_view = true", "static_graph = true",
          "find_unused_parameters = true\ngradient_as_bucket_view = true",
          "static_graph = true\ngradient_as_bucket_view = true\nddp_hook = \"allreduce\"", "join = true",
          "join = true\ndivide_by_initial_world_size = false\nfind_unused_parameters = true"})
        for (const int64_t ranks : {2, 3}) {
            if (!sample.takes()) continue;
            INFO(keys << " on " << ranks);
            check_equal(
                run_text(mlp_scenario(ddp(ranks, "bucket_cap_mb = 0.0003\n" + keys), kMomentumSgd, train)),
                alone);
        }
}

namespace {

/// Two ranks with `batches` of four samples, of which there are four: every rank sees them all, each step.
std::string uneven(const std::string& batches, const std::string& keys, const std::string& train = "") {
    return "format = 1\n[model]\nkind = \"toy\"\nseed = 7\n[data]\nkind = \"regression\"\nsamples = 4\nseed "
           "= "
           "3\nbatches = " +
           batches + "\n[train]\nsteps = 4\nglobal_batch = 8\n" + train + "\n[optimizer]\n" + kMomentumSgd +
           "\n" + ddp(2, "join = true\n" + keys);
}

std::string alone_on_four(const std::string& optimizer) {
    return "format = 1\n[model]\nkind = \"toy\"\nseed = 7\n[data]\nkind = \"regression\"\nsamples = 4\nseed "
           "= "
           "3\n[train]\nsteps = 4\nglobal_batch = 4\n[optimizer]\n" +
           optimizer + "\n" + one_rank();
}

}  // namespace

TEST_CASE("a rank out of batches answers every collective, and receives the model in the end") {
    const auto result = run_text(uneven("[4, 1]", kTwoBuckets));
    for (const int32_t rank : {0, 1}) {
        INFO("rank " << rank);
        CHECK(collectives_of(*result.trace, rank, 0) == Rows{"AR 1", "AR 1", "AR 165"});
        CHECK(collectives_of(*result.trace, rank, 1) ==
              Rows{"AR 1", "broadcast 5", "broadcast 2", "AR 1", "AR 55", "AR 110"});
        CHECK(collectives_of(*result.trace, rank, 2) == Rows{"AR 1", "AR 1", "AR 55", "AR 110"});
        CHECK(collectives_of(*result.trace, rank, 3) ==
              Rows{"AR 1", "AR 1", "AR 55", "AR 110", "AR 1", "AR 1", "broadcast 165"});
    }
    // The one without a batch computes nothing and updates nothing.
    for (const trace::Event& event : result.trace->ranks[1].events)
        if (event.step > 0) CHECK(event.kind == trace::EventKind::collective);
}

TEST_CASE("divided by the ranks that still have batches, training goes on as theirs alone") {
    const auto alone = run_text(alone_on_four(kMomentumSgd));
    for (const std::string batches : {"[4, 4]", "[4, 2]", "[1, 4]", "[0, 4]", "[4, 0]"}) {
        INFO(batches);
        check_equal(run_text(uneven(batches, "divide_by_initial_world_size = false")), alone);
    }
}

TEST_CASE("divided by the initial world size, a gradient that one of two ranks gave counts half") {
    const std::string whole = "kind = \"sgd\"\nlr = 0.05", half = "kind = \"sgd\"\nlr = 0.025";
    std::string text = uneven("[0, 4]", "");
    text.replace(text.find(kMomentumSgd), kMomentumSgd.size(), whole);
    check_equal(run_text(text), run_text(alone_on_four(half)));
}

TEST_CASE("Join counts in every micro-batch, and gradients travel with the last") {
    const auto result = run_text(uneven("[4, 2]", "", "accumulate = 2"));
    CHECK(collectives_of(*result.trace, 1, 2) == Rows{"AR 1", "AR 1", "AR 1", "AR 1", "AR 165"});
    check_equal(run_text(uneven("[4, 2]", "divide_by_initial_world_size = false", "accumulate = 2")),
                run_text(alone_on_four(kMomentumSgd)));
}
