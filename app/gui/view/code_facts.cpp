#include "app/gui/view/code_facts.h"

#include <algorithm>

#include "app/gui/view/code_view.h"
#include "app/gui/view/common.h"
#include "app/gui/view/sheet.h"
#include "app/gui/view/timeline_bars.h"
#include "core/time/queue.h"

namespace meshscope::view {
namespace {

constexpr float kFactsPad = 24;
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
bool still_says(const SourceLocation& place, const trace::Event& e, std::string_view rule) {
    const std::string op(name(e.op));
    return still_says_at(place, op, rule) || still_says_at(place, "i" + op, rule);
}

void find_place_of_collective(CodeFacts& f, const trace::Event& e, std::string_view rule) {
    const std::vector<SourceLocation> named = locations_of_rule(rule);
    const auto recorded = parse_location(f.recorded);
    if (recorded && still_says(*recorded, e, rule)) {
        f.place = recorded;
    } else {
        f.moved = !f.recorded.empty();
        if (!named.empty()) f.place = named.front();
    }
    if (!f.place || named.empty()) return;
    const LineRange shown = statement_at(source_lines(f.place->file), f.place->line);
    const auto inside = [&](const SourceLocation& p) {
        return p.file == f.place->file && shown.contains(p.line);
    };
    if (std::none_of(named.begin(), named.end(), inside)) f.named = named.front();
}

void find_waits(CodeFacts& f, const Input& input) {
    const trace::RankTrace& record = input.trace.ranks[static_cast<std::size_t>(f.ref.rank)];
    for (const auto& d : record.dependencies)
        if (d.event == f.ref.event) f.waited.push_back({{f.ref.rank, d.on}, false});
    const auto queue = [&](int32_t e) {
        return time::queue_of(input.trace, input.clock, record.events[static_cast<std::size_t>(e)]);
    };
    const time::Queue own = queue(f.ref.event);
    for (int32_t e = f.ref.event - 1; e >= 0; --e) {
        if (queue(e) != own) continue;
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
        const auto places = locations_of_op(op, trace.text(e.unit));
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

namespace {

/// A line of a list of events, to be clicked: mark, words, a time.
void event_row(Sheet& s, const Input& in, EventRef ref, const std::string& words, const std::string& t,
               bool here) {
    Painter& p = s.p;
    const trace::Event& e = in.trace.event(ref.rank, ref.event);
    const bool compute = e.kind == trace::EventKind::compute;
    const Token hue = compute ? Token::compute : op_hue(e.op);
    const float height = std::max(28.F, p.line_height(Face::mono_small) + 6);
    const Id id{"event", ref.rank, ref.event};
    auto& box = p.rect({s.x - 6, s.y, s.width() + 12, height}, here ? Token::accentbg : Token::panel, 6, id);
    if (here) {
        box.stroke = Token::sel;
        box.width = 2;
    }
    auto& mark = p.rect({s.x, s.y + height / 2 - 7, 22, 14}, hue, 3);
    if (!compute) {
        mark.fill_alpha = 0.26F;
        mark.stroke = hue;
        mark.width = 1.4F;
    }
    const float time_w = p.width(t, Face::mono_small), left = s.x + 32;
    const float room = s.right - left - time_w - 10;
    const std::string op = compute ? std::string(in.trace.text(e.name)) : op_mark(e.op);
    const std::string unit(in.trace.text(e.unit));
    p.tell((here ? "> " : "  ") + words + "  " + t);
    const std::string shown = p.fit(
        {words, op + (unit.empty() ? "" : " " + unit), unit.empty() ? op : unit, op}, Face::mono_small, room);
    if (!shown.empty())
        p.label({left, s.y, room, height}, shown, Face::mono_small, here ? Token::text : Token::soft,
                Token::none, id, Align::left);
    p.label({s.right - time_w, s.y, time_w, height}, t, Face::mono_small, Token::mute, Token::none, id,
            Align::right);
    s.y += height;
}

std::string event_words(const trace::Trace& trace, const trace::Event& e) {
    const std::string op =
        e.kind == trace::EventKind::compute ? std::string(trace.text(e.name)) : std::string(name(e.op));
    const std::string unit(trace.text(e.unit));
    return unit.empty() ? op : op + " " + unit;
}

constexpr std::size_t kMostListed = 24;

void waited_for(Sheet& s, const Input& in, const CodeFacts& f) {
    Painter& p = s.p;
    s.head(p.say("view.code.waited"), p.say("view.code.ended"));
    if (f.waited.empty()) {
        s.paragraph(p.say("view.code.first"), Face::caption, Token::mute);
    } else {
        std::size_t shown = 0;
        for (const auto& w : f.waited) {
            if (++shown > kMostListed) break;
            const trace::Event& on = in.trace.event(w.on.rank, w.on.event);
            const time::Interval& at =
                in.clock.events[static_cast<std::size_t>(w.on.rank)][static_cast<std::size_t>(w.on.event)];
            if (w.stream) {
                s.space(4);
                const bool own = on.stream == in.trace.event(f.ref.rank, f.ref.event).stream;
                s.paragraph(own ? p.say("view.code.stream", {arg("stream", std::string(name(on.stream)))})
                                : p.say("view.code.queue"),
                            Face::caption, Token::mute);
            }
            event_row(s, in, w.on, event_words(in.trace, on), format_time(at.end_ns), false);
        }
        if (f.waited.size() > kMostListed)
            s.paragraph(
                p.say("view.code.more", {arg("n", static_cast<int64_t>(f.waited.size() - kMostListed))}),
                Face::caption, Token::mute);
    }
    const trace::Event& e = in.trace.event(f.ref.rank, f.ref.event);
    const int64_t waited = f.began_ns - f.could_ns;
    if (waited > 0 && e.kind == trace::EventKind::collective) {
        s.space(6);
        s.paragraph(p.say("view.code.others",
                          {arg("could", format_time(f.could_ns)), arg("waited", format_time(waited))}),
                    Face::caption, Token::soft);
    }
    s.space(16);
}

void same_rule(Sheet& s, const Input& in, const CodeFacts& f) {
    Painter& p = s.p;
    const trace::Event& e = in.trace.event(f.ref.rank, f.ref.event);
    std::string id = e.kind == trace::EventKind::compute ? "view.code.same_op" : "view.code.same_rule";
    if (e.step < 0) id += ".setup";
    s.head(p.say(id, {arg("step", e.step)}), p.say("view.code.begins"));
    // A long list shows those around the event itself.
    const auto own = std::find(f.same.begin(), f.same.end(), f.ref);
    const auto at = static_cast<std::size_t>(own - f.same.begin());
    std::size_t first = 0;
    if (f.same.size() > kMostListed)
        first = std::min(at > kMostListed / 2 ? at - kMostListed / 2 : 0, f.same.size() - kMostListed);
    for (std::size_t i = first; i < f.same.size() && i < first + kMostListed; ++i) {
        const EventRef ref = f.same[i];
        const time::Interval& when =
            in.clock.events[static_cast<std::size_t>(ref.rank)][static_cast<std::size_t>(ref.event)];
        event_row(s, in, ref, event_words(in.trace, in.trace.event(ref.rank, ref.event)),
                  format_time(when.begin_ns), ref == f.ref);
    }
    s.space(6);
    const MessageArg here = arg("here", static_cast<int64_t>(f.same.size())), rank = arg("rank", f.ref.rank);
    s.paragraph(f.same_everywhere ? p.say("view.code.counts", {here, rank, arg("all", *f.same_everywhere)})
                                  : p.say("view.code.counts.here", {here, rank}),
                Face::caption, Token::mute);
}

}  // namespace

Picture code_facts(const Input& input) {
    Painter p(input);
    p.grow();
    Sheet s(p, kFactsPad, input.size.width - kFactsPad, 14);
    const auto ref = code_event(input);
    if (!ref) {
        s.paragraph(p.say(no_event_id(input.trace, "view.code.none")), Face::body, Token::mute);
    } else {
        const CodeFacts f = explain_event(input, *ref);
        const trace::Event& e = input.trace.event(ref->rank, ref->event);
        s.head(p.say("view.code.issued"), "rank " + std::to_string(ref->rank));
        const std::string unit(input.trace.text(e.unit));
        if (!unit.empty()) s.row(p.say("view.code.unit"), unit);
        std::string phase = p.say("view.phase." + std::string(name(e.phase)));
        if (e.prefetch != 0) phase += " · prefetch";
        if (has_phases(input.trace)) s.row(p.say("view.code.phase"), phase, Face::caption);
        if (e.step >= 0) s.row(p.say("view.fact.step"), format_count(e.step));
        if (tells_microbatch(input.trace, ref->rank, e))
            s.row(p.say("view.fact.microbatch"), format_count(e.microbatch));
        s.row(p.say("view.fact.stream"), std::string(name(e.stream)));
        if (e.sequence >= 0) s.row(p.say("view.fact.sequence"), format_count(e.sequence));
        s.space(16);
        waited_for(s, input, f);
        same_rule(s, input, f);
    }
    return p.take(s.y + 12);
}

}  // namespace meshscope::view
