#include "backends/threads/thread_transport.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/consume_then.h"
#include "core/comm/message_errors.h"

namespace meshscope::backends::threads {
namespace {

constexpr auto kOrder = std::memory_order_seq_cst;

CommError mismatch_error(const Message& message, int64_t expected_bytes, int32_t on_rank) {
    return comm::size_mismatch(GlobalRank{message.src}, GlobalRank{message.dst}, message.channel,
                               static_cast<int64_t>(message.data.size()), expected_bytes,
                               GlobalRank{on_rank});
}

}  // namespace

ThreadTransport::ThreadTransport(ThreadWorldState& world, int32_t rank)
    : Transport({rank}, world.world_size()),
      world_(world),
      rank_(rank),
      slot_(world.slot(rank)),
      queues_(static_cast<std::size_t>(world.world_size())) {}

void ThreadTransport::check_aborted() {
    if (!world_.aborted()) return;
    withdraw();
    world_.throw_secondary(rank_);
}

void ThreadTransport::step(comm::NextStep::What what, int32_t peer, comm::Channel channel, int64_t bytes) {
    if (world_.stepper() == nullptr || !world_.stepper()->chooses()) return;
    const comm::IssuedCall& call = slot_.calls.doing();
    world_.stepper()->step(
        {GlobalRank{rank_}, what, GlobalRank{peer}, channel, bytes, call.group ? &call : nullptr});
}

void ThreadTransport::die() {
    // What it posted can be had until nobody goes on: how much of it arrived does not depend on who was fast.
    try {
        world_.die(rank_);
    } catch (...) {
        withdraw();
        throw;
    }
}

void ThreadTransport::stall() {
    world_.stall(rank_);
}

comm::Transport::Ticket ThreadTransport::post(GlobalRank dst, comm::Channel channel, Bytes data) {
    comm::check_rank(dst, world_size());
    step(comm::NextStep::What::post, dst.value, channel, static_cast<int64_t>(data.size()));
    check_aborted();
    if (free_.empty()) {
        free_.push_back(slot_.pool.size());
        slot_.pool.emplace_back();
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    Message& message = slot_.pool[index];
    message.data = data;
    message.src = rank_;
    message.dst = dst.value;
    message.channel = channel;
    message.state.store(MessageState::posted, kOrder);
    std::atomic<Message*>& inbox = world_.slot(dst.value).inbox;
    message.next = inbox.load(kOrder);
    while (!inbox.compare_exchange_weak(message.next, &message, kOrder)) {
    }
    world_.wake(dst.value, rank_);
    return static_cast<Ticket>(index);
}

ThreadTransport::Queue& ThreadTransport::queue_of(int32_t src, comm::Channel channel) {
    std::vector<Queue>& queues = queues_[static_cast<std::size_t>(src)];
    for (Queue& queue : queues)
        if (queue.channel == channel) return queue;
    queues.push_back({channel, {}});
    return queues.back();
}

void ThreadTransport::empty_inbox() {
    if (slot_.inbox.load(kOrder) == nullptr) return;
    // The inbox is a stack; turning it over gives back the order in which each sender posted.
    Message* newest = slot_.inbox.exchange(nullptr, kOrder);
    Message* oldest = nullptr;
    while (newest != nullptr) {
        Message* below = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = below;
    }
    while (oldest != nullptr) {
        Message* const message = oldest;
        oldest = oldest->next;
        queue_of(message->src, message->channel).messages.push_back(message);
    }
}

Message& ThreadTransport::await_message(int32_t src, comm::Channel channel) {
    Message* found = nullptr;
    const auto look = [&] {
        empty_inbox();
        auto& messages = queue_of(src, channel).messages;
        while (!messages.empty() && messages.front()->state.load(kOrder) == MessageState::withdrawn)
            messages.pop_front();
        found = messages.empty() ? nullptr : messages.front();
        return found != nullptr;
    };
    // `finished` is read before the inbox: what the peer posted before it ended is still to be had.
    world_.wait_until(rank_, src, WaitKind::message, [&] {
        const bool ended = world_.aborted() || world_.slot(src).finished.load(kOrder);
        return look() || ended;
    });
    check_aborted();
    if (found == nullptr) throw_finished(src, channel);
    return *found;
}

void ThreadTransport::check_size(Message& message, int64_t bytes) {
    if (static_cast<int64_t>(message.data.size()) == bytes) return;
    message.expected_bytes = bytes;
    auto expected = MessageState::posted;
    message.state.compare_exchange_strong(expected, MessageState::mismatched, kOrder);
    const CommError error = mismatch_error(message, bytes, rank_);
    // Sender and receiver both hold a broken stream now, so the world ends here, not when this rank's body
    // does. That also wakes the sender.
    world_.fail(rank_, std::make_exception_ptr(error));
    withdraw();
    throw error;
}

Message* ThreadTransport::claim(int32_t src, comm::Channel channel) {
    auto& messages = queue_of(src, channel).messages;
    Message* const message = messages.front();
    messages.pop_front();
    auto expected = MessageState::posted;
    return message->state.compare_exchange_strong(expected, MessageState::claimed, kOrder) ? message
                                                                                           : nullptr;
}

void ThreadTransport::release(Message& message) {
    const int32_t src = message.src;
    message.state.store(MessageState::consumed, kOrder);  // from here on the message is its sender's again
    world_.wake(src, rank_);
}

void ThreadTransport::receive_together(std::span<const comm::Expected> expected, comm::Channel channel,
                                       const ConsumeTogether& consume) {
    for (const comm::Expected& each : expected) comm::check_rank(each.src, world_size());
    if (!expected.empty())
        step(comm::NextStep::What::receive, expected[0].src.value, channel, expected[0].bytes);
    check_aborted();
    // First wait until all are there, then claim all: whoever holds a claim never waits, so a failing sender
    // that waits for its buffer to be let go (withdraw) waits no longer than a reduction takes.
    for (const comm::Expected& each : expected)
        check_size(await_message(each.src.value, channel), each.bytes);
    std::vector<Message*> messages;
    std::vector<Bytes> spans;
    messages.reserve(expected.size());
    spans.reserve(expected.size());
    const auto release_all = [&] {
        for (Message* message : messages) release(*message);
    };
    for (const comm::Expected& each : expected) {
        Message* const message = claim(each.src.value, channel);
        if (message == nullptr) {  // only a failing rank takes its messages back
            release_all();
            await_message(each.src.value, channel);
            throw_finished(each.src.value, channel);
        }
        messages.push_back(message);
        spans.push_back(message->data);
    }
    comm::consume_then([&] { consume(spans); }, release_all);
}

Message& ThreadTransport::message_of(Ticket ticket) {
    return slot_.pool.at(static_cast<std::size_t>(ticket));
}

bool ThreadTransport::done(Ticket ticket) {
    const MessageState state = message_of(ticket).state.load(kOrder);
    return state == MessageState::consumed || state == MessageState::mismatched ||
           state == MessageState::withdrawn || world_.aborted();
}

void ThreadTransport::wait(Ticket ticket) {
    Message& message = message_of(ticket);
    MessageState state = message.state.load(kOrder);
    if (state != MessageState::consumed) {
        step(comm::NextStep::What::wait, message.dst, message.channel,
             static_cast<int64_t>(message.data.size()));
        world_.wait_until(rank_, message.dst, WaitKind::acknowledgement, [&] {
            const bool ended = world_.aborted() || world_.slot(message.dst).finished.load(kOrder);
            state = message.state.load(kOrder);
            return state == MessageState::consumed || state == MessageState::mismatched ||
                   state == MessageState::withdrawn || ended;
        });
        // Its own mismatch is the better news than that somebody failed.
        if (state == MessageState::mismatched) {
            withdraw();
            throw mismatch_error(message, message.expected_bytes, rank_);
        }
        if (state != MessageState::consumed) {
            check_aborted();
            throw_finished(message.dst, message.channel);
        }
    }
    free_.push_back(static_cast<std::size_t>(ticket));
}

void ThreadTransport::withdraw() noexcept {
    for (const auto& table : tables_) table->withdraw();
    for (Message& message : slot_.pool) {
        auto expected = MessageState::posted;
        if (message.state.compare_exchange_strong(expected, MessageState::withdrawn, kOrder)) continue;
        while (message.state.load(kOrder) == MessageState::claimed) std::this_thread::yield();
    }
}

comm::SharedTable* ThreadTransport::table(comm::Channel channel, std::span<const GlobalRank> ranks) {
    for (const GlobalRank rank : ranks) comm::check_rank(rank, world_size());
    // Ranks that a scheduler steps are watched message by message.
    if (world_.stepper() != nullptr && world_.stepper()->chooses()) return nullptr;
    Room& room = world_.rooms().find(channel, ranks);
    for (const auto& table : tables_)
        if (&table->room() == &room) return table.get();
    const auto me = std::ranges::find(ranks, rank()) - ranks.begin();
    tables_.push_back(std::make_unique<ThreadTable>(*this, world_, room, static_cast<int32_t>(me)));
    return tables_.back().get();
}

void ThreadTransport::give_up() noexcept {
    world_.fail(rank_, nullptr);
}

void ThreadTransport::throw_finished(int32_t peer, comm::Channel channel) {
    check_aborted();
    // What it posted can still be had by who can go on.
    try {
        world_.throw_finished(rank_, peer, channel);
    } catch (...) {
        withdraw();
        throw;
    }
}

}  // namespace meshscope::backends::threads
