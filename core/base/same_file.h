#pragma once

#include <span>
#include <string>

namespace meshscope {

/// Whether both paths lead to one file: the same device and inode (links followed), or, where one does not
/// exist yet, the same canonical path.
bool is_same_file(const std::string& a, const std::string& b);

/// Throws InvalidArgument "file.output_is_input" {output, input} when `output` is one of the files that are
/// read, since writing it would destroy that one. Empty names and "-" are no files.
void refuse_to_overwrite(const std::string& output, std::span<const std::string> inputs);

}  // namespace meshscope
