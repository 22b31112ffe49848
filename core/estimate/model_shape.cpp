#include "core/estimate/model_shape.h"

#include "core/nn/model/counts.h"

namespace meshscope::estimate {

std::optional<Shape> shape_of(const nn::ModelSpec& model) {
    if (model.kind != "gpt" && model.kind != "llama") return std::nullopt;
    Shape shape;
    shape.gated = model.kind == "llama";
    shape.layers = model.layers;
    shape.dim = model.dim;
    shape.hidden = model.hidden;
    shape.heads = model.heads;
    shape.kv_heads = model.kind == "llama" ? model.kv_heads : model.heads;
    shape.head_dim = model.head_width();
    shape.vocab = model.vocab;
    shape.seq = model.seq;
    shape.tied = model.tied;
    shape.bias = model.kind == "gpt" && model.block_bias;
    shape.learned_positions = model.kind == "gpt";
    shape.block_extra = nn::count_parameters(model).each_layer - block_parameters(shape);
    return shape;
}

}  // namespace meshscope::estimate
