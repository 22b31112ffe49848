#include <algorithm>
#include <optional>
#include <utility>

#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/views.h"
#include "app/gui/view/compare_view.h"

namespace meshscope::panels {
namespace {

constexpr size_t kMostOffers = 6;
constexpr std::string_view kTabStops[] = {"clock", "run", "lane_less", "lane_more", "close_run"};

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
    for (const session::LessonCard& offer : s.offers)
        if (offer.id == s.document->path) mesh = offer.subtitle.en;
    for (const bool same : {true, false})
        for (const session::LessonCard& offer : s.offers)
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

/// A run in the comparison.
struct Shown {
    std::shared_ptr<const session::Document> run;
    std::optional<size_t>
        open;  ///< its place among those that are open; nothing: the lesson's step brings it
};

/// Those that are open, and behind the lesson's own the variants that its step names (not while its question
/// is open, as they may answer it).
std::vector<Shown> shown_runs(const Ui& ui) {
    const session::AppState& s = ui.state;
    std::vector<Shown> shown;
    for (size_t i = 0; i < s.runs.size(); ++i) {
        shown.push_back({s.runs[i], i});
        if (s.runs[i] != s.document) continue;
        for (const auto& run : variants_of_step(ui)) shown.push_back({run, std::nullopt});
    }
    return shown;
}

/// Whose lanes are shown: of a variant those of the rank in focus.
int32_t rank_of(const session::AppState& state, const Shown& shown) {
    const auto ranks = std::max(1, static_cast<int32_t>(shown.run->trace->ranks.size()));
    const int32_t rank = session::lane_rank(state, shown.open.value_or(session::front_run(state)));
    return std::clamp(rank, 0, ranks - 1);
}

/// The runs that stand side by side, as the comparison takes them: on the shown clock, names made different.
std::vector<view::ComparedRun> compared_runs(const Ui& ui) {
    std::vector<view::ComparedRun> runs;
    const auto shown = shown_runs(ui);
    for (size_t i = 0; i < shown.size(); ++i) {
        const session::Document& document = *shown[i].run;
        int same = 1;
        for (size_t k = 0; k < i; ++k) same += shown[k].run->name == document.name ? 1 : 0;
        const std::string name =
            same == 1 ? document.name : document.name + " (" + std::to_string(same) + ")";
        // The lesson's own end may answer its question.
        const view::RunEnd* end = shown[i].run == ui.state.document ? told_end(ui)
                                  : document.end                    ? &*document.end
                                                                    : nullptr;
        runs.push_back({name, *document.trace, session::clock_of(document, ui.state.clock),
                        rank_of(ui.state, shown[i]), shown[i].run == ui.state.document, end, &document.traits,
                        !shown[i].open});
    }
    return runs;
}

view::Picture picture(const Ui& ui, Memory&, view::Size size) {
    return view::compare_view(view_input(ui, size.width, size.height), compared_runs(ui));
}

std::optional<view::Picture> facts(const Ui& ui, Memory&, view::Size size) {
    return view::compare_facts(view_input(ui, size.width, size.height), compared_runs(ui));
}

/// The comparison; with one run alone what can be laid beside it.
void scene(Ui& ui, Memory& memory, Rect box, bool /*alone*/) {
    ui.panel = "compare";
    Region region(ui, "scene", box);
    const auto runs = compared_runs(ui);
    if (runs.size() < 2) {
        const Choices beside = choices(ui);
        const bool any = !beside.strategies.empty() || !beside.lessons.empty();
        const view::Picture lone = view::compare_view(view_input(ui, box.w, box.h), runs, {.choices = any});
        render(ui, lone, {box.x, region.top()});
        return region.content_ends(offers(ui, memory, beside, box, region.top() + bottom_of(lone)));
    }
    const view::Picture drawn = view::compare_view(view_input(ui, box.w, box.h), runs);
    picture_panel(ui, memory, "compare", drawn, {box.x, region.top()});
    tab_stops(ui, memory, drawn, {box.x, region.top()}, kTabStops);
    float end = region.top() + drawn.height;
    if (ui.state.runs.size() < session::kMostRuns)
        end = offers(ui, memory, choices(ui), box, region.top() + bottom_of(drawn));
    if (end > box.y + box.h + 1) region.content_ends(end);
}

/// The run that an id names by `a`; nothing: none.
std::optional<Shown> run_of(const Ui& ui, const view::Id& id) {
    const auto shown = shown_runs(ui);
    if (id.a < 0 || static_cast<size_t>(id.a) >= shown.size()) return std::nullopt;
    return shown[static_cast<size_t>(id.a)];
}
/// The place among the open runs of the one that an id names; nothing: it is none of them.
std::optional<int32_t> open_run(const Ui& ui, const view::Id& id) {
    const auto shown = run_of(ui, id);
    if (!shown || !shown->open) return std::nullopt;
    return static_cast<int32_t>(*shown->open);
}

Actions bring_to_front(const Ui& ui, const view::Id& id, bool) {
    const auto run = open_run(ui, id);
    return run ? Actions{session::BringToFront{*run}} : Actions{};
}
std::string run_status(const Ui& ui, Memory&, const view::Id& id) {
    const auto shown = run_of(ui, id);
    return shown ? shown->run->name + " · " + mesh_words(shown->run->trace->info) : "";
}

Actions select_in_run(const Ui& ui, const view::Id& id, bool) {
    const auto run = open_run(ui, id);
    if (!run) return {};
    const int32_t rank = session::lane_rank(ui.state, static_cast<size_t>(*run));
    return {session::SelectInRun{*run, {rank, static_cast<int32_t>(id.b)}}};
}
std::string run_event_status(const Ui& ui, Memory&, const view::Id& id) {
    const auto shown = run_of(ui, id);
    if (!shown) return {};
    const std::string event =
        event_words(*shown->run->trace, session::clock_of(*shown->run, ui.state.clock),
                    static_cast<size_t>(rank_of(ui.state, *shown)), static_cast<size_t>(id.b));
    return event.empty() ? event : shown->run->name + " · " + event;
}

/// The next rank's lanes of a run, or the previous one's.
template <int direction>
Actions other_lanes(const Ui& ui, const view::Id& id, bool twice) {
    const auto run = open_run(ui, id);
    if (!run || twice) return {};  // the first press of a double click has done it
    const auto at = static_cast<size_t>(*run);
    const auto ranks = std::max(1, static_cast<int32_t>(ui.state.runs[at]->trace->ranks.size()));
    const int32_t rank = (session::lane_rank(ui.state, at) + direction + ranks) % ranks;
    // The front run's lanes are those of the rank in focus, in every view.
    if (at == session::front_run(ui.state)) return {session::SelectRank{rank}};
    return {session::SetLaneRank{*run, rank}};
}

Actions close_run(const Ui& ui, const view::Id& id, bool twice) {
    const auto run = open_run(ui, id);
    return run && !twice ? Actions{session::CloseRun{*run}} : Actions{};
}
std::string name_status(const Ui& ui, Memory&, const view::Id& id) {
    const auto shown = run_of(ui, id);
    return shown ? shown->run->name : "";
}

constexpr Target kTargets[] = {
    {"run", bring_to_front, run_status},         {"run_event", select_in_run, run_event_status},
    {"lane_less", other_lanes<-1>, name_status}, {"lane_more", other_lanes<1>, name_status},
    {"close_run", close_run, name_status},
};

}  // namespace

namespace views {

/// Runs side by side, and whether their weights agree.
extern const View compare;
const View compare{.picture = picture,
                   .facts = facts,
                   .targets = kTargets,
                   .scene = scene,
                   .breadth = Breadth::whole,
                   .least_runs = 2};

}  // namespace views
}  // namespace meshscope::panels
