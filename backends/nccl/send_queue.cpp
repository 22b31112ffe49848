#include "backends/nccl/send_queue.h"

#include <bit>
#include <utility>

#include "backends/nccl/nccl_calls.h"
#include "core/base/start_thread.h"

namespace meshscope::backends::nccl {
namespace {

/// The queue's end was asked for while its thread waited: nobody's failure.
struct Stopped {};

constexpr std::chrono::milliseconds kLook{2};
constexpr int64_t kSmallestSlot = 4096;

}  // namespace

SendQueue::SendQueue(const Library& library, RankDevice& device, const MeshscopeNcclId& id, Timeouts timeouts,
                     Doing doing, Failed failed)
    : library_(library),
      device_(device),
      id_(id),
      timeouts_(timeouts),
      doing_(std::move(doing)),
      failed_(std::move(failed)),
      thread_(start_thread([this] { serve(); })) {}

SendQueue::~SendQueue() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    for (const auto& slot : slots_) device_.free(slot->memory);
}

void SendQueue::throw_if_stopped() const {
    const std::lock_guard lock(mutex_);
    if (stop_) throw Stopped();
}

void SendQueue::check() const {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
}

SendQueue::Slot& SendQueue::free_slot(int64_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        for (const auto& slot : slots_)
            if (!slot->busy && slot->bytes >= bytes) {
                slot->busy = true;
                return *slot;
            }
    }
    auto slot = std::make_unique<Slot>();
    slot->bytes = std::max(kSmallestSlot, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes))));
    slot->memory = device_.allocate(slot->bytes);
    slot->busy = true;
    const std::lock_guard lock(mutex_);
    slots_.push_back(std::move(slot));
    return *slots_.back();
}

void SendQueue::push(DType dtype, const std::byte* data, int64_t elements) {
    check();
    Slot& slot = free_slot(elements * bytes_per_element(dtype));
    device_.settle();
    device_.copy(slot.memory, data, elements * bytes_per_element(dtype));
    MeshscopeNcclCall call = make_call(MESHSCOPE_NCCL_SEND, dtype, elements);
    call.in = slot.memory;
    call.peer = 1;
    {
        const std::lock_guard lock(mutex_);
        messages_.push_back({&slot, call});
    }
    changed_.notify_all();
}

template <class Done>
void SendQueue::wait(const Communicator::Interrupted& interrupted, const Done& done) {
    std::unique_lock lock(mutex_);
    while (!done() && !error_) {
        changed_.wait_for(lock, kLook);
        lock.unlock();
        if (interrupted) interrupted();
        lock.lock();
    }
    if (error_) std::rethrow_exception(error_);
}

void SendQueue::settle(const Communicator::Interrupted& interrupted) {
    wait(interrupted, [this] { return messages_.empty(); });
}

void SendQueue::begin_close() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
}

void SendQueue::join(const Communicator::Interrupted& interrupted) {
    wait(interrupted, [this] { return over_; });
    if (thread_.joinable()) thread_.join();
}

void SendQueue::serve() noexcept {
    try {
        send_all();
    } catch (const Stopped&) {
    } catch (...) {
        {
            const std::lock_guard lock(mutex_);
            error_ = std::current_exception();
        }
        failed_();
    }
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
}

void SendQueue::send_all() {
    const auto stopped = [this] { throw_if_stopped(); };
    Communicator comm(library_, id_, 2, 0, device_.ordinal(), doing_);
    comm.wait(timeouts_.connect, doing_, stopped);
    while (true) {
        Message message{};
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stop_ || closing_ || !messages_.empty(); });
            if (stop_) return;
            if (messages_.empty()) break;
            message = messages_.front();
        }
        Slot& slot = *message.slot;
        if (!slot.entered) slot.buffer = comm.enter_buffer(slot.memory, slot.bytes);
        slot.entered = true;
        comm.begin({&message.call, 1}, doing_);
        comm.wait(timeouts_.operation, doing_, stopped);
        {
            const std::lock_guard lock(mutex_);
            slot.busy = false;
            messages_.pop_front();
        }
        changed_.notify_all();
    }
    for (const auto& slot : slots_) comm.leave_buffer(slot->buffer);
    comm.close(timeouts_.connect, doing_, stopped);
}

}  // namespace meshscope::backends::nccl
