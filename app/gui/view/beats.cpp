#include "app/gui/view/beats.h"

#include <algorithm>
#include <set>

#include "app/gui/view/common.h"
#include "core/trace/ended.h"

namespace meshscope::view {
namespace {

/// What concerns the rank most comes first.
enum class Concern : uint8_t { received, sent, others, call, computation };

struct Ending {
    time::Interval at;
    EventRef event;
    std::optional<std::size_t> hop;
    Concern concern = Concern::others;
};

/// Calls `see` with all that ends.
template <class See>
void each_ending(const trace::Trace& trace, const time::Clock& clock, int32_t rank, See see) {
    for (std::size_t r = 0; r < trace.ranks.size() && r < clock.hops.size(); ++r) {
        const std::vector<trace::Hop>& hops = trace.ranks[r].hops;
        for (std::size_t h = 0; h < hops.size() && h < clock.hops[r].size(); ++h) {
            const Concern concern = static_cast<int32_t>(r) == rank ? Concern::received
                                    : hops[h].src == rank           ? Concern::sent
                                                                    : Concern::others;
            see(Ending{clock.hops[r][h], {static_cast<int32_t>(r), hops[h].event}, h, concern});
        }
    }
    const auto own = static_cast<std::size_t>(rank);
    if (rank < 0 || own >= trace.ranks.size() || own >= clock.events.size()) return;
    const trace::RankTrace& its = trace.ranks[own];
    std::vector<char> hopped(its.events.size(), 0);
    for (const trace::Hop& hop : its.hops)
        if (static_cast<std::size_t>(hop.event) < hopped.size())
            hopped[static_cast<std::size_t>(hop.event)] = 1;
    const std::vector<int32_t> open =
        trace.info.failure.empty() ? std::vector<int32_t>{} : trace::unended_calls(trace)[own];
    for (std::size_t e = 0; e < its.events.size() && e < clock.events[own].size(); ++e) {
        const bool call = its.events[e].kind == trace::EventKind::collective;
        if (hopped[e] != 0 || std::ranges::binary_search(open, its.events[e].id)) continue;
        see(Ending{clock.events[own][e],
                   {rank, its.events[e].id},
                   std::nullopt,
                   call ? Concern::call : Concern::computation});
    }
}

int64_t together_ns(const time::Interval& at) {
    return (at.end_ns - at.begin_ns) / 8;
}

/// What ends between the two moments, as one beat at `t`.
Beat gathered(const trace::Trace& trace, const time::Clock& clock, int32_t rank, int64_t from, int64_t to,
              int64_t t) {
    std::optional<Ending> first;
    std::set<int32_t> receivers;
    each_ending(trace, clock, rank, [&](const Ending& ending) {
        if (ending.at.end_ns < from || ending.at.end_ns > to) return;
        if (ending.hop) receivers.insert(ending.event.rank);
        if (!first || ending.concern < first->concern) first = ending;
    });
    Beat beat{t, first->event, first->hop, 0};
    if (first->hop) beat.others = static_cast<int32_t>(receivers.size()) - 1;
    return beat;
}

}  // namespace

std::optional<Beat> next_beat(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                              int32_t rank) {
    std::optional<time::Interval> first;
    each_ending(trace, clock, rank, [&](const Ending& ending) {
        const int64_t end = ending.at.end_ns;
        if (end <= cursor.t_ns || (first && end > first->end_ns)) return;
        if (!first || end < first->end_ns || together_ns(ending.at) < together_ns(*first)) first = ending.at;
    });
    if (!first) return std::nullopt;
    int64_t last = first->end_ns;
    const int64_t limit = first->end_ns + together_ns(*first);
    each_ending(trace, clock, rank, [&](const Ending& ending) {
        if (ending.at.end_ns <= limit) last = std::max(last, ending.at.end_ns);
    });
    return gathered(trace, clock, rank, first->end_ns, last, last);
}

std::optional<Beat> beat_at(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                            int32_t rank) {
    std::optional<int64_t> together;
    each_ending(trace, clock, rank, [&](const Ending& ending) {
        if (ending.at.end_ns == cursor.t_ns)
            together = std::min(together.value_or(together_ns(ending.at)), together_ns(ending.at));
    });
    if (!together) return std::nullopt;
    return gathered(trace, clock, rank, cursor.t_ns - *together, cursor.t_ns, cursor.t_ns);
}

std::string beat_words(const Texts& texts, const trace::Trace& trace, const Beat& beat) {
    const trace::Event& event = trace.event(beat.event.rank, beat.event.event);
    const bool call = event.kind == trace::EventKind::collective;
    const std::string op = call ? std::string(name(event.op)) : std::string(trace.text(event.name));
    const auto say = [&](const std::string& id, std::vector<MessageArg> args) {
        return texts.text({id, std::move(args)});
    };
    if (!beat.hop) {
        std::string unit(trace.text(event.unit));
        const std::string id = call ? "view.beat.call" : "view.beat.computed";
        std::vector<MessageArg> args{arg("op", op), arg("rank", beat.event.rank)};
        if (unit.empty()) return say(id + ".bare", std::move(args));
        args.push_back(arg("unit", std::move(unit)));
        return say(id, std::move(args));
    }
    const trace::Hop& hop = trace.ranks[static_cast<std::size_t>(beat.event.rank)].hops[*beat.hop];
    const std::string bytes = format_bytes(hop.bytes);
    std::string of = op;
    if (const auto unit = trace.text(event.unit); !unit.empty()) of += " " + std::string(unit);
    const std::string what =
        is_point_to_point(event.op) ? say("view.beat.what.whole", {arg("bytes", bytes)})
        : hop.n_pieces > 1 ? say("view.beat.what.several", {arg("chunks", hop.n_pieces), arg("bytes", bytes)})
                           : say("view.beat.what", {arg("chunk", hop.chunk), arg("bytes", bytes)});
    const std::string words = say(hop.reduces != 0 ? "view.beat.added" : "view.beat.received",
                                  {arg("op", of), arg("hop", hop.round + 1), arg("dst", hop.dst),
                                   arg("src", hop.src), arg("what", what)});
    if (beat.others == 0) return words;
    return say("view.beat.others", {arg("words", words), arg("ranks", beat.others)});
}

}  // namespace meshscope::view
