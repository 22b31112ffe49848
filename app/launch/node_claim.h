#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "backends/tcp/store_client.h"

namespace meshscope::launch {

/// A node's hold on its --node-rank, in the rendezvous store: of two that were given the same one, the second
/// is told. What is held is said again and again, so that the place of one that is gone can be taken.
class NodeClaim {
  public:
    /// Nothing is claimed where `node_rank` is below 0.
    NodeClaim(backends::tcp::StoreClient& store, int32_t node_rank, std::chrono::milliseconds lost_after);

    /// Whether it is ours; to be asked until it is, which is at once but where somebody held it: that one
    /// either says so again, or is gone after `lost_after`. Throws InvalidArgument "launch.node_rank_taken"
    /// {node_rank, host} when somebody else holds it.
    bool take();
    /// Says again that it is ours, once in a tenth of `lost_after`. Throws as take() does, when we were
    /// silent for so long that somebody else took it.
    void keep();
    /// For who comes next, who else would wait.
    void let_go();

  private:
    using Clock = std::chrono::steady_clock;

    std::string next_word();
    [[noreturn]] void refuse(const std::string& word) const;

    backends::tcp::StoreClient& store_;
    int32_t node_rank_;
    std::chrono::milliseconds lost_after_;
    std::string key_, self_, word_;
    int64_t beats_ = 0;
    bool held_ = false;
    Clock::time_point said_{}, seen_since_{};
    std::string seen_;  ///< somebody else's word
};

}  // namespace meshscope::launch
