#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/jobs/yaml.h"

namespace meshscope::jobs {

/// The most bytes of a job's file: a configuration that torchtitan saved lists every layer.
inline constexpr int64_t kMostJobBytes = int64_t{8} << 20;

/// Whose file it is.
enum class Format : uint8_t {
    megatron,    ///< Megatron-LM's arguments: a recipe of its tests (YAML), or a command line
    nemo,        ///< NeMo's recipe in the same frame
    deepspeed,   ///< a DeepSpeed configuration (JSON)
    accelerate,  ///< Hugging Face accelerate's configuration (YAML)
    torchtitan,  ///< torchtitan's saved configuration (JSON), or the TOML of its versions before 2026
    model        ///< a Hugging Face config.json
};

/// A job's file: its values as one tree, whatever language they were written in.
struct Document {
    std::string file;  ///< as given
    Format format = Format::megatron;
    nlohmann::json root;       ///< of Megatron's the table "--key": value
    std::vector<Twice> twice;  ///< keys with two values, of which `root` has the last
};

/// Reads a file of a job and finds out whose it is, by what stands in it. Whole numbers that are written as
/// fractions (2e8) are whole. Throws InputError: "jobs.too_large" {most}, "jobs.not_json", "jobs.unknown",
/// "jobs.empty", and what parse_yaml(), parse_toml() and parse_command_line() throw; IoError.
Document read_document(const std::string& path);

}  // namespace meshscope::jobs
