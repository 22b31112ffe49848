#pragma once

#include <optional>

#include "core/estimate/job.h"
#include "core/nn/model/spec.h"

namespace meshscope::estimate {

/// The shape of a scenario's gpt or llama, with as many parameters as nn::count_parameters() says; nothing
/// for models that are no transformers.
std::optional<Shape> shape_of(const nn::ModelSpec& model);

}  // namespace meshscope::estimate
