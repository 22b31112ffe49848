#include "core/time/unrecorded_times.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/comm/schedule/own/own_algorithm.h"

namespace meshscope::time {
namespace {

/// What the members' events tell.
Unrecorded summary(std::span<const int32_t> ranks, std::span<const trace::Event* const> events) {
    Unrecorded found;
    found.members = static_cast<int32_t>(ranks.size());
    found.event = events.back();
    for (const trace::Event* const e : events) {
        found.sent_bytes = std::max(found.sent_bytes, e->sent_bytes);
        found.full_bytes = std::max(found.full_bytes,
                                    std::max(e->in_elements, e->out_elements) * bytes_per_element(e->dtype));
    }
    return found;
}

}  // namespace

int64_t UnrecordedTimes::ns(int32_t group, std::span<const int32_t> ranks,
                            std::span<const trace::Event* const> events) {
    Unrecorded call = summary(ranks, events);
    const trace::Event& event = *call.event;
    // Of a group's pairs some stand on one machine and others apart.
    const bool apart =
        is_point_to_point(event.op) && links_.machine(ranks.front()) != links_.machine(ranks.back());
    const auto [at, is_new] = known_.try_emplace({group, apart, event.op, event.stream, event.algorithm,
                                                  event.dtype, call.sent_bytes, call.full_bytes});
    if (!is_new) return at->second;
    call.link = links_.link(group, ranks[0], ranks[0]);
    for (const int32_t rank : ranks) {
        call.node_of.push_back(links_.machine(rank));
        if (call.node_of.back() != call.node_of.front()) call.link.between_nodes = true;
    }
    if (event.algorithm == Algorithm::own) call.own = own(call.members);
    return at->second = unrecorded_ns(profile_, call);
}

/// The algorithm of the run's file; null where the record's text is none for so many ranks.
const comm::OwnAlgorithm* UnrecordedTimes::own(int32_t members) {
    if (trace_.info.algorithm_text.empty()) return nullptr;
    try {
        if (!own_) own_ = comm::OwnAlgorithm::parse(trace_.info.algorithm_text, trace_.info.algorithm_file);
        own_->proved(members);
    } catch (const Error&) {
        return nullptr;
    }
    return own_.get();
}

}  // namespace meshscope::time
