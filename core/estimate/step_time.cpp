#include "core/estimate/step_time.h"

#include <algorithm>

#include "core/estimate/block.h"

namespace meshscope::estimate {
namespace {

/// Collectives beside compute take some of the GPU's multiprocessors and memory: FSDP's blocks run so much
/// longer.
constexpr double kContention = 1.06;
/// Of a reduction that may overlap with backward, what cannot: the last bucket.
constexpr double kLastBucket = 0.1;

/// How FSDP's collectives go beside the blocks: a block takes as long as the longer of the two.
struct Fsdp {
    double forward_s = 0, backward_s = 0, root_s = 0;  ///< a block's collectives; embedding and head's

    /// What of a block's runs beside it.
    double beside_s(double block_forward_s, double block_backward_s) const {
        return std::min(forward_s, block_forward_s) + std::min(backward_s, block_backward_s);
    }
};

Fsdp fsdp(const Job& job, const Machine& machine) {
    const Layout& l = job.layout;
    const double block = static_cast<double>(block_parameters(job.shape)) / static_cast<double>(l.tp);
    const int64_t ranks = l.shards * l.cp, stride = l.tp;
    // Frozen weights have no gradients to be reduced.
    const double reduced = trained_share(job) * static_cast<double>(job.gradient_bytes);
    Fsdp made;
    made.forward_s = machine.gather_s(block * matrix_bytes(job), ranks, stride);
    made.backward_s = made.forward_s + machine.gather_s(block * reduced, ranks, stride);
    if (l.replicas > 1)
        made.backward_s +=
            machine.all_reduce_s(block * reduced / static_cast<double>(ranks), l.replicas, stride * ranks);
    const double root = 2 * static_cast<double>(embedding_parameters(job.shape)) / static_cast<double>(l.tp);
    made.root_s = machine.gather_s(root * kComputeBytes, ranks, stride);
    if (job.lora_rank == 0) made.root_s += machine.gather_s(root * reduced, ranks, stride);
    return made;
}

double optimizer_parameters(const Job& job) {
    const Layout& l = job.layout;
    const double own = stage_parameters(job, l.pp - 1);
    const auto ranks = static_cast<double>((l.zero == 3 ? l.shards : l.data_ranks()) * l.cp);
    return trained_share(job) * (l.zero == 0 ? own : own / ranks);
}

}  // namespace

double stage_blocks(const Job& job) {
    const StackTraits& stack = traits(job.stack);
    const int64_t stages = job.layout.pp * job.layout.virtual_stages;
    if (stack.balanced_stages || stack.last_stages_light)
        return static_cast<double>(job.shape.layers) / static_cast<double>(job.layout.pp);
    return static_cast<double>((job.shape.layers + stages - 1) / stages * job.layout.virtual_stages);
}

double stage_parameters(const Job& job, int64_t stage) {
    const Layout& l = job.layout;
    const auto tp = static_cast<double>(l.tp);
    const bool first = stage == 0, last = stage == l.pp - 1;
    const double embedding = static_cast<double>(padded_vocab(job) * job.shape.dim) / tp;
    double own = stage_blocks(job) * static_cast<double>(block_parameters(job.shape)) / tp;
    if (first)
        own += embedding +
               (job.shape.learned_positions ? static_cast<double>(job.shape.seq * job.shape.dim) : 0);
    if (last && !(first && job.shape.tied)) own += embedding;
    return own;
}

double model_flops_utilisation(const Job& job, const StepTime& time, double peak_flops_per_s) {
    return model_flops_per_token(job) * job.tokens_per_step() /
           (time.total_s() * static_cast<double>(job.layout.ranks()) * peak_flops_per_s);
}

StepTime step_time(const Job& job, const Machine& machine) {
    const Layout& l = job.layout;
    const StackTraits& stack = traits(job.stack);
    const Cost block = block_cost(job, machine), head = head_cost(job, machine);
    const double blocks = stage_blocks(job);
    const auto micro_batches = static_cast<double>(job.micro_batches), pp = static_cast<double>(l.pp);
    const double parameters = stage_parameters(job, l.pp - 1);

    // A micro-batch on the slowest stage.
    double own_blocks = blocks, own_heads = 1;
    if (l.pp > 1 && stack.balanced_stages) {
        own_heads = 1 / pp;
    } else if (l.pp > 1 && stack.last_stages_light) {
        // The first and the last stage have a block less, the others more.
        const double others = (static_cast<double>(job.shape.layers) + 2) / pp;
        const bool last_is_slowest = (others - 1) * block.all_s() + head.all_s() > others * block.all_s();
        own_blocks = last_is_slowest ? others - 1 : others;
        own_heads = last_is_slowest ? 1 : 0;
    }
    double accumulate_s = 0;  // gradients are added to those of the micro-batches before, in float32
    if (!stack.fused_kernels && job.micro_batches > 1 && l.zero != 3)
        accumulate_s = machine.elementwise_s(parameters * 10);

    StepTime time;
    double compute = own_blocks * block.compute_s() + own_heads * head.compute_s() + accumulate_s;
    const double exposed = own_blocks * block.exposed_s() + own_heads * head.exposed_s();
    time.hidden_s = micro_batches * (own_blocks * block.hidden_s() + own_heads * head.hidden_s());
    if (l.zero == 3) {
        const Fsdp shards = fsdp(job, machine);
        const double forward = std::max(block.forward_s * kContention, shards.forward_s);
        const double backward = std::max(block.backward_s() * kContention, shards.backward_s);
        const double beside =
            shards.beside_s(block.forward_s * kContention, block.backward_s() * kContention);
        time.hidden_s += micro_batches * own_blocks * beside;
        time.data_s =
            micro_batches * own_blocks * (shards.forward_s + shards.backward_s - beside) + shards.root_s;
        compute = own_blocks * (forward + backward) + own_heads * head.compute_s() -
                  (time.data_s - shards.root_s) / micro_batches;
    } else if (l.data_ranks() * l.cp > 1) {
        const int64_t ranks = l.data_ranks() * l.cp;
        const double gradients = trained_share(job) * parameters * static_cast<double>(job.gradient_bytes);
        const double all =
            l.zero == 0 ? machine.all_reduce_s(gradients, ranks, l.tp)
                        : machine.gather_s(gradients, ranks, l.tp) +
                              machine.gather_s(trained_share(job) * parameters * kComputeBytes, ranks, l.tp);
        const double beside = 0.8 * (own_blocks * block.backward_s() + own_heads * head.backward_s());
        time.data_s = job.overlap_data ? std::max(all * kLastBucket, all - beside) : all;
        time.hidden_s += all - time.data_s;
    }
    time.compute_s = micro_batches * compute;
    time.recompute_s = micro_batches * own_blocks * block.again_s;
    time.tensor_s = micro_batches * exposed;

    if (l.pp > 1) {
        const auto stages = static_cast<double>(l.virtual_stages);
        const double stage = blocks * block.all_s() + (stack.balanced_stages ? own_heads * head.all_s() : 0);
        switch (l.order) {
            case Order::one_f_one_b:
            case Order::interleaved:
                time.bubble_s = (pp - 1) * stage / stages;
                break;
            case Order::zero_bubble_1p:  // forward + input gradients - weight gradients, a stage
                time.bubble_s = (pp - 1) * blocks *
                                std::max(0.0, block.forward_s + block.input_grad_s - block.weight_grad_s);
                break;
            case Order::zero_bubble_2p:
                break;
        }
        const double bytes =
            kComputeBytes * static_cast<double>(job.tokens() * job.shape.dim) / static_cast<double>(l.tp);
        const double one = machine.send_s(bytes, l.tp * l.cp * l.data_ranks());
        time.send_s = 2 * one * (pp - 1) + micro_batches * stages * one;
    }
    time.optimizer_s = machine.elementwise_s(optimizer_parameters(job) * stack.optimizer_bytes);
    time.host_s = stack.step_host_ms * 1e-3;
    return time;
}

}  // namespace meshscope::estimate
