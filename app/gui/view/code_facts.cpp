#include "app/gui/view/code_facts.h"

#include <algorithm>

#include "app/gui/view/common.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::view {
namespace {

constexpr std::string_view kAgainOp = ".recompute";

std::string_view without_again(std::string_view op) {
    if (op.ends_with(kAgainOp)) op.remove_suffix(kAgainOp.size());
    return op;
}

Explanation op_words(const Texts& texts, std::string_view op) {
    const std::string start = "op." + std::string(without_again(op));
    return {words_of(texts, start + ".sentence"), words_of(texts, start + ".pytorch")};
}

/// How the call is written in C++: send and recv are isend and irecv of the process group.
bool still_says(const SourcePlace& place, const trace::Event& e, std::string_view rule) {
    const std::string op(name(e.op));
    return place_still_says(place, op, rule) || place_still_says(place, "i" + op, rule);
}

void find_place_of_collective(CodeFacts& f, const trace::Event& e, std::string_view rule) {
    const std::vector<SourcePlace> named = places_of_rule(rule);
    const auto recorded = parse_place(f.recorded);
    if (recorded && still_says(*recorded, e, rule)) {
        f.place = recorded;
    } else {
        f.moved = !f.recorded.empty();
        if (!named.empty()) f.place = named.front();
    }
    if (!f.place || named.empty()) return;
    const LineRange shown = statement_at(source_lines(f.place->file), f.place->line);
    const auto inside = [&](const SourcePlace& p) {
        return p.file == f.place->file && shown.contains(p.line);
    };
    if (std::none_of(named.begin(), named.end(), inside)) f.named = named.front();
}

void find_waits(CodeFacts& f, const Input& input) {
    const trace::RankTrace& record = input.trace.ranks[static_cast<std::size_t>(f.ref.rank)];
    for (const auto& d : record.dependencies)
        if (d.event == f.ref.event) f.waited.push_back({{f.ref.rank, d.on}, false});
    const Stream stream = record.events[static_cast<std::size_t>(f.ref.event)].stream;
    for (int32_t e = f.ref.event - 1; e >= 0; --e) {
        if (record.events[static_cast<std::size_t>(e)].stream != stream) continue;
        f.waited.push_back({{f.ref.rank, e}, true});
        break;
    }
    const auto wait = waits(input.trace, input.clock, f.ref.rank)[static_cast<std::size_t>(f.ref.event)];
    f.could_ns = wait.begin_ns;
    f.began_ns = wait.end_ns;
}

}  // namespace

std::optional<EventRef> code_event(const Input& input) {
    if (selected_event(input) != nullptr)
        return EventRef{*input.selection.event_rank, *input.selection.event};
    if (input.trace.ranks.empty()) return std::nullopt;
    return event_at(input.trace, input.clock, input.cursor, focus_rank(input));
}

CodeFacts explain_event(const Input& input, EventRef ref) {
    const trace::Trace& trace = input.trace;
    const trace::Event& e = trace.event(ref.rank, ref.event);
    const std::string_view rule = trace.text(e.rule), op = trace.text(e.name);
    const bool compute = e.kind == trace::EventKind::compute;
    CodeFacts f;
    f.ref = ref;
    f.subject = std::string(compute ? without_again(op) : rule);
    f.words = compute ? op_words(input.texts, op) : rule_words(input.texts, rule);
    if (compute && !rule.empty()) f.again = rule_words(input.texts, rule).sentence;
    f.recorded = std::string(trace.text(e.source));
    if (compute) {
        const auto places = places_of_op(op, trace.text(e.unit));
        f.places = static_cast<int64_t>(places.size());
        if (!places.empty()) f.place = places.front();
    } else {
        find_place_of_collective(f, e, rule);
    }
    find_waits(f, input);
    // Records from elsewhere may name no rule: then calls of the same op stand together.
    const auto same = [&](const trace::Event& other) {
        if (other.kind != e.kind || other.step != e.step) return false;
        return compute ? other.name == e.name : other.rule == e.rule && (!rule.empty() || other.op == e.op);
    };
    std::size_t events = 0;
    for (const auto& rank : trace.ranks) events += rank.events.size();
    if (events <= kMostCountedEvents) {
        f.same_everywhere = 0;
        for (const auto& rank : trace.ranks)
            *f.same_everywhere += std::count_if(rank.events.begin(), rank.events.end(), same);
    }
    for (const trace::Event& other : trace.ranks[static_cast<std::size_t>(ref.rank)].events)
        if (same(other)) f.same.push_back({ref.rank, other.id});
    return f;
}

}  // namespace meshscope::view
