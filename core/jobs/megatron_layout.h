#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace meshscope::jobs {

/// How many stages a text of --pipeline-model-parallel-layout has: "Et*2|(tt|)*5t|tmL" has 8. Nothing where
/// it is none. Source: megatron/core/transformer/pipeline_parallel_layer_layout.py.
std::optional<int64_t> stages_of_layout(std::string_view layout);

}  // namespace meshscope::jobs
