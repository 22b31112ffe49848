#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/nccl/communicator.h"
#include "backends/nccl/rank_device.h"
#include "core/base/kinds.h"

namespace meshscope::backends::nccl {

/// What one rank sends to one other: a communicator of the two, used in this direction only, and a thread
/// that sends what was laid down, in order. So a send that does not wait (isend) ends as soon as its numbers
/// were copied; one that waits ends when ncclSend has. (PyTorch, too, makes a communicator for each pair that
/// sends.)
///
/// Copies lie in device memory that is used again and that NCCL knows of (ncclCommRegister), so that it can
/// be sent from without another copy.
class SendQueue {
  public:
    /// Called on the queue's thread when sending failed, after check() throws why.
    using Failed = std::function<void()>;

    /// `id` is also given to the receiver, who makes its side as rank 1 of 2.
    SendQueue(const Library& library, RankDevice& device, const MeshscopeNcclId& id, Timeouts timeouts,
              Doing doing, Failed failed);
    /// Ends at once; what is under way is aborted.
    ~SendQueue();
    SendQueue(const SendQueue&) = delete;
    SendQueue& operator=(const SendQueue&) = delete;

    /// Lays down a copy of `elements` numbers and returns. Throws what made an earlier send fail.
    void push(DType dtype, const std::byte* data, int64_t elements);
    /// Returns when all was received. Throws what made a send fail, and what `interrupted` throws.
    void settle(const Communicator::Interrupted& interrupted);
    /// Lets the thread close the communicator in order, when all was sent. Does not wait for it.
    void begin_close();
    /// Waits for that; throws what made it fail, and what `interrupted` throws.
    void join(const Communicator::Interrupted& interrupted);
    /// Throws what made a send fail, if one did.
    void check() const;

  private:
    struct Slot {
        std::byte* memory = nullptr;
        int64_t bytes = 0;
        bool busy = false, entered = false;
        MeshscopeNcclBuffer* buffer = nullptr;
    };
    struct Message {
        Slot* slot;
        MeshscopeNcclCall call;
    };

    /// Until `done`, asked under the lock, or an error.
    template <class Done>
    void wait(const Communicator::Interrupted& interrupted, const Done& done);
    void serve() noexcept;
    void send_all();
    Slot& free_slot(int64_t bytes);
    void throw_if_stopped() const;

    Library library_;
    RankDevice& device_;
    MeshscopeNcclId id_;
    Timeouts timeouts_;
    Doing doing_;
    Failed failed_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Message> messages_;  ///< not yet received
    std::vector<std::unique_ptr<Slot>> slots_;
    bool closing_ = false, stop_ = false;
    bool over_ = false;  ///< the thread does nothing more
    std::exception_ptr error_;
    std::thread thread_;
};

}  // namespace meshscope::backends::nccl
