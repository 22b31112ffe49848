#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meshscope::panels {

/// "replicate,shard" as Python writes it: mesh["replicate", "shard"]; "" stays "".
std::string slice_text(const std::string& names);

/// What a user may type for it — mesh["replicate", "shard"], "replicate","shard", replicate, shard — as
/// "replicate,shard".
std::string slice_names(const std::string& typed);

/// The slice with one dim of the mesh more, or less where it has it, in the mesh's order: PyTorch refuses any
/// other. `names` are the mesh's; a dim without a name changes nothing. Both slices as slice_names() writes
/// them.
std::string toggled_slice(const std::string& slice, const std::vector<std::string>& names, int64_t dim);

}  // namespace meshscope::panels
