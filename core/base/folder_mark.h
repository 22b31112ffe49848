#pragma once

#include <string>

namespace meshscope {

/// The file by which a folder that this program made, and may remove again, is known.
inline constexpr const char* kFolderMark = ".meshscope";

/// Puts the mark into a folder. Throws IoError ("file.cannot_write").
void mark_folder(const std::string& folder);

/// Whether `folder` is a folder, no link to one, that bears the mark: a file of our words, or of the first of
/// them where the program was killed while it wrote.
bool is_marked_folder(const std::string& folder);

}  // namespace meshscope
