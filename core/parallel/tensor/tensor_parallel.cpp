#include "core/parallel/tensor/tensor_parallel.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/nn/layers/attention.h"
#include "core/nn/layers/embedding.h"
#include "core/parallel/fsdp2/shard.h"
#include "core/parallel/sequence/exchange.h"
#include "core/parallel/tensor/exchange.h"
#include "core/parallel/tensor/placement.h"
#include "core/parallel/tensor/vocab_loss.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

using nn::Module;
using nn::Tape;
using nn::Variable;

constexpr std::array<std::string_view, 6> kColumnWise{"wq", "wk", "wv", "up", "gate", "net1"};
constexpr std::array<std::string_view, 3> kRowWise{"wo", "down", "net2"};
constexpr std::array<std::string_view, 2> kBlocks{"attn", "mlp"};
constexpr std::array<std::string_view, 5> kNorms{"ln1", "ln1_after", "ln2", "ln2_after", "ln_f"};
constexpr std::array<std::string_view, 2> kHeadNorms{"q_norm", "k_norm"};

template <std::size_t n>
bool one_of(const std::array<std::string_view, n>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// "wq" of "blocks.0.attn.wq".
std::string_view leaf(const Module& module) {
    const std::string_view name = module.name();
    return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

constexpr int kSequence = 1;    // the tensor dims of an activation (batch, tokens, …)
constexpr int kVocabulary = 2;  // of logits

constexpr ExchangeRules kGatherInput{"sp.gather.input", "sp.gather.input_grad"};
constexpr ExchangeRules kScatterOutput{"sp.scatter.partial_sum", "sp.scatter.output_grad"};
constexpr ExchangeRules kScatterEmbedding{"sp.embedding.scatter", "sp.embedding.scatter_grad"};

}  // namespace

TensorParallel::TensorParallel(const RankContext& context, TensorParallelOptions options)
    : context_(context), options_(options) {}

void TensorParallel::apply(nn::Model& model) {
    model_ = &model;
    for (Module* child : model.children()) visit(*child, false);
    if (options_.sequence_parallel) {
        model.stream_parts = context_.along(mesh::Role::tp)->size();
        model.stream_part = context_.along(mesh::Role::tp)->rank().value;
    }
    if (options_.sequence_parallel || options_.loss_parallel) connect_tokens(model);
}

void TensorParallel::cut(nn::Parameter& parameter, int32_t tensor_dim) {
    if (!parameter.box.cut())  // a tied weight is met twice
        cut_parameter(parameter, tensor_dim, context_.along(mesh::Role::tp)->size(),
                      context_.along(mesh::Role::tp)->rank().value);
}

void TensorParallel::sum_gradient_of(nn::Parameter& parameter) {
    if (!options_.sum_each_norm) {
        partial_.insert(&parameter);
        return;
    }
    parameter.map_grad = [&group = *context_.along(mesh::Role::tp), name = parameter.name](
                             Tape&, const Tensor& grad) {
        group.all_reduce(grad, ReduceOp::sum, {.cause = {"sp.norm_gradient.sum", name}, .async_op = false});
    };
}

nn::VariableMap TensorParallel::whole_input() const {
    comm::ProcessGroup& group = *context_.along(mesh::Role::tp);
    if (options_.sequence_parallel)
        return [&group, &model = *model_](Tape& tape, Variable x) {
            return gather_parts(tape, x, kSequence, model.tokens(), group, kGatherInput);
        };
    return [&group](Tape& tape, Variable x) { return share_input(tape, x, group); };
}

void TensorParallel::visit(Module& module, bool input_is_whole) {
    const std::string_view name = leaf(module);
    if (auto* linear = dynamic_cast<nn::Linear*>(&module)) {
        if (one_of(kColumnWise, name)) connect_column_wise(*linear, input_is_whole);
        if (one_of(kRowWise, name)) connect_row_wise(*linear);
        return;
    }
    // Each rank's gradient of a norm is that of its own tokens, or of its own heads.
    if ((options_.sequence_parallel && one_of(kNorms, name)) || one_of(kHeadNorms, name))
        for (nn::Parameter* parameter : module.own_parameters()) sum_gradient_of(*parameter);
    if (const auto* attention = dynamic_cast<nn::Attention*>(&module)) share_heads(*attention);
    const bool block = one_of(kBlocks, name) && !options_.linear_plan;
    if (block) module.map_input = whole_input();
    for (Module* child : module.children()) visit(*child, block);
}

void TensorParallel::share_heads(const nn::Attention& attention) {
    for (Module* child : attention.children()) {
        if (leaf(*child) != "wk" && leaf(*child) != "wv") continue;
        auto& linear = dynamic_cast<nn::Linear&>(*child);
        const int64_t heads = linear.weight().shape[0] / attention.form().head_dim;
        const int64_t copies = kv_copies(heads, context_.along(mesh::Role::tp)->size());
        if (copies > 1) cut_copies(linear, copies);
    }
}

void TensorParallel::cut_copies(nn::Linear& linear, int64_t copies) {
    const comm::ProcessGroup& tp = *context_.along(mesh::Role::tp);
    for (nn::Parameter* parameter : {&linear.weight(), linear.bias()}) {
        if (parameter == nullptr) continue;
        cut_parameter(*parameter, 0, tp.size(), tp.rank().value, copies);
        sum_over_copies(*parameter, copies);
    }
    cut_adapters(linear, 0, copies);
}

/// A column-wise layer's B has the rows of W's outputs that are here, a row-wise layer's A the columns of its
/// inputs. The other matrix is whole on every rank, and each has a share of its gradient: that is summed.
void TensorParallel::cut_adapters(nn::Linear& linear, int32_t tensor_dim, int64_t copies) {
    const nn::Linear::Lora* const lora = linear.lora();
    if (lora == nullptr) return;
    comm::ProcessGroup& group = *context_.along(mesh::Role::tp);
    nn::Parameter& part = tensor_dim == 0 ? lora->b->weight() : lora->a->weight();
    nn::Parameter& whole = tensor_dim == 0 ? lora->a->weight() : lora->b->weight();
    cut_parameter(part, tensor_dim, group.size(), group.rank().value, copies);
    if (copies > 1) sum_over_copies(part, copies);
    whole.map_grad = [&group, name = whole.name](Tape&, const Tensor& grad) {
        group.all_reduce(grad, ReduceOp::sum, {.cause = {"tp.lora.sum", name}, .async_op = false});
    };
}

void TensorParallel::sum_over_copies(nn::Parameter& parameter, int64_t copies) {
    parameter.map_grad = [&group = *context_.tp_parts.at(copies), name = parameter.name](Tape&,
                                                                                         const Tensor& grad) {
        group.all_reduce(grad, ReduceOp::sum, {.cause = {"tp.kv_copies.sum", name}, .async_op = false});
    };
}

void TensorParallel::connect_column_wise(nn::Linear& linear, bool input_is_whole) {
    if (!linear.weight().box.cut()) cut_adapters(linear, 0, 1);
    cut(linear.weight(), 0);  // unless share_heads() did
    if (linear.bias()) cut(*linear.bias(), 0);
    if (!input_is_whole) linear.map_input = whole_input();
}

void TensorParallel::connect_row_wise(nn::Linear& linear) {
    comm::ProcessGroup& group = *context_.along(mesh::Role::tp);
    cut_adapters(linear, 1, 1);
    cut(linear.weight(), 1);
    linear.bias_after_map_output = true;  // once, not once a rank
    if (!options_.sequence_parallel) {
        linear.map_output = [&group](Tape& tape, Variable x) { return sum_partial(tape, x, group); };
        return;
    }
    linear.map_output = [&group](Tape& tape, Variable x) {
        return scatter_sum(tape, x, kSequence, group, kScatterOutput);
    };
    if (linear.bias()) sum_gradient_of(*linear.bias());
}

void TensorParallel::connect_tokens(nn::Model& model) {
    // A pipeline's stage has one of them, or neither.
    if (auto* head = dynamic_cast<nn::Linear*>(model.find("head"))) connect_head(model, *head);
    if (auto* tok = dynamic_cast<nn::Embedding*>(model.find("tok"))) connect_embedding(model, *tok);
}

void TensorParallel::connect_head(nn::Model& model, nn::Linear& head) {
    comm::ProcessGroup& group = *context_.along(mesh::Role::tp);
    cut(head.weight(), 0);
    head.map_input = whole_input();
    if (options_.loss_parallel)
        model.own_criterion = [&group, &head, &model, eager = options_.eager_loss](
                                  Tape& tape, Variable logits, const Tensor& targets) {
            if (eager) return eager_vocab_cross_entropy(tape, logits, targets, group);
            const nn::Box& box = head.weight().box;
            return vocab_cross_entropy(tape, logits, targets, box.first, box.whole.at(0), group,
                                       model.loss_form);
        };
    else
        head.map_output = [&group, &head](Tape& tape, Variable x) {
            return gather_for_all(tape, x, kVocabulary, head.weight().box.whole.at(0), group,
                                  "tp.logits.gather");
        };
}

void TensorParallel::connect_embedding(nn::Model& model, nn::Embedding& tok) {
    comm::ProcessGroup& group = *context_.along(mesh::Role::tp);
    if (model.tied() != nullptr) cut(tok.weight(), 0);  // as the head is, on whatever stage
    if (options_.sequence_parallel) {
        cut(tok.weight(), 0);
        tok.map_output = [&group](Tape& tape, Variable x) {
            return scatter_sum(tape, x, kSequence, group, kScatterEmbedding);
        };
        if (Module* pos = model.find("pos")) {
            // Rank r's rows of the table are the positions of its own tokens: nothing has to travel.
            // PyTorch's plan looks all of them up on every rank and reduce-scatters.
            cut(*pos->own_parameters().at(0), 0);
            pos->map_input = [&group](Tape& tape, Variable x) {
                const Tensor& places = tape.value(x);
                const RowCut own{places.n_elements(), group.size()};
                const int64_t rank = group.rank().value;
                return tape.input(places.narrow(own.first_row(rank), own.rows_of(rank)));
            };
        }
    } else if (tok.weight().box.cut()) {  // tied to the head
        tok.map_output = [&group](Tape& tape, Variable x) {
            return sum_partial(tape, x, group, "tp.embedding.partial_sum");
        };
    }
}

void TensorParallel::sum_partial_gradients(std::span<const Tensor> gradients,
                                           std::span<const LocalParameter> parameters) {
    std::vector<Tensor> shares;
    int64_t n = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (!partial_.contains(parameters[i].parameter) || !gradients[i].defined()) continue;
        shares.push_back(gradients[i].flat());
        n += gradients[i].n_elements();
    }
    if (n == 0) return;
    const Tensor flat = context_.allocator->empty({n}, shares.front().dtype(), MemoryCategory::communication,
                                                  "gradients of the norms");
    const auto copy = [&](bool in) {
        const ComputeEvent event(context_.recorder, *context_.allocator, in ? "sp.copy_in" : "sp.copy_out",
                                 "norms");
        int64_t at = 0;
        for (const Tensor& share : shares) {
            const Tensor place = flat.slice(at, share.n_elements());
            event->copy(in ? place : share, in ? share : place);
            at += share.n_elements();
        }
    };
    copy(true);
    context_.along(mesh::Role::tp)
        ->all_reduce(flat, ReduceOp::sum, {.cause = {"sp.norm_gradients.sum", "norms"}, .async_op = false});
    copy(false);
}

}  // namespace meshscope::parallel
