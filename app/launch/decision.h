#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/launch/failure.h"
#include "app/launch/round.h"

namespace meshscope::launch {

/// What all agents do when a round is over, and why.
struct Decision {
    enum class Next : uint8_t { finished, again, given_up, signalled };
    Next next = Next::finished;
    int32_t exit_code = 0;
    int32_t restarts = 0, max_restarts = 0;  ///< so far, and allowed
    std::vector<Failure> failures;           ///< of all nodes, by cause
    std::vector<int32_t> lost;               ///< nodes that said nothing for too long
    std::vector<int32_t> stopped;            ///< nodes that were told to stop
    bool joined = false;                     ///< a node asked to take part
};

// As values of the rendezvous store, which takes 64 KiB: of many failures the first by cause are kept, and of
// those their JSON as far as it fits.

std::string pack_result(const RoundResult& result);
/// Throws InvalidArgument "pack.damaged", as unpack_decision() does.
RoundResult unpack_result(const std::string& text);
std::string pack_decision(const Decision& decision);
Decision unpack_decision(const std::string& text);

}  // namespace meshscope::launch
