#include <algorithm>

#include "app/gui/panels/views.h"
#include "app/gui/sandbox/what_if.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/compare_figures.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_view.h"
#include "core/memory/ledger.h"

namespace meshscope::panels {

namespace {

view::Picture picture(const Ui& ui, Memory&, view::Size size) {
    return view::memory_view(view_input(ui, size.width, size.height));
}

std::optional<view::Picture> facts(const Ui& ui, Memory&, view::Size size) {
    return view::memory_facts(view_input(ui, size.width, size.height));
}

/// What can be asked of a run, asked of its scenario once.
struct AskedWhatIfs {
    DocumentMark document;
    std::vector<sandbox::WhatIf> questions;
};

const std::vector<sandbox::WhatIf>& questions(Ui& ui, Memory& memory) {
    const session::Document& document = *ui.state.document;
    const DocumentMark mark(ui.state.document);
    auto& asked = memory.memo.the<AskedWhatIfs>();
    if (asked.document != mark) {
        asked = {mark, {}};
        const std::string& text = session::scenario_text(document);
        if (!text.empty()) asked.questions = sandbox::what_ifs(text, document.trace->info.scenario_path);
    }
    return asked.questions;
}

/// The same rank where the other run has it, else its highest.
int64_t peak_of(const trace::Trace& trace, int32_t rank) {
    const auto last = static_cast<int32_t>(trace.ranks.size()) - 1;
    return last < 0 ? 0 : memory::peak(trace, std::min(rank, last)).bytes;
}

/// A bar as long as its share of the longer of the two, and its bytes.
float bar(Ui& ui, float x, float y, float w, const std::string& label, int64_t bytes, int64_t most,
          bool answer) {
    const std::string figure = view::format_exact_bytes(bytes);
    const float figure_w = ui.width(figure, Face::mono_small);
    const float label_w = std::max(ui.width(ui.say("sandbox.what_if.now"), Face::caption),
                                   ui.width(ui.say("sandbox.what_if.then"), Face::caption));
    ui.text({x, y, label_w, 24}, label, Face::caption, Token::soft);
    ui.text({x + w - figure_w, y, figure_w, 24}, figure, Face::mono_small, Token::text);
    const float room = w - label_w - figure_w - 24;
    const float share = most > 0 ? static_cast<float>(bytes) / static_cast<float>(most) : 0;
    if (room > 8)
        ui.fill({x + label_w + 12, y + 5, std::max(2.0F, room * share), 14},
                answer ? Token::accent : Token::grey, 3);
    return y + 26;
}

/// The run beside the one that was asked of: its peak and the difference in bytes.
float answer(Ui& ui, Memory& memory, const session::WhatIfRun& run, float x, float y, float w) {
    const int32_t rank = ui.state.selection.rank.value_or(ui.state.selection.asking_rank);
    const int64_t now = peak_of(*ui.state.document->trace, rank), then = peak_of(*run.answer->trace, rank);
    const int64_t most = std::max(now, then);
    y = bar(ui, x, y, w, ui.say("sandbox.what_if.now"), now, most, false);
    y = bar(ui, x, y, w, ui.say("sandbox.what_if.then"), then, most, true);
    const int64_t more = then - now;
    const std::string sign = more > 0 ? "+" : more < 0 ? "−" : "";
    const std::string change = view::change_text(now, then);
    const std::string figure =
        sign + view::format_exact_bytes(more < 0 ? -more : more) + (change.empty() ? "" : " · " + change);
    const float figure_w = ui.width(figure, Face::mono_small);
    const std::string label = ui.say("sandbox.what_if.peak", {{"rank", int64_t{rank}}});
    if (ui.width(label, Face::caption) + 12 + figure_w <= w) {
        ui.text({x, y, w, 26}, label, Face::caption, Token::soft);
        ui.text({x, y, w, 26}, figure, Face::mono_small, more > 0 ? Token::warn : Token::ok, Align::right);
        y += 28;
    } else {
        y = paragraph(ui, x, y, w, label, Face::caption, Token::soft);
        y = paragraph(ui, x, y, w, figure, Face::mono_small, more > 0 ? Token::warn : Token::ok) + 2;
    }
    const std::string compare = ui.say("sandbox.what_if.compare");
    if (button(ui, memory, "what_if.compare." + run.id, {x - 6, y, ui.width(compare, Face::body) + 12, 30},
               compare, ButtonLook::link))
        ui.act(session::SetView{view::ViewKind::compare});
    return y + 36;
}

float running(Ui& ui, Memory& memory, const session::Running& now, float x, float y, float w) {
    const std::string words = ui.say("sandbox.what_if.running"), stop = ui.say("sandbox.stop");
    const float wide = button_width(ui, stop, false);
    const float share =
        now.steps > 0 ? static_cast<float>(now.steps_done) / static_cast<float>(now.steps) : 0.05F;
    ui.text({x, y, w - wide - 12, 26}, ui.fit(words, "", w - wide - 12, Face::caption), Face::caption,
            Token::accent);
    ui.fill({x, y + 28, w - wide - 12, 4}, Token::ghost, 2);
    ui.fill({x, y + 28, std::max(8.0F, (w - wide - 12) * share), 4}, Token::accent, 2);
    if (button(ui, memory, "what_if.at.stop", {x + w - wide, y, wide, 36}, stop, ButtonLook::plain,
               !now.stopping))
        ui.act(session::StopRun{});
    return y + 46;
}

/// What-if questions about the memory of the run in front.
float what_ifs(Ui& ui, Memory& memory, float x, float y, float w) {
    const auto& asked = questions(ui, memory);
    if (asked.empty()) return y;
    y = section_head(ui, x, y, w, ui.say("sandbox.what_if"), ui.say("sandbox.what_if.really"));
    for (const sandbox::WhatIf& what : asked) {
        const std::string words = ui.say("sandbox.what_if." + what.id);
        const bool runs = ui.state.running && ui.state.running->what_if == what.id;
        const bool free = !ui.state.running && !what.refused;
        const float wide = std::min(w, button_width(ui, words, false));
        std::string tip = what.code;
        if (what.refused) tip = ui.say(what.refused->id, what.refused->args);
        if (button(ui, memory, "what_if." + what.id, {x, y, wide, 36}, words, ButtonLook::plain, free,
                   Icon::none, tip))
            ui.act(session::AskWhatIf{what.id, what.changes});
        y += 44;
        if (runs) y = running(ui, memory, *ui.state.running, x, y, w);
        if (const session::WhatIfRun* run = session::answer_to(ui.state, what.id))
            y = answer(ui, memory, *run, x, y, w);
    }
    return y + 8;
}

/// The whole training step: the moment is marked in it.
time::Interval film(const session::Document& document, const time::Clock& clock, view::EventRef at) {
    const time::Interval whole =
        time::span_of_step(*document.trace, clock, document.trace->event(at.rank, at.event).step);
    // Its end is the next one's beginning, which has a picture of its own.
    return whole.end_ns > whole.begin_ns ? time::Interval{whole.begin_ns, whole.end_ns - 1}
                                         : film_of_event(document, clock, at);
}

constexpr Target kTargets[] = {
    {"column", select_event, event_status},
    {"peak", go_to_event},
};

}  // namespace

namespace views {

/// What every rank holds through a step, by category.
extern const View memory;
const View memory{.picture = picture,
                  .facts = facts,
                  .targets = kTargets,
                  .breadth = Breadth::whole_without_lesson,
                  .below_facts = what_ifs,
                  .film = film};

}  // namespace views
}  // namespace meshscope::panels
