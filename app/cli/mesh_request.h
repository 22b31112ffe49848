#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mesh/answer.h"

namespace meshscope::cli {

/// The most ranks that a world has.
inline constexpr int64_t kLargestWorld = std::numeric_limits<int32_t>::max();
/// So many ranks or more: no number holds how many.
inline constexpr int64_t kUncounted = std::numeric_limits<int64_t>::max();

/// The options that ask the mesh something; JSON has the answers of each under its key.
enum class RequestOption : uint8_t { slice, flatten, unflatten, concatenate, ask };

/// "slices", "flatten", "unflatten", "concatenate", "asked".
const char* json_key(RequestOption option);

/// The words of the command `mesh`, as typed.
struct MeshWords {
    std::string shape;
    std::string names;
    std::string ranks;
    std::optional<int64_t> world;
    std::optional<int64_t> rank;
    /// The requests in the order in which they stand on the command line: the option and its value.
    std::vector<std::pair<RequestOption, std::string>> requests;
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
    /// In the order asked, which counts: a slice may use a name that a flatten before it gave.
    std::vector<std::pair<RequestOption, mesh::Question>> questions;
    bool json = false;
};

/// Throws UsageError for words that cannot be read: "2,x", an --unflatten without "=" or ":", a rank beyond
/// the world; InvalidArgument for an expression that cannot (mesh::parse_questions).
MeshRequest read_request(const MeshWords& words);

/// "a,b" → {"a", "b"}; "" → {}.
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace meshscope::cli
