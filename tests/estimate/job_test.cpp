// What a job is made of, what it keeps and how its time and memory follow its layout.
#include "core/estimate/job.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/estimate/block.h"
#include "core/estimate/model_shape.h"
#include "core/estimate/step_memory.h"
#include "core/estimate/step_time.h"
#include "core/nn/model/counts.h"
#include "core/run/dry.h"
#include "core/scenario/model_config.h"
#include "core/scenario/scenario.h"
#include "core/time/read_profile.h"
#include "tests/estimate/example.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::estimate;

namespace {

Machine machine(const char* profile = "h100") {
    return {time::named_profile(profile), 8};
}

double step(const Job& job, const char* profile = "h100") {
    return step_time(job, machine(profile)).total_s();
}

double part(const StageMemory& memory, std::string_view name) {
    for (const StageMemory::Part& each : memory.parts)
        if (each.name == name) return each.bytes;
    return 0;
}

}  // namespace

TEST_CASE("parameters are counted to one: Llama 3.1 8B, GPT-2, GPT-3 175B without biases") {
    CHECK(parameters(test::llama_8b().shape) == 8'030'261'248);
    const Shape gpt2{.gated = false,
                     .layers = 12,
                     .dim = 768,
                     .hidden = 3072,
                     .heads = 12,
                     .kv_heads = 12,
                     .head_dim = 64,
                     .vocab = 50257,
                     .seq = 1024,
                     .tied = true,
                     .learned_positions = true,
                     .bias = true};
    CHECK(parameters(gpt2) == 124'439'808);
}

TEST_CASE("a configuration's shape has as many parameters as the engine's own model of it") {
    int64_t seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test::golden_folder() + "/model_config")) {
        if (entry.path().extension() != ".json" || entry.path().filename() == "expected.json") continue;
        try {
            const nn::ModelSpec model = scenario::read_model_config(entry.path().string()).spec;
            INFO(entry.path());
            CHECK(parameters(*shape_of(model)) == nn::count_parameters(model).total());
            ++seen;
        } catch (const InputError&) {
            // A mixture of experts, or latent attention: no model of this version.
        }
    }
    CHECK(seen >= 5);
}

TEST_CASE("model FLOPs a token are 6·N of the products and 12·layers·width·seq") {
    const Shape& s = test::llama_8b().shape;
    const double products = 32.0 * (4096.0 * (2 * 4096 + 2 * 1024) + 3.0 * 4096 * 14336) + 128256.0 * 4096;
    CHECK(model_flops_per_token(s) == Approx(6 * products + 12.0 * 32 * 4096 * 8192));
}

TEST_CASE("a block's products are those that the engine's own code computes") {
    // The engine, run dry on two tp ranks: floating-point operations of the linear layers in forward, by
    // their events.
    const scenario::Scenario scenario = scenario::parse_scenario(R"(
format = 1
[model]
kind = "llama"
dim = 64
hidden = 192
layers = 3
heads = 8
kv_heads = 4
vocab = 128
seq = 32
[train]
steps = 1
global_batch = 4
[mesh]
shape = [2]
names = ["tp"]
[parallel]
loss_parallel = true
)",
                                                                 "s.toml");
    const run::DryResult dry = run::run_dry(scenario);
    double engine = 0;
    for (const trace::Event& event : dry.trace->ranks.front().events)
        if (event.kind == trace::EventKind::compute && event.phase == Phase::forward &&
            dry.trace->text(event.name).starts_with("linear"))
            engine += static_cast<double>(event.flops);

    Job job;
    job.shape = *shape_of(scenario.model);
    job.layout.tp = 2;
    job.micro_batch = 4;
    double estimated = 0;
    for (const Operation& each : block_operations(job))
        if (each.weights) estimated += 3 * 2 * each.product.m * each.product.n * each.product.k;
    // The head, cut by vocabulary.
    estimated += 2.0 * 4 * 32 * 64 * 128 / 2;
    CHECK(estimated == Approx(engine));
}

TEST_CASE("full recomputation keeps a block's input alone and costs a second forward") {
    Job job = test::llama_8b();
    const double kept = block_kept_bytes(job), before = step(job);
    job.recompute = Recompute::full;
    CHECK(block_kept_bytes(job) == Approx(2.0 * 16384 * 4096));
    CHECK(block_kept_bytes(job) < kept / 5);
    // A forward is a third of forward and backward.
    CHECK(step(job) > 1.2 * before);
    CHECK(step(job) < 1.4 * before);
    job.recompute = Recompute::products;
    CHECK(block_kept_bytes(job) < kept);
    CHECK(block_kept_bytes(job) > 2.0 * 16384 * 4096);
}

TEST_CASE("sequence parallelism keeps a tp-th of what lies between the products, tp a tp-th of the rest") {
    Job job = test::llama_8b();
    const double whole = block_kept_bytes(job);
    job.layout.tp = 8;
    job.layout.sequence_parallel = true;
    CHECK(block_kept_bytes(job) == Approx(whole / 8));
    job.layout.sequence_parallel = false;
    CHECK(block_kept_bytes(job) > 1.5 * whole / 8);
}

TEST_CASE("ZeRO's stages share out the state of the optimizer, then gradients and parameters") {
    Job job = test::llama_8b();
    const double n = static_cast<double>(parameters(job.shape));
    job.layout = {};
    job.layout.replicas = 8;
    const StageMemory ddp = peak_memory(job);
    CHECK(part(ddp, "weights") == Approx(2 * n).epsilon(0.001));
    CHECK(part(ddp, "gradients") == Approx(4 * n).epsilon(0.001));
    CHECK(part(ddp, "optimizer") == Approx(12 * n).epsilon(0.001));
    job.layout.zero = 1;
    CHECK(part(peak_memory(job), "optimizer") == Approx(12 * n / 8).epsilon(0.001));
    CHECK(part(peak_memory(job), "gradients") == Approx(4 * n).epsilon(0.001));
    job.layout = {};
    job.layout.shards = 8;
    job.layout.zero = 3;
    const StageMemory fsdp = peak_memory(job);
    CHECK(part(fsdp, "weights") + part(fsdp, "gradients") + part(fsdp, "optimizer") ==
          Approx(16 * n / 8).epsilon(0.001));
}

TEST_CASE(
    "LoRA keeps gradients and optimizer state of its adapters alone, and computes no gradients of frozen "
    "weights") {
    Job job = test::llama_8b();
    job.layout = {};
    const double all = step(job);
    job.lora_rank = 16;
    const double n = static_cast<double>(parameters(job.shape));
    // 16 · (in + out) of the seven matrices of a block.
    CHECK(trained_share(job) * n == Approx(32 * 16 * (8192.0 + 2 * 5120 + 8192 + 3 * 18432)));
    CHECK(part(peak_memory(job), "optimizer") == Approx(12 * trained_share(job) * n).epsilon(0.01));
    CHECK(part(peak_memory(job), "weights") == Approx(2 * n * (1 + trained_share(job))).epsilon(0.01));
    CHECK(step(job) < 0.8 * all);
}

TEST_CASE("QLoRA's frozen matrices take 4 bits and an eighth of one, and are widened for each product") {
    Job job = test::llama_8b();
    job.layout = {};
    job.lora_rank = 16;
    const double sixteen = part(peak_memory(job), "weights"), before = step(job);
    job.base_bits = 4;
    // arXiv 2305.14314: double quantisation leaves 0.127 bits a parameter for the factors.
    CHECK(8 * matrix_bytes(job) == Approx(4.127).epsilon(1e-4));
    const double matrices = 32 * (4096.0 * (2 * 4096 + 2 * 1024) + 3.0 * 4096 * 14336);
    CHECK(sixteen - part(peak_memory(job), "weights") == Approx(matrices * (2 - 4.127 / 8)).epsilon(1e-4));
    CHECK(part(peak_memory(job), "widened") == Approx(2.0 * 4096 * 14336));
    CHECK(step(job) > before);
    CHECK(step(job) < 1.3 * before);
    // Over eight ranks FSDP gathers a quarter of the bytes.
    job.layout.shards = 8;
    job.layout.zero = 3;
    const double four = part(peak_memory(job), "weights");
    CHECK(four == Approx((matrices * 4.127 / 8 + 2 * 2.0 * 128256 * 4096 + 4 * 41.9e6) / 8).epsilon(0.01));
    job.layout.tp = 2;
    CHECK(why_impossible(job)->id == "estimate.base_bits_cut");
    job.layout.tp = 1;
    job.base_bits = 8;
    CHECK(why_impossible(job)->id == "estimate.base_bits");
    job.base_bits = 4;
    job.lora_rank = 0;
    CHECK(why_impossible(job)->id == "estimate.base_bits_lora");
}

TEST_CASE(
    "a model's utilisation is its FLOPs over what the GPUs could do, frozen weights counted 4 instead of 6") {
    Job job = test::llama_8b();
    StepTime time;
    time.compute_s = 2;
    const double products = 32.0 * (4096.0 * (2 * 4096 + 2 * 1024) + 3.0 * 4096 * 14336) + 128256.0 * 4096;
    const double attention = 12.0 * 32 * 4096 * 8192, tokens = 2 * 8 * 8192;
    CHECK(model_flops_utilisation(job, time, 1e15) ==
          Approx((6 * products + attention) * tokens / (2 * 8 * 1e15)));
    job.lora_rank = 16;
    const double adapters = 32 * 16 * (8192.0 + 2 * 5120 + 8192 + 3 * 18432);
    CHECK(model_flops_utilisation(job, time, 1e15) ==
          Approx((4 * products + 6 * adapters + attention) * tokens / (2 * 8 * 1e15)));
}

TEST_CASE(
    "what is exposed of the communication and what is hidden add up to the same, however fast products are") {
    std::vector<Job> jobs(4, test::llama_8b());
    jobs[1].layout = {.replicas = 4, .shards = 8, .zero = 3};
    jobs[2].layout = {.tp = 2, .cp = 4, .replicas = 8, .zero = 1, .sequence_parallel = true};
    jobs[2].overlap_tensor = true;
    jobs[3].layout = {.replicas = 16, .shards = 1};
    jobs[3].recompute = Recompute::full;
    int less_beside_fast = 0;  // where compute is what a collective waits beside
    for (const Job& job : jobs) {
        const auto with = [&](double speed) {
            return step_time(job, Machine(time::named_profile("h100"), 8, speed));
        };
        const StepTime slow = with(0.25), now = with(1), fast = with(16);
        const double all = now.exposed_s() + now.hidden_s;
        CHECK(slow.exposed_s() + slow.hidden_s == Approx(all));
        CHECK(fast.exposed_s() + fast.hidden_s == Approx(all));
        CHECK(fast.hidden_share() <= now.hidden_share());
        CHECK(now.hidden_share() <= slow.hidden_share());
        less_beside_fast += fast.hidden_share() < slow.hidden_share() ? 1 : 0;
        CHECK(slow.hidden_share() <= 1);
    }
    CHECK(less_beside_fast >= 2);
    CHECK(StepTime{}.hidden_share() == 0);
}

TEST_CASE("a pipeline's bubble is (pp - 1) stages, divided by the virtual stages, and none in ZB-2p") {
    Job job = test::llama_8b();
    job.layout = {};
    job.layout.pp = 8;
    job.micro_batch = 1;
    job.micro_batches = 16;
    const StepTime plain = step_time(job, machine());
    // Seven stages without the head, which the slowest one has beside its blocks.
    CHECK(plain.bubble_s / (plain.compute_s / 16) > 4);
    CHECK(plain.bubble_s / (plain.compute_s / 16) < 7);
    job.layout.virtual_stages = 4;
    job.layout.order = Order::interleaved;
    CHECK(step_time(job, machine()).bubble_s == Approx(plain.bubble_s / 4));
    job.layout.virtual_stages = 1;
    job.layout.order = Order::zero_bubble_2p;
    CHECK(step_time(job, machine()).bubble_s == 0);
    job.layout.order = Order::zero_bubble_1p;
    CHECK(step_time(job, machine()).bubble_s < plain.bubble_s);
}

TEST_CASE("faster parts never make a step longer, and no part of its time is below 0") {
    for (const int64_t tp : {1, 2, 8})
        for (const int64_t pp : {1, 4})
            for (const Recompute recompute : {Recompute::none, Recompute::products, Recompute::full}) {
                Job job = test::llama_8b();
                job.layout = {};
                job.layout.tp = tp;
                job.layout.pp = pp;
                job.layout.shards = 4;
                job.layout.zero = pp == 1 ? 3 : 1;
                job.layout.sequence_parallel = tp > 1;
                job.micro_batches = 8;
                job.recompute = recompute;
                const StepTime now = step_time(job, machine());
                for (const double each :
                     {now.compute_s, now.tensor_s, now.bubble_s, now.send_s, now.data_s, now.optimizer_s})
                    CHECK(each >= 0);
                time::Profile faster = time::named_profile("h100");
                faster.bandwidth_between_bytes_per_s *= 2;
                faster.bandwidth_inside_bytes_per_s *= 2;
                faster.node_bytes_per_s *= 2;
                CHECK(step_time(job, Machine(faster, 8)).total_s() <= now.total_s());
                CHECK(step_time(job, Machine(time::named_profile("h100"), 8, 1.5)).total_s() <=
                      now.total_s());
            }
}

TEST_CASE("what cannot be trained is told by the two figures that disagree") {
    Job job = test::llama_8b();
    CHECK(!why_impossible(job));
    job.layout.tp = 3;
    CHECK(why_impossible(job)->id == "estimate.heads_tp");
    job = test::llama_8b();
    job.layout.pp = 64;
    CHECK(why_impossible(job)->id == "estimate.stages");
    job = test::llama_8b();
    job.shape.kv_heads = 5;
    CHECK(why_impossible(job)->id == "estimate.heads_kv");
    job = test::llama_8b();
    job.layout.cp = 3;
    CHECK(why_impossible(job)->id == "estimate.seq_cp");
    job.micro_batch = 0;
    CHECK(why_impossible(job)->id == "estimate.below_one");
}

TEST_CASE("a stack is found by its word") {
    CHECK(stack_words().size() == kStacks);
    for (const std::string_view each : stack_words()) CHECK(traits(*parse_stack(each)).word == each);
    CHECK(!parse_stack("megatron"));
}
