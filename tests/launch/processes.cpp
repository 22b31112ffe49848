#include "tests/launch/processes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/cli/program.h"
#include "tests/sanitizer.h"

namespace processes {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::string& out, const std::string& err,
             const std::vector<std::string>& environment) {
    pid_ = fork();
    if (pid_ != 0) return;
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    program::become(words, environment);
}

Child::~Child() {
    if (!ended_) wait(0);
}

void Child::send(int signal) const {
    kill(pid_, signal);
}

int Child::wait(double seconds) {
    if (ended_) return code_;
    int status = 0;
    ended_ = within(seconds, [&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
    if (!ended_) {
        kill(pid_, SIGKILL);
        waitpid(pid_, &status, 0);
        ended_ = true;
        return code_;
    }
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code_;
}

std::vector<pid_t> having(const std::map<std::string, std::string>& variables) {
    namespace fs = std::filesystem;
    std::vector<pid_t> found;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream file(entry.path() / "environ", std::ios::binary);
        std::set<std::string> has;
        for (std::string one; std::getline(file, one, '\0');) has.insert(one);
        bool all = !has.empty();
        for (const auto& [variable, value] : variables) all = all && has.contains(variable + "=" + value);
        if (all) found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
}

std::vector<std::string> mpi_backends() {
    if (meshscope::test::kThreadSanitizer) return {};
    return {"mpi-openmpi", "mpi-mpich"};
}

std::vector<std::string> sorted_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}

bool within(double seconds, const std::function<bool()>& holds) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (true) {
        if (holds()) return true;
        if (Clock::now() >= end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

}  // namespace processes
