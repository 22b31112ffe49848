// gpt and llama for fifty steps: whatever the strategy, and whatever goes together with it, training is the
// same training.
#include <cmath>

#include "tests/parallel/train_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;

namespace {

/// A small model of tokens, fifty steps of 8 samples; `rest` holds [mesh] and [parallel]. With an eps that
/// is not below every gradient Adam's steps do not make rounding errors large, fifty times over.
std::string tokens(const std::string& model, const std::string& rest, const std::string& train = "") {
    return "format = 1\n[record]\nlevel = \"collectives\"\n[model]\n" + model +
           "dim = 16\nhidden = 24\nvocab = 12\nseq = 4\nheads = 4\nseed = 3\n"
           "[data]\nseed = 4\nsamples = 40\n[train]\nsteps = 50\nglobal_batch = 8\nclip_norm = 1.0\n" +
           train + "[optimizer]\nkind = \"adamw\"\nlr = 0.003\neps = 1e-4\n" + rest;
}

const std::string kTwo = "layers = 2\n", kFour = "layers = 4\n", kTied = "kind = \"gpt\"\ntied = true\n",
                  kGpt = "kind = \"gpt\"\n", kLlama = "kind = \"llama\"\nkv_heads = 2\n";

std::string on(const std::string& shape, const std::string& names, const std::string& data,
               const std::string& keys = "") {
    return "[mesh]\nshape = [" + shape + "]\nnames = [" + names + "]\n[parallel]\ndata = \"" + data + "\"\n" +
           keys;
}

std::string scheduled(const std::string& kind, int microbatches = 4) {
    return "schedule = \"" + kind + "\"\nmicrobatches = " + std::to_string(microbatches) + "\n";
}

const std::string kSmallBuckets = "bucket_cap_mb = 0.002\n", kSequence = "sequence_parallel = true\n",
                  kLoss = "loss_parallel = true\n";

/// One strategy over the batch.
const std::vector<std::string> kData{
    on("2", "\"replicate\"", "ddp", kSmallBuckets),
    on("4", "\"shard\"", "fsdp2"),
    on("4", "\"shard\"", "fsdp2", "reshard_after_forward = false\n"),
    on("2, 2", "\"replicate\", \"shard\"", "fsdp2"),
    on("4", "\"shard\"", "fsdp1"),
    on("2", "\"shard\"", "fsdp1", "sharding_strategy = \"shard_grad_op\"\nforward_prefetch = true\n"),
    on("2", "\"shard\"", "fsdp1", "sharding_strategy = \"no_shard\"\n"),
    on("2, 2", "\"replicate\", \"shard\"", "fsdp1", "sharding_strategy = \"hybrid_shard\"\n"),
    on("4", "\"shard\"", "zero1", kSmallBuckets),
    on("2", "\"shard\"", "zero1", kSmallBuckets + "zero_variant = \"pytorch\"\n"),
    on("4", "\"shard\"", "zero2", kSmallBuckets),
    on("4", "\"shard\"", "zero3")};

/// Layers cut, alone and under each strategy over the batch.
const std::vector<std::string> kTensor{
    on("2", "\"tp\"", "none"),
    on("2", "\"tp\"", "none", kSequence + kLoss),
    on("2, 2", "\"replicate\", \"tp\"", "ddp", kSmallBuckets + kLoss),
    on("2, 2", "\"shard\", \"tp\"", "fsdp2", kSequence),
    on("2, 2", "\"shard\", \"tp\"", "fsdp1", kSequence + kLoss),
    on("2, 2", "\"shard\", \"tp\"", "zero1", kSmallBuckets),
    on("2, 2", "\"shard\", \"tp\"", "zero1", "zero_variant = \"pytorch\"\n" + kSequence),
    on("2, 2", "\"shard\", \"tp\"", "zero2", kSmallBuckets + kSequence),
    on("2, 2", "\"shard\", \"tp\"", "zero3", "tp_plan = \"linear\"\n"),
    on("2, 2, 2", "\"replicate\", \"shard\", \"tp\"", "fsdp2", kSequence + kLoss)};

/// Stages, alone, under each strategy that goes with them, of cut layers, and all three.
const std::vector<std::string> kPipeline{
    on("4", "\"pp\"", "none", scheduled("GPipe")),
    on("2", "\"pp\"", "none", scheduled("1F1B")),
    on("2", "\"pp\"", "none", scheduled("Interleaved1F1B")),
    on("2", "\"pp\"", "none", scheduled("LoopedBFS")),
    on("2", "\"pp\"", "none", scheduled("InterleavedZeroBubble")),
    on("2", "\"pp\"", "none", scheduled("ZBVZeroBubble")),
    on("2", "\"pp\"", "none", scheduled("DualPipeV")),
    on("2, 2", "\"pp\", \"replicate\"", "ddp", kSmallBuckets + scheduled("Interleaved1F1B")),
    on("2, 2", "\"pp\", \"shard\"", "fsdp2", scheduled("ZBVZeroBubble")),
    on("2, 2", "\"pp\", \"shard\"", "zero1", kSmallBuckets + scheduled("1F1B")),
    on("2, 2, 2", "\"replicate\", \"pp\", \"shard\"", "fsdp2", scheduled("GPipe", 2)),
    on("2, 2", "\"pp\", \"tp\"", "none", kSequence + kLoss + scheduled("InterleavedZeroBubble")),
    on("2, 2, 2", "\"pp\", \"replicate\", \"tp\"", "ddp", kSequence + scheduled("DualPipeV")),
    on("2, 2, 2", "\"pp\", \"shard\", \"tp\"", "fsdp2", kSequence + kLoss + scheduled("1F1B"))};

/// Sequences cut, each method alone, under each strategy over the flattened dims, of cut layers, in stages.
const std::vector<std::string> kContext{
    on("2", "\"cp\"", "none"),
    on("2", "\"cp\"", "none", "cp = \"alltoall\"\n"),
    on("2", "\"cp\"", "none", "cp = \"ulysses\"\n"),
    on("4", "\"cp\"", "none", "cp = \"alltoall\"\ncp_load_balance = false\n"),
    on("2, 2", "\"replicate\", \"cp\"", "ddp", kSmallBuckets),
    on("2, 2", "\"shard\", \"cp\"", "fsdp2", "cp = \"alltoall\"\n"),
    on("2, 2, 2", "\"replicate\", \"shard\", \"cp\"", "fsdp2", "cp = \"ulysses\"\n"),
    on("2, 2", "\"shard\", \"cp\"", "zero2", kSmallBuckets),
    on("2, 2", "\"cp\", \"tp\"", "none", "cp = \"alltoall\"\n" + kLoss),
    on("2, 2", "\"pp\", \"cp\"", "none", "cp = \"alltoall\"\n" + scheduled("1F1B"))};

/// The strategies' finer settings.
const std::vector<std::string> kSettings{
    on("2", "\"replicate\"", "dp"),
    on("2", "\"replicate\"", "ddp", kSmallBuckets + "gradient_as_bucket_view = true\nstatic_graph = true\n"),
    on("2", "\"replicate\"", "ddp", "find_unused_parameters = true\nalgorithm = \"halving_doubling\"\n"),
    on("4", "\"shard\"", "fsdp2", "reshard_after_forward = 2\nforward_prefetch = 1\nbackward_prefetch = 1\n"),
    on("2", "\"shard\"", "fsdp2", "cpu_offload = true\nforce_sum_reduction = true\n")};

/// Both; under the thread sanitizer, which takes fifteen times as long, llama alone.
std::vector<std::string> models(const std::string& gpt, const std::string& llama) {
    return test::kThreadSanitizer ? std::vector{llama} : std::vector{gpt, llama};
}

void check_like_one_rank(const std::string& model, const std::vector<std::string>& strategies) {
    const auto alone = run_text(tokens(model, one_rank()));
    const std::vector<double>& losses = alone.trace->info.losses;
    REQUIRE(losses.size() == 50);
    CHECK(losses.front() == Approx(std::log(12.0)).epsilon(0.2));  // knows nothing: every token is as likely
    CHECK(losses.back() < 0.85 * losses.front());
    for (const std::string& strategy : strategies) {
        INFO(model << strategy);
        check_equal(run_text(tokens(model, strategy)), alone);
    }
}

}  // namespace

TEST_CASE(
    "for fifty steps DDP, FSDP1, FSDP2, HSDP and ZeRO train gpt and llama as one rank, and they learn") {
    for (const std::string& model : models(kTied + kTwo, kLlama + kTwo)) check_like_one_rank(model, kData);
}

TEST_CASE("for fifty steps tensor, sequence and loss parallel train as one rank, under every data strategy") {
    for (const std::string& model : models(kTied + kTwo, kLlama + kTwo)) check_like_one_rank(model, kTensor);
}

TEST_CASE("for fifty steps every pipeline trains as one rank, over replicas, shards and cut layers") {
    for (const std::string& model : models(kGpt + kFour, kLlama + kFour))
        check_like_one_rank(model, kPipeline);
}

TEST_CASE("for fifty steps accumulating ranks train as one that does not") {
    for (const std::string& model : models(kTied + kTwo, kLlama + kTwo)) {
        const auto alone = run_text(tokens(model, one_rank()));
        for (const std::string& strategy :
             {on("2", "\"replicate\"", "ddp", kSmallBuckets), on("2", "\"shard\"", "fsdp2"),
              on("2", "\"shard\"", "fsdp1"), on("2", "\"shard\"", "zero2", kSmallBuckets),
              on("2, 2", "\"shard\", \"tp\"", "fsdp2", kSequence)}) {
            INFO(model << strategy);
            check_equal(run_text(tokens(model, strategy, "accumulate = 4\n")), alone);
        }
    }
}

TEST_CASE(
    "for fifty steps ring attention and Ulysses train as one rank, under every data strategy and beside "
    "cuts") {
    for (const std::string& model : models(kGpt + kTwo, kLlama + kTwo)) check_like_one_rank(model, kContext);
}

TEST_CASE("for fifty steps DataParallel and the finer settings of DDP and FSDP2 train as one rank") {
    for (const std::string& model : models(kTied + kTwo, kLlama + kTwo))
        check_like_one_rank(model, kSettings);
}

TEST_CASE("for fifty steps layers that run again in backward train as those that kept everything") {
    for (const std::string& model : models(kGpt + kTwo, kLlama + kTwo)) {
        const auto alone = run_text(tokens(model, one_rank()));
        for (const std::string& strategy :
             {on("2", "\"replicate\"", "ddp", kSmallBuckets),
              on("2, 2", "\"shard\", \"tp\"", "fsdp2", kSequence),
              on("2", "\"pp\"", "none", scheduled("1F1B")), on("2", "\"cp\"", "none", "cp = \"alltoall\"\n")})
            for (const std::string kind : {"selective", "full"}) {
                INFO(model << strategy << kind);
                check_equal(run_text(tokens(model, strategy, "recompute = \"" + kind + "\"\n")), alone);
            }
    }
}
