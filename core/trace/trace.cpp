#include "core/trace/trace.h"

#include <algorithm>
#include <tuple>

#include "core/base/error.h"
#include "core/trace/places.h"

namespace meshscope::trace {
namespace {

/// One member's part in a collective, with what it is matched by. Members of a group's collective share
/// (group, 0, 0, sequence); a send and its recv share (group, src+1, dst, how manyth on this way).
struct Part {
    int32_t group;
    int32_t src;
    int32_t dst;
    int32_t number;
    int32_t place;  ///< position in the group
    int32_t rank;
    int32_t event;
    bool receives;  ///< of a send and its recv: the latter

    auto key() const { return std::tie(group, src, dst, number); }
    auto order() const { return std::tie(group, src, dst, number, place, event); }
};

bool is_p2p(const Event& event) {
    return event.op == CollectiveOp::send || event.op == CollectiveOp::recv;
}

/// Numbers what a rank sent (or received) on one way (group, src, dst), in the order of issue.
void number_p2p(std::vector<Part>& p2p) {
    const auto way = [](const Part& p) { return std::tie(p.group, p.src, p.dst, p.rank, p.receives); };
    std::sort(p2p.begin(), p2p.end(), [&](const Part& a, const Part& b) {
        return std::tuple_cat(way(a), std::tie(a.event)) < std::tuple_cat(way(b), std::tie(b.event));
    });
    for (std::size_t i = 0; i < p2p.size(); ++i)
        p2p[i].number = i > 0 && way(p2p[i - 1]) == way(p2p[i]) ? p2p[i - 1].number + 1 : 0;
}

}  // namespace

const Event& Trace::event(int32_t rank, int32_t id) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.size() || id < 0 ||
        static_cast<std::size_t>(id) >= ranks[static_cast<std::size_t>(rank)].events.size())
        throw InvalidArgument(Message{"trace.no_event", {{"rank", int64_t{rank}}, {"event", int64_t{id}}}});
    return ranks[static_cast<std::size_t>(rank)].events[static_cast<std::size_t>(id)];
}

std::vector<CollectiveInstance> collectives(const Trace& trace) {
    std::vector<Part> parts, p2p;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const auto rank = static_cast<int32_t>(r);
        GroupPlaces places(trace, rank);
        for (const Event& e : trace.ranks[r].events) {
            if (e.kind != EventKind::collective) continue;
            const int32_t place = places.of(e.group);
            if (!is_p2p(e)) {
                parts.push_back({e.group, 0, 0, e.sequence, place, rank, e.id, false});
                continue;
            }
            const bool receives = e.op == CollectiveOp::recv;
            const int32_t src = receives ? e.peer : rank;
            const int32_t dst = receives ? rank : e.peer;
            p2p.push_back({e.group, src + 1, dst, 0, place, rank, e.id, receives});
        }
    }
    number_p2p(p2p);
    parts.insert(parts.end(), p2p.begin(), p2p.end());
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.order() < b.order(); });

    std::vector<CollectiveInstance> instances;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        if (i == 0 || parts[i - 1].key() != part.key())
            instances.push_back({part.group, trace.event(part.rank, part.event).sequence, {}, {}});
        instances.back().ranks.push_back(part.rank);
        instances.back().events.push_back(part.event);
    }
    struct First {
        int64_t t_ns;
        int32_t rank, event;
        std::size_t instance;
    };
    std::vector<First> firsts;
    firsts.reserve(instances.size());
    for (std::size_t i = 0; i < instances.size(); ++i) {
        const auto lowest = std::min_element(instances[i].ranks.begin(), instances[i].ranks.end());
        const int32_t event =
            instances[i].events[static_cast<std::size_t>(lowest - instances[i].ranks.begin())];
        firsts.push_back({trace.event(*lowest, event).t_issue_ns, *lowest, event, i});
    }
    std::sort(firsts.begin(), firsts.end(), [](const First& a, const First& b) {
        return std::tie(a.t_ns, a.rank, a.event) < std::tie(b.t_ns, b.rank, b.event);
    });
    std::vector<CollectiveInstance> sorted;
    sorted.reserve(instances.size());
    for (const First& first : firsts) sorted.push_back(std::move(instances[first.instance]));
    return sorted;
}

}  // namespace meshscope::trace
