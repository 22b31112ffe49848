#include "core/estimate/block.h"

#include <algorithm>

namespace meshscope::estimate {
namespace {

/// Of attention's time, what the ring's sends can use.
constexpr double kBesideAttention = 0.8;

/// What a flash kernel reaches of the speed of matrix products, forward and backward: FlashAttention 2's
/// paper and release notes (A100; about half of it on H100, whose tensor cores it does not feed), cuDNN's for
/// both.
struct FlashShares {
    double forward, backward;
};

FlashShares flash_shares(AttentionKernel kernel, bool hopper, int64_t head_dim) {
    FlashShares shares{};
    switch (kernel) {
        case AttentionKernel::unfused:
            break;
        case AttentionKernel::flash_1:
            shares = hopper ? FlashShares{0.38, 0.30} : FlashShares{0.55, 0.45};
            break;
        case AttentionKernel::flash_2:
            shares = hopper ? FlashShares{0.58, 0.50} : FlashShares{0.79, 0.66};
            break;
        case AttentionKernel::cudnn:
            shares = hopper ? FlashShares{0.91, 0.76} : FlashShares{0.79, 0.66};
            break;
    }
    if (head_dim < 128) shares = {shares.forward * 0.8, shares.backward * 0.8};
    return shares;
}

/// Sizes on one rank, as the formulas need them.
struct BlockSizes {
    double tokens, own_tokens;  ///< in products; between them, where sequence parallelism cuts them
    double dim, hidden, q, kv;  ///< the last three on one tp rank
    double heads, batch, seq_keys, seq_queries;

    explicit BlockSizes(const Job& job) {
        const Shape& s = job.shape;
        const auto tp = static_cast<double>(job.layout.tp);
        tokens = static_cast<double>(job.tokens());
        own_tokens = job.layout.sequence_parallel ? tokens / tp : tokens;
        dim = static_cast<double>(s.dim);
        hidden = static_cast<double>(s.hidden) / tp;
        q = static_cast<double>(s.heads * s.head_dim) / tp;
        kv = static_cast<double>(s.kv_heads * s.head_dim) / std::min(tp, static_cast<double>(s.kv_heads));
        heads = static_cast<double>(s.heads) / tp;
        batch = static_cast<double>(job.micro_batch);
        seq_keys = static_cast<double>(s.seq);
        seq_queries = seq_keys / static_cast<double>(job.layout.cp);
    }
};

class Block {
  public:
    explicit Block(const Job& job)
        : job_(job), eager_(!traits(job.stack).fused_kernels && !job.compiled), sizes_(job) {}

    std::vector<Operation> operations() {
        const BlockSizes& s = sizes_;
        norm("norm_1");
        linear("qkv", s.q + 2 * s.kv, s.dim);
        if (job_.shape.gated) elementwise("rotary", 2 * kComputeBytes * s.tokens * (s.q + s.kv), 0);
        attention();
        linear("out", s.dim, s.q);
        residual("residual_1");
        norm("norm_2");
        feed_forward();
        residual("residual_2");
        return std::move(made_);
    }

  private:
    Operation& add(std::string_view name) {
        Operation& made = made_.emplace_back();
        made.name = name;
        return made;
    }

    /// Its input is what the operation before it made and keeps. Weights of 4 bits are read and written
    /// again in 16 ahead of each product.
    void linear(std::string_view name, double out, double in) {
        Operation& made = add(name);
        made.product = {.m = sizes_.tokens, .n = out, .k = in, .batch = 1};
        if (job_.base_bits < 16)
            made.bytes = made.backward_bytes = out * in * (matrix_bytes(job_) + kComputeBytes);
    }
    void elementwise(std::string_view name, double bytes, double kept) {
        Operation& made = add(name);
        made.bytes = bytes;
        made.backward_bytes = 1.7 * bytes;
        made.kept_bytes = kept;
    }

    /// Keeps what it reads and what it makes, the next product's input.
    void norm(std::string_view name) {
        const double x = kComputeBytes * sizes_.own_tokens * sizes_.dim;
        elementwise(name, (eager_ ? 8 : 3) * x, 2 * x);
    }
    void residual(std::string_view name) {
        const double x = kComputeBytes * sizes_.own_tokens * sizes_.dim;
        const double mask = job_.shape.dropout ? x / kComputeBytes : 0;  // a byte an element
        elementwise(name, (job_.shape.gated ? 3 : 4.5) * x, mask);
    }

    void attention() {
        const BlockSizes& s = sizes_;
        // Queries, keys and values; the output, which is the next product's input.
        double kept = kComputeBytes * s.tokens * (s.q + 2 * s.kv) + kComputeBytes * s.tokens * s.q;
        // Under context parallelism the parts' output is kept beside the whole.
        if (job_.layout.cp > 1) kept += kComputeBytes * s.tokens * s.q;
        const auto head_dim = static_cast<double>(job_.shape.head_dim);
        if (traits(job_.stack).attention != AttentionKernel::unfused) {
            Operation& flash = add("attention");
            flash.flash_flops = 2 * s.tokens * s.seq_keys * head_dim * s.heads;  // causal: half of 4
            flash.kept_bytes = kept + 4 * s.tokens * s.heads;                    // a float32 a row
            return;
        }
        const double batch = s.batch * s.heads, scores = batch * s.seq_queries * s.seq_keys;
        Operation& products = add("scores");
        products.product = {.m = s.seq_queries, .n = s.seq_keys, .k = head_dim, .batch = batch};
        products.weights = false;
        products.kept_bytes = kept;
        products.scores = true;
        Operation& softmax = add("softmax");
        softmax.bytes = scores * 9;  // scale, mask and softmax in one kernel, dropout in another
        softmax.backward_bytes = scores * 11;
        softmax.kept_bytes = scores * 5;  // what softmax made, what dropout made of it, a mask of bytes
        softmax.scores = true;
        Operation& values = add("values");
        values.product = {.m = s.seq_queries, .n = head_dim, .k = s.seq_keys, .batch = batch};
        values.weights = false;
        values.scores = true;
    }

    void feed_forward() {
        const BlockSizes& s = sizes_;
        const double x = kComputeBytes * s.tokens * s.hidden;
        if (job_.shape.gated) {
            linear("gate_up", 2 * s.hidden, s.dim);
            elementwise("swiglu", (eager_ ? 5 : 3) * x, (eager_ ? 4 : 3) * x);
        } else {
            linear("up", s.hidden, s.dim);
            elementwise("gelu", 2 * x, 2 * x);
        }
        linear("down", s.dim, s.hidden);
    }

    const Job& job_;
    bool eager_;
    BlockSizes sizes_;
    std::vector<Operation> made_;
};

struct Times {
    double forward_s = 0, input_grad_s = 0, weight_grad_s = 0;
};

Times times_of(const Operation& operation, const Job& job, const Machine& machine) {
    Times made;
    if (const Operation::Product& p = operation.product; p.m > 0) {
        made.forward_s += machine.product_s(p.m, p.n, p.k, p.batch);
        made.input_grad_s += machine.product_s(p.m, p.k, p.n, p.batch);
        const bool frozen =
            operation.weights && job.lora_rank > 0;  // adapters' products are too small to count
        if (!frozen)
            (operation.weights ? made.weight_grad_s : made.input_grad_s) +=
                machine.product_s(p.n, p.k, p.m, p.batch);
    }
    if (operation.flash_flops > 0) {
        const FlashShares shares =
            flash_shares(traits(job.stack).attention, machine.hopper(), job.shape.head_dim);
        made.forward_s += machine.attention_s(operation.flash_flops, shares.forward);
        made.input_grad_s += machine.attention_s(2.5 * operation.flash_flops, shares.backward);
    }
    if (operation.bytes > 0) made.forward_s += machine.elementwise_s(operation.bytes);
    if (operation.backward_bytes > 0) made.input_grad_s += machine.elementwise_s(operation.backward_bytes);
    return made;
}

/// Whether Recompute::products keeps it: attention, and every second linear layer.
bool stays(const Operation& operation, int& linears) {
    if (operation.flash_flops > 0) return true;
    return operation.product.m > 0 && operation.weights && linears++ % 2 == 0;
}

/// What runs again in backward.
void recompute(const Job& job, const std::vector<Operation>& operations, const std::vector<Times>& times,
               Cost& cost) {
    int linears = 0;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        bool again = false;
        switch (job.recompute) {
            case Recompute::none:
                break;
            case Recompute::attention:
                again = operations[i].scores;
                break;
            case Recompute::products:
                again = !stays(operations[i], linears);
                break;
            case Recompute::every_second:
            case Recompute::full:
                again = true;
                break;
        }
        if (again) cost.again_s += times[i].forward_s;
    }
    if (job.recompute == Recompute::every_second) cost.again_s /= 2;
    if (job.recompute == Recompute::full) {
        cost.tensor_backward_s += cost.tensor_forward_s;
        cost.hidden_backward_s += cost.hidden_forward_s;
    }
}

/// tp: an all_reduce behind attention and behind the feed-forward part, and two in backward; cut in two by
/// sequence parallelism, which gathers once more for the weights' gradients. cp: keys and values travel the
/// ring while attention computes.
void add_collectives(const Job& job, const Machine& machine, const Times& attention, Cost& cost) {
    const BlockSizes s(job);
    const Layout& l = job.layout;
    if (l.tp > 1) {
        const double one = machine.gather_s(kComputeBytes * s.tokens * s.dim, l.tp, 1);
        const double seen = job.overlap_tensor && l.sequence_parallel ? 0.3 : 1;
        const double backward = l.sequence_parallel ? 5 : 4;
        cost.tensor_forward_s += seen * 4 * one;
        cost.tensor_backward_s += seen * backward * one;
        cost.hidden_forward_s += (1 - seen) * 4 * one;
        cost.hidden_backward_s += (1 - seen) * backward * one;
    }
    if (l.cp > 1) {
        const double keys = 2 * kComputeBytes * s.tokens * s.kv * static_cast<double>(l.cp - 1);
        const double ring = machine.send_s(keys, l.tp * l.cp - 1);
        // Each part's output is added to the sum in float32.
        const double merge = machine.elementwise_s(10 * s.tokens * s.q * static_cast<double>(l.cp - 1));
        cost.tensor_forward_s += merge;
        cost.tensor_backward_s += merge;
        const double forward = std::min(ring, kBesideAttention * attention.forward_s),
                     backward = std::min(2 * ring, kBesideAttention * attention.input_grad_s);
        cost.hidden_forward_s += forward;
        cost.hidden_backward_s += backward;
        cost.tensor_forward_s += ring - forward;
        cost.tensor_backward_s += 2 * ring - backward;
    }
}

/// Where the host cannot keep up, it is the host's time that passes.
void host_bound(const Job& job, Cost& cost) {
    const StackTraits& stack = traits(job.stack);
    const double ops = job.compiled ? 14 : static_cast<double>(stack.ops_per_block);
    const double forward = ops * stack.host_us_per_op * 1e-6;
    const double host = forward * (job.recompute == Recompute::full ? 3.5 : 2.5);
    const double waits = host - cost.all_s();
    if (waits <= 0) return;
    cost.forward_s += waits / 3;
    cost.input_grad_s += waits / 3;
    cost.weight_grad_s += waits / 3;
}

}  // namespace

std::vector<Operation> block_operations(const Job& job) {
    return Block(job).operations();
}

double block_kept_bytes(const Job& job) {
    const std::vector<Operation> operations = block_operations(job);
    double all = 0, without_scores = 0, attention = 0;
    for (const Operation& each : operations) {
        all += each.kept_bytes;
        if (!each.scores || each.product.m > 0) without_scores += each.kept_bytes;
        if (each.flash_flops > 0) attention += each.kept_bytes;
    }
    const BlockSizes s(job);
    const double input = kComputeBytes * s.own_tokens * s.dim;
    switch (job.recompute) {
        case Recompute::none:
            return all;
        case Recompute::attention:
            return without_scores;
        case Recompute::every_second:
            return (all + input) / 2;
        case Recompute::products:  // qkv's output is attention's input; of the others the feed-forward part's
                                   // first one
            return std::min(all, input + attention + kComputeBytes * s.tokens * s.hidden);
        case Recompute::full:
            return input;
    }
    return all;
}

Cost block_cost(const Job& job, const Machine& machine) {
    const std::vector<Operation> operations = block_operations(job);
    std::vector<Times> times;
    Times attention;
    Cost cost;
    for (const Operation& each : operations) {
        const Times& took = times.emplace_back(times_of(each, job, machine));
        cost.forward_s += took.forward_s;
        cost.input_grad_s += took.input_grad_s;
        cost.weight_grad_s += took.weight_grad_s;
        if (each.flash_flops > 0 || each.scores) {
            attention.forward_s += took.forward_s;
            attention.input_grad_s += took.input_grad_s;
        }
    }
    add_collectives(job, machine, attention, cost);
    recompute(job, operations, times, cost);
    host_bound(job, cost);
    return cost;
}

int64_t padded_vocab(const Job& job) {
    if (!traits(job.stack).pads_vocab) return job.shape.vocab;
    const int64_t multiple = 128 * job.layout.tp;
    return (job.shape.vocab + multiple - 1) / multiple * multiple;
}

Cost head_cost(const Job& job, const Machine& machine) {
    const BlockSizes s(job);
    const double vocab = static_cast<double>(padded_vocab(job)) / static_cast<double>(job.layout.tp);
    const double logits = s.tokens * vocab;
    const bool eager = !traits(job.stack).fused_kernels && !job.compiled;
    Cost cost;
    cost.forward_s =
        machine.product_s(s.tokens, vocab, s.dim) + machine.elementwise_s(logits * (eager ? 22 : 10));
    cost.input_grad_s =
        machine.product_s(s.tokens, s.dim, vocab) + machine.elementwise_s(logits * (eager ? 22 : 10));
    if (job.lora_rank == 0) cost.weight_grad_s = machine.product_s(vocab, s.dim, s.tokens);
    if (job.layout.tp > 1) {
        const double one = machine.gather_s(kComputeBytes * s.tokens * s.dim, job.layout.tp, 1);
        cost.tensor_forward_s = one;
        cost.tensor_backward_s = 2 * one;
    }
    return cost;
}

}  // namespace meshscope::estimate
