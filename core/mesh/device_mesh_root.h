#pragma once

// Internal to core/mesh: what a mesh and all its views share.

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/mesh/device_mesh.h"

namespace meshscope::mesh {

struct DeviceMesh::Root {
    int64_t size = 0;  ///< ranks in the rank map
    int64_t world_size = 0;
    std::vector<int64_t> table;                   ///< the rank map; empty for 0 … size-1, which needs none
    std::unordered_map<int64_t, int64_t> places;  ///< its inverse
    std::vector<Layout> layouts;
    Names names;

    /// What flatten() made of this mesh, in the order made: name → layout.
    mutable std::mutex mutex;
    mutable std::vector<std::pair<std::string, Layout>> flattened;

    int64_t rank_at(int64_t position) const {
        return table.empty() ? position : table[static_cast<size_t>(position)];
    }
    std::optional<int64_t> position_of(int64_t rank) const {
        if (table.empty()) return rank >= 0 && rank < size ? std::optional(rank) : std::nullopt;
        const auto found = places.find(rank);
        return found == places.end() ? std::nullopt : std::optional(found->second);
    }
};

/// The exception PyTorch raises in the same place: its type and its text (which may be empty, as an
/// assertion's is).
struct PyTorchError {
    std::string type;
    std::string text;
};

/// Throws InvalidArgument with the message's arguments and, last, `pytorch_error` and `pytorch_text`.
[[noreturn]] void refuse(const char* id, std::vector<MessageArg> args, PyTorchError pytorch);

/// PyTorch's repr of a mesh with these dims.
std::string repr_text(const Names& names, const std::vector<Layout>& layouts);

/// PyTorch's check that no rank stands twice under these dims.
void check_no_overlap(const std::vector<Layout>& layouts);

}  // namespace meshscope::mesh
