#pragma once

namespace meshscope::window {

/// Refuses to draw where a limit of addresses (ulimit -v) leaves too few for it: drivers that draw on the
/// processor, and LLVM, which they compile with, end the program where they can map nothing. Throws
/// DeviceError "window.no_room" {need, option, free}. Cost: some system calls.
void require_drawing_room();

}  // namespace meshscope::window
