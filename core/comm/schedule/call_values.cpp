#include "core/comm/schedule/call_values.h"

#include <algorithm>

namespace meshscope::comm {

CallValues::CallValues(const ScheduleCall& call, Contributions& sets) : call_(call), sets_(sets) {
    std::vector<int64_t> counts = call.counts;
    if (counts.empty()) counts.assign(static_cast<std::size_t>(call.ranks), call.elements / call.ranks);
    set_parts_of(cut_, counts);
}

void CallValues::fill(int32_t r, std::vector<Value>& in, std::vector<Value>& out) {
    const auto whole = static_cast<std::size_t>(call_.elements);
    const auto own = static_cast<std::size_t>(part(r).elements);
    const auto mine = [&](std::vector<Value>& buffer, Part at, int64_t index) {
        for (int64_t i = 0; i < at.elements; ++i)
            buffer[static_cast<std::size_t>(at.first + i)] = {.index = index + i, .from = sets_.of(r)};
    };
    switch (call_.op) {
        case CollectiveOp::all_reduce:
            out.resize(whole);
            mine(out, {0, call_.elements}, 0);
            in = out;
            return;
        case CollectiveOp::broadcast:
            out.resize(whole);
            if (r == call_.root) mine(out, {0, call_.elements}, 0);
            return;
        case CollectiveOp::reduce:
            in.resize(whole);
            out.resize(r == call_.root ? whole : 0);
            mine(in, {0, call_.elements}, 0);
            return;
        case CollectiveOp::reduce_scatter:
            in.resize(whole);
            out.resize(own);
            mine(in, {0, call_.elements}, 0);
            return;
        case CollectiveOp::all_gather:
            in.resize(own);
            out.resize(whole);
            mine(in, {0, part(r).elements}, part(r).first);
            mine(out, part(r), part(r).first);
            return;
        case CollectiveOp::gather:
            in.resize(own);
            mine(in, {0, part(r).elements}, part(r).first);
            if (r != call_.root) return;
            out.resize(whole);
            mine(out, part(r), part(r).first);
            return;
        case CollectiveOp::scatter:
            out.resize(own);
            if (r != call_.root) return;
            in.resize(whole);
            mine(in, {0, call_.elements}, 0);
            mine(out, {0, part(r).elements}, part(r).first);
            return;
        case CollectiveOp::all_to_all:
            in.resize(whole);
            out.resize(whole);
            mine(in, {0, call_.elements}, r * call_.elements);
            mine(out, part(r), r * call_.elements + part(r).first);
            return;
        default:
            return;
    }
}

std::optional<Value> CallValues::wanted(int32_t r, int64_t i) {
    const int32_t divided = 1;
    switch (call_.op) {
        case CollectiveOp::all_reduce:
            return Value{.index = i, .from = sets_.all(), .divisions = divided};
        case CollectiveOp::reduce:
            if (r != call_.root) return std::nullopt;
            return Value{.index = i, .from = sets_.all(), .divisions = divided};
        case CollectiveOp::reduce_scatter:
            return Value{.index = part(r).first + i, .from = sets_.all(), .divisions = divided};
        case CollectiveOp::broadcast:
            return Value{.index = i, .from = sets_.of(call_.root)};
        case CollectiveOp::scatter:
            return Value{.index = part(r).first + i, .from = sets_.of(call_.root)};
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
            return Value{.index = i, .from = sets_.of(owner(i))};
        case CollectiveOp::all_to_all: {
            const int32_t q = owner(i);
            return Value{.index = q * call_.elements + part(r).first + (i - part(q).first),
                         .from = sets_.of(q)};
        }
        default:
            return std::nullopt;
    }
}

int32_t CallValues::owner(int64_t i) const {
    const auto after =
        std::ranges::upper_bound(cut_, i, {}, [](const Part& each) { return each.first + each.elements; });
    return static_cast<int32_t>(after - cut_.begin());
}

}  // namespace meshscope::comm
