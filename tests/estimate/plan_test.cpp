// Which layouts fit, and in which order.
#include "core/estimate/plan.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "core/estimate/published.h"
#include "core/time/read_profile.h"
#include "tests/estimate/example.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::estimate;

namespace {

Question question(int64_t gpus, const char* gpu = "h100") {
    Question asked;
    asked.shape = test::llama_8b().shape;
    asked.gpus = gpus;
    asked.gpus_per_node = std::min<int64_t>(8, gpus);
    asked.global_batch = 2 * gpus;
    asked.profile = time::named_profile(gpu);
    asked.memory_bytes = static_cast<double>(asked.profile.memory_bytes);
    return asked;
}

}  // namespace

TEST_CASE("every layout uses all GPUs and the whole batch, and fits or not by what it needs") {
    const Question asked = question(16);
    const Plan made = plan(asked);
    CHECK(made.tried == static_cast<int64_t>(made.fitting.size() + made.too_large.size()));
    CHECK(!made.fitting.empty());
    CHECK(!made.too_large.empty());
    std::set<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int, int64_t, int64_t, int>> seen;
    for (const auto* list : {&made.fitting, &made.too_large})
        for (const Layouted& each : *list) {
            const Layout& l = each.job.layout;
            CHECK(l.ranks() == 16);
            CHECK(each.job.micro_batch * each.job.micro_batches * l.data_ranks() == 32);
            CHECK((each.needed_bytes <= asked.memory_bytes) == (list == &made.fitting));
            CHECK(!why_impossible(each.job));
            CHECK(seen.insert({l.tp, l.cp, l.pp, l.replicas, l.shards, l.zero, each.job.micro_batch,
                               l.virtual_stages, static_cast<int>(each.job.recompute)})
                      .second);
        }
    double fastest = 0;  // of those listed so far; within 1 % others come first
    for (const Layouted& each : made.fitting) {
        CHECK(each.time.total_s() > 0.98 * fastest);
        fastest = std::max(fastest, each.time.total_s());
    }
    CHECK(std::ranges::is_sorted(made.too_large, {}, &Layouted::needed_bytes));
}

TEST_CASE("of the layouts that fit, the front is what no other beats in both time and memory") {
    const Plan made = plan(question(8));
    const auto front = made.pareto();
    REQUIRE(front.size() > 1);
    for (const Layouted& each : made.fitting) {
        const bool in_front = std::ranges::find(front, &each) != front.end();
        const bool beaten = std::ranges::any_of(made.fitting, [&](const Layouted& other) {
            return other.needed_bytes < each.needed_bytes && other.time.total_s() < each.time.total_s();
        });
        if (in_front) CHECK(!beaten);
    }
}

TEST_CASE("Llama 3.1 8B on eight H100 is trained with FSDP, and does not fit under plain DDP") {
    const Plan made = plan(question(8));
    CHECK(made.fitting.front().job.layout.zero == 3);
    CHECK(made.fitting.front().job.layout.pp == 1);
    for (const Layouted& each : made.fitting) {
        CHECK((each.job.layout.zero > 0 || each.job.layout.tp * each.job.layout.pp > 1));
        // What torchtitan has: DDP, FSDP and HSDP; under a pipeline FSDP keeps its weights gathered.
        CHECK(each.job.layout.zero != 1);
        CHECK((each.job.layout.zero == 2) == (each.job.layout.pp > 1 && each.job.layout.shards > 1));
    }
}

TEST_CASE("a 7B model is trained on a card of 24 GB with LoRA, and not without") {
    Question asked = question(1, "rtx4090");
    asked.shape.seq = 2048;
    asked.shape.dim = 4096;
    asked.shape.hidden = 11008;
    asked.shape.kv_heads = 32;
    asked.shape.vocab = 32000;
    asked.global_batch = 1;
    CHECK(plan(asked).fitting.empty());
    asked.lora_rank = 16;
    const Plan lora = plan(asked);
    REQUIRE(!lora.fitting.empty());
    asked.base_bits = 4;
    const Plan qlora = plan(asked);
    CHECK(qlora.fitting.size() > lora.fitting.size());
    // torchtune's tutorial trains Llama 2 7B so in less than 10 GB, with recomputation.
    CHECK(qlora.fitting.back().memory.total() < 10e9);
    // Over several GPUs data parallelism alone cuts such weights.
    asked.gpus = asked.gpus_per_node = asked.global_batch = 4;
    for (const Layouted& each : plan(asked).fitting) {
        CHECK(each.job.layout.data_ranks() == 4);
        CHECK(!why_impossible(each.job));
    }
}

TEST_CASE("what is twice as fast saves between nothing and half of a step") {
    const Question asked = question(16);
    const Sensitivity s = sensitivity(asked, plan(asked).fitting.front().job);
    for (const double each : {s.products, s.memory, s.links, s.network}) {
        CHECK(each >= 0);
        CHECK(each <= 0.5);
    }
    CHECK(s.products > s.network);
}

TEST_CASE("a size that is asked for is tried, though a plan would not try it by itself") {
    Question asked = question(64);
    asked.stack = Stack::megatron_core;
    asked.shape.layers = 40;
    asked.only = {.tp = 4, .pp = 4, .stages = 5, .micro = 1};  // powers of 2 alone otherwise
    const Plan made = plan(asked);
    CHECK(made.tried > 0);
    for (const auto* list : {&made.fitting, &made.too_large})
        for (const Layouted& each : *list) {
            CHECK(each.job.layout.virtual_stages == 5);
            CHECK(each.job.layout.order == Order::interleaved);
        }
    asked = question(6);
    asked.only.micro = 2;
    asked.only.tp = 1;
    CHECK(plan(asked).tried > 0);
    asked = question(16);
    asked.only.tp = 16;  // over two nodes
    CHECK(plan(asked).tried > 0);
}

TEST_CASE("sizes that no layout has are refused with what is wrong with them") {
    const auto why = [](const Sizes& only, const std::function<void(Question&)>& change = {}) {
        Question asked = question(16);
        asked.only = only;
        if (change) change(asked);
        return test::thrown_id([&] { plan(asked); });
    };
    CHECK(why({.tp = 3}) == "estimate.heads_tp");
    CHECK(why({.cp = 3}) == "estimate.seq_cp");
    CHECK(why({.pp = 3}) == "plan.ranks");
    CHECK(why({.tp = 16, .cp = 2}) == "plan.ranks");
    CHECK(why({.tp = 1, .cp = 1, .pp = 1}, [](Question& q) { q.global_batch = 8; }) == "plan.batch");
    CHECK(why({.zero = 1}) == "plan.zero");  // torchtitan has none
    CHECK(why({.tp = 16, .zero = 3}) == "plan.zero");
    CHECK(why({.tp = 1, .micro = 3}) == "plan.micro");
    CHECK(why({.pp = 1, .stages = 2}) == "plan.stages_pp");
    CHECK(why({.tp = 1, .cp = 1, .pp = 4, .stages = 2}, [](Question& q) { q.global_batch = 8; }) ==
          "plan.interleaving");
    CHECK(why({.pp = 16, .stages = 3}, [](Question& q) { q.global_batch = 64; }) == "estimate.stages");
    CHECK(why({.tp = 2}, [](Question& q) { q.lora_rank = 16, q.base_bits = 4; }) == "estimate.base_bits_cut");
}

TEST_CASE("a plan and a published run of the same software are estimated alike") {
    const auto& runs = published_runs();
    const auto run = std::ranges::find(runs, "dgxc-v25.04.02-l31-70b-128g", &PublishedRun::id);
    REQUIRE(run != runs.end());
    const Layout& l = run->job.layout;
    Question asked;
    asked.shape = run->job.shape;
    asked.stack = run->job.stack;
    asked.gpus = l.ranks();
    asked.gpus_per_node = run->gpus_per_node;
    asked.global_batch = run->job.micro_batch * run->job.micro_batches * l.data_ranks();
    asked.profile = run->profile;
    asked.memory_bytes = static_cast<double>(run->profile.memory_bytes);
    asked.only = {.tp = l.tp,
                  .cp = l.cp,
                  .pp = l.pp,
                  .stages = l.virtual_stages,
                  .zero = l.zero,
                  .micro = run->job.micro_batch,
                  .recompute = run->job.recompute};
    const Plan made = plan(asked);
    REQUIRE(made.tried == 1);
    const Layouted& same = made.fitting.empty() ? made.too_large.front() : made.fitting.front();
    CHECK(same.job.overlap_tensor == run->job.overlap_tensor);
    // Gradients are reduced in 16 bits there, in 32 by a plan.
    Job reduced = same.job;
    reduced.gradient_bytes = run->job.gradient_bytes;
    reduced.compiled = run->job.compiled;
    const Machine machine(run->profile, run->gpus_per_node);
    CHECK(step_time(reduced, machine).total_s() == Approx(step_time(run->job, machine).total_s()));
    // And as a lesson tells: what NVIDIA chose comes first without being asked for.
    asked.only = {};
    const Layout chosen = plan(asked).fitting.front().job.layout;
    CHECK(std::tuple(chosen.tp, chosen.cp, chosen.pp) == std::tuple(l.tp, l.cp, l.pp));
}

TEST_CASE("a question is settled: what is left open is filled in, what has no answer is refused") {
    Question asked;
    asked.shape = test::llama_8b().shape;
    asked.shape.seq = 131072;
    asked.gpus = 4;
    asked.profile = time::named_profile("h100");
    const Question made = settled(asked, {.seq = 8192});
    CHECK(made.shape.seq == 8192);
    CHECK(made.in_node() == 4);
    CHECK(made.global_batch == 4);
    CHECK(made.memory_bytes == static_cast<double>(asked.profile.memory_bytes));
    CHECK(settled(asked, {}).shape.seq == 131072);
    CHECK(settled(asked, {.global_batch = 7, .memory_bytes = 1e9}).global_batch == 7);
    const auto refused = [&](const std::function<void(Question&)>& change, int64_t seq = 8192) {
        Question bad = asked;
        change(bad);
        return test::thrown_id([&] { settled(bad, {.seq = seq}); });
    };
    CHECK(refused([](Question& q) { q.base_bits = 8, q.lora_rank = 16; }) == "estimate.base_bits");
    CHECK(refused([](Question& q) { q.base_bits = 4; }) == "estimate.base_bits_lora");
    CHECK(refused([](Question& q) { q.only.zero = 9; }) == "estimate.size");
    CHECK(refused([](Question& q) { q.only.tp = 0; }) == "estimate.size");
    CHECK(refused([](Question& q) { q.shape.learned_positions = true; }, 131073) == "estimate.positions");
    CHECK(refused([](Question& q) { q.profile = time::classroom(); }) == "estimate.no_memory");
}

TEST_CASE("a plan that nothing can be laid out for says so") {
    Question asked = question(8);
    asked.gpus = 0;
    CHECK(test::thrown_id([&] { plan(asked); }) == "plan.nothing");
    asked = question(7);
    asked.global_batch = 3;
    asked.shape.layers = 1;
    CHECK(test::thrown_id([&] { plan(asked); }) == "plan.no_layout");
}
