#include "core/comm/dry_group.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/comm/copy_bytes.h"
#include "core/comm/cost.h"

namespace meshscope::comm {
namespace {

[[noreturn]] void nothing_travels(GlobalRank rank) {
    throw CommError({"comm.dry_transport", {{"rank", int64_t{rank.value}}}}, rank);
}

std::vector<int64_t> counts_of(const std::vector<Part>& parts) {
    std::vector<int64_t> counts;
    counts.reserve(parts.size());
    for (const Part& part : parts) counts.push_back(part.elements);
    return counts;
}

/// What the call costs this rank, by the algorithm's card.
Cost cost_of(const IssuedCall& call, Algorithm algorithm, int32_t size, int32_t me,
             const GroupOptions& options) {
    CostQuery query;
    query.op = call.op;
    query.algorithm = algorithm;
    query.group_size = size;
    query.group_rank = me;
    query.node_of = options.node_of;
    query.own = options.own.get();
    query.root = std::max(call.peer, 0);
    query.element_bytes = bytes_per_element(call.dtype);
    query.elements = call.in_elements;
    switch (call.op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
            query.counts = counts_of(call.out_parts);
            query.elements = total(call.out_parts);
            break;
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::scatter:
            query.counts = counts_of(call.in_parts);
            query.elements = total(call.in_parts);
            break;
        case CollectiveOp::all_to_all:
            query.counts = counts_of(call.in_parts);
            query.received_counts = counts_of(call.out_parts);
            query.elements = total(call.in_parts);
            break;
        case CollectiveOp::broadcast:
            query.elements = std::max(call.in_elements, call.out_elements);
            break;
        case CollectiveOp::recv:
            query.elements = call.out_elements;
            break;
        default:
            break;
    }
    return cost(query);
}

/// Copies part `from` of the input over part `to` of the output, as much of it as both hold.
void copy_part(const IssuedCall& call, Part from, Part to) {
    const int64_t element_bytes = bytes_per_element(call.dtype);
    copy_bytes(call.output + to.first * element_bytes, call.input + from.first * element_bytes,
               std::min(from.elements, to.elements) * element_bytes);
}

template <class T>
void multiply(std::byte* data, int64_t n, int32_t factor) {
    T* const numbers = reinterpret_cast<T*>(data);
    for (int64_t i = 0; i < n; ++i) numbers[i] = static_cast<T>(numbers[i] * factor);
}

/// The result of a call on integers when every member gives what this one gives.
void answer_alike(const IssuedCall& call, int32_t size, int32_t me) {
    if (call.input == nullptr || call.output == nullptr) return;
    const Part whole_in{0, call.in_elements}, whole_out{0, call.out_elements};
    const auto own = static_cast<std::size_t>(me);
    switch (call.op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
            for (const Part& part : call.out_parts) copy_part(call, whole_in, part);
            return;
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::scatter:
            copy_part(call, call.in_parts[own], whole_out);
            break;
        case CollectiveOp::all_to_all:
            for (const Part& part : call.out_parts) copy_part(call, call.in_parts[own], part);
            return;
        default:
            copy_part(call, whole_in, whole_out);
    }
    if (call.reduce_op != ReduceOp::sum) return;
    if (call.dtype == DType::int32) multiply<int32_t>(call.output, call.out_elements, size);
    if (call.dtype == DType::int64) multiply<int64_t>(call.output, call.out_elements, size);
}

bool is_control(const IssuedCall& call) {
    const bool whole = call.dtype == DType::int32 || call.dtype == DType::int64 || call.dtype == DType::uint8;
    return whole && std::max(call.in_elements, call.out_elements) <= DryGroup::kControlElements;
}

}  // namespace

Transport::Ticket DryTransport::post(GlobalRank, Channel, Bytes) {
    nothing_travels(rank());
}
void DryTransport::receive_together(std::span<const Expected>, Channel, const ConsumeTogether&) {
    nothing_travels(rank());
}

struct DryGroup::Members : CallingGroup {
    using CallingGroup::CallingGroup;

    void run(const Work::State& state) const override {
        const auto size = static_cast<int32_t>(ranks.size());
        if (state.recorder != nullptr) state.recorder->begin_collective(state.event, state.call.algorithm);
        if (is_control(state.call)) answer_alike(state.call, size, me);
        if (state.recorder != nullptr)
            state.recorder->end_collective(
                state.event, cost_of(state.call, state.call.algorithm, size, me, options).bytes_sent);
    }
};

DryGroup::DryGroup(StreamExecutor& executor, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                   trace::Recorder* recorder, GroupOptions options)
    : RecordedGroup(
          executor,
          std::make_shared<Members>(GroupInfo{index, std::move(name), std::move(ranks)}, std::move(options)),
          recorder) {}

}  // namespace meshscope::comm
