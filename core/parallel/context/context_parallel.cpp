#include "core/parallel/context/context_parallel.h"

#include <algorithm>

#include "core/nn/layers/attention.h"
#include "core/parallel/context/ulysses.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {
namespace {

bool is_balanced(const ContextParallelOptions& options) {
    return options.load_balance && options.method != ContextMethod::ulysses;
}

}  // namespace

ContextParallel::ContextParallel(const RankContext& context, int64_t tokens, ContextParallelOptions options)
    : context_(context),
      cut_(tokens, context.along(mesh::Role::cp)->size(), is_balanced(options)),
      positions_(context.allocator->empty({tokens}, DType::int64, MemoryCategory::inputs, "positions")) {
    tensor::fill_numbers<int64_t>(positions_, [&](std::span<int64_t> positions) {
        auto place = positions.begin();
        for (int64_t rank = 0; rank < cut_.ranks(); ++rank)
            place = std::ranges::copy(cut_.positions(rank), place).out;
    });
    if (options.method != ContextMethod::ulysses)
        ring_ =
            std::make_unique<RingAttention>(*context.along(mesh::Role::cp), options.method, cut_, positions_);
}

void ContextParallel::apply(nn::Model& model) const {
    const int64_t own = cut_.tokens_per_rank();
    model.positions().tokens = positions_.slice(context_.along(mesh::Role::cp)->rank().value * own, own);
    connect(model);
}

void ContextParallel::connect(nn::Module& module) const {
    if (auto* attention = dynamic_cast<nn::Attention*>(&module)) {
        if (ring_) ring_->prepare(attention->form().window);
        attention->core = [this, form = attention->form()](nn::Tape& tape, nn::Variable q, nn::Variable k,
                                                           nn::Variable v) {
            return ring_ ? (*ring_)(tape, q, k, v, form)
                         : ulysses_attention(tape, q, k, v, form, *context_.along(mesh::Role::cp));
        };
        return;
    }
    for (nn::Module* child : module.children()) connect(*child);
}

Tensor ContextParallel::own_tokens(const Tensor& rows, std::string_view label) const {
    const Tensor own = context_.allocator->empty({rows.dim(0), cut_.tokens_per_rank()}, rows.dtype(),
                                                 MemoryCategory::inputs, label);
    const ComputeEvent event(context_.recorder, *context_.allocator, "cp.cut", "batch");
    int64_t at = 0;
    for (int64_t row = 0; row < rows.dim(0); ++row)
        for (const TokenCut::Run& run : cut_.runs(context_.along(mesh::Role::cp)->rank().value)) {
            event->copy(own.slice(at, run.n), rows.slice(row * rows.dim(1) + run.first, run.n));
            at += run.n;
        }
    return own;
}

}  // namespace meshscope::parallel
