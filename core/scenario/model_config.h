#pragma once

#include <string>
#include <string_view>

#include "core/nn/model/spec.h"

namespace meshscope::scenario {

/// What [model] kind begins with where it names a Hugging Face configuration: "hf:Llama-3.1-8B/config.json".
inline constexpr std::string_view kConfigPrefix = "hf:";

/// A Hugging Face configuration (config.json) as the engine's own model.
struct ModelConfig {
    nn::ModelSpec spec;      ///< spec.seq is the configuration's longest sequence (max_position_embeddings)
    std::string model_type;  ///< as the file has it: "qwen3"
    std::string dtype;       ///< what its weights are saved in, as the file has it; "" where it says nothing
};

/// Reads a configuration of llama, mistral, qwen2 (also Qwen2.5), qwen3, gemma, gemma3_text, phi3, olmo2 or
/// gpt2, as transformers 4 and 5 write them. What a file leaves out is as transformers has it for that
/// architecture. Throws InputError with every mistake, each with the field and what would be right: another
/// architecture ("config.unknown_type"), mixtures of experts ("config.mixture") and latent attention
/// ("config.latent") by name, missing fields, wrong types, numbers that contradict each other; IoError when
/// the file cannot be read.
ModelConfig read_model_config(const std::string& path);

}  // namespace meshscope::scenario
