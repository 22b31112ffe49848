#include "app/gui/panels/compare_host.h"

#include <algorithm>
#include <utility>

#include "app/gui/panels/picture_renderer.h"
#include "app/gui/view/format.h"
#include "core/base/kinds.h"

namespace meshscope::panels {
namespace {

constexpr size_t kMostOffers = 6;

std::string mesh_words(const trace::RunInfo& info) {
    std::string words;
    for (size_t d = 0; d < info.mesh_shape.size(); ++d)
        words += (words.empty() ? "" : " × ") +
                 (d < info.mesh_names.size() ? info.mesh_names[d] + " " : std::string()) +
                 std::to_string(info.mesh_shape[d]);
    return words;
}

/// Buttons one after the other, as many in a line as there is room for; gives the y below them.
float button_lines(Ui& ui, Memory& memory, float x, float y, float w,
                   const std::vector<std::pair<std::string, session::OpenBeside>>& buttons,
                   const std::string& id) {
    float at = x;
    for (size_t i = 0; i < buttons.size(); ++i) {
        const float wide = button_width(ui, buttons[i].first, false);
        if (wide > w) continue;  // words that do not fit whole are not shown cut
        if (at + wide > x + w) {
            at = x;
            y += 48;
        }
        if (button(ui, memory, id + std::to_string(i), {at, y, wide, 40}, buttons[i].first))
            ui.act(buttons[i].second);
        at += wide + 8;
    }
    return y + 48;
}

/// What could stand beside the one run that is open, with a button's words.
struct Choices {
    std::vector<std::pair<std::string, session::OpenBeside>> strategies, lessons;
};
Choices choices(const Ui& ui) {
    const session::AppState& s = ui.state;
    Choices choices;
    if (!s.document->path.empty())
        for (const std::string& strategy : s.document->strategies)
            choices.strategies.push_back({strategy, {s.document->path, true, strategy}});
    // Lessons of as many ranks on the same mesh first: they are what compares best.
    std::string mesh;
    for (const session::Offer& offer : s.offers)
        if (offer.id == s.document->path) mesh = offer.subtitle.en;
    for (const bool same : {true, false})
        for (const session::Offer& offer : s.offers)
            if (offer.id != s.document->path && (offer.subtitle.en == mesh) == same &&
                choices.lessons.size() < kMostOffers)
                choices.lessons.push_back({ui.pick(offer.title), {offer.id, true, {}}});
    return choices;
}

/// Under the sentence that says so: the same scenario under other strategies, and lessons.
float offers(Ui& ui, Memory& memory, const Choices& choices, Rect box, float y) {
    const float x = box.x + 24, w = std::min(720.0F, box.w - 48);
    if (!choices.strategies.empty()) {
        y = section_head(ui, x, y + 20, w, ui.say("view.compare.alone.strategies"), "");
        y = button_lines(ui, memory, x, y + 4, w, choices.strategies, "strategy");
    }
    if (!choices.lessons.empty()) {
        y = section_head(ui, x, y + 20, w, ui.say("view.compare.alone.choose"), "");
        y = button_lines(ui, memory, x, y + 4, w, choices.lessons, "beside");
    }
    return y + 16;
}

}  // namespace

std::vector<view::ComparedRun> compared_runs(const session::AppState& state) {
    std::vector<view::ComparedRun> runs;
    for (size_t i = 0; i < state.runs.size(); ++i) {
        const session::Document& document = *state.runs[i];
        int same = 1;
        for (size_t k = 0; k < i; ++k) same += state.runs[k]->name == document.name ? 1 : 0;
        const std::string name =
            same == 1 ? document.name : document.name + " (" + std::to_string(same) + ")";
        const time::Clock& clock =
            state.clock == time::ClockKind::measured ? document.measured : document.modelled;
        runs.push_back({name, *document.trace, clock, session::lane_rank(state, i),
                        state.runs[i] == state.document, document.end ? &*document.end : nullptr,
                        &document.traits});
    }
    return runs;
}

void compare_host(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "compare";
    Region region(ui, "scene", box);
    const auto runs = compared_runs(ui.state);
    if (runs.size() < 2) {
        const Choices beside = choices(ui);
        const bool any = !beside.strategies.empty() || !beside.lessons.empty();
        const view::Picture alone = view::compare_view(view_input(ui, box.w, box.h), runs, {.choices = any});
        render(ui, alone, {box.x, region.top()});
        return region.content_ends(offers(ui, memory, beside, box, region.top() + bottom_of(alone)));
    }
    const view::Picture picture = view::compare_view(view_input(ui, box.w, box.h), runs);
    picture_panel(ui, memory, "compare", picture, {box.x, region.top()});
    tab_stops(ui, memory, picture, {box.x, region.top()},
              {"clock", "run", "lane_less", "lane_more", "close_run"});
    float end = region.top() + picture.height;
    if (runs.size() < session::kMostRuns)
        end = offers(ui, memory, choices(ui), box, region.top() + bottom_of(picture));
    if (end > box.y + box.h + 1) region.content_ends(end);
}

bool click_compare(Ui& ui, const view::Id& id, bool twice) {
    const auto run = static_cast<int32_t>(id.a);
    const session::AppState& s = ui.state;
    const bool known = id.a >= 0 && static_cast<size_t>(id.a) < s.runs.size();
    if (id.kind == "run" && known) {
        ui.act(session::BringToFront{run});
    } else if (id.kind == "run_event" && known) {
        ui.act(session::SelectInRun{
            run, {session::lane_rank(s, static_cast<size_t>(run)), static_cast<int32_t>(id.b)}});
    } else if ((id.kind == "lane_less" || id.kind == "lane_more") && known) {
        if (twice) return true;  // the first press of a double click has done it
        const auto at = static_cast<size_t>(run);
        const auto ranks = static_cast<int32_t>(s.runs[at]->trace->ranks.size());
        const int32_t rank =
            (session::lane_rank(s, at) + (id.kind == "lane_more" ? 1 : ranks - 1)) % std::max(1, ranks);
        // The front run's lanes are those of the rank in focus, in every view.
        if (at == session::front_run(s))
            ui.act(session::SelectRank{rank});
        else
            ui.act(session::SetLaneRank{run, rank});
    } else if (id.kind == "close_run" && known) {
        if (!twice) ui.act(session::CloseRun{run});
    } else {
        return false;
    }
    return true;
}

std::string compare_status(const Ui& ui, const view::Id& id) {
    const session::AppState& s = ui.state;
    if (id.a < 0 || static_cast<size_t>(id.a) >= s.runs.size()) return {};
    const auto at = static_cast<size_t>(id.a);
    const session::Document& document = *s.runs[at];
    if (id.kind == "run") return document.name + " · " + mesh_words(document.trace->info);
    if (id.kind == "lane_less" || id.kind == "lane_more" || id.kind == "close_run") return document.name;
    if (id.kind != "run_event") return {};
    const auto rank = static_cast<size_t>(session::lane_rank(s, at)), index = static_cast<size_t>(id.b);
    const trace::Trace& trace = *document.trace;
    if (rank >= trace.ranks.size() || index >= trace.ranks[rank].events.size()) return {};
    const trace::Event& event = trace.ranks[rank].events[index];
    const time::Interval when =
        (s.clock == time::ClockKind::measured ? document.measured : document.modelled).events[rank][index];
    const std::string op = event.kind == trace::EventKind::compute ? std::string(trace.text(event.name))
                                                                   : std::string(name(event.op));
    return document.name + " · rank " + std::to_string(rank) + " · " + op + " " +
           std::string(trace.text(event.unit)) + " · " + view::format_time(when.end_ns - when.begin_ns);
}

}  // namespace meshscope::panels
