#include "core/estimate/step_memory.h"

#include <algorithm>
#include <numeric>

#include "core/estimate/block.h"
#include "core/estimate/step_time.h"

namespace meshscope::estimate {
namespace {

constexpr double kSingle = 4;

/// FSDP whose weights stay gathered from the first micro-batch on, beside their float32 shards; gradients are
/// whole until the last one.
bool kept_gathered(const Job& job) {
    return job.layout.zero == 2 && traits(job.stack).fsdp;
}

/// Two moments, and the weights that the optimizer updates where the model computes with others.
double optimizer_bytes(const Job& job) {
    // FSDP's sharded parameters are the float32 ones; they stand under weights.
    return job.layout.zero == 3 || kept_gathered(job) ? 2 * kSingle : 3 * kSingle;
}

/// Micro-batches, in blocks' worth of activations, that a stage keeps at once.
double blocks_in_flight(const Job& job, int64_t stage) {
    const Layout& l = job.layout;
    const double blocks = stage_blocks(job);
    if (l.pp == 1) return blocks;
    const int64_t v = l.virtual_stages;
    switch (l.order) {
        case Order::one_f_one_b:
        case Order::zero_bubble_1p:
            return blocks * static_cast<double>(std::min(job.micro_batches, l.pp - stage));
        case Order::zero_bubble_2p:
            return blocks * static_cast<double>(std::min(job.micro_batches, 2 * l.pp - 1 - stage));
        case Order::interleaved: {
            const int64_t warm_up = 2 * (l.pp - stage - 1) + (v - 1) * l.pp + 1;
            return blocks / static_cast<double>(v) *
                   static_cast<double>(std::min(job.micro_batches * v, warm_up));
        }
    }
    return blocks;
}

/// The largest weight of the block or of the head, on one rank.
struct Weights {
    double all = 0, head = 0;  ///< elements of one block's; of the head's
    explicit Weights(const Job& job)
        : all(static_cast<double>(block_parameters(job.shape)) / static_cast<double>(job.layout.tp)),
          head(static_cast<double>(padded_vocab(job) * job.shape.dim) / static_cast<double>(job.layout.tp)) {}
};

}  // namespace

double StageMemory::total() const {
    return std::accumulate(parts.begin(), parts.end(), 0.0,
                           [](double sum, const Part& part) { return sum + part.bytes; });
}

double needed_bytes(double allocated, Stack stack) {
    constexpr double kProcess = 2e9;
    return allocated * traits(stack).reserved_share + kProcess;
}

StageMemory stage_memory(const Job& job, int64_t stage) {
    const Layout& l = job.layout;
    const StackTraits& stack = traits(job.stack);
    const double own = stage_parameters(job, stage);
    const auto data =
        static_cast<double>((l.zero == 3 || kept_gathered(job) ? l.shards : l.data_ranks()) * l.cp);
    const bool last = stage == l.pp - 1;
    const Weights weights(job);
    const auto tokens = static_cast<double>(job.tokens()), dim = static_cast<double>(job.shape.dim);
    const double logits = tokens * static_cast<double>(padded_vocab(job)) / static_cast<double>(l.tp);
    const double own_tokens = l.sequence_parallel ? tokens / static_cast<double>(l.tp) : tokens;

    StageMemory made;
    made.stage = stage;
    const auto add = [&](std::string_view name, double bytes) {
        if (bytes > 0) made.parts.push_back({name, bytes});
    };
    // What stays from step to step.
    const double trained = trained_share(job) * own;
    // Frozen weights stay as they were loaded, the blocks' matrices in 4 bits where that was asked for.
    const double matrices =
        stage_blocks(job) * static_cast<double>(block_matrix_elements(job.shape)) / static_cast<double>(l.tp);
    const double frozen = matrices * matrix_bytes(job) + (own - matrices) * kComputeBytes;
    // FSDP's shards are float32 where they are trained.
    if (l.zero == 3 || kept_gathered(job))
        add("weights", (job.lora_rank == 0 ? own * kSingle : frozen + trained * kSingle) / data);
    else
        add("weights", job.lora_rank == 0 ? own * kComputeBytes : frozen + trained * kComputeBytes);
    if (job.base_bits < 16)
        add("widened", kComputeBytes * static_cast<double>(
                                           job.shape.dim *
                                           std::max(job.shape.hidden, job.shape.heads * job.shape.head_dim)));
    if (kept_gathered(job)) add("gathered", own * kComputeBytes);
    add("gradients", trained * (l.zero == 3 ? kSingle : static_cast<double>(job.gradient_bytes)) /
                         (l.zero == 3 || (l.zero == 2 && !kept_gathered(job)) ? data : 1));
    add("optimizer", trained * optimizer_bytes(job) / (l.zero >= 1 ? data : 1));
    // What forward keeps.
    add("activations", blocks_in_flight(job, stage) * block_kept_bytes(job));
    double moment = 0;
    if (job.recompute == Recompute::full || job.recompute == Recompute::every_second) {
        Job whole = job;
        whole.recompute = Recompute::none;
        moment = block_kept_bytes(whole);
    }
    add("recomputed_block", moment);
    // FSDP holds two blocks whole: the one that computes and the one that is gathered; and a block's
    // gradients.
    if (l.zero == 3) {
        add("gathered", 2 * weights.all * matrix_bytes(job) + (last ? weights.head * kComputeBytes : 0));
        add("unreduced_gradients",
            (job.lora_rank == 0 ? std::max(weights.all, weights.head) : trained_share(job) * weights.all) *
                (kComputeBytes + static_cast<double>(job.gradient_bytes)) / 2);
    }
    // The last stage: what the last norm keeps, the logits and their gradient.
    if (last) {
        add("last_norm", 2 * kComputeBytes * own_tokens * dim);
        // Transformer Engine's loss writes the gradient over the logits; others keep a float32 copy beside
        // them.
        const bool in_place = stack.workspace_per_weight && job.fused_weight_grad;
        add("logits", logits * (in_place                                ? kComputeBytes
                                : !stack.fused_kernels && !job.compiled ? kComputeBytes + 2 * kSingle
                                                                        : kComputeBytes + kSingle));
        if (in_place) add("head_workspace", weights.head * kComputeBytes);
    }
    if (stack.workspace_per_weight && job.fused_weight_grad)
        add("weight_workspaces", weights.all * kComputeBytes);
    // What is gathered from tp ranks for a product, its gradient, and the sum that is sent.
    add("buffers", 3 * kComputeBytes * tokens * dim);
    return made;
}

StageMemory peak_memory(const Job& job) {
    StageMemory largest = stage_memory(job, 0);
    // Between the first and the last stage lie no others of another kind: they keep less, and less is theirs.
    if (job.layout.pp > 1) {
        StageMemory last = stage_memory(job, job.layout.pp - 1);
        if (last.total() > largest.total()) largest = std::move(last);
    }
    return largest;
}

}  // namespace meshscope::estimate
