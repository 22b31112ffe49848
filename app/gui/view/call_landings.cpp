#include "app/gui/view/call_landings.h"

#include <algorithm>
#include <tuple>

#include "app/gui/view/call_hops.h"
#include "app/gui/view/collective_state.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMostMembersWithValues = 8, kMostMembersWithCells = kMaskBits;

/// How many ranks are in some parts, and which: of large groups only how many.
struct Held {
    std::vector<int32_t> count;
    std::vector<uint64_t> from;  ///< empty: not told

    void reset(std::size_t parts, bool tells_from) {
        count.assign(parts, 0);
        from.assign(tells_from ? parts : 0, 0);
    }
    void push_back(int32_t ranks, uint64_t which, bool tells_from) {
        count.push_back(ranks);
        if (tells_from) from.push_back(which);
    }
    uint64_t which(std::size_t at) const { return from.empty() ? 0 : from[at]; }
    void set(std::size_t at, int32_t ranks, uint64_t which) {
        count[at] = ranks;
        if (!from.empty()) from[at] = which;
    }
};

class Builder {
  public:
    Builder(const trace::Trace& trace, const time::Clock& clock, EventRef call)
        : trace_(trace), clock_(clock), call_(call) {}

    CallLandings build() {
        find_members(trace_, clock_, call_, out_);
        if (!has_parts(out_.op) || out_.ranks.size() < 2) return std::move(out_);
        each_ = out_.ranks.size() <= kMostMembersWithValues;
        keeps_ = out_.ranks.size() <= kMostMembersWithCells;
        hops_ = hops_of_call(trace_, out_);
        want();
        carry();
        land();
        count();
        values();
        if (!keeps_) out_.wanted = {};
        return std::move(out_);
    }

  private:
    const trace::Event& event(std::size_t m) const { return trace_.event(out_.ranks[m], out_.events[m]); }
    bool present(std::size_t m) const { return out_.events[m] >= 0; }

    /// The rank that a rooted op gives from or collects at, as a group rank.
    std::size_t root() const {
        for (std::size_t m = 0; m < out_.ranks.size(); ++m)
            if (present(m))
                for (std::size_t r = 0; r < out_.ranks.size(); ++r)
                    if (out_.ranks[r] == event(m).peer) return r;
        return 0;
    }

    int32_t wanted(std::size_t m, std::size_t c, std::size_t root) const {
        const auto n = static_cast<int32_t>(out_.ranks.size());
        switch (out_.op) {
            case CollectiveOp::all_reduce:
                return n;
            case CollectiveOp::reduce:
                return m == root ? n : 0;
            case CollectiveOp::reduce_scatter:
                return m == c ? n : 0;
            case CollectiveOp::scatter:
                return m == c ? 1 : 0;
            case CollectiveOp::gather:
                return m == root ? 1 : 0;
            default:
                return 1;
        }
    }
    bool has(std::size_t m, std::size_t c, std::size_t root) const {
        switch (out_.op) {
            case CollectiveOp::all_gather:
            case CollectiveOp::gather:
            case CollectiveOp::all_to_all:
                return m == c;
            case CollectiveOp::broadcast:
            case CollectiveOp::scatter:
                return m == root;
            default:
                return true;
        }
    }

    std::size_t cuts() const { return hops_.column_of.size(); }
    std::size_t column_of(std::size_t cut) const { return static_cast<std::size_t>(hops_.column_of[cut]); }
    std::size_t place(std::size_t m, std::size_t cut) const { return m * cuts() + cut; }
    time::Interval time_of(const CallHop& h) const {
        const auto rank = static_cast<std::size_t>(out_.ranks[static_cast<std::size_t>(h.receiver)]);
        return clock_.hops[rank][static_cast<std::size_t>(h.hop - trace_.ranks[rank].hops.data())];
    }

    /// What each member must come to hold, and what it holds before the first hop.
    void want() {
        const std::size_t from = root(), n = out_.ranks.size();
        out_.wanted.assign(n * out_.columns(), 0);
        for (std::size_t m = 0; m < n; ++m)
            for (std::size_t c = 0; c < out_.columns(); ++c) {
                // A part without elements never travels.
                if (out_.edges[c + 1] > out_.edges[c]) out_.wanted[out_.at(m, c)] = wanted(m, c, from);
                out_.all += out_.wanted[out_.at(m, c)] > 0;
            }
        first_of_.assign(out_.columns() + 1, cuts());
        for (std::size_t k = cuts(); k-- > 0;) first_of_[column_of(k)] = k;
        for (std::size_t c = out_.columns(); c-- > 0;)
            first_of_[c] = std::min(first_of_[c], first_of_[c + 1]);
        begin();
        if (!keeps_) return;
        out_.cells.resize(out_.wanted.size());
        for (std::size_t at = 0; at < out_.cells.size(); ++at) out_.cells[at] = cell(at);
    }

    /// All as it stands before the first hop.
    void begin() {
        const std::size_t from = root();
        held_.reset(out_.ranks.size() * cuts(), keeps_);
        for (std::size_t m = 0; m < out_.ranks.size(); ++m)
            for (std::size_t k = 0; k < cuts(); ++k)
                if (present(m) && has(m, column_of(k), from)) held_.set(place(m, k), 1, member_bit(m));
    }

    /// How many ranks are in all of a cell.
    int32_t count_of(std::size_t at) const {
        const std::size_t m = at / out_.columns(), c = at % out_.columns();
        if (first_of_[c] >= first_of_[c + 1]) return 0;
        const auto first = held_.count.begin() + static_cast<std::ptrdiff_t>(place(m, first_of_[c])),
                   last = held_.count.begin() + static_cast<std::ptrdiff_t>(place(m, first_of_[c + 1]));
        return *std::min_element(first, last);
    }
    /// What is in all of a cell.
    CallCell cell(std::size_t at) const {
        const std::size_t m = at / out_.columns(), c = at % out_.columns();
        if (first_of_[c] >= first_of_[c + 1]) return {};
        uint64_t from = ~uint64_t{0};
        for (std::size_t k = first_of_[c]; k < first_of_[c + 1]; ++k) from &= held_.which(place(m, k));
        return {count_of(at), from, 0, false};
    }
    bool is_complete(std::size_t at) const { return out_.wanted[at] > 0 && count_of(at) >= out_.wanted[at]; }

    /// What each hop carries of each cut: all rounds once, senders as they stood before the round.
    void carry() {
        const bool adds = !moves_origins(out_.op), named = has_owned_parts(out_.op) && !adds;
        carried_at_.reserve(hops_.hops.size());
        for (std::size_t begin = 0, end = 0; begin < hops_.hops.size(); begin = end) {
            while (end < hops_.hops.size() && hops_.hops[end].hop->round == hops_.hops[begin].hop->round)
                ++end;
            for (std::size_t k = begin; k < end; ++k) {
                const CallHop& h = hops_.hops[k];
                const auto sender = static_cast<std::size_t>(h.sender);
                carried_at_.push_back(carried_.count.size());
                hops_.each_cut(h, [&](std::size_t cut) {
                    const std::size_t at = place(sender, cut);
                    if (named)  // whose it is, its place tells
                        carried_.push_back(1, member_bit(cut), keeps_);
                    else if (held_.count[at] == 0)
                        carried_.push_back(1, member_bit(sender), keeps_);
                    else
                        carried_.push_back(held_.count[at], held_.which(at), keeps_);
                });
            }
            for (std::size_t k = begin; k < end; ++k) mark(k);
        }
        begin();
    }

    void mark(std::size_t k) {
        const CallHop& h = hops_.hops[k];
        std::size_t i = carried_at_[k];
        hops_.each_cut(h, [&](std::size_t cut) {
            const std::size_t at = place(static_cast<std::size_t>(h.receiver), cut);
            if (h.hop->reduces != 0)
                held_.set(at, held_.count[at] + carried_.count[i], held_.which(at) | carried_.which(i));
            else
                held_.set(at, carried_.count[i], carried_.which(i));
            ++i;
        });
    }
    /// Calls `each` with the cells that a hop lands in.
    template <class Each>
    void cells_of(const CallHop& h, const Each& each) const {
        std::size_t last = out_.columns();
        hops_.each_cut(h, [&](std::size_t cut) {
            const std::size_t column = column_of(cut);
            if (column != last) each(out_.at(static_cast<std::size_t>(h.receiver), column));
            last = column;
        });
    }

    /// The hops by when they land; those that land at one time in order of rounds.
    struct Arrival {
        int64_t at_ns = 0;
        uint32_t hop = 0;
    };
    template <class Time>
    std::vector<Arrival> arrivals(const Time& time) const {
        std::vector<Arrival> order;
        order.reserve(hops_.hops.size());
        for (const CallHop& h : hops_.hops) order.push_back({time(h), static_cast<uint32_t>(order.size())});
        // Rounds follow each other: often they are in order as they are.
        if (!std::ranges::is_sorted(order, {}, &Arrival::at_ns))
            std::ranges::stable_sort(order, {}, &Arrival::at_ns);
        return order;
    }

    void land() {
        // A few members: hops that end together, as one port serves one at a time. Many: whole rounds.
        std::vector<int64_t> ends(static_cast<std::size_t>(out_.rounds), 0);
        for (const CallHop& h : hops_.hops) {
            int64_t& end = ends[static_cast<std::size_t>(h.hop->round)];
            end = std::max(end, time_of(h).end_ns);
        }
        for (std::size_t r = 1; r < ends.size(); ++r) ends[r] = std::max(ends[r], ends[r - 1]);
        const std::vector<Arrival> order = arrivals([&](const CallHop& h) {
            return each_ ? time_of(h).end_ns : ends[static_cast<std::size_t>(h.hop->round)];
        });
        const int64_t together = each_ ? std::max<int64_t>(1, out_.length_ns / 200) : 0;
        std::vector<std::size_t> touched;
        for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
            while (end < order.size() && order[end].at_ns <= order[begin].at_ns + together) ++end;
            Landing landing;
            landing.begin_ns = INT64_MAX;
            landing.first = out_.changes.size();
            landing.bytes = hops_.hops[order[begin].hop].hop->bytes;
            touched.clear();
            for (std::size_t k = begin; k < end; ++k) {
                const CallHop& h = hops_.hops[order[k].hop];
                const time::Interval when = time_of(h);
                landing.begin_ns = std::min(landing.begin_ns, when.begin_ns - out_.begin_ns);
                landing.end_ns = std::max(landing.end_ns, when.end_ns - out_.begin_ns);
                landing.round = std::max(landing.round, h.hop->round);
                landing.even = landing.even && h.hop->bytes == landing.bytes;
                ++landing.n_links;
                if (landing.links.size() < Landing::kMostLinks)
                    landing.links.emplace_back(h.sender, h.receiver);
                if (!keeps_) continue;
                mark(order[k].hop);
                cells_of(h, [&](std::size_t at) { touched.push_back(at); });
            }
            std::ranges::sort(touched);
            touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
            for (const std::size_t at : touched)
                out_.changes.push_back({static_cast<int32_t>(at / out_.columns()),
                                        static_cast<int32_t>(at % out_.columns()), cell(at)});
            landing.last = out_.changes.size();
            out_.landings.push_back(std::move(landing));
        }
    }

    /// How many parts are complete from hop to hop.
    void count() {
        begin();
        int64_t now = 0;
        for (std::size_t at = 0; at < out_.wanted.size(); ++at) now += is_complete(at);
        out_.complete.emplace_back(0, now);
        const int64_t step = out_.length_ns / static_cast<int64_t>(CallLandings::kMostPoints);
        int64_t last_ns = 0;
        for (const Arrival& a : arrivals([&](const CallHop& h) { return time_of(h).end_ns; })) {
            const CallHop& h = hops_.hops[a.hop];
            cells_of(h, [&](std::size_t at) { now -= is_complete(at); });
            mark(a.hop);
            cells_of(h, [&](std::size_t at) { now += is_complete(at); });
            last_ns = a.at_ns - out_.begin_ns;
            if (out_.complete.size() > 1 && out_.complete.back().first + step >= last_ns)
                out_.complete.back().second = now;
            else
                out_.complete.emplace_back(last_ns, now);
        }
        if (!hops_.hops.empty()) out_.complete.back().first = last_ns;
    }

    /// The first number of each cell, replayed, where the record kept them.
    void values() {
        if (out_.ranks.size() > kMostMembersWithValues || out_.op == CollectiveOp::all_to_all) return;
        const trace::Event& shown = trace_.event(call_.rank, call_.event);
        trace::CollectiveInstance instance{shown.group, shown.sequence, {}, {}};
        std::vector<std::size_t> member;
        for (std::size_t m = 0; m < out_.ranks.size(); ++m) {
            if (!present(m)) continue;
            instance.ranks.push_back(out_.ranks[m]);
            instance.events.push_back(out_.events[m]);
            member.push_back(m);
        }
        const auto fill = [&](const CollectiveState& state, std::size_t at, CallCell& cell) {
            const std::size_t m = at / out_.columns(), c = at % out_.columns();
            for (std::size_t i = 0; i < member.size(); ++i) {
                if (member[i] != m) continue;
                const BufferState& buffer = state.buffers[i];
                const auto first = static_cast<std::size_t>(out_.edges[c]);
                if (out_.edges[c + 1] == out_.edges[c] || first >= buffer.values.size() ||
                    buffer.known[first] == 0)
                    return;
                cell.value = buffer.values[first];
                cell.known = true;
            }
        };
        const CollectiveState first = collective_after(trace_, instance, 0);
        if (std::ranges::all_of(first.buffers, [](const BufferState& b) { return b.values.empty(); })) return;
        for (std::size_t at = 0; at < out_.cells.size(); ++at) fill(first, at, out_.cells[at]);
        for (const Landing& landing : out_.landings) {
            const CollectiveState state =
                collective_state(trace_, clock_, instance, out_.begin_ns + landing.end_ns);
            for (std::size_t k = landing.first; k < landing.last; ++k) {
                CallChange& change = out_.changes[k];
                fill(
                    state,
                    out_.at(static_cast<std::size_t>(change.member), static_cast<std::size_t>(change.column)),
                    change.cell);
            }
        }
    }

    const trace::Trace& trace_;
    const time::Clock& clock_;
    EventRef call_;
    CallLandings out_;
    bool each_ = false;   ///< hops land one by one, not in rounds
    bool keeps_ = false;  ///< what is in each cell, not only how many are complete
    CallHops hops_;
    std::vector<std::size_t> first_of_;    ///< cut of each column, and the end
    Held held_;                            ///< by member, then cut
    Held carried_;                         ///< hop by hop, each of its cuts …
    std::vector<std::size_t> carried_at_;  ///< … from there on
};

bool alike(const trace::Trace& a, const trace::Event& x, const trace::Trace& b, const trace::Event& y) {
    return y.kind == trace::EventKind::collective && x.op == y.op && x.step == y.step && x.phase == y.phase &&
           x.microbatch == y.microbatch && a.text(x.unit) == b.text(y.unit) &&
           a.text(x.rule) == b.text(y.rule);
}

}  // namespace

std::optional<EventRef> same_call(const trace::Trace& trace, EventRef call, const trace::Trace& other) {
    const auto rank = static_cast<std::size_t>(call.rank);
    if (rank >= other.ranks.size()) return std::nullopt;
    const trace::Event& wanted = trace.event(call.rank, call.event);
    int64_t before = 0;
    for (const trace::Event& e : trace.ranks[rank].events) {
        if (e.id == call.event) break;
        before += alike(trace, wanted, trace, e);
    }
    for (const trace::Event& e : other.ranks[rank].events)
        if (alike(trace, wanted, other, e) && before-- == 0) return EventRef{call.rank, e.id};
    return std::nullopt;
}

int64_t CallLandings::complete_at(int64_t since_begin_ns) const {
    int64_t found = complete.empty() ? 0 : complete.front().second;
    for (const auto& [at, parts] : complete) {
        if (at > since_begin_ns) break;
        found = parts;
    }
    return found;
}

bool has_parts(CollectiveOp op) {
    return op != CollectiveOp::barrier && op != CollectiveOp::send && op != CollectiveOp::recv;
}

std::shared_ptr<const CallLandings> call_landings(const trace::Trace& trace, const time::Clock& clock,
                                                  EventRef call, Memo* memo) {
    const auto find = [&] { return Builder(trace, clock, call).build(); };
    if (memo == nullptr) return std::make_shared<const CallLandings>(find());
    // Whichever member's event is on show, it is one call.
    const trace::Event& event = trace.event(call.rank, call.event);
    using Key = std::tuple<int32_t, int32_t, CollectiveOp>;
    const Key key{event.group, event.sequence, event.op};
    return memo->the<Remembered<Key, CallLandings>>(8).of(trace, &clock, key, find);
}

}  // namespace meshscope::view
