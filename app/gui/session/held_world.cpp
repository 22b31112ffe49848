#include "app/gui/session/held_world.h"

#include <type_traits>

#include "core/base/error.h"
#include "core/comm/forwarding_transport.h"

namespace meshscope::session {
namespace {

class HeldTransport final : public comm::ForwardingTransport {
  private:
    void look() const {
        if (held_.leave) throw CommError({"live.left", {}}, rank());
    }
    /// An act that fails fails the world: nobody is held any longer.
    template <class Act>
    auto watched(const Act& act) {
        look();
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Act>>) {
                act();
                look();  // it was let go only to be left
            } else {
                auto made = act();
                look();
                return made;
            }
        } catch (...) {
            held_.failed = true;
            throw;
        }
    }

  public:
    HeldTransport(comm::Transport& inner, Held& held) : ForwardingTransport(inner), held_(held) {}

    comm::Abilities abilities() override {
        comm::Abilities can = ForwardingTransport::abilities();
        can.shares_memory = inner_.abilities().shares_memory;
        return can;
    }
    Ticket post(GlobalRank dst, comm::Channel channel, Bytes data) override {
        return watched([&] { return inner_.post(dst, channel, data); });
    }
    void receive_together(std::span<const comm::Expected> messages, comm::Channel channel,
                          const ConsumeTogether& consume) override {
        watched([&] {
            inner_.receive_together(messages, channel, [&](std::span<const Bytes> data) {
                look();  // before it is recorded
                consume(data);
            });
        });
    }
    void wait(Ticket ticket) override {
        watched([&] { inner_.wait(ticket); });
    }

  private:
    Held& held_;
};

class HeldWorld final : public comm::World {
  public:
    HeldWorld(std::unique_ptr<comm::World> inner, Held& held) : inner_(std::move(inner)), held_(held) {}

    int32_t size() const override { return inner_->size(); }
    bool whole() const override { return inner_->whole(); }
    int32_t ranks_on_this_machine() const override { return inner_->ranks_on_this_machine(); }
    void run(const std::function<void(comm::Transport&)>& body) override {
        inner_->run([&](comm::Transport& plain) {
            HeldTransport transport(plain, held_);
            std::atomic<bool>& gone = held_.gone[static_cast<std::size_t>(plain.rank().value)];
            try {
                // A rank that is still at its start when the run is left has done nothing.
                if (held_.leave) throw CommError({"live.left", {}}, plain.rank());
                body(transport);
            } catch (...) {
                // What fails in a message is told to all of them; what fails beside one is this rank's own.
                int32_t none = -1;
                if (!held_.failed.exchange(true))
                    held_.first.compare_exchange_strong(none, plain.rank().value);
                held_.broke[static_cast<std::size_t>(plain.rank().value)] = true;
                gone = true;
                throw;
            }
            gone = true;
        });
    }

  private:
    std::unique_ptr<comm::World> inner_;
    Held& held_;
};

}  // namespace

std::unique_ptr<comm::World> HeldBackends::open(const std::string& name,
                                                const run::WorldRequest& request) const {
    return std::make_unique<HeldWorld>(inner_.open(name, request), held_);
}

}  // namespace meshscope::session
