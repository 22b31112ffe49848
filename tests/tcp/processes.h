#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/tcp/tcp_world.h"
#include "tests/folder.h"
#include "tests/patience.h"

namespace meshscope::test {

/// Ranks as real processes, forked from this one, which must have no other thread at that time. Whatever
/// happens in a test, none outlives the object.
class Processes {
  public:
    /// What a rank does; the text it returns, or the what() it throws with a "!" before it, is its outcome.
    using Body = std::function<std::string(int32_t rank)>;

    Processes(int32_t n, const Body& body);
    ~Processes();
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

    pid_t pid(int32_t rank) const { return children_[static_cast<std::size_t>(rank)].pid; }
    void signal(int32_t rank, int number) const;

    struct Ended {
        std::string outcome;  ///< "" when it said nothing
        int status = 0;       ///< as wait() gives it
        std::chrono::steady_clock::time_point when;
    };
    /// Waits for a rank; one that takes longer than `limit` is killed and has the outcome "hung".
    Ended wait(int32_t rank, std::chrono::milliseconds limit = kGuard);

  private:
    struct Child {
        pid_t pid = -1;
        int read_end = -1;
        bool reaped = false;
    };
    std::vector<Child> children_;
};

/// The options of a rank of a world of `n`, which meets in the folder.
backends::tcp::TcpOptions options_of(const Folder& folder, int32_t rank, int32_t n);

/// Tells who waits in await_mark() for the same name, whichever process it is.
void mark(const Folder& folder, const std::string& name);
void await_mark(const Folder& folder, const std::string& name);

}  // namespace meshscope::test
