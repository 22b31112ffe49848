#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"

namespace meshscope::panels {

/// "replicate,shard" as Python writes it: mesh["replicate", "shard"]; "" and other questions stay as they
/// are.
std::string slice_text(const std::string& slice);

/// What was typed into the mesh's box, read.
struct TypedSlice {
    std::string slice;             ///< what the view is to show
    std::optional<Message> error;  ///< why it cannot be read; then there is no slice
};

/// A plain slice, however it is written (mesh["replicate", "shard"], "replicate","shard", replicate, shard),
/// as "replicate,shard"; any other question that mesh::parse_questions() reads as it was typed.
TypedSlice read_slice(const std::string& typed);

/// The slice with one dim of the mesh more, or less where it has it, in the mesh's order: PyTorch refuses any
/// other. `names` are the mesh's; a dim without a name changes nothing. Both slices as read_slice() gives
/// them; of a question that is no plain slice nothing is kept.
std::string toggled_slice(const std::string& slice, const std::vector<std::string>& names, int64_t dim);

}  // namespace meshscope::panels
