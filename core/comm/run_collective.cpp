#include "core/comm/run_collective.h"

#include "core/comm/algorithms/algorithms.h"

namespace meshscope::comm {
namespace {

const Part& part_of(const std::vector<Part>& parts, int32_t rank) {
    return parts[static_cast<std::size_t>(rank)];
}

/// AVG over one rank divides by one, PREMUL_SUM by nothing: the reduction of one rank's numbers is those
/// numbers.
void run_alone(Wire& wire, const CheckedCall& call, const std::byte* input) {
    const int64_t n = call.output == nullptr ? 0 : call.out_elements;
    wire.copy(call.output, input, wire.bytes(n));
}

void run_all_reduce(Wire& wire, ReduceOp op, std::byte* data, int64_t n, Algorithm algorithm,
                    std::span<const int32_t> node_of) {
    switch (algorithm) {
        case Algorithm::direct:
            return direct_all_reduce(wire, op, data, n);
        case Algorithm::tree:
            return tree_all_reduce(wire, op, data, n);
        case Algorithm::star:
            return star_all_reduce(wire, op, data, n);
        case Algorithm::recursive_doubling:
            return recursive_doubling_all_reduce(wire, op, data, n);
        case Algorithm::halving_doubling:
            return halving_doubling_all_reduce(wire, op, data, n);
        case Algorithm::double_tree:
            return double_tree_all_reduce(wire, op, data, n);
        case Algorithm::two_level:
            return two_level_all_reduce(wire, op, data, n, node_of);
        default:
            return ring_all_reduce(wire, op, data, n);
    }
}

void run_all_gather(Wire& wire, std::byte* out, std::span<const Part> parts, Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::direct:
            return direct_all_gather(wire, out, parts);
        case Algorithm::recursive_doubling:
            return recursive_doubling_all_gather(wire, out, parts);
        case Algorithm::bruck:
            return bruck_all_gather(wire, out, parts);
        default:
            return ring_all_gather(wire, out, parts);
    }
}

void run_reduce_scatter(Wire& wire, ReduceOp op, std::byte* out, const std::byte* in,
                        std::span<const Part> parts, Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::direct:
            return direct_reduce_scatter(wire, op, out, in, parts);
        case Algorithm::recursive_halving:
            return recursive_halving_reduce_scatter(wire, op, out, in, parts);
        default:
            return ring_reduce_scatter(wire, op, out, in, parts);
    }
}

void run_all_to_all(Wire& wire, const CheckedCall& call, const std::byte* input, Algorithm algorithm) {
    const Part from = part_of(call.in_parts, wire.me());
    const Part to = part_of(call.out_parts, wire.me());
    wire.copy(call.output + wire.bytes(to.first), input + wire.bytes(from.first), wire.bytes(to.elements));
    switch (algorithm) {
        case Algorithm::pairwise:
            return pairwise_all_to_all(wire, call.output, call.out_parts, input, call.in_parts);
        case Algorithm::bruck:
            return bruck_all_to_all(wire, call.output, input, to.elements);
        default:
            return direct_all_to_all(wire, call.output, call.out_parts, input, call.in_parts);
    }
}

void run_broadcast(Wire& wire, int32_t root, std::byte* data, int64_t n, Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::direct:
            return direct_broadcast(wire, root, data, n);
        case Algorithm::ring_pipeline:
            return ring_pipeline_broadcast(wire, root, data, n);
        case Algorithm::scatter_all_gather:
            return scatter_all_gather_broadcast(wire, root, data, n);
        default:
            return tree_broadcast(wire, root, data, n);
    }
}

void run_rooted(Wire& wire, const CheckedCall& call, const std::byte* input, ReduceOp op,
                Algorithm algorithm) {
    const bool direct = algorithm == Algorithm::direct;
    const int32_t root = call.peer;
    const bool at_root = wire.me() == root;
    switch (call.op) {
        case CollectiveOp::broadcast: {
            // A root that gave a buffer of its own reads that one and keeps a copy.
            if (at_root && call.output != nullptr)
                wire.copy(call.output, input, wire.bytes(call.in_elements));
            std::byte* const data = call.output != nullptr ? call.output : const_cast<std::byte*>(input);
            const int64_t n = call.output != nullptr ? call.out_elements : call.in_elements;
            return run_broadcast(wire, root, data, n, algorithm);
        }
        case CollectiveOp::reduce:
            return direct ? direct_reduce(wire, op, root, call.output, input, call.in_elements)
                          : tree_reduce(wire, op, root, call.output, input, call.in_elements);
        case CollectiveOp::gather: {
            const Part own = part_of(call.out_parts, wire.me());
            if (at_root) wire.copy(call.output + wire.bytes(own.first), input, wire.bytes(own.elements));
            return direct_gather(wire, root, call.output, input, call.out_parts);
        }
        default: {
            const Part own = part_of(call.in_parts, wire.me());
            if (at_root) wire.copy(call.output, input + wire.bytes(own.first), wire.bytes(own.elements));
            return direct_scatter(wire, root, call.output, input, call.in_parts);
        }
    }
}

}  // namespace

void run_collective(Wire& wire, const CheckedCall& call, Algorithm algorithm,
                    std::span<const int32_t> node_of) {
    const auto [op, input] = reduced_input(wire, call);
    if (algorithm == Algorithm::none) return run_alone(wire, call, input);

    switch (call.op) {
        case CollectiveOp::all_reduce:
            wire.copy(call.output, input, wire.bytes(call.in_elements));
            return run_all_reduce(wire, op, call.output, call.out_elements, algorithm, node_of);
        case CollectiveOp::all_gather: {
            const Part own = part_of(call.out_parts, wire.me());
            wire.copy(call.output + wire.bytes(own.first), input, wire.bytes(own.elements));
            return run_all_gather(wire, call.output, call.out_parts, algorithm);
        }
        case CollectiveOp::reduce_scatter:
            return run_reduce_scatter(wire, op, call.output, input, call.in_parts, algorithm);
        case CollectiveOp::all_to_all:
            return run_all_to_all(wire, call, input, algorithm);
        case CollectiveOp::broadcast:
        case CollectiveOp::reduce:
        case CollectiveOp::gather:
        case CollectiveOp::scatter:
            return run_rooted(wire, call, input, op, algorithm);
        case CollectiveOp::recv:
            return direct_recv(wire, call.peer, call.output, call.out_elements);
        case CollectiveOp::barrier:
            return algorithm == Algorithm::direct ? direct_barrier(wire) : tree_barrier(wire);
        case CollectiveOp::send:
            break;  // TransportGroup's own
    }
}

}  // namespace meshscope::comm
