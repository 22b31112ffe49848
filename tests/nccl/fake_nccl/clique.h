#pragma once

#include <nccl.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/nccl/fake_nccl/reduce.h"

// Communicators of the stand-in: ranks are threads of one process, memory is the host's. Each communicator
// has a thread that runs its groups of calls in order, as a stream of its own would; it meets the others at
// the clique. As with NCCL, nobody compares the calls, and who waits for a rank that does not come waits
// until it is aborted.
namespace fake_nccl {

enum class Kind {
    init,
    split,
    finalize,
    all_reduce,
    reduce,
    broadcast,
    all_gather,
    reduce_scatter,
    send,
    recv
};

struct Op {
    Kind kind = Kind::init;
    const void* in = nullptr;
    void* out = nullptr;
    size_t count = 0;
    ncclDataType_t type = ncclFloat32;
    Reduction reduction;
    int peer = -1;
    // split's
    int color = -1, key = 0;
    ncclComm* made = nullptr;
};

/// What the members of a communicator have in common.
struct Clique {
    explicit Clique(int size) : n(size) {}

    /// One meeting: everybody lays down what it brings, and looks at it when all have come.
    struct Meeting {
        std::vector<Op> brought;
        int come = 0, left = 0;
        int reading = 0;    ///< ranks that look at the others' memory just now
        bool gone = false;  ///< a rank was aborted here: its memory may go
    };
    struct Message {
        const void* data = nullptr;
        size_t bytes = 0;
        bool taken = false;
    };

    const int n;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<int64_t, Meeting> meetings;
    std::map<std::pair<int, int>, std::deque<Message*>> mail;          ///< by sender and receiver
    std::map<std::pair<int64_t, int>, std::shared_ptr<Clique>> parts;  ///< by meeting and color
};

}  // namespace fake_nccl

/// The library's own struct, opaque to callers.
struct ncclComm {
    ncclComm(std::shared_ptr<fake_nccl::Clique> members, int place);
    ~ncclComm();

    /// Hands a group of calls to the communicator's thread. The state is ncclInProgress until it has run.
    void begin(std::vector<fake_nccl::Op> group);
    /// Ends what is under way, wherever it waits.
    void abort();

    std::shared_ptr<fake_nccl::Clique> clique;
    int rank;
    std::atomic<int> state{ncclInProgress};

  private:
    class Aborted {};

    void serve();
    void run(std::vector<fake_nccl::Op>& group);
    void collective(const fake_nccl::Op& op);
    void split(const fake_nccl::Op& op);
    void send_all(std::vector<fake_nccl::Op>& group, std::deque<fake_nccl::Clique::Message>& messages);
    void receive(const fake_nccl::Op& op);
    /// Waits under the clique's lock; throws Aborted.
    template <class Ready>
    void wait(std::unique_lock<std::mutex>& lock, const Ready& ready);
    fake_nccl::Clique::Meeting& meet(std::unique_lock<std::mutex>& lock, const fake_nccl::Op& op,
                                     int64_t& number);
    void leave(int64_t number);

    std::atomic<bool> aborted_{false};
    int64_t meetings_ = 0;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::deque<std::vector<fake_nccl::Op>> groups_;
    bool stop_ = false;
    std::thread thread_;
};
