#pragma once

#include <string>

namespace meshscope::gui {

/// Makes the folder that an output of the command line goes to, where it is not there: only the folder
/// itself, as a slip of the pen shall not make a tree. Throws IoError ("window.no_folder",
/// "file.cannot_write").
void make_out_folder(const std::string& name);

}  // namespace meshscope::gui
