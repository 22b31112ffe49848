#include "app/launch/worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "core/base/cannot_write.h"
#include "core/base/start_thread.h"

namespace meshscope::launch {
namespace {

[[noreturn]] void cannot_start(const std::string& program, int error) {
    throw_if_limited(error);
    if (error == EMFILE) throw IoError(cannot_write(program, error));
    throw IoError(
        {"launch.cannot_start", {{"program", program}, {"reason", std::generic_category().message(error)}}});
}

/// The environment as execve wants it, with a command's changes.
std::vector<std::string> environment_of(const Command& command) {
    std::vector<std::string> all;
    const auto is = [](const std::string& entry, const std::string& variable) {
        return entry.size() > variable.size() && entry[variable.size()] == '=' && entry.starts_with(variable);
    };
    for (char** entry = environ; *entry != nullptr; ++entry) {
        bool changed = false;
        for (const auto& [variable, value] : command.environment) changed = changed || is(*entry, variable);
        if (!changed) all.emplace_back(*entry);
    }
    for (const auto& [variable, value] : command.environment)
        if (!value.empty()) all.push_back(variable + "=" + value);
    return all;
}

/// The program's file, looked for as a shell does.
std::string find(const std::string& program) {
    if (program.find('/') != std::string::npos) return program;
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string file = (folder.empty() ? "." : folder) + "/" + program;
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return program;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> all;
    for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

std::array<int, 2> make_pipe(const std::string& program) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) cannot_start(program, errno);
    return ends;
}

void kill_for_two_seconds(const std::string& variable, const std::string& value) {
    using Clock = std::chrono::steady_clock;
    const auto since = Clock::now();
    int quiet = 0;
    while (quiet < 3 && Clock::now() - since < std::chrono::seconds(2)) {
        quiet = kill_marked(variable, value) == 0 ? quiet + 1 : 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

}  // namespace

Worker start(const Command& command) {
    const std::string file = find(command.words.at(0));
    const std::vector<std::string> environment = environment_of(command);
    const std::vector<char*> argv = pointers(command.words), envp = pointers(environment);
    std::array<int, 2> out{-1, -1}, err{-1, -1};
    if (!command.own_output) out = make_pipe(file), err = make_pipe(file);
    const std::array<int, 2> told =
        make_pipe(file);  // closed by a successful exec; else the reason comes through
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        const int reason = errno;
        for (const int end : {out[0], out[1], err[0], err[1], told[0], told[1]})
            if (end >= 0) close(end);
        cannot_start(file, reason);
    }
    if (child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);  // it died before we asked
        // Nobody types to many; and who reads a terminal from behind is stopped by it.
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        if (!command.own_output) {
            dup2(out[1], STDOUT_FILENO);
            dup2(err[1], STDERR_FILENO);
        }
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        for (const int signal :
             {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, SIGQUIT, SIGCHLD, SIGXFSZ})
            std::signal(signal, SIG_DFL);
        if (command.open_files) setrlimit(RLIMIT_NOFILE, &*command.open_files);
        execve(file.c_str(), argv.data(), envp.data());
        const int reason = errno;
        if (write(told[1], &reason, sizeof reason) < 0) _exit(126);
        _exit(127);
    }
    setpgid(child, child);
    close(told[1]);
    int reason = 0;
    const ssize_t got = read(told[0], &reason, sizeof reason);
    close(told[0]);
    if (!command.own_output) close(out[1]), close(err[1]);
    if (got > 0) {
        waitpid(child, nullptr, 0);
        if (!command.own_output) close(out[0]), close(err[0]);
        cannot_start(file, reason);
    }
    for (const int end : {out[0], err[0]})
        if (end >= 0) fcntl(end, F_SETFL, O_NONBLOCK);
    return {child, out[0], err[0], std::nullopt};
}

int exit_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void send_signal(const Worker& worker, int signal) {
    if (worker.pid > 0 && !worker.status) kill(-worker.pid, signal);
}

bool has_ended(Worker& worker) {
    int status = 0;
    if (!worker.status && waitpid(worker.pid, &status, WNOHANG) == worker.pid) worker.status = status;
    return worker.status.has_value();
}

std::vector<pid_t> marked(const std::string& variable, const std::string& value, const std::string& also) {
    const std::string mark = variable + "=" + value, second = also + "=";
    std::vector<pid_t> found;
    DIR* const folder = opendir("/proc");
    if (folder == nullptr) return found;
    while (const dirent* const entry = readdir(folder)) {
        pid_t pid = 0;
        const char* const end = entry->d_name + std::strlen(entry->d_name);
        if (std::from_chars(entry->d_name, end, pid).ptr != end || pid == getpid()) continue;
        std::ifstream file(std::string("/proc/") + entry->d_name + "/environ", std::ios::binary);
        bool has_mark = false, has_second = also.empty();
        for (std::string one; !(has_mark && has_second) && std::getline(file, one, '\0');) {
            has_mark = has_mark || one == mark;
            has_second = has_second || one.starts_with(second);
        }
        if (has_mark && has_second) found.push_back(pid);
    }
    closedir(folder);
    return found;
}

int kill_marked(const std::string& variable, const std::string& value) {
    int killed = 0;
    for (const pid_t pid : marked(variable, value)) killed += kill(pid, SIGKILL) == 0 ? 1 : 0;
    return killed;
}

Watchdog::Watchdog(std::string variable, std::string value, std::vector<std::string> folders) {
    const std::array<int, 2> ends = make_pipe("watchdog");
    pid_ = fork();
    if (pid_ < 0) cannot_start("watchdog", errno);
    if (pid_ > 0) {
        close(ends[0]);
        pipe_ = ends[1];
        return;
    }
    // The child: in a session of its own, so that what is typed at the terminal does not end it first.
    setsid();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(signal, SIG_IGN);
    close(ends[1]);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
    char word = 0;
    ssize_t got = 0;
    while ((got = read(ends[0], &word, 1)) < 0 && errno == EINTR) {
    }
    if (got == 0) {
        kill_for_two_seconds(variable, value);
        std::error_code error;
        for (const std::string& folder : folders) std::filesystem::remove_all(folder, error);
    }
    _exit(0);
}

Watchdog::~Watchdog() {
    const char all_is_well = 1;
    if (write(pipe_, &all_is_well, 1) < 0) kill(pid_, SIGKILL);
    close(pipe_);
    waitpid(pid_, nullptr, 0);
}

}  // namespace meshscope::launch
