#include "app/gui/view/call_landings.h"

#include <algorithm>
#include <map>

#include "app/gui/view/collective_state.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMostMembersWithValues = 8, kMostMembersWithCells = kMaskBits;

bool sums(CollectiveOp op) {
    return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce || op == CollectiveOp::reduce_scatter;
}
/// Parts that are named by their owner, in place of an offset in one buffer that all have.
bool owned(CollectiveOp op) {
    return op == CollectiveOp::reduce_scatter || op == CollectiveOp::scatter ||
           op == CollectiveOp::all_gather || op == CollectiveOp::gather || op == CollectiveOp::all_to_all;
}

uint64_t bit(std::size_t member) {
    return member < kMaskBits ? uint64_t{1} << member : 0;
}

/// Elements [first, last) of the buffer.
struct Stretch {
    int64_t first = 0, last = 0;
};

/// One hop, ready to land.
struct Flight {
    const trace::Hop* hop = nullptr;
    int32_t sender = 0, receiver = 0;
    time::Interval when;
    std::vector<Stretch> stretches;
    std::vector<int32_t> cuts;      ///< that it covers …
    std::vector<CallCell> carries;  ///< … and what the sender held of each
};

class Builder {
  public:
    Builder(const trace::Trace& trace, const time::Clock& clock, EventRef call)
        : trace_(trace), clock_(clock), call_(call) {}

    CallLandings build() {
        find_members();
        if (!has_parts(out_.op) || out_.ranks.size() < 2) return std::move(out_);
        collect();
        cut();
        own();
        fly();
        land();
        values();
        return std::move(out_);
    }

  private:
    const trace::Event& event(std::size_t m) const { return trace_.event(out_.ranks[m], out_.events[m]); }
    bool present(std::size_t m) const { return out_.events[m] >= 0; }

    void find_members() {
        const trace::Event& shown = trace_.event(call_.rank, call_.event);
        out_.op = shown.op;
        out_.algorithm = shown.algorithm;
        if (shown.group < 0) return;
        out_.ranks = trace_.groups[static_cast<std::size_t>(shown.group)].ranks;
        int64_t begin = INT64_MAX, end = INT64_MIN;
        for (const int32_t r : out_.ranks) {
            const auto& events = trace_.ranks[static_cast<std::size_t>(r)].events;
            const auto found = std::ranges::find_if(events, [&](const trace::Event& e) {
                return e.kind == trace::EventKind::collective && e.group == shown.group &&
                       e.sequence == shown.sequence && e.op == shown.op;
            });
            out_.events.push_back(found == events.end() ? -1 : found->id);
            if (found == events.end()) continue;
            if (found->algorithm != Algorithm::none) out_.algorithm = found->algorithm;
            const auto& at = clock_.events[static_cast<std::size_t>(r)][static_cast<std::size_t>(found->id)];
            begin = std::min(begin, at.begin_ns);
            end = std::max(end, at.end_ns);
        }
        out_.begin_ns = begin;
        out_.length_ns = end - begin;
    }

    void collect() {
        std::map<int32_t, int32_t> member_of;
        for (std::size_t m = 0; m < out_.ranks.size(); ++m)
            member_of[out_.ranks[m]] = static_cast<int32_t>(m);
        for (std::size_t m = 0; m < out_.ranks.size(); ++m) {
            if (!present(m)) continue;
            const auto& rank = trace_.ranks[static_cast<std::size_t>(out_.ranks[m])];
            const auto& times = clock_.hops[static_cast<std::size_t>(out_.ranks[m])];
            for (std::size_t i = 0; i < rank.hops.size(); ++i) {
                const trace::Hop& hop = rank.hops[i];
                const auto from = hop.event == out_.events[m] ? member_of.find(hop.src) : member_of.end();
                if (from == member_of.end()) continue;
                out_.rounds = std::max(out_.rounds, hop.round + 1);
                flights_.push_back({&hop, from->second, static_cast<int32_t>(m), times[i], {}, {}, {}});
            }
        }
        std::ranges::stable_sort(flights_, {}, [](const Flight& f) { return f.hop->round; });
    }

    /// Where each owner's part begins, for ops whose parts are named by their owner.
    std::vector<int64_t> parts() const {
        const std::size_t n = out_.ranks.size();
        std::vector<int64_t> sizes(n, 0);
        for (std::size_t m = 0; m < n; ++m) {
            if (!present(m)) continue;
            const trace::Event& e = event(m);
            if (out_.op == CollectiveOp::all_gather || out_.op == CollectiveOp::gather)
                sizes[m] = e.in_elements;
            else if (out_.op == CollectiveOp::reduce_scatter || out_.op == CollectiveOp::scatter)
                sizes[m] = e.out_elements;
            else  // what all_to_all swaps is told apart by its owner alone, however much it is
                sizes[m] = 1;
        }
        std::vector<int64_t> edges{0};
        for (const int64_t size : sizes) edges.push_back(edges.back() + size);
        return edges;
    }

    void cut() {
        if (owned(out_.op)) {
            out_.edges = parts();
            out_.elements = out_.edges.back();
            for (Flight& f : flights_) stretch(f);
            cuts_ = out_.edges;
        } else {
            for (std::size_t m = 0; m < out_.ranks.size(); ++m)
                if (present(m))
                    out_.elements = std::max({out_.elements, event(m).in_elements, event(m).out_elements});
            const auto n = static_cast<int64_t>(out_.ranks.size());
            const int64_t part = std::max<int64_t>(1, (out_.elements + n - 1) / n);
            for (int64_t at = 0; at < out_.elements; at += part) out_.edges.push_back(at);
            out_.edges.push_back(out_.elements);
            for (Flight& f : flights_) stretch(f);
            cuts_ = out_.edges;
            for (const Flight& f : flights_)
                for (const Stretch& s : f.stretches) cuts_.insert(cuts_.end(), {s.first, s.last});
            std::ranges::sort(cuts_);
            cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
        }
        for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) {
            // Of parts that begin at one place all but the last are empty.
            const std::size_t at =
                owned(out_.op) ? c
                               : static_cast<std::size_t>(std::ranges::upper_bound(out_.edges, cuts_[c]) -
                                                          out_.edges.begin() - 1);
            column_of_.push_back(static_cast<int32_t>(std::min(at, out_.columns() - 1)));
        }
    }

    /// Which elements of the whole buffer a hop carries, by what it names.
    void stretch(Flight& f) const {
        const auto add = [&](int32_t chunk, int64_t offset, int64_t elements) {
            if (offset < 0) return;  // it passes through
            if (!owned(out_.op)) return f.stretches.push_back({offset, offset + elements});
            if (chunk < 0 || static_cast<std::size_t>(chunk) + 1 >= out_.edges.size()) return;
            const int64_t begin = out_.edges[static_cast<std::size_t>(chunk)],
                          end = out_.edges[static_cast<std::size_t>(chunk) + 1];
            const bool alike = out_.op == CollectiveOp::all_to_all;
            f.stretches.push_back({begin, alike ? end : std::max(end, begin + elements)});
        };
        if (f.hop->n_pieces == 0) {
            add(out_.op == CollectiveOp::all_to_all ? f.sender : f.hop->chunk, f.hop->offset,
                f.hop->elements);
            return;
        }
        const auto& pieces = trace_.ranks[static_cast<std::size_t>(f.hop->dst)].pieces;
        for (int64_t i = f.hop->pieces; i < f.hop->pieces + f.hop->n_pieces; ++i) {
            const trace::HopPiece& piece = pieces[static_cast<std::size_t>(i)];
            add(piece.chunk, piece.offset, piece.elements);
        }
    }

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

    std::size_t cuts() const { return column_of_.size(); }
    std::size_t place(std::size_t m, std::size_t cut) const { return m * cuts() + cut; }

    void own() {
        const std::size_t from = root(), n = out_.ranks.size();
        out_.wanted.assign(n * out_.columns(), 0);
        held_.assign(n * cuts(), {});
        for (std::size_t m = 0; m < n; ++m) {
            for (std::size_t c = 0; c < out_.columns(); ++c) {
                // A part without elements never travels.
                if (out_.edges[c + 1] > out_.edges[c]) out_.wanted[out_.at(m, c)] = wanted(m, c, from);
                out_.all += out_.wanted[out_.at(m, c)] > 0;
            }
            for (std::size_t k = 0; k < cuts(); ++k)
                if (present(m) && has(m, static_cast<std::size_t>(column_of_[k]), from))
                    held_[place(m, k)] = {1, bit(m), 0, false};
        }
        first_ = held_;
        first_of_.assign(out_.columns() + 1, cuts());
        for (std::size_t k = cuts(); k-- > 0;) first_of_[static_cast<std::size_t>(column_of_[k])] = k;
        for (std::size_t c = out_.columns(); c-- > 0;)
            first_of_[c] = std::min(first_of_[c], first_of_[c + 1]);
        out_.cells.resize(out_.wanted.size());
        for (std::size_t at = 0; at < out_.cells.size(); ++at) out_.cells[at] = cell(at);
    }

    /// What is in all of a cell.
    CallCell cell(std::size_t at) const {
        const std::size_t m = at / out_.columns(), c = at % out_.columns();
        if (first_of_[c] >= first_of_[c + 1]) return {};
        CallCell whole = held_[place(m, first_of_[c])];
        for (std::size_t k = first_of_[c] + 1; k < first_of_[c + 1]; ++k) {
            whole.count = std::min(whole.count, held_[place(m, k)].count);
            whole.from &= held_[place(m, k)].from;
        }
        return whole;
    }
    bool is_complete(std::size_t at) const {
        return out_.wanted[at] > 0 && cell(at).count >= out_.wanted[at];
    }

    /// What each hop carries: all rounds once, senders as they stood before the round.
    void fly() {
        const bool adds = sums(out_.op);
        for (std::size_t begin = 0, end = 0; begin < flights_.size(); begin = end) {
            while (end < flights_.size() && flights_[end].hop->round == flights_[begin].hop->round) ++end;
            for (std::size_t k = begin; k < end; ++k) {
                Flight& f = flights_[k];
                for (const Stretch& s : f.stretches) {
                    auto cut =
                        static_cast<std::size_t>(std::ranges::lower_bound(cuts_, s.first) - cuts_.begin());
                    for (; cut < cuts() && cuts_[cut + 1] <= s.last; ++cut) {
                        if (cuts_[cut] == cuts_[cut + 1]) continue;
                        f.cuts.push_back(static_cast<int32_t>(cut));
                        CallCell held = held_[place(static_cast<std::size_t>(f.sender), cut)];
                        if (owned(out_.op) && !adds)
                            held = {1, bit(cut), 0, false};  // whose it is, its place tells
                        else if (held.count == 0)
                            held = {1, bit(static_cast<std::size_t>(f.sender)), 0, false};
                        f.carries.push_back(held);
                    }
                }
            }
            for (std::size_t k = begin; k < end; ++k) mark(flights_[k]);
        }
        held_ = first_;
    }

    void mark(const Flight& f) {
        for (std::size_t i = 0; i < f.cuts.size(); ++i) {
            CallCell& held =
                held_[place(static_cast<std::size_t>(f.receiver), static_cast<std::size_t>(f.cuts[i]))];
            if (f.hop->reduces != 0) {
                held.count += f.carries[i].count;
                held.from |= f.carries[i].from;
            } else {
                held = f.carries[i];
            }
        }
    }
    /// Calls `each` with the cells that a hop lands in.
    template <class Each>
    void cells_of(const Flight& f, const Each& each) const {
        std::size_t last = out_.columns();
        for (const int32_t cut : f.cuts) {
            const auto column = static_cast<std::size_t>(column_of_[static_cast<std::size_t>(cut)]);
            if (column != last) each(out_.at(static_cast<std::size_t>(f.receiver), column));
            last = column;
        }
    }

    void land() {
        std::vector<const Flight*> order;
        for (const Flight& f : flights_) order.push_back(&f);
        const bool each = out_.ranks.size() <= kMostMembersWithValues;
        // A few members: hops that end together, as one port serves one at a time. Many: whole rounds.
        std::vector<int64_t> ends(static_cast<std::size_t>(out_.rounds), 0);
        for (const Flight& f : flights_) {
            int64_t& end = ends[static_cast<std::size_t>(f.hop->round)];
            end = std::max(end, f.when.end_ns);
        }
        for (std::size_t r = 1; r < ends.size(); ++r) ends[r] = std::max(ends[r], ends[r - 1]);
        const auto lands = [&](const Flight& f) {
            return each ? f.when.end_ns : ends[static_cast<std::size_t>(f.hop->round)];
        };
        std::ranges::stable_sort(order, {}, [&](const Flight* f) { return lands(*f); });
        const bool keeps = out_.ranks.size() <= kMostMembersWithCells;
        const int64_t together = each ? std::max<int64_t>(1, out_.length_ns / 200) : 0;
        std::vector<std::size_t> touched;
        for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
            const int64_t time = lands(*order[begin]);
            while (end < order.size() && lands(*order[end]) <= time + together) ++end;
            Landing landing;
            landing.begin_ns = INT64_MAX;
            landing.first = out_.changes.size();
            landing.bytes = order[begin]->hop->bytes;
            touched.clear();
            for (std::size_t k = begin; k < end; ++k) {
                const Flight& f = *order[k];
                landing.begin_ns = std::min(landing.begin_ns, f.when.begin_ns - out_.begin_ns);
                landing.end_ns = std::max(landing.end_ns, f.when.end_ns - out_.begin_ns);
                landing.round = std::max(landing.round, f.hop->round);
                landing.even = landing.even && f.hop->bytes == landing.bytes;
                ++landing.n_links;
                if (landing.links.size() < Landing::kMostLinks)
                    landing.links.emplace_back(f.sender, f.receiver);
                mark(f);
                if (keeps) cells_of(f, [&](std::size_t at) { touched.push_back(at); });
            }
            std::ranges::sort(touched);
            touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
            for (const std::size_t at : touched)
                out_.changes.push_back({static_cast<int32_t>(at / out_.columns()),
                                        static_cast<int32_t>(at % out_.columns()), cell(at)});
            landing.last = out_.changes.size();
            out_.landings.push_back(std::move(landing));
        }
        count();
    }

    /// How many parts are complete from hop to hop.
    void count() {
        held_ = first_;
        int64_t now = 0;
        for (std::size_t at = 0; at < out_.wanted.size(); ++at) now += is_complete(at);
        out_.complete.emplace_back(0, now);
        std::vector<const Flight*> order;
        for (const Flight& f : flights_) order.push_back(&f);
        std::ranges::stable_sort(order, {}, [](const Flight* f) { return f->when.end_ns; });
        const int64_t step = out_.length_ns / static_cast<int64_t>(CallLandings::kMostPoints);
        for (const Flight* f : order) {
            cells_of(*f, [&](std::size_t at) { now -= is_complete(at); });
            mark(*f);
            cells_of(*f, [&](std::size_t at) { now += is_complete(at); });
            const int64_t at = f->when.end_ns - out_.begin_ns;
            if (out_.complete.size() > 1 && out_.complete.back().first + step >= at)
                out_.complete.back().second = now;
            else
                out_.complete.emplace_back(at, now);
        }
        if (!order.empty()) out_.complete.back().first = order.back()->when.end_ns - out_.begin_ns;
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
    std::vector<Flight> flights_;
    std::vector<int64_t> cuts_;           ///< where any hop begins or ends, and the columns' edges
    std::vector<int32_t> column_of_;      ///< of each cut
    std::vector<std::size_t> first_of_;   ///< cut of each column, and the end
    std::vector<CallCell> held_, first_;  ///< by member, then cut: now, and before the first hop
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
    return memo->the<Remembered<std::pair<int32_t, int32_t>, CallLandings>>(8).of(
        trace, &clock, {call.rank, call.event}, find);
}

}  // namespace meshscope::view
