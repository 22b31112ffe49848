#include "tests/cli/program.h"
#include "tests/patience.h"
#include "tests/tree.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

namespace program {
namespace {

int exit_code_of(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string program_file() {
    return meshscope::test::bin_folder() + "/meshscope";
}

}  // namespace

void become(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
    const std::string exe = program_file();
    std::vector<char*> arguments{const_cast<char*>(exe.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    setenv("LC_ALL", "C", 1);
    // What scripts/web makes meshscope.html of stands for it: it has the same place for a record.
    setenv("MESHSCOPE_PAGE", (meshscope::test::source_root() + "/app/web/page.html").c_str(), 1);
    for (const std::string& entry : environment) {
        const std::size_t equals = entry.find('=');
        setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
    }
    execv(exe.c_str(), arguments.data());
    _exit(127);
}

bool await_handler(pid_t child, int signal) {
    const std::filesystem::path process = "/proc/" + std::to_string(child),
                                program = std::filesystem::canonical(program_file());
    const auto until = std::chrono::steady_clock::now() + meshscope::test::kGuard;
    while (std::chrono::steady_clock::now() < until) {
        const std::string status = content(process / "status"), caught = "SigCgt:";
        const std::size_t at = status.find(caught);
        if (at == std::string::npos || status.find("State:\tZ") != std::string::npos)
            return false;  // it has ended
        const uint64_t signals = std::strtoull(status.c_str() + at + caught.size(), nullptr, 16);
        // Before it becomes the program it is a copy of this one, whose handlers it has.
        std::error_code failed;
        if (((signals >> (signal - 1)) & 1) &&
            std::filesystem::read_symlink(process / "exe", failed) == program)
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

Ended run(const std::vector<std::string>& words, const How& how) {
    const Folder folder;
    const std::string out = how.out_file.empty() ? folder.file("out") : how.out_file,
                      err = folder.file("err");
    const pid_t child = fork();
    if (child == 0) {
        const int in = open(how.in_file.c_str(), O_RDONLY);
        const int out_file = open(out.c_str(), O_WRONLY | O_CREAT, 0600),
                  err_file = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
        if (in >= 0) dup2(in, 0);
        dup2(out_file, 1);
        dup2(err_file, 2);
        if (how.in_file.empty()) close(0);
        if (!how.folder.empty() && chdir(how.folder.c_str()) != 0) _exit(126);
        if (how.prepare) how.prepare();
        become(words, how.environment);
    }
    if (how.interrupt_after_ms > 0) {
        await_handler(child, SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(how.interrupt_after_ms));
        kill(child, SIGINT);
    }
    Ended ended;
    ended.exit_code = exit_code_of(child);
    if (how.out_file.empty()) ended.out = content(out);
    ended.err = content(err);
    return ended;
}

Ended run_on_terminal(const std::vector<std::string>& words, const std::string& typed) {
    int terminal = -1;
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 25;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) become(words, {"TERM=xterm"});
    Ended ended;
    // The program reads a line at a time; the terminal keeps what comes early.
    if (write(terminal, typed.data(), typed.size()) < 0) kill(child, SIGKILL);
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = read(terminal, buffer.data(), buffer.size())) > 0;)
        ended.out.append(buffer.data(), static_cast<std::size_t>(n));
    ended.exit_code = exit_code_of(child);
    close(terminal);
    return ended;
}

}  // namespace program
