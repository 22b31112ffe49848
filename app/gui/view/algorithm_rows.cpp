// Which calls stand beside each other, and how they ended.
#include <algorithm>
#include <utility>

#include "app/gui/view/algorithms_view.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/common.h"
#include "app/gui/view/event_times.h"
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
        for (const trace::Hop& hop : hops_of(trace, call.ranks[m], call.events[m])) {
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
    row.runs.push_back(std::move(run));
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

/// The same call by the same algorithm, hop by hop at the same times.
bool is_same(const AlgorithmRow& a, const AlgorithmRow& b) {
    return a.name == b.name && a.done && b.done && a.comparable && b.comparable &&
           a.landings->length_ns == b.landings->length_ns && !a.landings->landings.empty() &&
           a.landings->landings == b.landings->landings;
}

void add_row(std::vector<AlgorithmRow>& rows, AlgorithmRow row) {
    const CallLandings& front = rows.empty() ? *row.landings : *rows.front().landings;
    row.comparable =
        row.landings->ranks.size() == front.ranks.size() && row.landings->elements == front.elements;
    const auto same =
        std::ranges::find_if(rows, [&](const AlgorithmRow& other) { return is_same(other, row); });
    if (same == rows.end())
        rows.push_back(std::move(row));
    else if (std::ranges::count(same->runs, row.runs.front()) == 0)
        same->runs.push_back(std::move(row.runs.front()));
}

/// Marks those that end first, where not all end together.
void find_first(std::vector<AlgorithmRow>& rows) {
    const auto counts = [](const AlgorithmRow& row) {
        return row.done && row.comparable && row.landings->length_ns > 0;
    };
    int64_t least = INT64_MAX, as_fast = 0, all = 0;
    for (const AlgorithmRow& row : rows) {
        if (!counts(row)) continue;
        const int64_t takes = row.landings->length_ns;
        as_fast = takes == least ? as_fast + 1 : takes < least ? 1 : as_fast;
        least = std::min(least, takes);
        ++all;
    }
    for (AlgorithmRow& row : rows) {
        row.first = as_fast < all && counts(row) && row.landings->length_ns == least;
        row.tied = row.first && as_fast > 1;
    }
}

/// The rows, and the runs that make no such call.
struct Found {
    std::vector<AlgorithmRow> rows;
    std::vector<std::string> without;
};

Found find_rows(const Input& input, const AlgorithmsOptions& options, EventRef call) {
    Found found;
    add_row(found.rows, make_row(input.trace, input.clock, call, options.name, input.memo));
    for (std::size_t i = 0; i < options.beside.size(); ++i) {
        const RunBeside& run = options.beside[i];
        const auto same = same_call(input.trace, call, run.trace);
        if (!same) {
            found.without.push_back(run.name);
            continue;
        }
        AlgorithmRow row = make_row(run.trace, run.clock, *same, run.name, input.memo);
        row.place = i + 1;
        add_row(found.rows, std::move(row));
    }
    find_first(found.rows);
    std::vector<std::string> names;
    for (const AlgorithmRow& row : found.rows) names.push_back(row.name);
    for (AlgorithmRow& row : found.rows)
        if (std::ranges::count(names, row.name) > 1 && !row.runs.front().empty())
            row.name += " · " + row.runs.front();
    return found;
}

/// What the rows depend on besides the record in front and its clock.
struct RowsKey {
    EventRef call;
    std::string name;
    std::vector<std::pair<std::string, RecordName>> beside;
    friend bool operator==(const RowsKey&, const RowsKey&) = default;
};

}  // namespace

std::vector<AlgorithmRow> algorithm_rows(const Input& input, const AlgorithmsOptions& options,
                                         std::vector<std::string>* without) {
    const auto shown = shown_collective(input);
    if (!shown) return {};
    const EventRef call{shown->rank, shown->event};
    if (!has_parts(input.trace.event(call.rank, call.event).op)) return {};
    const auto find = [&] { return find_rows(input, options, call); };
    Found found;
    if (input.memo == nullptr) {
        found = find();
    } else {
        RowsKey key{call, options.name, {}};
        for (const RunBeside& run : options.beside)
            key.beside.emplace_back(run.name, RecordName(run.trace, &run.clock));
        found = *input.memo->the<Remembered<RowsKey, Found>>(1).of(input.trace, &input.clock, key, find);
        for (AlgorithmRow& row : found.rows)
            row.trace = row.place == 0 ? &input.trace : &options.beside[row.place - 1].trace;
    }
    if (without != nullptr) *without = std::move(found.without);
    return std::move(found.rows);
}

Id pip_id(const Pip& pip) {
    return {"pip", int64_t{pip.rank} << 32 | pip.of, int64_t{pip.column} << 1 | (pip.in ? 1 : 0)};
}
Pip pip_of(const Id& id) {
    return {static_cast<int32_t>(id.a >> 32), static_cast<int32_t>(id.b >> 1),
            static_cast<int32_t>(id.a & 0x7FFFFFFF), (id.b & 1) != 0};
}

std::string first_words(const AlgorithmRow& row) {
    return row.tied ? "view.algorithms.tied" : "view.algorithms.first";
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
