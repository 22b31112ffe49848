#pragma once

#include "core/comm/call_check.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

/// Runs a checked call (send excepted) by `algorithm`, which choose_algorithm gave: copies this rank's own
/// part, multiplies PREMUL_SUM's factor in (every rank its own input, rounded to the dtype, before anything
/// travels), and hands the rest to the algorithm's card. `node_of`: which node each member stands on, by
/// group rank, for algorithms of two levels; may be empty (NodeLevels). Returns when the result is there and
/// the input may be changed. Throws what the transport throws.
void run_collective(Wire& wire, const CheckedCall& call, Algorithm algorithm,
                    std::span<const int32_t> node_of = {});

}  // namespace meshscope::comm
