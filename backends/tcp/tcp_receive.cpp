// How a rank over TCP takes messages.
#include "backends/tcp/tcp_transport.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/comm/consume_then.h"
#include "core/comm/message_errors.h"

namespace meshscope::backends::tcp {
const TcpTransport::ToSelf* TcpTransport::next_to_self(comm::Channel channel) const {
    for (const ToSelf& one : to_self_)
        if (one.channel == channel) return &one;
    return nullptr;
}

void TcpTransport::receive_together(std::span<const comm::Expected> messages, comm::Channel channel,
                                    const ConsumeTogether& consume) {
    for (const comm::Expected& each : messages) comm::check_rank(each.src, world_size());
    try {
        await_messages(messages, channel);
    } catch (...) {
        // Bytes that still come must not be written to memory that is about to go.
        for (const comm::Expected& each : messages)
            if (each.place != nullptr && each.src.value != rank_) link(each.src.value)->leave_place(channel);
        throw;
    }
    hand_over(messages, channel, consume);
}

bool TcpTransport::is_here(const comm::Expected& message, comm::Channel channel) {
    if (message.src.value == rank_) return next_to_self(channel) != nullptr;
    return link(message.src.value)->has(channel, message.bytes);
}

void TcpTransport::await_messages(std::span<const comm::Expected> messages, comm::Channel channel) {
    if (world_status_.ended()) check({});
    for (const comm::Expected& each : messages)
        if (each.src.value != rank_) link(each.src.value)->ask(channel, each.bytes, each.place);
    Awaiting awaiting{Awaiting::What::message, {}, channel.value, 0};
    const auto is_over = [&](const comm::Expected& each) {
        return each.src.value != rank_ && link(each.src.value)->gives_no_more(channel, rounds_ended_);
    };
    for (const comm::Expected& each : messages) {
        if (!is_here(each, channel)) awaiting.ranks.push_back(each.src.value);
        awaiting.bytes = each.bytes;
    }
    if (!awaiting.ranks.empty() || world_status_.ended()) {
        const auto ready = [&] {
            bool all = true;
            awaiting.ranks.clear();
            for (const comm::Expected& each : messages) {
                if (is_here(each, channel)) continue;
                if (is_over(each)) return true;
                awaiting.ranks.push_back(each.src.value);
                all = false;
            }
            return all;
        };
        wait_until(awaiting, std::cref(ready));
    }
    for (const comm::Expected& each : messages) {
        if (!is_here(each, channel)) throw_finished(each.src.value);
        const int64_t bytes = each.src.value == rank_
                                  ? static_cast<int64_t>(outgoing_[next_to_self(channel)->out].data.size())
                                  : link(each.src.value)->size_of_next(channel);
        if (bytes != each.bytes) throw_mismatch(each.src.value, rank_, channel, bytes, each.bytes);
    }
}

void TcpTransport::hand_over(std::span<const comm::Expected> messages, comm::Channel channel,
                             const ConsumeTogether& consume) {
    std::vector<Bytes> spans;
    std::vector<Arrival> arrivals(messages.size());
    spans.reserve(messages.size());
    std::size_t own = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (messages[i].src.value != rank_) {
            arrivals[i] = link(messages[i].src.value)->take(channel);
            spans.push_back(arrivals[i].data());
            continue;
        }
        own = next_to_self(channel)->out;
        std::erase_if(to_self_, [&](const ToSelf& one) { return one.out == own; });
        spans.push_back(outgoing_[own].data);
    }
    const auto release_all = [&] {
        for (std::size_t i = 0; i < messages.size(); ++i) {
            if (messages[i].src.value != rank_)
                link(messages[i].src.value)->release(channel, std::move(arrivals[i]));
            else
                outgoing_[own].state = Outgoing::State::done;
        }
    };
    comm::consume_then([&] { consume(spans); }, release_all);
}

}  // namespace meshscope::backends::tcp
