#pragma once

#include <cstdint>
#include <string>

namespace meshscope::nn {

/// What a scenario's [model] says. Fields that a kind does not use are ignored here and refused by the
/// scenario reader.
struct ModelSpec {
    std::string kind = "toy";  ///< toy, mlp
    int64_t dim = 0;           ///< mlp
    int64_t hidden = 0;        ///< mlp
    int64_t layers = 0;        ///< mlp
};

}  // namespace meshscope::nn
