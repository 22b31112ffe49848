#include "core/run/call_script_rank.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "core/parallel/strategy.h"
#include "core/tensor/dtype.h"
#include "core/tensor/host_access.h"
#include "core/tensor/kernels.h"

namespace meshscope::run {
namespace {

using scenario::Call;
using scenario::CallFill;
using tensor::Tensor;

/// Element `i` of what rank `rank` holds before a call of `elements` a rank.
double number_of(const Call& call, int32_t rank, int64_t i) {
    switch (call.fill) {
        case CallFill::arange:
            return static_cast<double>(i + call.elements * rank) + call.offset;
        case CallFill::rank:
            return rank + call.offset;
        case CallFill::ones:
            return 1.0 + call.offset;
        case CallFill::values:
            break;
    }
    return call.values[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)];
}

/// Writes a number into element i of a buffer; fractions are rounded to the dtype, uint8 counts modulo 256.
void put(std::byte* buffer, DType dtype, int64_t i, double number) {
    const auto store = [&](auto value) {
        std::memcpy(buffer + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
    };
    const auto fraction = static_cast<float>(number);
    switch (dtype) {
        case DType::float32:
            return store(fraction);
        case DType::bfloat16:
            return store(tensor::to_bfloat16(fraction));
        case DType::float16:
            return store(tensor::to_float16(fraction));
        case DType::int32:
            return store(static_cast<int32_t>(number));
        case DType::int64:
            return store(static_cast<int64_t>(number));
        case DType::uint8:
            return store(static_cast<uint8_t>(static_cast<int64_t>(number)));
    }
}

/// The rule of each op, whole: words are looked for in the sources by them.
std::string_view rule_of(CollectiveOp op) {
    switch (op) {
        case CollectiveOp::broadcast:
            return "call.broadcast";
        case CollectiveOp::reduce:
            return "call.reduce";
        case CollectiveOp::all_reduce:
            return "call.all_reduce";
        case CollectiveOp::gather:
            return "call.gather";
        case CollectiveOp::all_gather:
            return "call.all_gather";
        case CollectiveOp::scatter:
            return "call.scatter";
        case CollectiveOp::reduce_scatter:
            return "call.reduce_scatter";
        case CollectiveOp::all_to_all:
            return "call.all_to_all";
        case CollectiveOp::send:
            return "call.send";
        case CollectiveOp::recv:
            return "call.recv";
        case CollectiveOp::barrier:
            break;
    }
    return "call.barrier";
}

}  // namespace

CallScriptRank::CallScriptRank(comm::Transport& transport, const RunPlan& plan, RunControl& control)
    : RankParts(transport, plan, control) {
    std::map<int32_t, comm::ProcessGroup*> joined;
    for (const std::vector<int32_t>& indices : plan.groups.calls) {
        comm::ProcessGroup* mine = nullptr;
        for (const int32_t index : indices) {
            const trace::Group& group = plan.groups.groups[static_cast<std::size_t>(index)];
            if (!std::ranges::binary_search(group.ranks, rank_.value)) continue;
            comm::ProcessGroup*& known = joined[index];
            if (known == nullptr) known = join_group(index);
            mine = known;
        }
        groups_.push_back(mine);
    }
}

void CallScriptRank::run() {
    recorder_.set_step(0);
    recorder_.set_phase(Phase::forward);
    recorder_.set_microbatch(0);
    enter(0, Phase::forward);
    const auto started = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < scenario_.calls.size(); ++i) {
        if (!takes_part(i)) continue;
        make(i);
        append_part();
    }
    result_.wall_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started)
            .count();
}

bool CallScriptRank::takes_part(std::size_t i) const {
    const Call& call = scenario_.calls[i];
    if (groups_[i] == nullptr) return false;
    if (call.kind != Call::Kind::message)
        return call.ranks.empty() || std::ranges::binary_search(call.ranks, rank_.value);
    const int32_t me = groups_[i]->rank().value;
    return (call.sends && me == call.src) || (call.receives && me == call.dst);
}

void CallScriptRank::make(std::size_t i) {
    const Call& call = scenario_.calls[i];
    switch (call.kind) {
        case Call::Kind::collective:
            return collective(call, *groups_[i]);
        case Call::Kind::message:
            return message(call, *groups_[i]);
        case Call::Kind::work:
            return work(call);
    }
}

Tensor CallScriptRank::buffer(const Call& call, int64_t elements) {
    return allocator_.empty({elements}, call.dtype, MemoryCategory::communication, call.label);
}

Tensor CallScriptRank::filled(const Call& call) {
    Tensor tensor = buffer(call, call.elements);
    if (!plan_.dry)
        tensor::fill_bytes(tensor, [&](std::byte* bytes) {
            for (int64_t i = 0; i < call.elements; ++i)
                put(bytes, call.dtype, i, number_of(call, rank_.value, i));
        });
    return tensor;
}

void CallScriptRank::collective(const Call& call, comm::ProcessGroup& group) {
    const int64_t n = call.elements, p = group.size();
    const bool at_root = group.rank().value == call.root;
    Tensor input, output;
    switch (call.op) {
        case CollectiveOp::broadcast:
        case CollectiveOp::all_reduce:  // in place, as PyTorch's
            input = output = filled(call);
            break;
        case CollectiveOp::reduce:  // off the root nobody may look at the buffer afterwards
            input = filled(call);
            if (at_root) output = input;
            break;
        case CollectiveOp::gather:
            input = filled(call);
            if (at_root) output = buffer(call, n * p);
            break;
        case CollectiveOp::all_gather:
            input = filled(call);
            output = buffer(call, n * p);
            break;
        case CollectiveOp::scatter:
            if (at_root) input = filled(call);
            output = buffer(call, n / p);
            break;
        case CollectiveOp::reduce_scatter:
            input = filled(call);
            output = buffer(call, n / p);
            break;
        case CollectiveOp::all_to_all:
            input = filled(call);
            output = buffer(call, n);
            break;
        default:  // a barrier has no buffer
            break;
    }
    const bool rooted = call.op == CollectiveOp::broadcast || call.op == CollectiveOp::reduce ||
                        call.op == CollectiveOp::gather || call.op == CollectiveOp::scatter;
    const comm::CallOptions options{
        .cause = {rule_of(call.op), call.label}, .factor = call.factor, .async_op = false};
    group.issue({.op = call.op,
                 .reduce_op = call.reduce_op,
                 .peer = GroupRank{rooted ? call.root : -1},
                 .input = &input,
                 .output = &output,
                 .options = &options});
}

void CallScriptRank::message(const Call& call, comm::ProcessGroup& group) {
    if (call.sends && call.eager && group.rank().value == call.src)
        send_eagerly(call, group);
    else if (call.sends && group.rank().value == call.src)
        group.send(filled(call), GroupRank{call.dst},
                   {.cause = {rule_of(CollectiveOp::send), call.label}, .async_op = false});
    else
        group.recv(buffer(call, call.elements), GroupRank{call.src},
                   {.cause = {rule_of(CollectiveOp::recv), call.label}, .async_op = false});
}

/// From a buffer of the library's own: the rank goes on, and the message is under way beside what it does
/// next.
void CallScriptRank::send_eagerly(const Call& call, comm::ProcessGroup& group) {
    recorder_.depend(Stream::p2p, recorder_.last_event(Stream::compute));
    group
        .send(filled(call), GroupRank{call.dst},
              {.stream = Stream::p2p, .cause = {"call.send.eager", call.label}})
        .run();
}

void CallScriptRank::work(const Call& call) {
    const Tensor bytes = allocator_.empty({call.bytes}, DType::uint8, MemoryCategory::inputs, call.label);
    const nn::ComputeEvent event(&recorder_, allocator_, call.work, call.label);
    event->zero(bytes);
}

}  // namespace meshscope::run
