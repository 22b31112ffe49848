#pragma once

#include <string>

namespace meshscope::panels {

/// "replicate,shard" as Python writes it: mesh["replicate", "shard"]; "" stays "".
std::string slice_text(const std::string& names);

/// What a user may type for it — mesh["replicate", "shard"], "replicate","shard", replicate, shard — as
/// "replicate,shard".
std::string slice_names(const std::string& typed);

}  // namespace meshscope::panels
