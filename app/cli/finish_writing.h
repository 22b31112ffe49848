#pragma once

#include "app/cli/command.h"
#include "app/launch/writer.h"

namespace meshscope::cli {

/// Waits until all that a launcher had to say is read. Where this process was told to stop and nobody reads,
/// it ends here, by the signal that it got: even an orderly end of the program would wait for that reader.
void finish_writing(launch::Writer& writer, const CommandContext& context);

}  // namespace meshscope::cli
