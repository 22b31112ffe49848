#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/message.h"
#include "core/run/checkpoint/layout.h"

namespace meshscope::run::checkpoint {

/// The file that makes a folder a checkpoint: written last, so a folder without it is unfinished.
inline constexpr const char* kManifestName = "manifest.json";

/// One file of a checkpoint, beside the manifest.
struct SavedFile {
    std::string name;
    int64_t bytes = 0;
    uint32_t crc32c = 0;
};

/// A box of an array and where its numbers lie.
struct SavedChunk {
    Chunk chunk;
    int32_t file = 0;  ///< in Manifest::files
    std::string key;   ///< its name in that safetensors file
};

/// An array of the training's state, in boxes that cover it exactly.
struct SavedTensor {
    std::string name;  ///< "model.net1.weight", "optim.net1.weight.exp_avg"
    Shape shape;
    std::vector<SavedChunk> chunks;  ///< empty boxes too: which rank held nothing is part of the record
};

/// What a scenario must have in common with a checkpoint that it resumes: keys and their values as text, in
/// the order they are told.
using Identity = std::vector<std::pair<std::string, std::string>>;

/// Everything a checkpoint says of itself. docs/checkpoint.md describes the file.
struct Manifest {
    std::string kind;   ///< "rank0" or "sharded"
    int32_t steps = 0;  ///< training steps done
    int32_t world_size = 1;
    std::vector<int64_t> mesh_shape;
    std::vector<std::string> mesh_names;
    std::string strategy;
    Identity identity;
    std::vector<double> losses, grad_norms;                        ///< of the steps done
    std::vector<int64_t> strategy_state;                           ///< parallel::Strategy::remembered()
    std::vector<std::pair<std::string, int64_t>> optimizer_steps;  ///< updates of each parameter
    std::vector<SavedFile> files;
    std::vector<SavedTensor> tensors;

    /// The array called `name`, or null. Cost: linear.
    const SavedTensor* find(std::string_view name) const;
};

/// The names of arrays in a checkpoint, PyTorch's (get_state_dict of torch/distributed/checkpoint).
std::string model_key(const std::string& parameter);
std::string state_key(const std::string& parameter, const std::string& state);
/// The name of an array of one of several copies: the array's own for copy 0, then "copy.1.NAME" ….
std::string copy_key(const std::string& name, int32_t copy);
/// The name of the c-th box of an array in a rank's file: the array's own for the first, then "NAME#1" ….
std::string chunk_key(const std::string& name, std::size_t c);

/// The manifest as JSON text, with a CRC-32C of its own.
std::string to_json(const Manifest& manifest);

/// Reads a manifest and believes nothing it says: checksum, types, names that stay inside the folder, boxes
/// inside their arrays and as many elements as the array has. `path` is used in messages. Throws InputError
/// ("checkpoint.manifest_damaged", "checkpoint.unknown_version", "checkpoint.bad_chunks").
Manifest parse_manifest(std::string_view text, const std::string& path);

/// An InputError of one mistake of the file `path`.
[[noreturn]] void refuse(const std::string& path, Message message, Message hint = {});

}  // namespace meshscope::run::checkpoint
