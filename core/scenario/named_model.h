#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/nn/model/spec.h"

namespace meshscope::scenario {

/// A model by a name that a user gives: a Hugging Face configuration, "hf:config.json", or a scenario's
/// [model], "scenario.toml", without its LoRA and what [train] freezes.
struct NamedModel {
    nn::ModelSpec spec;
    std::string type;                      ///< of a configuration its model_type, else the kind
    std::string dtype;                     ///< of a configuration's weights; "" where nothing says
    std::optional<int64_t> most_tokens{};  ///< the positions that a configuration states
};

/// Whether a name has one of these two forms; nothing is opened.
bool names_model(const std::string& name);

/// A scenario's model as any other would train it: without LoRA, and nothing frozen.
nn::ModelSpec architecture_of(nn::ModelSpec spec);

/// Throws InvalidArgument "cli.model.bad_name" {name} for another name, "cli.model.no_model" {path} for a
/// scenario of plain calls, and what reading the file throws.
NamedModel named_model(const std::string& name);

/// The table [model] that reads back as the same model, without weights, seed and LoRA.
std::string model_text(const nn::ModelSpec& spec);

}  // namespace meshscope::scenario
