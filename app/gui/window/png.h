#pragma once

#include <string>

#include "app/gui/window/frame_buffer.h"

namespace meshscope::window {

/// Writes a PNG as replace_file does: no half file is ever seen. Throws IoError ("file.cannot_write"). Cost:
/// about 85 ms for 1280x800.
void write_png(const std::string& path, const Image& image);

/// The file's bytes. Cost: the same.
std::string png_bytes(const Image& image);

}  // namespace meshscope::window
