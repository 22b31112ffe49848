#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/panels/panels.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/views.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/common.h"
#include "app/gui/view/end_facts.h"
#include "app/gui/view/format.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/picture.h"
#include "app/gui/view/stepping.h"
#include "core/base/kinds.h"
#include "core/trace/trace.h"

namespace meshscope::panels {
namespace {

/// How often a kind of collective ran.
struct ClassCount {
    std::string op;
    view::Token hue = view::Token::text;
    int64_t events = 0;
    int64_t bytes = 0;  ///< sent by the rank
};

/// The collectives of the rank and step of `ref`, by operation, in order of first issue. Cost: the rank's
/// events.
std::vector<ClassCount> count_collectives(const trace::Trace& trace, view::EventRef ref) {
    std::vector<ClassCount> counts;
    const int32_t step = trace.event(ref.rank, ref.event).step;
    for (const trace::Event& event : trace.ranks[static_cast<size_t>(ref.rank)].events) {
        if (event.kind != trace::EventKind::collective || event.step != step) continue;
        const std::string op(name(event.op));
        auto found =
            std::find_if(counts.begin(), counts.end(), [&](const ClassCount& c) { return c.op == op; });
        if (found == counts.end()) found = counts.insert(counts.end(), {op, view::op_hue(event.op), 0, 0});
        ++found->events;
        found->bytes += event.sent_bytes;
    }
    return counts;
}

using view::EventFacts;

/// A fact's value without what the open question asks for: elements are amounts, however few.
std::string shown_value(const Ui& ui, const view::Fact& fact) {
    const bool amount =
        fact.label == ui.say("view.fact.elements") || fact.label == ui.say("view.fact.padding");
    if (ui.quiz_mask.asks_peer() && fact.label == ui.say("view.fact.peer")) return "?";
    return ui.quiz_mask.mask(fact.value, amount);
}

/// Label at the left, value at the right; the value goes to lines of its own when they do not fit side by
/// side.
float row(Ui& ui, float x, float y, float w, const std::string& label, const std::string& value, bool mono,
          Token token = Token::text) {
    const Face face = mono ? Face::mono_small : Face::caption;
    const float label_w = ui.width(label, Face::caption), value_w = ui.width(value, face);
    if (label_w + 16 + value_w <= w) {
        ui.text({x, y, w, 26}, label, Face::caption, Token::mute);
        ui.text({x, y, w, 26}, value, face, token, Align::right);
        return y + 26;
    }
    y = paragraph(ui, x, y + 3, w, label, Face::caption, Token::mute);
    return paragraph(ui, x + 12, y, w - 12, value, face, token) + 4;
}

float heading(Ui& ui, const EventFacts& facts, float x, float y, float w) {
    const float op_w = ui.width(facts.op, Face::mono_title);
    float at = x;
    if (op_w <= w) {
        ui.text({x, y, op_w, 32}, facts.op, Face::mono_title, facts.hue);
        at += op_w + 12;
    } else {
        y = paragraph(ui, x, y, w, facts.op, Face::mono, facts.hue);
    }
    const float unit_w = ui.width(facts.unit, Face::mono_title);
    if (!facts.unit.empty()) {
        if (at + unit_w > x + w) {
            at = x;
            y += 30;
        }
        ui.text({at, y, std::min(unit_w, w), 32}, facts.unit, Face::mono_title, Token::text);
        at += unit_w + 12;
    }
    if (!facts.badge.empty()) {
        const float wide = ui.width(facts.badge, Face::caption) + 20;
        if (at + wide > x + w) {
            at = x;
            y += 34;
        }
        const Rect pill{at, y + 3, std::min(wide, w), 26};
        ui.fill(pill, Token::raised, 13);
        ui.outline(pill, Token::line2, 13);
        ui.text({pill.x + 10, pill.y, pill.w - 20, pill.h}, facts.badge, Face::caption, Token::soft);
    }
    return y + 38;
}

/// What was sent, beside what the algorithm's card predicts.
float bytes_card(Ui& ui, const EventFacts& facts, float x, float y, float w) {
    if (facts.sent.empty()) return y;
    const float pad = 14, inner = w - 2 * pad;
    const bool formula = !facts.formula.empty();
    const bool one_line =
        ui.width(facts.formula, Face::mono_small) + ui.width(facts.predicted, Face::mono_small) + 40 <= inner;
    // Words (what nobody counted) may be too long to stand beside the label.
    const bool beside =
        ui.width(ui.say("ui.facts.sent"), Face::caption) + ui.width(facts.sent, Face::mono) + 16 <= inner;
    if (!beside && !formula) {
        const float text =
            ui.line(Face::body) * static_cast<float>(wrap(ui.measure, facts.sent, Face::body, inner).size());
        ui.fill({x, y, w, 16 + 28 + text}, Token::inset, 8);
        ui.outline({x, y, w, 16 + 28 + text}, Token::line, 8);
        ui.text({x + pad, y + 8, inner, 28}, ui.say("ui.facts.sent"), Face::caption, Token::soft);
        paragraph(ui, x + pad, y + 36, inner, facts.sent, Face::body, Token::text);
        return y + 16 + 28 + text + 18;
    }
    const float height = 16 + 28 + (formula ? (one_line ? 28.0F : 56.0F) : 0.0F);
    ui.fill({x, y, w, height}, Token::inset, 8);
    ui.outline({x, y, w, height}, Token::line, 8);
    float line = y + 8;
    ui.text({x + pad, line, inner, 28}, ui.say("ui.facts.sent"), Face::caption, Token::soft);
    ui.text({x + pad, line, inner, 28}, facts.sent, Face::mono, Token::text, Align::right);
    if (formula) {
        line += 28;
        ui.text({x + pad, line, inner, 28}, facts.formula, Face::mono_small, Token::mute);
        if (!one_line) line += 28;
        const float wide = ui.width(facts.predicted, Face::mono_small);
        ui.text({x + pad, line, inner, 28}, facts.predicted, Face::mono_small,
                facts.agrees ? Token::ok : Token::warn, Align::right);
        const Point mark{x + w - pad - wide - 16, line + 14};
        if (facts.agrees) {
            ui.tick(mark, Token::ok);
        } else {
            ui.cross(mark, Token::warn);
        }
    }
    return y + height + 18;
}

/// A record of a newer version may name a rule that has no words here.
std::string rule_sentence(const Ui& ui, const EventFacts& facts) {
    return facts.words.sentence.empty() ? ui.say("view.code.unknown_rule") : facts.words.sentence;
}

float why(Ui& ui, const EventFacts& facts, float x, float y, float w) {
    if (facts.rule.empty()) return y;
    y = section_head(ui, x, y, w, ui.say("ui.facts.why"), facts.rule);
    return paragraph(ui, x, y, w, rule_sentence(ui, facts), Face::body, Token::soft) + 18;
}

/// The PyTorch call that does the same, and our own line.
float code(Ui& ui, Memory& memory, const EventFacts& facts, float x, float y, float w) {
    if (facts.rule.empty() && facts.source.empty()) return y;
    y = section_head(ui, x, y, w, ui.say("ui.facts.code"), "PyTorch 2.15");
    if (!facts.words.pytorch.empty()) {
        const std::vector<std::string> lines =
            wrap(ui.measure, facts.words.pytorch, Face::mono_small, w - 28);
        const float step = 22, height = step * static_cast<float>(lines.size()) + 16;
        ui.fill({x, y, w, height}, Token::inset, 8);
        ui.outline({x, y, w, height}, Token::line, 8);
        float at = y + 8;
        for (const std::string& line : lines) {
            ui.text({x + 14, at, w - 28, step}, line, Face::mono_small, Token::soft);
            at += step;
        }
        y += height + 8;
    }
    if (!facts.source.empty()) {
        const float wide = ui.width(facts.source, Face::mono_small),
                    label_w = ui.width(ui.say("ui.facts.ours"), Face::caption);
        const bool one_line = wide + label_w + 16 <= w;
        ui.text({x, y, w, 26}, ui.say("ui.facts.ours"), Face::caption, Token::mute);
        if (!one_line) y += 24;
        std::vector<std::string> lines = wrap(ui.measure, facts.source, Face::mono_small, w);
        const Rect box{one_line ? x + w - wide : x, y, std::min(w, wide),
                       26 * static_cast<float>(lines.size())};
        const Touch t = touch(ui, memory, "source", box);
        if (t.hovered) tooltip(ui, ui.say("ui.copy_hint"));
        if (t.pressed) {
            ui.act(session::CopyText{facts.source});
            ui.act(session::ShowToast{ui.say("ui.copied")});
        }
        float at = y;
        for (const std::string& line : lines) {
            ui.text({box.x, at, box.w, 26}, line, Face::mono_small, Token::accent);
            at += 26;
        }
        y = at;
    }
    return y + 16;
}

/// How the run ended early, in sentences: what happened, why, who waits for whom, what to do.
std::vector<std::string> end_words(const Ui& ui) {
    const view::RunEnd* end = told_end(ui);
    if (end == nullptr) return {};
    std::vector<Message> lines{view::end_title(*end), end->what};
    for (const auto& more : {end->waits.sentences, view::end_advice(*end)})
        lines.insert(lines.end(), more.begin(), more.end());
    std::vector<std::string> words;
    for (const Message& line : lines) words.push_back(ui.say(line.id, line.args));
    return words;
}

/// The same as a picture at the head of the facts, while the banner is unfolded; gives the y below.
float ended(Ui& ui, Memory& memory, Rect box, float y) {
    constexpr std::string_view kStops[] = {"end_rerun", "end_compare", "end_show", "wait", "end_copy"};
    const view::RunEnd* end = told_end(ui);
    if (end == nullptr || ui.state.end_folded) return y;
    const view::Picture picture =
        view::end_facts(view_input(ui, box.w, box.h), *end, session::without_faults(ui.state));
    picture_panel(ui, memory, "end_facts", picture, {box.x, y});
    tab_stops(ui, memory, picture, {box.x, y}, kStops);
    return y + picture.height;
}

/// Why something is left out here.
float covered(Ui& ui, const std::string& why, float x, float y, float w) {
    return paragraph(ui, x, y, w, why, Face::caption, Token::mute) + 12;
}

float same_class(Ui& ui, float x, float y, float w) {
    const auto ref = session::shown_event(ui.state);
    const std::vector<ClassCount> counts = count_collectives(*ui.state.document->trace, *ref);
    if (counts.empty()) return y;
    y = section_head(ui, x, y, w, ui.say("ui.facts.same_class"), "rank " + std::to_string(ref->rank));
    if (ui.quiz_mask.open()) return covered(ui, ui.say("ui.covered.counts"), x, y, w);
    for (const ClassCount& count : counts) {
        const Rect swatch{x, y + 6, 26, 14};
        ui.fill(swatch, count.hue, 3, 0.3F);
        ui.outline(swatch, count.hue, 3, 1.4F);
        const std::string times = ui.say("ui.facts.times", {{"n", count.events}});
        const std::string bytes = view::format_bytes(count.bytes);
        const float op_w = ui.width(count.op, Face::mono_small), times_w = ui.width(times, Face::caption);
        ui.text({x + 36, y, op_w, 26}, count.op, Face::mono_small, Token::text);
        ui.text({x, y, w, 26}, bytes, Face::mono_small, Token::text, Align::right);
        const float times_right = x + w - 84;
        if (times_right - times_w >= x + 36 + op_w + 8) {
            ui.text({times_right - times_w, y, times_w, 26}, times, Face::caption, Token::soft);
        } else {
            y += 24;
            ui.text({x + 36, y, w - 36, 26}, times, Face::caption, Token::soft);
        }
        y += 28;
    }
    return y + 12;
}

/// That a call never ended answers what a lesson asks where the end itself is not told.
bool tells_end(const Ui& ui) {
    return !ui.state.document->end || told_end(ui) != nullptr;
}

float event_facts(Ui& ui, Memory& memory, float x, float y, float w) {
    const auto ref = session::shown_event(ui.state);
    if (!ref)
        return paragraph(ui, x, y, w, ui.say(view::no_event_id(*ui.state.document->trace, "ui.facts.none")),
                         Face::body, Token::soft);
    const EventFacts facts = view::describe_event(view_input(ui, w, 100), *ref, tells_end(ui));
    const bool chosen = ui.state.selection.event.has_value();
    const trace::Event& event = ui.state.document->trace->event(ref->rank, ref->event);
    const std::string where =
        event.sequence >= 0
            ? ui.say("ui.facts.where", {{"rank", int64_t{ref->rank}}, {"sequence", int64_t{event.sequence}}})
            : "rank " + std::to_string(ref->rank);
    y = section_head(ui, x, y, w, ui.say(chosen ? "ui.facts.selected" : "ui.facts.at_cursor"), where);
    y = heading(ui, facts, x, y, w);
    for (const view::Fact& fact : facts.rows)
        y = row(ui, x, y, w, fact.label, shown_value(ui, fact), fact.mono);
    if (!facts.how.empty()) y = paragraph(ui, x, y + 4, w, facts.how, Face::caption, Token::soft) + 4;
    y += 8;
    if (!facts.sent.empty() && ui.quiz_mask.asks_bytes(event.sent_bytes))
        y = covered(ui, ui.say("ui.covered.bytes"), x, y, w);
    else
        y = bytes_card(ui, facts, x, y, w);
    y = why(ui, facts, x, y, w);
    y = code(ui, memory, facts, x, y, w);
    return same_class(ui, x, y, w);
}

/// The view's own facts; nothing where they are those of an event.
std::optional<view::Picture> facts_picture(Ui& ui, Memory& memory, Rect box) {
    const View& shown = view_of(ui.state.view);
    return shown.facts == nullptr ? std::nullopt : shown.facts(ui, memory, {box.w, box.h});
}

/// What the scene tells as text: copied before the facts.
std::string scene_text(Ui& ui, Memory& memory) {
    view::Picture told = view_of(ui.state.view).picture(ui, memory, {900, 700});
    ui.quiz_mask.mask(told, view::view_name(ui.state.view));
    std::string text;
    for (const std::string& line : told.text_lines) text += line + "\n";
    return text.empty() ? text : text + "\n";
}

std::string as_text(const Ui& ui) {
    const auto ref = session::shown_event(ui.state);
    if (!ref) return {};
    const EventFacts facts = view::describe_event(view_input(ui, 400, 100), *ref, tells_end(ui));
    std::string text = facts.op + " " + facts.unit + " " + facts.badge + "\n";
    for (const view::Fact& fact : facts.rows) text += fact.label + ": " + shown_value(ui, fact) + "\n";
    if (!facts.how.empty()) text += facts.how + "\n";
    const trace::Event& event = ui.state.document->trace->event(ref->rank, ref->event);
    if (!facts.sent.empty() && ui.quiz_mask.asks_bytes(event.sent_bytes))
        text += ui.say("ui.covered.bytes") + "\n";
    else if (!facts.sent.empty())
        text += ui.say("ui.facts.sent") + ": " + facts.sent + "\n" + facts.formula + "\n";
    if (!facts.rule.empty()) text += facts.rule + ": " + rule_sentence(ui, facts) + "\n";
    return text + facts.source + "\n";
}

}  // namespace

std::string view_as_text(Ui& ui, Memory& memory) {
    std::string text, ended;
    for (const std::string& line : end_words(ui)) ended += line + "\n";
    if (auto picture = facts_picture(ui, memory, {0, 0, 360, 600})) {
        ui.quiz_mask.mask(*picture, "facts");
        for (const std::string& line : picture->text_lines) text += line + "\n";
    }
    return ended + scene_text(ui, memory) + (text.empty() ? as_text(ui) : text);
}

void facts_column(Ui& ui, Memory& memory, Rect box, bool drawer) {
    const View& shown = view_of(ui.state.view);
    ui.panel = "facts";
    // A drawer lies over the scene, which is a child of the window, too.
    std::optional<Region> above;
    if (drawer) above.emplace(ui, "facts_drawer", box, false);
    ui.fill(box, Token::panel);
    ui.draw->AddRectFilled(ui.px(Point{box.x, box.y}),
                           {ui.px(box.x) + std::max(1.0F, ui.px(1)), ui.px(box.y + box.h)},
                           ui.colour(drawer ? Token::line2 : Token::line));
    Region region(ui, "facts", {box.x + 1, box.y, box.w - 1, box.h});
    const float x = box.x + 24, w = box.w - 48;
    float y = region.top() + 16;
    const float first = y;
    if (ui.quiz_mask.leaves_out()) y = covered(ui, ui.say("ui.covered"), x, y, w) - 12;
    y = ended(ui, memory, box, y);
    const float top = y > first ? y : region.top();
    view::Picture picture;
    if (const auto drawn = facts_picture(ui, memory, box)) {
        picture = *drawn;
        // No lower than what is in it: the button below must get its clicks.
        picture.height = bottom_of(picture);
        picture_panel(ui, memory, "facts", picture, {box.x, top});
        tab_stops(ui, memory, picture, {box.x, top}, shown.facts_tab_stops);
        y = top + bottom_of(picture) + 12;
    } else {
        y = event_facts(ui, memory, x, top + 16, w);
    }
    if (shown.below_facts != nullptr) y = shown.below_facts(ui, memory, x, y + 8, w);
    const std::string copy = ui.say("ui.copy_facts");
    if (button(ui, memory, "copy_facts", {x - 6, y + 4, ui.width(copy, Face::body) + 12, 36}, copy,
               ButtonLook::link)) {
        ui.act(session::CopyText{view_as_text(ui, memory)});
        ui.act(session::ShowToast{ui.say("ui.copied")});
    }
    y += 40;
    if (!session::scenario_text(*ui.state.document).empty()) {
        const std::string change = ui.say("sandbox.open");
        if (button(ui, memory, "open_sandbox", {x - 6, y + 4, ui.width(change, Face::body) + 12, 36}, change,
                   ButtonLook::link, true, Icon::none, ui.say("keys.sandbox")))
            ui.act(session::ToggleSandbox{});
        y += 40;
    }
    region.content_ends(y + 8);
}

}  // namespace meshscope::panels
