#include <algorithm>

#include "app/gui/panels/views.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/attention/scene.h"
#include "app/gui/view/attention/view.h"
#include "app/gui/view/format.h"
#include "app/gui/view/matrices_view.h"
#include "app/gui/view/parameters_view.h"

namespace meshscope::panels {
namespace {

/// The runs whose attention stands below, and in what other way the scenario could be run.
view::AttentionOptions attention(const Ui& ui) {
    const session::AppState& s = ui.state;
    view::AttentionOptions options;
    options.sums = !ui.quiz_mask.asks_ranks_or_choice();
    if (ui.quiz_mask.asks_peer()) options.senders_covered = ui.say("ui.covered.peer");
    for (const auto& run : runs_beside(ui))
        options.beside.push_back({run->name, *run->trace, session::clock_of(*run, ui.state.clock)});
    for (const std::string& way : session::attention_to_ask(s)) {
        const bool running = s.running && s.running->what_if == session::with_attention(way).id;
        options.offers.push_back({way, running});
    }
    return options;
}

Actions run_attention(const Ui& ui, const view::Id& id, bool) {
    const auto ways = session::attention_to_ask(ui.state);
    if (id.a < 0 || id.a >= std::ssize(ways)) return {};
    return {session::with_attention(ways[static_cast<size_t>(id.a)])};
}

view::Picture picture(const Ui& ui, Memory&, view::Size size) {
    const view::Input input = view_input(ui, size.width, size.height);
    if (ui.state.forms.in(view::Form::attention)) return view::attention_view(input, attention(ui));
    if (ui.state.forms.in(view::Form::rows)) return view::parameters_view(input);
    return view::matrices_view(input,
                               {ui.quiz_mask.asks_peer() ? ui.say("ui.covered.peer") : "", ui.pointer});
}

std::optional<view::Picture> facts(const Ui& ui, Memory&, view::Size size) {
    const view::Input input = view_input(ui, size.width, size.height);
    if (ui.state.forms.in(view::Form::attention)) return view::attention_facts(input, attention(ui));
    return ui.state.forms.in(view::Form::rows) ? view::parameters_facts(input) : view::matrices_facts(input);
}

/// Parameter `place` of unit `unit`; `row` -1: none of its rows.
Actions select(const Ui& ui, int64_t unit, int64_t place, int64_t row) {
    const auto units = view::parameter_units(*ui.state.document->trace);
    if (unit < 0 || unit >= static_cast<int64_t>(units.size())) return {};
    const auto& parameters = units[static_cast<size_t>(unit)].parameters;
    if (place < 0 || place >= static_cast<int64_t>(parameters.size())) return {};
    return {session::SelectParameter{parameters[static_cast<size_t>(place)].name, row}};
}

/// -1: no unit is on show.
int64_t unit_on_show(const Ui& ui) {
    const trace::Trace& trace = *ui.state.document->trace;
    return view::shown_unit(trace, view::parameter_units(trace), ui.state.selection);
}

Actions select_parameter(const Ui& ui, const view::Id& id, bool) {
    return select(ui, unit_on_show(ui), id.a, -1);
}
Actions select_unit(const Ui& ui, const view::Id& id, bool) {
    return unit_on_show(ui) < 0 ? Actions{} : select(ui, id.a, 0, -1);
}
Actions select_next_unit(const Ui& ui, const view::Id& id, bool) {
    const int64_t unit = unit_on_show(ui);
    return unit < 0 ? Actions{} : select(ui, unit + id.a, 0, -1);
}

/// A row of a parameter on a rank: both are packed in `a` (view/parameters_view.h).
int32_t rank_of_row(const view::Id& id) {
    return static_cast<int32_t>(id.a & 0x7FFFFFFF);
}
Actions select_row(const Ui& ui, const view::Id& id, bool) {
    const Actions row = select(ui, unit_on_show(ui), id.a >> 32, id.b);
    return row.empty() ? row : Actions{session::SelectRank{rank_of_row(id)}, row.front()};
}
std::string row_status(const Ui& ui, Memory&, const view::Id& id) {
    return "rank " + std::to_string(rank_of_row(id)) + " · " +
           ui.say("view.parameters.row.n", {{"row", id.b}});
}

/// To the last operation: the picture has the number as people read it.
std::string work_status(const Ui&, Memory&, const view::Id& id) {
    return "rank " + std::to_string(id.a) + " · " + view::format_count(id.b) + " FLOP";
}

/// An attention to its end on all of its ranks.
time::Interval film(const session::Document& document, const time::Clock& clock, view::EventRef at) {
    view::Selection selection;
    selection.event_rank = at.rank;
    selection.event = at.event;
    selection.rank = at.rank;
    const view::Moment moment{*document.trace, clock, {}, selection, nullptr};
    const view::AttentionScene scene = view::attention_scene(moment);
    if (!scene.empty()) {
        const std::vector<int32_t> events = view::attention_events(scene.own());
        if (std::find(events.begin(), events.end(), at.event) != events.end())
            return view::attention_span(clock, scene);
    }
    return film_of_event(document, clock, at);
}

constexpr view::Form kWide[] = {view::Form::matrices, view::Form::attention};

constexpr Target kTargets[] = {
    {"kernel", go_to_event, event_status}, {"matrix", select_rank, rank_status},
    {"parameter", select_parameter},       {"parameter_unit", select_unit},
    {"parameter_next", select_next_unit},  {"weight", select_row, row_status},
    {"life", go_to_event, event_status},   {"run", select_rank},
    {"flight", select_rank, rank_status},  {"attention_offer", run_attention},
    {"work", select_rank, work_status},
};

}  // namespace

namespace views {

/// The products of a layer as each rank computes them; its attention over a cut sequence; or who keeps which
/// rows of its weights, and what becomes of them through a step.
extern const View tensors;
const View tensors{.picture = picture,
                   .facts = facts,
                   .targets = kTargets,
                   .breadth = Breadth::whole_without_lesson,
                   .wide_forms = kWide,
                   .film = film};

}  // namespace views
}  // namespace meshscope::panels
