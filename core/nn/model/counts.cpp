#include "core/nn/model/counts.h"

#include <memory>
#include <vector>

#include "core/nn/model.h"

namespace meshscope::nn {
namespace {

int64_t elements(const std::vector<Parameter*>& parameters) {
    int64_t n = 0;
    for (const Parameter* const parameter : parameters) n += tensor::count(parameter->shape);
    return n;
}

/// Pairs of a query and a key that it sees, of one head, over a sequence.
double pairs_of(int64_t tokens, int64_t window) {
    tensor::AttentionShape shape;
    shape.q_tokens = shape.k_tokens = tokens;
    shape.window = window;
    return static_cast<double>(shape.pairs());
}

}  // namespace

ParameterCounts count_parameters(const ModelSpec& spec) {
    ParameterCounts counts;
    ModelSpec one = spec;
    const bool toy = spec.kind == "toy";
    if (!toy) one.layers = 1;
    const std::unique_ptr<Model> model = make_model(one);
    counts.embedding = elements(model->embed_parameters());
    counts.each_layer = elements(model->layer_parameters(0));
    counts.layers =
        toy ? counts.each_layer + elements(model->layer_parameters(1)) : counts.each_layer * spec.layers;
    if (Module* const norm = model->find("ln_f")) counts.final_norm = elements(norm->parameters());
    if (!spec.tied) counts.head = elements(model->head_parameters()) - counts.final_norm;
    return counts;
}

TokenCost cost_of_token(const ModelSpec& spec, int64_t tokens) {
    const auto dim = static_cast<double>(spec.dim), hidden = static_cast<double>(spec.hidden);
    const auto q = static_cast<double>(spec.query_width()), kv = static_cast<double>(spec.kv_width());
    const double mlp = (spec.kind == "llama" ? 3 : 2) * dim * hidden;
    TokenCost cost;
    cost.products = 2 * (static_cast<double>(spec.layers) * (2 * dim * q + 2 * dim * kv + mlp) +
                         dim * static_cast<double>(spec.padded_vocab()));
    for (int64_t i = 0; i < spec.layers; ++i)
        cost.attention += 4 * q * pairs_of(tokens, spec.window_of(i)) / static_cast<double>(tokens);
    return cost;
}

}  // namespace meshscope::nn
