#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/transport.h"
#include "core/run/run.h"

namespace meshscope::session {

/// What a held run's ranks and whoever holds them share.
struct Held {
    explicit Held(std::size_t ranks) : gone(ranks), broke(ranks) {}
    std::atomic<bool> leave{false};        ///< every rank ends where it next sends or receives
    std::atomic<bool> failed{false};       ///< a rank failed: the others follow
    std::vector<std::atomic<bool>> gone;   ///< [rank]: its body is over
    std::vector<std::atomic<bool>> broke;  ///< [rank]: and did not come to its end
    std::atomic<int32_t> first{-1};        ///< the rank that failed first by itself; -1: none did
};

/// Backends whose worlds can be left at any moment: with Held::leave every rank throws CommError
/// ("live.left") at its next act, and no message is recorded after that.
class HeldBackends final : public run::Backends {
  public:
    /// Both outlive this.
    HeldBackends(const run::Backends& inner, Held& held) : inner_(inner), held_(held) {}
    std::unique_ptr<comm::World> open(const std::string& name,
                                      const run::WorldRequest& request) const override;
    std::vector<std::string> names() const override { return inner_.names(); }

  private:
    const run::Backends& inner_;
    Held& held_;
};

}  // namespace meshscope::session
