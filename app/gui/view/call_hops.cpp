#include "app/gui/view/call_hops.h"

#include <algorithm>
#include <utility>

#include "app/gui/view/event_times.h"

namespace meshscope::view {
namespace {

class Collector {
  public:
    Collector(const trace::Trace& trace, CallLandings& call) : trace_(trace), call_(call) {}

    CallHops collect() {
        find_hops();
        if (has_owned_parts(call_.op)) {
            call_.edges = parts();
            call_.elements = call_.edges.back();
            out_.cuts = call_.edges;
        } else {
            cut_evenly();
            out_.cuts = call_.edges;
            for (const CallHop& h : out_.hops)
                each_stretch(h, [&](int64_t first, int64_t last) {
                    note_cut(first);
                    note_cut(last);
                });
        }
        name_columns();
        for (CallHop& h : out_.hops) cover(h);
        return std::move(out_);
    }

  private:
    const trace::Event& event(std::size_t m) const { return trace_.event(call_.ranks[m], call_.events[m]); }
    bool present(std::size_t m) const { return call_.events[m] >= 0; }

    /// Calls `each` with the hops of all members, in order of receivers.
    template <class Each>
    void each_hop(const Each& each) const {
        std::vector<int32_t> member_of(trace_.ranks.size(), -1);
        for (std::size_t m = 0; m < call_.ranks.size(); ++m)
            member_of[static_cast<std::size_t>(call_.ranks[m])] = static_cast<int32_t>(m);
        for (std::size_t m = 0; m < call_.ranks.size(); ++m) {
            if (!present(m)) continue;
            for (const trace::Hop& hop : hops_of(trace_, call_.ranks[m], call_.events[m])) {
                if (hop.src < 0 || static_cast<std::size_t>(hop.src) >= member_of.size()) continue;
                const int32_t sender = member_of[static_cast<std::size_t>(hop.src)];
                if (sender >= 0) each(hop, sender, static_cast<int32_t>(m));
            }
        }
    }

    /// In order of rounds, by counting: there may be millions.
    void find_hops() {
        std::vector<std::size_t> of_round;
        each_hop([&](const trace::Hop& hop, int32_t, int32_t) {
            const auto round = static_cast<std::size_t>(hop.round);
            if (round >= of_round.size()) of_round.resize(round + 1);
            ++of_round[round];
        });
        call_.rounds = static_cast<int32_t>(of_round.size());
        std::size_t at = 0;
        for (std::size_t& n : of_round) n = std::exchange(at, at + n);
        out_.hops.resize(at);
        each_hop([&](const trace::Hop& hop, int32_t sender, int32_t receiver) {
            out_.hops[of_round[static_cast<std::size_t>(hop.round)]++] = {&hop, sender, receiver, 0, 0};
        });
    }

    /// Where each owner's part begins, for ops whose parts are named by their owner.
    std::vector<int64_t> parts() const {
        const std::size_t n = call_.ranks.size();
        std::vector<int64_t> sizes(n, 0);
        for (std::size_t m = 0; m < n; ++m) {
            if (!present(m)) continue;
            const trace::Event& e = event(m);
            if (call_.op == CollectiveOp::all_gather || call_.op == CollectiveOp::gather)
                sizes[m] = e.in_elements;
            else if (call_.op == CollectiveOp::reduce_scatter || call_.op == CollectiveOp::scatter)
                sizes[m] = e.out_elements;
            else  // what all_to_all swaps is told apart by its owner alone, however much it is
                sizes[m] = 1;
        }
        std::vector<int64_t> edges{0};
        for (const int64_t size : sizes) edges.push_back(edges.back() + size);
        return edges;
    }

    void cut_evenly() {
        for (std::size_t m = 0; m < call_.ranks.size(); ++m)
            if (present(m))
                call_.elements = std::max({call_.elements, event(m).in_elements, event(m).out_elements});
        const auto n = static_cast<int64_t>(call_.ranks.size());
        const int64_t part = std::max<int64_t>(1, (call_.elements + n - 1) / n);
        for (int64_t at = 0; at < call_.elements; at += part) call_.edges.push_back(at);
        call_.edges.push_back(call_.elements);
    }

    void note_cut(int64_t at) {
        const auto place = std::ranges::lower_bound(out_.cuts, at);
        if (place == out_.cuts.end() || *place != at) out_.cuts.insert(place, at);
    }

    void name_columns() {
        for (std::size_t c = 0; c + 1 < out_.cuts.size(); ++c) {
            // Of parts that begin at one place all but the last are empty.
            const std::size_t at =
                has_owned_parts(call_.op)
                    ? c
                    : static_cast<std::size_t>(std::ranges::upper_bound(call_.edges, out_.cuts[c]) -
                                               call_.edges.begin() - 1);
            out_.column_of.push_back(static_cast<int32_t>(std::min(at, call_.columns() - 1)));
        }
    }

    /// Calls `each` with the elements of the whole buffer that a hop carries, by what it names.
    template <class Each>
    void each_stretch(const CallHop& h, const Each& each) const {
        const bool owned = has_owned_parts(call_.op), alike = call_.op == CollectiveOp::all_to_all;
        const auto add = [&](int32_t chunk, int64_t offset, int64_t elements) {
            if (offset < 0) return;  // it passes through
            if (!owned) return each(offset, offset + elements);
            if (chunk < 0 || static_cast<std::size_t>(chunk) + 1 >= call_.edges.size()) return;
            const int64_t begin = call_.edges[static_cast<std::size_t>(chunk)],
                          end = call_.edges[static_cast<std::size_t>(chunk) + 1];
            each(begin, alike ? end : std::max(end, begin + elements));
        };
        if (h.hop->n_pieces == 0) {
            add(alike ? h.sender : h.hop->chunk, h.hop->offset, h.hop->elements);
            return;
        }
        const auto& pieces = trace_.ranks[static_cast<std::size_t>(h.hop->dst)].pieces;
        for (int64_t i = h.hop->pieces; i < h.hop->pieces + h.hop->n_pieces; ++i) {
            const trace::HopPiece& piece = pieces[static_cast<std::size_t>(i)];
            add(piece.chunk, piece.offset, piece.elements);
        }
    }

    void cover(CallHop& h) {
        h.first = static_cast<uint32_t>(out_.spans.size());
        each_stretch(h, [&](int64_t first, int64_t last) {
            const auto begin = std::ranges::lower_bound(out_.cuts, first) - out_.cuts.begin();
            auto end = static_cast<std::size_t>(begin);
            while (end < out_.column_of.size() && out_.cuts[end + 1] <= last) ++end;
            out_.spans.push_back({static_cast<int32_t>(begin), static_cast<int32_t>(end)});
        });
        h.last = static_cast<uint32_t>(out_.spans.size());
    }

    const trace::Trace& trace_;
    CallLandings& call_;
    CallHops out_;
};

}  // namespace

bool has_owned_parts(CollectiveOp op) {
    return op == CollectiveOp::reduce_scatter || op == CollectiveOp::scatter ||
           op == CollectiveOp::all_gather || op == CollectiveOp::gather || op == CollectiveOp::all_to_all;
}

void find_members(const trace::Trace& trace, const time::Clock& clock, EventRef shown, CallLandings& call) {
    const trace::Event& event = trace.event(shown.rank, shown.event);
    call.op = event.op;
    call.algorithm = event.algorithm;
    if (event.group < 0) return;
    call.ranks = trace.groups[static_cast<std::size_t>(event.group)].ranks;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (const int32_t r : call.ranks) {
        const auto& events = trace.ranks[static_cast<std::size_t>(r)].events;
        const auto found = std::ranges::find_if(events, [&](const trace::Event& e) {
            return e.kind == trace::EventKind::collective && e.group == event.group &&
                   e.sequence == event.sequence && e.op == event.op;
        });
        call.events.push_back(found == events.end() ? -1 : found->id);
        if (found == events.end()) continue;
        if (found->algorithm != Algorithm::none) call.algorithm = found->algorithm;
        const auto& at = clock.events[static_cast<std::size_t>(r)][static_cast<std::size_t>(found->id)];
        begin = std::min(begin, at.begin_ns);
        end = std::max(end, at.end_ns);
    }
    call.begin_ns = begin;
    call.length_ns = end - begin;
}

CallHops hops_of_call(const trace::Trace& trace, CallLandings& call) {
    return Collector(trace, call).collect();
}

}  // namespace meshscope::view
