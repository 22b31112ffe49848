#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/comm/calling_group.h"
#include "core/comm/device_queues.h"
#include "core/comm/process_group.h"
#include "core/comm/transport.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

class StreamExecutor;

/// What Work and the executor share of one collective. Its rank's thread makes it and drops it; the running
/// thread sees it between submit and `ended`.
struct Work::State {
    /// What runs it: call.group, which is kept alive there. Null: `work` is all there is to do.
    const CallingGroup* group = nullptr;
    std::function<void()> work;
    IssuedCall call;                   ///< whose turn it will be
    std::shared_ptr<const void> kept;  ///< what runs it beside its group (RecordedGroup::kept); goes with it
    std::array<Tensor, 2> tensors;     ///< kept alive; let go by the rank's thread (see StreamExecutor)
    trace::Recorder* recorder = nullptr;
    int32_t event = -1;
    /// Null once there is nothing more to ask: it was awaited, and a message received.
    StreamExecutor* executor = nullptr;
    int64_t sent = -1;     ///< the number of the copy that it sent; written before `ended`
    int64_t position = 0;  ///< in the order of issue
    // Where there are queues: what the collective begins after, and its own end (written before `ended`).
    DeviceQueues::Mark issued_at = DeviceQueues::kNothing;
    DeviceQueues::Mark ended_at = DeviceQueues::kNothing;
    std::exception_ptr error;  ///< written before `ended`
    std::atomic<bool> ended{false};
};

/// Runs one rank's collectives in the order they were issued, one at a time. The transport is used by the
/// running thread only.
///
/// After a failure nothing more is run: that and every later collective deliver the same error, from
/// Work::wait and from finish().
///
/// Over a transport with queues (queues_of) a collective has "run" when all of it stands on its stream's
/// queue; so the streams overlap with each other and with what the rank computes. Whoever waits for it lets
/// what it computes from then on begin after it, and after all that was issued before it: their tensors are
/// let go too.
///
/// Memory: a collective's tensors are let go on the rank's thread, in wait() for it or for a later one, or in
/// finish(): never at a moment that depends on how fast the running thread was, so the memory record is the
/// same in every run. (PyTorch, too, stashes tensors until wait().)
class StreamExecutor {
  public:
    enum class Mode {
        inline_in_wait,  ///< the rank's own thread runs what is due inside Work::wait and finish()
        helper_thread    ///< a second thread a rank runs it while the rank computes
    };
    /// helper_thread when each of the ranks on this machine can have two cores; waiting for a core costs more
    /// than overlap gains.
    static Mode choose_mode(int32_t ranks_here, int32_t cores);

    /// Both live longer than the executor. Where the transport is for one thread a rank it runs inline,
    /// whatever `mode` says.
    StreamExecutor(Transport& transport, Mode mode);
    /// As stop().
    ~StreamExecutor();
    StreamExecutor(const StreamExecutor&) = delete;
    StreamExecutor& operator=(const StreamExecutor&) = delete;

    /// Enters `state` in the order of issue. Rank's thread. Cost: under 1 µs, no waiting.
    Work submit(std::shared_ptr<Work::State> state);
    /// Returns when all has run and every sent message was received; rethrows the first error. Rank's thread,
    /// at the rank's end. May be called again after further collectives.
    void finish();

    /// Ends the helper: after it nothing runs any more, and the recorder can be read. If collectives were
    /// still to be run (the rank is unwinding, or forgot finish()) the rank gives up and the world is
    /// aborted: peers must not wait for what will never come. May be called again.
    void stop() noexcept;

    Transport& transport() { return transport_; }
    /// The transport's; null where tensors lie in the host's memory.
    DeviceQueues* queues() const { return queues_; }
    Mode mode() const { return mode_; }

    /// Runs `work` on the running thread when everything that was issued before has run, and returns when it
    /// has. No collective of the training: it is not recorded, and no tensor is let go for it. Rethrows what
    /// it threw. Rank's thread.
    void run_in_turn(std::function<void()> work);

    /// For collectives, on the running thread: sends a copy of `data`, so that `call` ends at once. The copy
    /// is let go once it was received; who waits for that says that it is `call`'s.
    void post_copy(const IssuedCall& call, GlobalRank dst, Channel channel, std::span<const std::byte> data);

  private:
    friend class Work;
    struct Sent {
        static constexpr Transport::Ticket kReceived = -1;
        Transport::Ticket ticket;
        std::vector<std::byte> data;
        std::byte* on_device = nullptr;  ///< in its place where the tensors lie there
        IssuedCall call;                 ///< whose it is
    };

    /// Returns when everything up to `position` has run.
    void reach(int64_t position);
    /// The same, and lets go of what that held.
    void await(int64_t position);
    /// Returns when what `state` sent was received; all that was issued has run then. `state` was awaited.
    void await_receipt(const std::shared_ptr<Work::State>& state);
    void run_one(Work::State& state);
    void begin(Work::State& state);
    /// It failed, but a part of it may stand on its queue: its tensors are not let go before that is done.
    void end_early(Work::State& state) noexcept;
    void serve();
    void wait_for_sent(Sent& sent);
    /// Waits until `sent` was received, and gives its memory back in the queue that waited: another queue
    /// would not know of it, and the receiver's could still be reading.
    void take_receipt(Sent& sent);
    void drop_received();
    void drop_first_sent();
    void let_go(int64_t up_to);
    void forget_receipts();

    Transport& transport_;
    DeviceQueues* queues_;
    Mode mode_;

    // The rank's thread's.
    std::deque<std::shared_ptr<Work::State>> states_;       ///< those not yet let go, in order
    std::vector<std::shared_ptr<Work::State>> unreceived_;  ///< let go, but of their receipt somebody may ask
    int64_t next_position_ = 0;

    // The running thread's.
    std::exception_ptr failure_;
    std::deque<Sent> sent_;
    int64_t n_dropped_ = 0;  ///< copies that were sent before those

    // Between the two.
    std::atomic<int64_t> n_ended_{0};
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::condition_variable has_ended_;
    std::deque<Work::State*> queue_;
    bool stop_ = false;
    std::thread helper_;
};

}  // namespace meshscope::comm
