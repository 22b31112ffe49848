#include "tests/tcp/processes.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace meshscope::test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Processes::Processes(int32_t n, const Body& body) {
    for (int32_t rank = 0; rank < n; ++rank) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
        const pid_t pid = ::fork();
        if (pid < 0) throw std::runtime_error("no process");
        if (pid > 0) {
            ::close(ends[1]);
            children_.push_back({pid, ends[0], false});
            continue;
        }
        ::close(ends[0]);
        for (const Child& other : children_) ::close(other.read_end);
        std::string outcome;
        try {
            outcome = body(rank);
        } catch (const std::exception& error) {
            outcome = std::string("!") + error.what();
        } catch (...) {
            outcome = "!?";
        }
        [[maybe_unused]] const auto n_written = ::write(ends[1], outcome.data(), outcome.size());
        ::_exit(outcome.starts_with("!") ? 1 : 0);  // nothing of the parent's may run here again
    }
}

Processes::~Processes() {
    for (Child& child : children_) {
        if (!child.reaped) {
            ::kill(child.pid, SIGKILL);
            ::waitpid(child.pid, nullptr, 0);
        }
        ::close(child.read_end);
    }
}

void Processes::signal(int32_t rank, int number) const {
    ::kill(pid(rank), number);
}

Processes::Ended Processes::wait(int32_t rank, milliseconds limit) {
    Child& child = children_[static_cast<std::size_t>(rank)];
    Ended ended;
    const auto deadline = steady_clock::now() + limit;
    while (true) {
        pollfd file{child.read_end, POLLIN, 0};
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
        if (left <= 0 || ::poll(&file, 1, static_cast<int>(left)) == 0) {
            ::kill(child.pid, SIGKILL);
            ended.outcome = "hung";
            break;
        }
        std::array<char, 4096> text{};
        const ssize_t n = ::read(child.read_end, text.data(), text.size());
        if (n <= 0) break;
        ended.outcome.append(text.data(), static_cast<std::size_t>(n));
    }
    ended.when = steady_clock::now();
    ::waitpid(child.pid, &ended.status, 0);
    child.reaped = true;
    return ended;
}

backends::tcp::TcpOptions options_of(const Folder& folder, int32_t rank, int32_t n) {
    backends::tcp::TcpOptions options;
    options.rank = rank;
    options.world_size = n;
    options.init_method = "file://" + folder.file("meet");
    options.run_id = "processes";
    return options;
}

void mark(const Folder& folder, const std::string& name) {
    std::ofstream(folder.path / name) << 1;
}
void await_mark(const Folder& folder, const std::string& name) {
    while (!std::filesystem::exists(folder.path / name))
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace meshscope::test
