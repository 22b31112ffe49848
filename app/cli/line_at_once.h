#pragma once

#include <string_view>

namespace meshscope::cli {

/// Writes one line to the open file `fd`, where that can be done at once: nobody who does not read (a full
/// pipe, a terminal that is held) is waited for. What is longer than a pipe takes in one piece (4 KiB) is
/// cut. False when nothing was written. From any thread; lines of several do not mix. SIGPIPE is
/// the caller's to ignore.
bool write_line_at_once(int fd, std::string_view text);

}  // namespace meshscope::cli
