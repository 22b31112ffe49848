#include "app/gui/view/predict_call.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace meshscope::view {
namespace {

/// A record of that call alone, with so many elements and no hops.
trace::Trace call_alone(const trace::Trace& trace, const trace::Event& call, int64_t elements) {
    const trace::Group& group = trace.groups[static_cast<std::size_t>(call.group)];
    const auto members = static_cast<int64_t>(group.ranks.size());
    trace::Trace alone;
    alone.info.level = trace::Level::collectives;
    alone.info.world_size = trace.info.world_size;
    alone.info.node_of_rank = trace.info.node_of_rank;
    alone.info.algorithm_file = trace.info.algorithm_file;
    alone.info.algorithm_text = trace.info.algorithm_text;
    alone.strings = {""};
    alone.groups = {group};
    alone.ranks.resize(trace.ranks.size());
    trace::Event event;
    event.kind = trace::EventKind::collective;
    event.stream = call.stream;
    event.op = call.op;
    event.reduce_op = call.reduce_op;
    event.dtype = call.dtype;
    event.algorithm = call.algorithm;
    event.group = event.sequence = 0;
    event.peer = call.peer;
    // Which side is the whole buffer, the record says.
    event.in_elements = call.in_elements < call.out_elements ? elements / members : elements;
    event.out_elements = call.out_elements < call.in_elements ? elements / members : elements;
    for (const int32_t rank : group.ranks)
        if (static_cast<std::size_t>(rank) < alone.ranks.size())
            alone.ranks[static_cast<std::size_t>(rank)].events = {event};
    return alone;
}

int64_t length_ns(const trace::Trace& alone, const time::Profile& profile) {
    const time::Clock clock = time::modelled(alone, profile, time::Absent::as_present);
    int64_t begin = INT64_MAX, end = 0;
    for (const auto& events : clock.events)
        for (const time::Interval& at : events) {
            begin = std::min(begin, at.begin_ns);
            end = std::max(end, at.end_ns);
        }
    return end - begin;
}

}  // namespace

std::optional<int64_t> predicted_ns(const trace::Trace& trace, EventRef call, const time::Profile& profile,
                                    int64_t bytes, Memo* memo) {
    const trace::Event& event = trace.event(call.rank, call.event);
    if (event.group < 0 || event.algorithm == Algorithm::none || event.algorithm == Algorithm::native)
        return std::nullopt;
    const auto members =
        static_cast<int64_t>(trace.groups[static_cast<std::size_t>(event.group)].ranks.size());
    const int64_t each = std::max<int64_t>(1, bytes / bytes_per_element(event.dtype) / members);
    const auto find = [&] { return length_ns(call_alone(trace, event, each * members), profile); };
    if (members < 2) return std::nullopt;
    if (memo == nullptr) return find();
    // What a collective takes depends on these alone; two profiles may have one name.
    using Key = std::tuple<int32_t, int32_t, int64_t, std::array<int64_t, 3>, std::array<double, 4>>;
    const Key key{call.rank,
                  call.event,
                  bytes,
                  {profile.launch_ns, profile.latency_inside_ns, profile.latency_between_ns},
                  {profile.bandwidth_inside_bytes_per_s, profile.bandwidth_between_bytes_per_s,
                   profile.node_bytes_per_s, profile.reduce_bytes_per_s}};
    return *memo->the<Remembered<Key, int64_t>>(16).of(trace, nullptr, key, find);
}

}  // namespace meshscope::view
