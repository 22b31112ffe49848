#pragma once

#include <cstdlib>

#include "core/comm/native.h"
#include "core/comm/transport.h"

namespace meshscope::comm {

/// A transport that hands everything on to another: for those that change one thing of it. What has a default
/// made of the rest (receive_at) keeps it, so that whoever changes the rest changes all.
class ForwardingTransport : public Transport {
  public:
    /// `inner` must outlive this.
    explicit ForwardingTransport(Transport& inner) : inner_(inner) {}

    GlobalRank rank() const override { return inner_.rank(); }
    int32_t world_size() const override { return inner_.world_size(); }
    std::unique_ptr<tensor::Device> make_device() override { return inner_.make_device(); }
    DeviceQueues* queues() override { return inner_.queues(); }
    Ticket post(GlobalRank dst, Channel channel, Bytes data) override {
        return inner_.post(dst, channel, data);
    }
    void receive(GlobalRank src, Channel channel, int64_t bytes, const Consume& consume) override {
        inner_.receive(src, channel, bytes, consume);
    }
    void receive_together(std::span<const Expected> messages, Channel channel,
                          const ConsumeTogether& consume) override {
        inner_.receive_together(messages, channel, consume);
    }
    void wait(Ticket ticket) override { inner_.wait(ticket); }
    bool done(Ticket ticket) override { return inner_.done(ticket); }
    void withdraw() noexcept override { inner_.withdraw(); }
    void give_up() noexcept override { inner_.give_up(); }
    void begin_call(const CallInfo& call) override { inner_.begin_call(call); }
    void end_call() noexcept override { inner_.end_call(); }
    void begin_receipt(const CallInfo& call) override { inner_.begin_receipt(call); }
    void end_calls(Channel first) override { inner_.end_calls(first); }
    std::unique_ptr<NativeCollectives> native(std::span<const GlobalRank> ranks, Channel channel) override {
        return inner_.native(ranks, channel);
    }
    bool one_thread_a_rank() const override { return inner_.one_thread_a_rank(); }
    // g++ 12 does not see that a virtual call never returns.
    [[noreturn]] void die() override {
        inner_.die();
        std::abort();
    }
    [[noreturn]] void stall() override {
        inner_.stall();
        std::abort();
    }

  protected:
    Transport& inner_;
};

}  // namespace meshscope::comm
