#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/mesh/answer.h"

namespace meshscope::cli {

/// The most ranks that a world has.
inline constexpr int64_t kLargestWorld = std::numeric_limits<int32_t>::max();
/// So many ranks or more: no number holds how many.
inline constexpr int64_t kUncounted = std::numeric_limits<int64_t>::max();

/// The words of the command `mesh`, as typed.
struct MeshWords {
    std::string shape;
    std::string names;
    std::string ranks;
    std::optional<int64_t> world;
    std::optional<int64_t> rank;
    std::vector<std::string> slices, flatten, unflatten, concatenate;
    bool json = false;
};

/// The same, read.
struct MeshRequest {
    mesh::Shape shape;
    mesh::Names names;
    std::optional<std::vector<int64_t>> ranks;
    int64_t world = 0;  ///< without --world: as many as the mesh and the listed ranks need, of which a world
                        ///< may have fewer
    std::optional<int64_t> rank;
    std::vector<mesh::Question> slices, flatten, unflatten, concatenate;
    bool json = false;
};

/// Throws UsageError for words that cannot be read: "2,x", an --unflatten without "=" or ":", a rank beyond
/// the world.
MeshRequest read_request(const MeshWords& words);

/// "a,b" → {"a", "b"}; "" → {}.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace meshscope::cli
