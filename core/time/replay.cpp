#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/time/clock.h"
#include "core/time/hops.h"
#include "core/time/machine_links.h"
#include "core/time/queue.h"
#include "core/time/unrecorded_times.h"
#include "core/trace/recorded.h"
#include "core/trace/simulated.h"

namespace meshscope::time {
namespace {

using trace::Event;
using trace::EventKind;

[[noreturn]] void cannot_replay(size_t rank, size_t event) {
    throw InvalidArgument({"time.cannot_replay",
                           {{"rank", static_cast<int64_t>(rank)}, {"event", static_cast<int64_t>(event)}}});
}

/// Plays a trace once. The order in which ready work is taken does not matter: every begin is a maximum of
/// ends that are already known, and nothing is shared between two collectives.
class Replay {
  public:
    Replay(const trace::Trace& trace, const Profile& profile, Absent absent)
        : trace_(trace),
          profile_(profile),
          links_(trace, profile),
          unrecorded_(trace, profile, links_),
          absent_(absent) {
        clock_.kind = ClockKind::modelled;
        clock_.profile = profile.name;
        clock_.overlap = profile.overlap;
        make_nodes();
        order_streams();
        order_dependencies();
        match_collectives();
        assign_hops();
    }

    Clock play() {
        for (size_t node = 0; node < nodes_.size(); ++node) {
            if (nodes_[node].waits_for == 0) ready_.push_back(node);
        }
        size_t played = 0;
        while (!ready_.empty()) {
            const size_t node = ready_.back();
            ready_.pop_back();
            if (event(node).kind == EventKind::compute) {
                const int64_t begin = nodes_[node].ready_ns;
                const Event& e = event(node);
                finish(node, begin,
                       begin + compute_ns(profile_, trace_.text(e.name), e.dtype, e.flops, e.touched_bytes));
                ++played;
            } else {
                played += reach(node);
            }
        }
        if (played != nodes_.size()) {
            if (trace_.info.failure.empty()) report_stuck();
            leave_unfinished();
        }
        return std::move(clock_);
    }

  private:
    static constexpr size_t kNone = static_cast<size_t>(-1);

    /// An event: how many others it still waits for, and the latest end among those that are over.
    struct Node {
        size_t rank = 0;
        size_t id = 0;
        int64_t ready_ns = 0;
        int32_t waits_for = 0;
        size_t instance = kNone;       ///< collectives only
        std::vector<size_t> releases;  ///< the nodes that wait for this one
        bool over = false;
    };

    struct HopPlace {
        size_t rank = 0;
        size_t index = 0;
    };

    /// Who issued a collective, and its position in the group (0 = sender, 1 = receiver for send/recv).
    struct Member {
        size_t position = 0;
        size_t node = 0;
    };

    /// One collective. A world may have many more ranks than recorded anything: nothing here is as long as a
    /// group.
    struct Instance {
        int32_t group = 0;
        std::array<int32_t, 2> pair{-1, -1};  ///< sender and receiver; else the group's ranks take part
        std::vector<Member> members;          ///< who issued it
        size_t missing = 0;                   ///< members that have not reached it
        int64_t begin_ns = 0;
        std::vector<HopPlace> hops;
    };

    std::span<const int32_t> ranks_of(const Instance& instance) const {
        if (instance.pair[0] >= 0) return instance.pair;
        return trace_.groups[static_cast<size_t>(instance.group)].ranks;
    }
    /// The position of a rank among those that take part; kNone: it does not.
    size_t position_of(const Instance& instance, int32_t rank) const {
        const std::span<const int32_t> ranks = ranks_of(instance);
        auto found = std::ranges::lower_bound(ranks, rank);
        if (found == ranks.end() || *found != rank) found = std::ranges::find(ranks, rank);
        return found == ranks.end() ? kNone : static_cast<size_t>(found - ranks.begin());
    }

    const Event& event(size_t node) const { return trace_.ranks[nodes_[node].rank].events[nodes_[node].id]; }
    size_t node_of(size_t rank, int32_t id) const { return first_node_[rank] + static_cast<size_t>(id); }

    void make_nodes() {
        for (size_t r = 0; r < trace_.ranks.size(); ++r) {
            const size_t events = trace_.ranks[r].events.size();
            first_node_.push_back(nodes_.size());
            for (size_t i = 0; i < events; ++i) {
                nodes_.emplace_back();
                nodes_.back().rank = r;
                nodes_.back().id = i;
            }
            clock_.events.emplace_back(events);
            clock_.hops.emplace_back(trace_.ranks[r].hops.size());
        }
    }

    void wait_for(size_t node, size_t on) {
        ++nodes_[node].waits_for;
        nodes_[on].releases.push_back(node);
    }

    void order_streams() {
        for (size_t r = 0; r < trace_.ranks.size(); ++r) {
            std::map<Queue, size_t> last;
            for (size_t i = 0; i < trace_.ranks[r].events.size(); ++i) {
                const size_t node = first_node_[r] + i;
                const Queue queue = played_queue(trace_.ranks[r].events[i], profile_.overlap);
                const auto [before, is_first] = last.try_emplace(queue, node);
                if (!is_first) wait_for(node, before->second);
                before->second = node;
            }
        }
    }

    void order_dependencies() {
        for (size_t r = 0; r < trace_.ranks.size(); ++r) {
            const auto events = static_cast<int32_t>(trace_.ranks[r].events.size());
            for (const trace::Dependency& d : trace_.ranks[r].dependencies) {
                if (d.event < 0 || d.event >= events || d.on < 0 || d.on >= events) {
                    cannot_replay(r, static_cast<size_t>(std::max(d.event, 0)));
                }
                wait_for(node_of(r, d.event), node_of(r, d.on));
            }
        }
    }

    /// Collectives meet by (group, sequence). A send meets a recv by (group, sender, receiver) and order,
    /// since only two ranks of the group know of it.
    void match_collectives() {
        std::map<std::array<int32_t, 4>, size_t> known;
        std::map<std::array<int32_t, 4>, int32_t>
            transfers;  // (group, sender, receiver, is recv) → how many so far
        for (size_t node = 0; node < nodes_.size(); ++node) {
            const Event& e = event(node);
            if (e.kind != EventKind::collective) continue;
            const auto rank = static_cast<int32_t>(nodes_[node].rank);
            if (e.group < 0 || static_cast<size_t>(e.group) >= trace_.groups.size()) {
                cannot_replay(nodes_[node].rank, nodes_[node].id);
            }
            std::array<int32_t, 4> key = {e.group, e.sequence, -1, -1};
            std::array<int32_t, 2> pair{-1, -1};
            if (is_point_to_point(e.op)) {
                const bool is_recv = e.op == CollectiveOp::recv;
                pair = is_recv ? std::array{e.peer, rank} : std::array{rank, e.peer};
                key = {e.group, transfers[{e.group, pair[0], pair[1], is_recv ? 1 : 0}]++, pair[0], pair[1]};
            }
            const auto [found, is_new] = known.try_emplace(key, instances_.size());
            if (is_new) {
                Instance& made = instances_.emplace_back();
                made.pair = pair;
                made.group = e.group;
                made.missing = expected(made);
                made.members.reserve(made.missing);
            }
            Instance& instance = instances_[found->second];
            const size_t at = position_of(instance, rank);
            // Ranks come one after the other: who issued it twice was the last.
            const bool twice = !instance.members.empty() && instance.members.back().position == at;
            if (at == kNone || twice) {
                cannot_replay(nodes_[node].rank, nodes_[node].id);  // not its group, or it came twice
            }
            instance.members.push_back({at, node});
            nodes_[node].instance = found->second;
        }
        for (Instance& instance : instances_) std::ranges::sort(instance.members, {}, &Member::position);
    }

    /// How many are expected to take part; of a group they are counted once.
    size_t expected(const Instance& instance) {
        const auto count = [this](std::span<const int32_t> ranks) {
            return static_cast<size_t>(
                std::ranges::count_if(ranks, [this](int32_t r) { return is_expected(r); }));
        };
        if (instance.pair[0] >= 0) return count(instance.pair);
        const auto [known, is_new] = expected_.try_emplace(instance.group);
        if (is_new) known->second = count(ranks_of(instance));
        return known->second;
    }

    /// A rank that recorded nothing: the others are taken to have met it where the caller says so, and in a
    /// run that failed, whose dead ranks may have left no record.
    bool is_expected(int32_t rank) const {
        return (absent_ == Absent::refused && trace_.info.failure.empty()) ||
               !trace_.ranks[static_cast<size_t>(rank)].events.empty();
    }

    void assign_hops() {
        for (size_t r = 0; r < trace_.ranks.size(); ++r) {
            const trace::RankTrace& rank = trace_.ranks[r];
            for (size_t i = 0; i < rank.hops.size(); ++i) {
                const int32_t id = rank.hops[i].event;
                const bool known = id >= 0 && static_cast<size_t>(id) < rank.events.size();
                if (!known || nodes_[node_of(r, id)].instance == kNone) {
                    cannot_replay(r, static_cast<size_t>(std::max(id, 0)));
                }
                instances_[nodes_[node_of(r, id)].instance].hops.push_back({r, i});
            }
        }
    }

    /// Whether the record has its rank go on behind a collective: then it had ended there.
    bool went_on(size_t node) const {
        const auto& next = nodes_[node].releases;
        return std::any_of(next.begin(), next.end(), [&](size_t behind) {
            const Event& e = event(behind);
            return e.kind == EventKind::compute ||
                   (e.t_end_ns > e.t_begin_ns && e.t_begin_ns >= event(node).t_end_ns);
        });
    }

    /// A collective that all have reached, in a run that failed: whether somebody was still in it. Such a
    /// call has no end of its own (core/run/rank.cpp, abandon), often no length, and where the calls did not
    /// fit together no hops.
    bool was_cut_off(const Instance& instance) const {
        if (trace_.info.failure.empty()) return false;
        if (instance.hops.empty() && ranks_of(instance).size() > 1 && tells_hops(instance)) return true;
        return std::ranges::any_of(instance.members, [&](const Member& member) {
            return event(member.node).t_end_ns <= event(member.node).t_begin_ns;
        });
    }

    /// What the failure cut off. A collective that a rank had reached lasts to the end, which is put a tenth
    /// later so that waiting can be seen; what had not begun stands there, without length.
    void leave_unfinished() {
        clock_.end_ns += clock_.end_ns / 10 + 1;
        for (size_t i = 0; i < nodes_.size(); ++i) {
            const Node& node = nodes_[i];
            if (node.over) continue;
            int64_t begin = clock_.end_ns;
            if (node.waits_for == 0) {
                const Instance& instance = instances_[node.instance];
                begin = instance.missing == 0 ? instance.begin_ns : node.ready_ns;
            }
            clock_.events[node.rank][node.id] = {begin, clock_.end_ns};
        }
        for (size_t r = 0; r < trace_.ranks.size(); ++r)
            for (size_t i = 0; i < trace_.ranks[r].hops.size(); ++i) {
                Interval& hop = clock_.hops[r][i];
                const size_t node = node_of(r, trace_.ranks[r].hops[i].event);
                if (hop.end_ns == 0 && !nodes_[node].over) {
                    const int64_t begin = clock_.events[r][nodes_[node].id].begin_ns;
                    hop = {begin, begin};
                }
            }
    }

    void finish(size_t node, int64_t begin_ns, int64_t end_ns) {
        end_ns = std::min(end_ns, kEndOfTimeNs);
        Node& done = nodes_[node];
        done.over = true;
        clock_.events[done.rank][done.id] = {begin_ns, end_ns};
        clock_.end_ns = std::max(clock_.end_ns, end_ns);
        for (const size_t next : done.releases) {
            nodes_[next].ready_ns = std::max(nodes_[next].ready_ns, end_ns);
            if (--nodes_[next].waits_for == 0) ready_.push_back(next);
        }
    }

    /// A member has reached its collective; the last one starts it. Returns how many events that finished.
    size_t reach(size_t node) {
        Instance& instance = instances_[nodes_[node].instance];
        instance.begin_ns = std::max(instance.begin_ns, nodes_[node].ready_ns);
        if (--instance.missing > 0) return 0;
        const std::vector<int64_t> ends = run(instance);
        const bool cut_off = was_cut_off(instance);
        size_t finished = 0;
        for (size_t i = 0; i < ends.size(); ++i) {
            if (cut_off && !went_on(instance.members[i].node)) continue;
            finish(instance.members[i].node, instance.begin_ns, ends[i]);
            ++finished;
        }
        return finished;
    }

    /// Whether what a collective moved would have left hops. A run that was cut off may lack members.
    bool tells_hops(const Instance& instance) const {
        if (trace_.info.level < trace::Level::hops) return false;
        return instance.members.empty() || trace::tells_sent_bytes(event(instance.members.front().node));
    }

    int64_t unrecorded(const Instance& instance) {
        std::vector<const Event*> events;
        for (const Member& member : instance.members) events.push_back(&event(member.node));
        return unrecorded_.ns(instance.group, ranks_of(instance), events);
    }

    /// Times the hops of a collective that all members have reached; the ends of those that issued it.
    std::vector<int64_t> run(const Instance& instance) {
        const int64_t begin = instance.begin_ns + profile_.launch_ns;
        const std::span<const int32_t> ranks = ranks_of(instance);
        if (instance.hops.empty()) {
            const bool moves = ranks.size() > 1 && !tells_hops(instance);
            return std::vector(instance.members.size(), moves ? begin + unrecorded(instance) : begin);
        }
        for (size_t i = 0; i < ranks.size(); ++i) position_[ranks[i]] = static_cast<int32_t>(i);
        std::vector<TimedHop> hops;
        hops.reserve(instance.hops.size());
        for (const HopPlace& place : instance.hops) {
            const trace::Hop& hop = trace_.ranks[place.rank].hops[place.index];
            const auto src = position_.find(hop.src);
            const auto dst = position_.find(hop.dst);
            if (src == position_.end() || dst == position_.end()) {
                cannot_replay(place.rank, static_cast<size_t>(hop.event));
            }
            hops.push_back(
                {hop.round,
                 src->second,
                 dst->second,
                 hop_ns(profile_, hop.bytes, links_.link(instance.group, hop.src, hop.dst), hop.reduces != 0),
                 {}});
        }
        position_.clear();
        const std::vector<int64_t> all = time_hops(hops, static_cast<int32_t>(ranks.size()), begin);
        for (size_t i = 0; i < hops.size(); ++i) {
            clock_.hops[instance.hops[i].rank][instance.hops[i].index] = hops[i].time;
        }
        std::vector<int64_t> ends;
        for (const Member& member : instance.members) ends.push_back(all[member.position]);
        return ends;
    }

    /// Names the event that tells most: a collective somebody waits in, else the first that never began.
    [[noreturn]] void report_stuck() const {
        const Node* first = nullptr;
        for (const Node& node : nodes_) {
            if (node.over) continue;
            if (node.waits_for == 0) cannot_replay(node.rank, node.id);
            if (first == nullptr) first = &node;
        }
        cannot_replay(first->rank, first->id);
    }

    const trace::Trace& trace_;
    const Profile& profile_;
    MachineLinks links_;
    UnrecordedTimes unrecorded_;
    Absent absent_;
    Clock clock_;
    std::vector<size_t> first_node_;  // by rank
    std::vector<Node> nodes_;         // rank by rank, in order of issue
    std::vector<Instance> instances_;
    std::map<int32_t, size_t> expected_;  // by group
    std::vector<size_t> ready_;
    std::map<int32_t, int32_t> position_;  // of the running instance: rank → position
};

}  // namespace

Clock modelled(const trace::Trace& trace, const Profile& profile, Absent absent) {
    check(profile);
    if (trace::is_simulated(trace.info)) {
        Clock clock = measured(trace);
        clock.kind = ClockKind::modelled;
        clock.profile = trace::kSimulated;
        return clock;
    }
    return Replay(trace, profile, absent).play();
}

}  // namespace meshscope::time
