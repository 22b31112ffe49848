#pragma once

#include <memory>

#include "core/nn/model.h"

namespace meshscope::nn {

/// The models by kind, sizes checked before: what make_model() chooses from.
std::unique_ptr<Model> make_toy(const ModelSpec& spec);
std::unique_ptr<Model> make_mlp(const ModelSpec& spec);
/// gpt and llama, by spec.kind.
std::unique_ptr<Model> make_transformer(const ModelSpec& spec);

}  // namespace meshscope::nn
