#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/time/clock.h"
#include "core/time/hops.h"
#include "core/time/machine_links.h"
#include "core/time/unrecorded.h"
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
        : trace_(trace), profile_(profile), links_(trace, profile), absent_(absent) {
        clock_.kind = ClockKind::modelled;
        clock_.profile = profile.name;
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

    /// One collective with all who take part, by their position in the group (0 = sender, 1 = receiver for
    /// send/recv).
    struct Instance {
        int32_t group = 0;
        std::vector<int32_t> ranks;
        std::vector<size_t> nodes;  ///< by position; kNone where a member never issued it
        size_t missing = 0;         ///< members that have not reached it
        int64_t begin_ns = 0;
        std::vector<HopPlace> hops;
    };

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
            std::map<Stream, size_t> last;
            for (size_t i = 0; i < trace_.ranks[r].events.size(); ++i) {
                const size_t node = first_node_[r] + i;
                const Event& e = trace_.ranks[r].events[i];
                // A send that shared the queue could hold up the receive that its own receiver waits behind.
                const bool joins =
                    !profile_.overlap && !(e.kind == EventKind::collective && is_point_to_point(e.op));
                const auto [before, is_first] = last.try_emplace(joins ? Stream::compute : e.stream, node);
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
            std::vector<int32_t> pair;
            if (is_point_to_point(e.op)) {
                const bool is_recv = e.op == CollectiveOp::recv;
                pair = is_recv ? std::vector{e.peer, rank} : std::vector{rank, e.peer};
                key = {e.group, transfers[{e.group, pair[0], pair[1], is_recv ? 1 : 0}]++, pair[0], pair[1]};
            }
            const auto [found, is_new] = known.try_emplace(key, instances_.size());
            if (is_new) {
                Instance& made = instances_.emplace_back();
                made.ranks = pair.empty() ? trace_.groups[static_cast<size_t>(e.group)].ranks : pair;
                made.group = e.group;
                for (const int32_t member : made.ranks) made.missing += is_expected(member) ? 1 : 0;
                made.nodes.assign(made.ranks.size(), kNone);
            }
            Instance& instance = instances_[found->second];
            const auto position = std::find(instance.ranks.begin(), instance.ranks.end(), rank);
            const auto at = static_cast<size_t>(position - instance.ranks.begin());
            if (position == instance.ranks.end() || instance.nodes[at] != kNone) {
                cannot_replay(nodes_[node].rank, nodes_[node].id);  // not its group, or it came twice
            }
            instance.nodes[at] = node;
            nodes_[node].instance = found->second;
        }
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
        if (instance.hops.empty() && instance.ranks.size() > 1 && tells_hops(instance)) return true;
        return std::any_of(instance.nodes.begin(), instance.nodes.end(), [&](size_t node) {
            return node != kNone && event(node).t_end_ns <= event(node).t_begin_ns;
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
            if (instance.nodes[i] == kNone || (cut_off && !went_on(instance.nodes[i]))) continue;
            finish(instance.nodes[i], instance.begin_ns, ends[i]);
            ++finished;
        }
        return finished;
    }

    /// What is known of a collective without hops, over the members that recorded it.
    Unrecorded summary(const Instance& instance) const {
        Unrecorded found;
        found.members = static_cast<int32_t>(instance.ranks.size());
        found.link = links_.link(instance.group, instance.ranks[0], instance.ranks[0]);
        for (size_t i = 0; i < instance.ranks.size(); ++i) {
            found.node_of.push_back(links_.machine(instance.ranks[i]));
            if (links_.machine(instance.ranks[i]) != links_.machine(instance.ranks[0]))
                found.link.between_nodes = true;
            if (instance.nodes[i] == kNone) continue;
            const Event& e = event(instance.nodes[i]);
            found.event = &e;
            found.sent_bytes = std::max(found.sent_bytes, e.sent_bytes);
            found.full_bytes = std::max(found.full_bytes,
                                        std::max(e.in_elements, e.out_elements) * bytes_per_element(e.dtype));
        }
        return found;
    }

    /// Whether what a collective moved would have left hops. A run that was cut off may lack members.
    bool tells_hops(const Instance& instance) const {
        if (trace_.info.level < trace::Level::hops) return false;
        for (const auto node : instance.nodes)
            if (node != kNone) return trace::tells_sent_bytes(event(node));
        return true;
    }

    /// The algorithm of the run's file; null where the record's text is none for so many ranks.
    const comm::OwnAlgorithm* own(int32_t members) {
        if (trace_.info.algorithm_text.empty()) return nullptr;
        try {
            if (!own_)
                own_ = comm::OwnAlgorithm::parse(trace_.info.algorithm_text, trace_.info.algorithm_file);
            own_->proved(members);
        } catch (const Error&) {
            return nullptr;
        }
        return own_.get();
    }

    /// The time of a collective without hops. Of the many alike in a run one is reckoned.
    int64_t unrecorded(const Instance& instance) {
        Unrecorded known = summary(instance);
        if (known.event->algorithm == Algorithm::own) known.own = own(known.members);
        const auto [at, is_new] = unrecorded_.try_emplace(
            std::tuple(instance.group, known.event->op, known.event->algorithm, known.event->dtype,
                       known.sent_bytes, known.full_bytes));
        if (is_new) at->second = unrecorded_ns(profile_, known);
        return at->second;
    }

    /// Times the hops of a collective that all members have reached; the members' ends by position.
    std::vector<int64_t> run(const Instance& instance) {
        const int64_t begin = instance.begin_ns + profile_.launch_ns;
        const size_t members = instance.ranks.size();
        if (instance.hops.empty()) {
            if (members < 2 || tells_hops(instance)) return std::vector(members, begin);
            return std::vector(members, begin + unrecorded(instance));
        }
        for (size_t i = 0; i < members; ++i) position_[instance.ranks[i]] = static_cast<int32_t>(i);
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
        std::vector<int64_t> ends = time_hops(hops, static_cast<int32_t>(members), begin);
        for (size_t i = 0; i < hops.size(); ++i) {
            clock_.hops[instance.hops[i].rank][instance.hops[i].index] = hops[i].time;
        }
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

    std::map<std::tuple<int32_t, CollectiveOp, Algorithm, DType, int64_t, int64_t>, int64_t> unrecorded_;
    std::shared_ptr<const comm::OwnAlgorithm> own_;
    const trace::Trace& trace_;
    const Profile& profile_;
    MachineLinks links_;
    Absent absent_;
    Clock clock_;
    std::vector<size_t> first_node_;  // by rank
    std::vector<Node> nodes_;         // rank by rank, in order of issue
    std::vector<Instance> instances_;
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
