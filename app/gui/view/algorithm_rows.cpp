// Which calls stand beside each other, and how they ended.
#include <algorithm>

#include "app/gui/view/algorithms_view.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/common.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

std::string algorithm_name(const trace::Trace& trace, const CallLandings& call) {
    const std::string& file = trace.info.algorithm_file;
    if (call.algorithm == Algorithm::own && !file.empty()) return file;
    if (call.algorithm == Algorithm::none) return std::string(name(call.op));
    return std::string(name(call.algorithm));
}

/// Every member's record has the call, and each came to its end as far as the record tells.
bool all_came(const trace::Trace& trace, const CallLandings& call) {
    if (std::ranges::find(call.events, -1) != call.events.end()) return false;
    if (trace.info.failure.empty()) return true;
    // In a run that failed a call that was left counts fewer bytes than others got from it.
    std::vector<int64_t> seen(call.ranks.size(), 0);
    for (std::size_t m = 0; m < call.ranks.size(); ++m)
        for (const trace::Hop& hop : trace.ranks[static_cast<std::size_t>(call.ranks[m])].hops) {
            if (hop.event != call.events[m]) continue;
            const auto from = std::ranges::find(call.ranks, hop.src);
            if (from != call.ranks.end())
                seen[static_cast<std::size_t>(from - call.ranks.begin())] += hop.bytes;
        }
    for (std::size_t m = 0; m < call.ranks.size(); ++m)
        if (seen[m] > trace.event(call.ranks[m], call.events[m]).sent_bytes) return false;
    return true;
}

AlgorithmRow make_row(const trace::Trace& trace, const time::Clock& clock, EventRef call, std::string run,
                      Memo* memo) {
    AlgorithmRow row;
    row.run = std::move(run);
    row.trace = &trace;
    row.call = call;
    row.landings = call_landings(trace, clock, call, memo);
    row.name = algorithm_name(trace, *row.landings);
    const trace::Event& event = trace.event(call.rank, call.event);
    if (trace::tells_sent_bytes(event)) row.sent_bytes = event.sent_bytes;
    // Where no hops were recorded, only that a run failed says that a call may not have come to its end.
    const bool hops = !row.landings->landings.empty();
    const bool ended = hops ? row.landings->done() : trace.info.failure.empty() || event.sent_bytes > 0;
    row.done = ended && all_came(trace, *row.landings);
    return row;
}

}  // namespace

std::vector<AlgorithmRow> algorithm_rows(const Input& input, const AlgorithmsOptions& options,
                                         std::vector<std::string>* without) {
    std::vector<AlgorithmRow> rows;
    const auto shown = shown_collective(input);
    if (!shown) return rows;
    const EventRef call{shown->rank, shown->event};
    if (!has_parts(input.trace.event(call.rank, call.event).op)) return rows;
    rows.push_back(make_row(input.trace, input.clock, call, options.name, input.memo));
    for (const AlgorithmsBeside& run : options.beside) {
        if (const auto same = same_call(input.trace, call, run.trace))
            rows.push_back(make_row(run.trace, run.clock, *same, run.name, input.memo));
        else if (without != nullptr)
            without->push_back(run.name);
    }
    const CallLandings& front = *rows.front().landings;
    int64_t least = INT64_MAX, as_fast = 0, others = 0;
    for (AlgorithmRow& row : rows) {
        const CallLandings& its = *row.landings;
        row.comparable = its.ranks.size() == front.ranks.size() && its.elements == front.elements;
        const auto same = std::ranges::count(rows, row.name, &AlgorithmRow::name);
        if (same > 1 && !row.run.empty())
            row.run = " · " + row.run;
        else
            row.run.clear();
        if (!row.done || !row.comparable || its.length_ns <= 0) continue;
        ++others;
        as_fast = its.length_ns == least ? as_fast + 1 : its.length_ns < least ? 1 : as_fast;
        least = std::min(least, its.length_ns);
    }
    for (AlgorithmRow& row : rows) {
        row.first =
            others > 1 && as_fast == 1 && row.done && row.comparable && row.landings->length_ns == least;
        row.name += row.run;
    }
    return rows;
}

std::optional<Cursor> landing_end(const Input& input, const AlgorithmsOptions& options, int64_t row,
                                  int64_t landing) {
    const std::vector<AlgorithmRow> rows = algorithm_rows(input, options);
    if (row < 0 || row >= static_cast<int64_t>(rows.size())) return std::nullopt;
    const auto& landings = rows[static_cast<std::size_t>(row)].landings->landings;
    if (landing < 0 || landing >= static_cast<int64_t>(landings.size())) return std::nullopt;
    return Cursor{rows.front().landings->begin_ns + landings[static_cast<std::size_t>(landing)].end_ns};
}

}  // namespace meshscope::view
