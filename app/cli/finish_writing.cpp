#include "app/cli/finish_writing.h"

#include <csignal>

namespace meshscope::cli {

void finish_writing(launch::Writer& writer, const CommandContext& context) {
    if (writer.finish([&] { return context.stop_signal() != 0; })) return;
    std::signal(context.stop_signal(), SIG_DFL);
    std::raise(context.stop_signal());
}

}  // namespace meshscope::cli
