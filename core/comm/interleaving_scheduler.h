#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/issued_call.h"
#include "core/comm/transport.h"

namespace meshscope::comm {

/// What a rank of a stepped world would do next, if it were let go on.
struct NextStep {
    enum class What : uint8_t {
        start,    ///< its body
        post,     ///< offer a message to `peer`
        receive,  ///< take one of `peer`'s
        wait      ///< look whether `peer` has read what was offered
    };
    GlobalRank rank;
    What what = What::start;
    GlobalRank peer;
    Channel channel;
    int64_t bytes = 0;
    /// The call it is in, as long as choose() runs; null when it is in none.
    const IssuedCall* call = nullptr;
};
std::string_view name(NextStep::What value);

/// Decides which rank of a stepped world goes on: by a seed, by a person in the window, or by a test. A
/// stepped world lets one rank run at a time; the token may change hands before every message that is offered
/// or taken, and wherever a rank waits. Between those points a rank touches nothing that others see, so every
/// order in which ranks can meet is one that a scheduler can choose.
class InterleavingScheduler {
  public:
    virtual ~InterleavingScheduler() = default;
    /// The place in `runnable` (ascending by rank, never empty) of the rank that does its step now. Called on
    /// the thread of the rank that gives up the token while no rank runs, so it may take its time; every call
    /// happens after the one before. Must not throw.
    virtual std::size_t choose(std::span<const NextStep> runnable) = 0;
};

/// Each step any of the ranks that can go on, all equally likely.
std::unique_ptr<InterleavingScheduler> random_scheduler(uint64_t seed);

/// PCT: the ranks have random priorities, and the first that can go on does; at depth - 1 random steps among
/// the first `steps` the running rank falls behind all others. Finds any ordering mistake that depends on
/// `depth` events with a probability of at least 1 / (ranks · steps^(depth-1)), which random choices do not
/// promise. S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, "A randomized scheduler with
/// probabilistic guarantees of finding bugs", ASPLOS 2010.
std::unique_ptr<InterleavingScheduler> pct_scheduler(uint64_t seed, int32_t depth, int64_t steps = 1000);

/// "random:SEED", "pct:SEED:DEPTH" or "pct:SEED:DEPTH:STEPS". Throws InvalidArgument ("comm.bad_schedule").
std::unique_ptr<InterleavingScheduler> make_scheduler(std::string_view schedule);

}  // namespace meshscope::comm
