#include "core/comm/run_collective.h"

#include <algorithm>

#include "core/comm/schedule/run_schedule.h"

namespace meshscope::comm {
namespace {

/// AVG over one rank divides by one, PREMUL_SUM by nothing: the reduction of one rank's numbers is those
/// numbers.
void run_alone(Wire& wire, const IssuedCall& call, const std::byte* input) {
    const int64_t n = call.output == nullptr ? 0 : call.out_elements;
    wire.copy(call.output, input, wire.bytes(n));
}

/// What an algorithm finds done when it begins: this rank's own numbers stand where they belong.
void place_own(Wire& wire, const IssuedCall& call, const std::byte* input) {
    const auto own = static_cast<std::size_t>(wire.me());
    const bool at_root = call.peer == wire.me();
    switch (call.op) {
        case CollectiveOp::all_reduce:
            return wire.copy(call.output, input, wire.bytes(call.in_elements));
        case CollectiveOp::broadcast:  // a root that gave a buffer of its own reads that one and keeps a copy
            if (at_root && call.output != nullptr)
                wire.copy(call.output, input, wire.bytes(call.in_elements));
            return;
        case CollectiveOp::gather:
            if (!at_root) return;
            [[fallthrough]];
        case CollectiveOp::all_gather:
            return wire.copy(call.output + wire.bytes(call.out_parts[own].first), input,
                             wire.bytes(call.out_parts[own].elements));
        case CollectiveOp::scatter:
            if (at_root)
                wire.copy(call.output, input + wire.bytes(call.in_parts[own].first),
                          wire.bytes(call.in_parts[own].elements));
            return;
        case CollectiveOp::all_to_all:
            return wire.copy(call.output + wire.bytes(call.out_parts[own].first),
                             input + wire.bytes(call.in_parts[own].first),
                             wire.bytes(call.out_parts[own].elements));
        default:
            return;
    }
}

}  // namespace

void run_collective(Wire& wire, const IssuedCall& call, Algorithm algorithm, std::span<const int32_t> node_of,
                    const OwnAlgorithm* own) {
    const auto [op, input] = reduced_input(wire, call);
    if (algorithm == Algorithm::none) return run_alone(wire, call, input);

    place_own(wire, call, input);
    // A broadcast's root may give its input alone, the others have an output alone.
    std::byte* const output = call.output != nullptr || call.op != CollectiveOp::broadcast
                                  ? call.output
                                  : const_cast<std::byte*>(input);
    run_schedule(wire, algorithm,
                 {.op = call.op,
                  .root = std::max(call.peer, 0),
                  .elements = full_elements(call),
                  .in_parts = call.in_parts,
                  .out_parts = call.out_parts,
                  .node_of = node_of,
                  .own = own},
                 op, input, output);
}

}  // namespace meshscope::comm
