#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/mesh/answer.h"

namespace meshscope::mesh {

/// Reads questions as Python writes them, one behind the other, ";" or a line's end between:
///
///     mesh["dp", "cp"]._flatten("dp_cp"); mesh["dp_cp", "tp"]
///     mesh._unflatten("dp", (2, 4), ("replicate", "shard"))["shard"]
///     DeviceMesh._concatenate([mesh["tp"], mesh["dp"]])
///     mesh["dp"].get_local_rank(); mesh.size(0); mesh.shape
///     dp, tp
///
/// The last is short for mesh["dp", "tp"]. Quotes around names may be missing; a bare number in a mesh's
/// brackets is a number, as in Python, and so refused when the question is answered. Nothing but blanks gives
/// no question. Throws InvalidArgument ("mesh.question.unreadable", "mesh.question.ends_early",
/// "mesh.question.too_deep") for anything else: no part of a text is passed over. O(text).
std::vector<Question> parse_questions(std::string_view text);

}  // namespace meshscope::mesh
