#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backends/threads/thread_table.h"
#include "backends/threads/thread_world_state.h"
#include "core/comm/transport.h"

namespace meshscope::backends::threads {

/// A rank's transport among threads: a message is a pointer to the sender's buffer. See comm::Transport for
/// what each call does and throws; costs here are without the waiting.
class ThreadTransport final : public comm::Transport, public comm::SharedTables, public comm::FaultActs {
  public:
    ThreadTransport(ThreadWorldState& world, int32_t rank);

    comm::Abilities abilities() override {
        return {.shares_memory = true,
                .one_thread_a_rank = world_.stepper() != nullptr,
                .tables = this,
                .faults = this};
    }

    /// Cost: one compare-and-swap; a system call more when the receiver sleeps.
    Ticket post(GlobalRank dst, comm::Channel channel, Bytes data) override;
    /// Copies nothing: all senders' buffers are held at once.
    void receive_together(std::span<const comm::Expected> messages, comm::Channel channel,
                          const ConsumeTogether& consume) override;
    void wait(Ticket ticket) override;
    bool done(Ticket ticket) override;
    void withdraw() noexcept override;
    void give_up() noexcept override;
    [[noreturn]] void die() override;
    [[noreturn]] void stall() override;
    comm::SharedTable* table(comm::Channel channel, std::span<const GlobalRank> ranks) override;

    /// Throws what the world was aborted with, after taking everything back.
    void check_aborted();
    /// The peer ended and what is waited for will not come; what aborted the world goes first.
    [[noreturn]] void throw_finished(int32_t peer, comm::Channel channel);

  private:
    void note(comm::CallMoment moment, const comm::IssuedCall* call) override {
        world_.note(rank_, moment, call);
    }

    /// Messages of one sender on one channel that were taken from the inbox and not yet received.
    struct Queue {
        comm::Channel channel;
        std::deque<Message*> messages;
    };

    /// In a stepped world: lets other ranks come first.
    void step(comm::NextStep::What what, int32_t peer, comm::Channel channel, int64_t bytes);
    void empty_inbox();
    Queue& queue_of(int32_t src, comm::Channel channel);
    /// The next message of src, still posted, in its queue's front; waits for it.
    Message& await_message(int32_t src, comm::Channel channel);
    /// Throws "comm.size_mismatch", and lets the sender know, when the message has another size.
    void check_size(Message& message, int64_t bytes);
    /// Takes the front message for reading; null when its sender took it back meanwhile.
    Message* claim(int32_t src, comm::Channel channel);
    void release(Message& message);
    Message& message_of(Ticket ticket);

    ThreadWorldState& world_;
    int32_t rank_;
    RankSlot& slot_;
    std::vector<std::vector<Queue>> queues_;  ///< by sender; a handful of channels each
    std::vector<std::size_t> free_;           ///< messages of the pool that can be used again
    std::vector<std::unique_ptr<ThreadTable>> tables_;
};

}  // namespace meshscope::backends::threads
