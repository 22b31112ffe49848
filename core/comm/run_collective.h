#pragma once

#include "core/comm/call_check.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

class OwnAlgorithm;

/// What a call reduces, and how.
struct ReducedInput {
    ReduceOp op = ReduceOp::none;
    const std::byte* input = nullptr;
};

/// Of PREMUL_SUM a sum, of the input times this rank's factor: in the output of an all_reduce, else in
/// scratch. Otherwise what the call says.
inline ReducedInput reduced_input(Wire& wire, const IssuedCall& call) {
    if (call.reduce_op != ReduceOp::premul_sum) return {call.reduce_op, call.input};
    std::byte* const scaled =
        call.op == CollectiveOp::all_reduce ? call.output : wire.scratch(call.in_elements);
    wire.premultiply(call.factor, scaled, call.input, call.in_elements);
    return {ReduceOp::sum, scaled};
}

/// Runs a checked call (send excepted) by `algorithm`, which choose_algorithm gave: copies this rank's own
/// part, multiplies PREMUL_SUM's factor in (every rank its own input, rounded to the dtype, before anything
/// travels), and hands the rest to the algorithm's card. `node_of`: which node each member stands on, by
/// group rank, for algorithms of two levels; may be empty (NodeLevels). `own`: what Algorithm::own means.
/// Returns when the result is there and the input may be changed. Throws what the transport throws.
void run_collective(Wire& wire, const IssuedCall& call, Algorithm algorithm,
                    std::span<const int32_t> node_of = {}, const OwnAlgorithm* own = nullptr);

}  // namespace meshscope::comm
