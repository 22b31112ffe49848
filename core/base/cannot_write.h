#pragma once

#include <string>

#include "core/base/error.h"

namespace meshscope {

/// Why a file could not be written, from errno: "file.too_large" {path, limit, reason} where the limit of
/// files' size (ulimit -f) stopped it, "file.too_many_open" {path, limit, reason} where that of open files
/// did (ulimit -n), else "file.cannot_write" {path, reason}. Every `reason` stands alone, the limit in it.
Message cannot_write(const std::string& path, int error);

}  // namespace meshscope
