#pragma once

#include "core/comm/transport.h"

namespace meshscope::comm {

/// A transport that hands everything on to another: for those that change one thing of it. Only that memory
/// is shared it does not say: what changes messages must see them.
class ForwardingTransport : public Transport {
  public:
    /// `inner` must outlive this.
    explicit ForwardingTransport(Transport& inner) : ForwardingTransport(inner, inner.world_size()) {}

    Abilities abilities() override {
        Abilities can = inner_.abilities();
        can.shares_memory = false;
        can.tables = nullptr;
        return can;
    }
    Ticket post(GlobalRank dst, Channel channel, Bytes data) override {
        return inner_.post(dst, channel, data);
    }
    void receive_together(std::span<const Expected> messages, Channel channel,
                          const ConsumeTogether& consume) override {
        inner_.receive_together(messages, channel, consume);
    }
    void wait(Ticket ticket) override { inner_.wait(ticket); }
    bool done(Ticket ticket) override { return inner_.done(ticket); }
    void withdraw() noexcept override { inner_.withdraw(); }
    void give_up() noexcept override { inner_.give_up(); }

  protected:
    /// In a world of another size.
    ForwardingTransport(Transport& inner, int32_t world_size)
        : Transport(inner.rank(), world_size), inner_(inner) {}
    void note(CallMoment moment, const IssuedCall* call) override { inner_.note(moment, call); }

    Transport& inner_;
};

}  // namespace meshscope::comm
