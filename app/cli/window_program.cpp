#include "app/cli/window_program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ostream>
#include <system_error>
#include <thread>

#include "core/base/error.h"
#include "core/base/start_thread.h"

namespace meshscope::cli {

void run_window_program(const std::vector<std::string>& words, const std::string& format,
                        CommandContext& context) {
    const std::string program = context.program_folder + "/meshscope-app";
    if (::access(program.c_str(), X_OK) != 0) {
        context.err << "meshscope: " << context.text("export.no_window_program", {{"format", format}})
                    << '\n';
        context.exit_code = ExitCode::backend_missing;
        return;
    }
    std::vector<char*> arguments{const_cast<char*>(program.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const Polling polling(context);
    pid_t child = -1;
    if (const int refused =
            ::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ)) {
        throw_if_limited(refused);
        throw IoError(
            {"file.cannot_read", {{"path", program}, {"reason", std::generic_category().message(refused)}}});
    }
    // A signal may have reached this process alone: the other is asked to end in order by the same one, once.
    int status = 0;
    bool asked = false;
    while (::waitpid(child, &status, WNOHANG) == 0) {
        if (!asked && context.cancelled && *context.cancelled) {
            ::kill(child, context.stop_signal() != 0 ? context.stop_signal() : SIGTERM);
            asked = true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    context.exit_code =
        static_cast<ExitCode>(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace meshscope::cli
