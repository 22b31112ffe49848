#include "core/comm/cost.h"

#include <algorithm>
#include <vector>

#include "core/comm/parts.h"
#include "core/comm/schedule/card.h"

namespace meshscope::comm {
namespace {

std::vector<Part> parts_of(const std::vector<int64_t>& counts, int64_t elements, int32_t p) {
    std::vector<Part> parts;
    if (counts.empty())
        set_even_parts(parts, elements / p, p);
    else
        set_parts_of(parts, counts);
    return parts;
}

}  // namespace

Cost cost(const CostQuery& query) {
    const int32_t p = query.group_size;
    if (p == 1) return {};
    const std::vector<Part> parts = parts_of(query.counts, query.elements, p);
    const bool exchange = query.op == CollectiveOp::all_to_all && !query.received_counts.empty();
    const std::vector<Part> received =
        exchange ? parts_of(query.received_counts, 0, p) : std::vector<Part>{};
    Cost cost;
    const ScheduleQuery schedule{.op = query.op,
                                 .ranks = p,
                                 .rank = query.group_rank,
                                 .root = query.root,
                                 .elements = query.elements,
                                 .element_bytes = query.element_bytes,
                                 .in_parts = parts,
                                 .out_parts = exchange ? received : parts,
                                 .node_of = query.node_of,
                                 .own = query.own};
    const int32_t rounds = say_steps(query.algorithm, schedule, [&](const Step& step) {
        const int64_t bytes = step.elements * query.element_bytes;
        switch (step.kind) {
            case Step::Kind::send:
                cost.bytes_sent += bytes;
                return;
            case Step::Kind::receive:
            case Step::Kind::reduce:
                if (!step.silent) ++cost.hops;
                cost.bytes_received += bytes;
                return;
            case Step::Kind::reduce_many:
                cost.hops += p - 1;
                cost.bytes_received += (p - 1) * bytes;
                return;
            default:
                return;
        }
    });
    // An exchange of empty parts has no round.
    const bool idle = query.op == CollectiveOp::all_to_all && cost.hops == 0 && cost.bytes_sent == 0;
    cost.rounds = idle ? 0 : rounds;
    return cost;
}

double bus_factor(CollectiveOp op, int32_t group_size) {
    const double p = group_size;
    switch (op) {
        case CollectiveOp::all_reduce:
            return 2 * (p - 1) / p;
        case CollectiveOp::all_gather:
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::gather:
        case CollectiveOp::scatter:
        case CollectiveOp::all_to_all:
            return (p - 1) / p;
        default:
            return 1;
    }
}

double textbook_bytes_sent(CollectiveOp op, int32_t group_size, double bytes) {
    const double p = group_size;
    switch (op) {
        case CollectiveOp::all_reduce:
            return 2 * (p - 1) / p * bytes;
        case CollectiveOp::barrier:
        case CollectiveOp::recv:
            return 0;
        case CollectiveOp::send:
            return bytes;
        case CollectiveOp::gather:  // every part but the root's crosses once: averaged over the ranks
        case CollectiveOp::scatter:
            return (p - 1) / p * bytes / p;
        default:
            return (p - 1) / p * bytes;
    }
}

}  // namespace meshscope::comm
