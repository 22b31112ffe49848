#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/nn/model/spec.h"

namespace meshscope::cli {

/// A model as a command line names it: a Hugging Face configuration, "hf:config.json", or a scenario's
/// [model], "scenario.toml".
struct ModelArgument {
    nn::ModelSpec spec;
    std::string type;   ///< of a configuration its model_type, else the kind
    std::string dtype;  ///< of a configuration's weights; "" where nothing says
    std::optional<int64_t> most_tokens{};  ///< the positions that a configuration states
};

/// Throws UsageError "cli.model.bad_name" {name} for another name, InvalidArgument "cli.model.no_model"
/// {path} for a scenario of plain calls, and what reading the file throws.
ModelArgument model_argument(const std::string& name);

}  // namespace meshscope::cli
