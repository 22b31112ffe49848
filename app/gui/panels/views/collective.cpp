#include <algorithm>

#include "app/gui/panels/views.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/algorithms_view.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/run_end.h"

namespace meshscope::panels {
namespace {

constexpr std::size_t kMostRows = 5;
constexpr int64_t kMostRunBytes = int64_t{1} << 20;  ///< of a buffer that is run at a press

bool are_side_by_side(const Ui& ui) {
    return ui.state.forms.in(view::Form::side_by_side);
}

/// The runs whose calls stand below, and with what else the scenario could be run.
view::AlgorithmsOptions algorithms(const Ui& ui, const view::Input& input) {
    const session::AppState& s = ui.state;
    view::AlgorithmsOptions options;
    options.sums = !ui.quiz_mask.open();
    options.name = s.document->name;
    for (const auto& run : runs_beside(ui))
        if (options.beside.size() + 1 < kMostRows)
            options.beside.push_back({run->name, *run->trace, session::clock_of(*run, ui.state.clock)});
    options.choice = s.algorithms;
    options.profile = &s.document->hardware;
    if (!s.reduced_motion && s.playing && s.stretch && s.stretch->travel_s > 0) {
        options.ns_per_s = static_cast<double>(s.stretch->to_ns - s.stretch->from_ns) / s.stretch->travel_s;
        options.rested_s = std::max(0.0, s.stretch->passed_s - s.stretch->travel_s);
    }
    const auto rows = view::algorithm_rows(input, options);
    if (rows.empty() || !options.sums) return options;
    options.can_run_size = !s.running && s.algorithms.predicted_bytes <= kMostRunBytes &&
                           session::can_run_alone(s, rows.front().call);
    for (const Algorithm algorithm : session::algorithms_to_ask(s, rows.front().landings->op)) {
        const bool there = std::ranges::any_of(
            rows, [&](const view::AlgorithmRow& row) { return row.landings->algorithm == algorithm; });
        const bool running = s.running && s.running->what_if == session::with_algorithm(algorithm).id;
        if (!there) options.offers.push_back({algorithm, running});
    }
    return options;
}

Actions run_algorithm(const Ui&, const view::Id& id, bool) {
    return {session::with_algorithm(static_cast<Algorithm>(id.a))};
}

/// The call on show alone, with another size.
Actions run_size(const Ui& ui, const view::Id& id, bool) {
    const auto shown = view::shown_collective(view_input(ui, 100, 100));
    if (!shown) return {};
    return {session::AskCall{{shown->rank, shown->event}, static_cast<Algorithm>(id.a), id.b}};
}

Actions choose_order(const Ui& ui, const view::Id& id, bool) {
    view::AlgorithmsChoice choice = ui.state.algorithms;
    choice.order = static_cast<view::AlgorithmOrder>(id.a);
    return {session::SetAlgorithms{choice}};
}
Actions choose_size(const Ui& ui, const view::Id& id, bool) {
    view::AlgorithmsChoice choice = ui.state.algorithms;
    choice.predicted_bytes = id.a;
    return {session::SetAlgorithms{choice}};
}
std::string prediction_status(const Ui& ui, Memory&, const view::Id&) {
    return ui.say("ui.status.predicted", {{"profile", ui.state.document->hardware.name}});
}

Actions go_to_landing(const Ui& ui, const view::Id& id, bool) {
    const view::Input input = view_input(ui, 100, 100);
    if (const auto cursor = view::landing_end(input, algorithms(ui, input), id.a, id.b))
        return {session::SetCursor{cursor->t_ns}};
    return {};
}

std::optional<view::Picture> facts(const Ui& ui, Memory&, view::Size size) {
    if (!are_side_by_side(ui)) return std::nullopt;
    const view::Input input = view_input(ui, size.width, size.height);
    return view::algorithms_facts(input, algorithms(ui, input));
}

/// The call on show, without what the lesson's open question asks for.
view::Picture picture(const Ui& ui, Memory&, view::Size size) {
    const view::Input input = view_input(ui, size.width, size.height);
    view::CollectiveOptions options;
    options.reduced_motion = ui.state.reduced_motion;
    options.end = told_end(ui);
    options.forms = true;
    if (const auto shown = view::shown_collective(input)) {
        const trace::Event& event = input.trace.event(shown->rank, shown->event);
        const bool members =
            event.group >= 0 && ui.quiz_mask.asks(input.trace.groups[static_cast<size_t>(event.group)].ranks);
        // Of a call that never ended the picture shows who did not come.
        const bool open_call = options.end == nullptr && ui.state.document->end &&
                               view::is_open(*ui.state.document->end, shown->rank, shown->event);
        const bool who = members || (open_call && ui.quiz_mask.asks_ranks_or_choice());
        if (who || ui.quiz_mask.asks_peer()) {
            view::Painter painter(input);
            const std::string why = ui.say(who ? "ui.covered.members" : "ui.covered.peer");
            painter.tell(why);
            painter.paragraph(why, {24, 20}, Face::body, Token::soft, size.width - 48);
            return painter.take();
        }
        options.covered = ui.quiz_mask.asks_bytes(event.sent_bytes);
    }
    if (are_side_by_side(ui)) return view::algorithms_view(input, algorithms(ui, input));
    return view::collective_view(input, options);
}

/// The end of a round of the call on show.
Actions go_to_round(const Ui& ui, const view::Id& id, bool) {
    const auto shown = view::shown_collective(view_input(ui, 100, 100));
    if (!shown) return {};
    const auto rank = static_cast<size_t>(shown->rank);
    const trace::RankTrace& record = ui.state.document->trace->ranks[rank];
    for (size_t i = 0; i < record.hops.size(); ++i)
        if (record.hops[i].event == shown->event && record.hops[i].round == id.a)
            return {session::SetCursor{session::shown_clock(ui.state)->hops[rank][i].end_ns}};
    return {};
}

Actions select_chunk(const Ui&, const view::Id& id, bool) {
    return {session::SelectChunk{static_cast<int32_t>(id.a), static_cast<int32_t>(id.b)}};
}
std::string chunk_status(const Ui&, Memory&, const view::Id& id) {
    return "rank " + std::to_string(id.a) + " · chunk " + std::to_string(id.b);
}

Actions select_part(const Ui&, const view::Id& id, bool) {
    const view::Pip pip = view::pip_of(id);
    return {session::SelectChunk{pip.rank, pip.column}};
}
std::string pip_status(const Ui& ui, Memory&, const view::Id& id) {
    const view::Pip pip = view::pip_of(id);
    return "rank " + std::to_string(pip.rank) + " · chunk " + std::to_string(pip.column) + " · " +
           ui.say(pip.in ? "ui.status.pip_in" : "ui.status.pip_out", {{"rank", int64_t{pip.of}}});
}

Actions select_group(const Ui&, const view::Id& id, bool) {
    return {session::SelectGroup{static_cast<int32_t>(id.a)}};
}

/// The call to its end in all groups that are drawn.
time::Interval film(const session::Document& document, const time::Clock& clock, view::EventRef at) {
    const auto interval = [&](int32_t rank, int32_t event) {
        return clock.events[static_cast<size_t>(rank)][static_cast<size_t>(event)];
    };
    time::Interval span = interval(at.rank, at.event);
    for (const auto& group : view::parallel_instances(*document.trace, at.rank, at.event))
        for (size_t m = 0; m < group.ranks.size(); ++m) {
            if (group.events[m] < 0) continue;  // it never came
            const time::Interval own = interval(group.ranks[m], group.events[m]);
            span = {std::min(span.begin_ns, own.begin_ns), std::max(span.end_ns, own.end_ns)};
        }
    return span;
}

/// One call keeps to its size; rows of algorithms may be higher.
void scene(Ui& ui, Memory& memory, Rect box, bool alone) {
    if (are_side_by_side(ui)) return scrolling_scene(ui, memory, box, alone);
    fixed_scene(ui, memory, box, alone);
}

constexpr view::Form kWide[] = {view::Form::side_by_side};

constexpr Target kTargets[] = {
    {"chunk", select_chunk, chunk_status},
    {"part", select_chunk, chunk_status},
    {"pip", select_part, pip_status},
    {"landing", go_to_landing},
    {"run_algorithm", run_algorithm},
    {"run_size", run_size},
    {"order", choose_order},
    {"predict", choose_size},
    {"predicted", nullptr, prediction_status},
    {"flight", select_rank},
    {"group", select_group},
    {"hop", go_to_round},
};

}  // namespace

namespace views {

/// One call: whose buffers hold what, and the chunks on their way; or algorithms of it side by side.
extern const View collective;
const View collective{.picture = picture,
                      .facts = facts,
                      .targets = kTargets,
                      .scene = scene,
                      .below = timeline_below,
                      .wide_forms = kWide,
                      .film = film,
                      .collectives_only = true};

}  // namespace views
}  // namespace meshscope::panels
