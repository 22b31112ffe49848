#include "tests/launch/processes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace processes {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::string& out, const std::string& err,
             const std::vector<std::string>& environment) {
    const std::string exe = std::string(MESHSCOPE_BIN_DIR) + "/meshscope";
    std::vector<char*> arguments{const_cast<char*>(exe.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    setenv("LC_ALL", "C", 1);
    for (const std::string& entry : environment) {
        const std::size_t equals = entry.find('=');
        setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
    }
    execv(exe.c_str(), arguments.data());
    _exit(127);
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
#if defined(__SANITIZE_THREAD__)
    return {};
#else
    return {"mpi-openmpi", "mpi-mpich"};
#endif
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
