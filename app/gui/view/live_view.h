#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/input.h"
#include "core/base/diagnosis.h"

namespace meshscope::view {

/// How a rank of a run that is held stands.
struct LiveRank {
    enum class Stands : uint8_t {
        held,     ///< could go on, if it were let
        waiting,  ///< cannot: `peer` must act first
        gone,     ///< has come to its end
        failed,   ///< has not: the run broke off at it
        stopped   ///< has not: it was ended since another failed
    };
    /// What its message is.
    enum class Carries : uint8_t {
        tensor,       ///< elements
        fingerprint,  ///< what the sender calls, by which the members see that all make the same call
        checksum      ///< of the message that follows it
    };
    int32_t rank = 0;
    Stands stands = Stands::held;
    std::string next;  ///< comm::NextStep::What: "start", "post", "receive", "wait"
    int32_t peer = -1;
    int64_t bytes = 0;
    Carries carries = Carries::tensor;
    CallReport call;  ///< what it is in; no op: in none
};

/// A run whose ranks are let go on one by one.
struct LiveWorld {
    std::vector<LiveRank> ranks;
    int64_t acts = 0;                    ///< how often a rank was let do something
    bool going = false;                  ///< ranks run now; what is said of them is of before
    bool ended = false;                  ///< nothing more can be let go
    std::optional<Diagnosis> diagnosis;  ///< why not, where it did not run to its end
};

/// The ranks in a ring, an arrow from each that waits to the rank that it waits for; a deadlock's ring and
/// the culprits in the colour of errors. Ids: "live_rank" a = rank. Its text lines say the same. As high as
/// it needs for its width.
Picture live_view(const Input& input, const LiveWorld& world);

/// Whether one of its ranks broke off.
bool broke_off(const LiveWorld& world);

/// What a rank would do next or waits for, as one sentence.
Message live_sentence(const LiveRank& rank);

/// Which call it is in, where it has one: "all_reduce(sum, float32, in 8, out 8) #3 of tp [0, 1], step 2
/// backward". `say` gives the words of an id, with `args` filled in.
std::string live_call(
    const CallReport& call,
    const std::function<std::string(const std::string& id, std::vector<MessageArg> args)>& say);

}  // namespace meshscope::view
