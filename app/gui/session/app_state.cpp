#include "app/gui/session/app_state.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>

#include "app/gui/session/planned.h"
#include "app/gui/view/collective_view.h"

namespace meshscope::session {

const time::Clock* shown_clock(const AppState& state) {
    if (!state.document) return nullptr;
    return &clock_of(*state.document, state.clock);
}

std::optional<view::EventRef> shown_event(const AppState& state) {
    if (!state.document) return {};
    if (state.selection.event && state.selection.event_rank) {
        return view::EventRef{*state.selection.event_rank, *state.selection.event};
    }
    int32_t rank = state.selection.rank.value_or(state.selection.asking_rank);
    // A lesson step may show a larger mesh than the run had.
    if (rank >= static_cast<int32_t>(state.document->trace->ranks.size())) rank = 0;
    // Beside the picture of a call stand the facts of that call.
    if (state.view == view::ViewKind::collective)
        if (const auto shown = view::shown_collective(*state.document->trace, *shown_clock(state),
                                                      state.cursor, state.selection))
            return view::EventRef{shown->rank, shown->event};
    // Where the cursor rests on what has just ended the facts are of that, as its sentence is.
    const trace::Trace& trace = *state.document->trace;
    const time::Clock& clock = *shown_clock(state);
    if (const auto beat = shown_beat(state); beat && !state.playing) {
        if (beat->event.rank == rank) return beat->event;
        // The same where the sentence is of another rank and this rank's event ended with that.
        const auto before = view::event_at(trace, clock, {state.cursor.t_ns - 1}, rank);
        if (before && !beat->begins &&
            clock.events[static_cast<size_t>(rank)][static_cast<size_t>(before->event)].end_ns ==
                state.cursor.t_ns)
            return before;
    }
    return view::event_at(trace, clock, state.cursor, rank);
}

std::optional<view::Beat> shown_beat(const AppState& state) {
    if (state.film) return state.film->told;
    if (!state.document || !state.beat) return {};
    return state.playing || state.beat->t_ns == state.cursor.t_ns ? state.beat : std::nullopt;
}

std::size_t front_run(const AppState& state) {
    const auto found = std::find(state.runs.begin(), state.runs.end(), state.document);
    return found == state.runs.end() ? 0 : static_cast<std::size_t>(found - state.runs.begin());
}

std::shared_ptr<const Document> open_lesson(const AppState& state) {
    if (state.document && !state.document->steps.empty()) return state.document;
    for (const auto& run : state.runs)
        if (!run->steps.empty()) return run;
    return nullptr;
}

const QuizCard* open_question(const AppState& state) {
    if (!state.document || state.document->steps.empty() || state.uncovered) return nullptr;
    const LessonStep& step = state.document->steps[static_cast<size_t>(state.lesson_step)];
    for (const QuizCard& quiz : state.document->quizzes) {
        const auto found = state.quizzes.find(quiz.id);
        const bool revealed = found != state.quizzes.end() && found->second.revealed;
        if (quiz.step == step.id && !revealed) return &quiz;
    }
    return nullptr;
}

int32_t lane_rank(const AppState& state, std::size_t run) {
    const view::Selection& chosen = state.selection;
    const bool front = state.runs[run] == state.document;
    const int32_t focus = chosen.rank         ? *chosen.rank
                          : chosen.event_rank ? *chosen.event_rank
                                              : chosen.asking_rank;
    // The selected event is always seen in its own lanes.
    const int32_t rank =
        front && chosen.event_rank ? *chosen.event_rank : state.lane_ranks[run].value_or(focus);
    const auto ranks = static_cast<int32_t>(state.runs[run]->trace->ranks.size());
    return std::clamp(rank, 0, std::max(0, ranks - 1));
}

namespace {

/// Where the cursor is, or where it is on its way to.
int64_t rest_ns(const AppState& s) {
    return s.glide ? s.glide->to_ns : s.cursor.t_ns;
}

/// The cursor stands within the selected event, and that is the selected rank's.
bool at_selected_event(const AppState& s) {
    const view::Selection& chosen = s.selection;
    if (!chosen.event || !chosen.event_rank || chosen.event_rank != chosen.rank) return false;
    const auto& events = shown_clock(s)->events[static_cast<std::size_t>(*chosen.event_rank)];
    const time::Interval at = events[static_cast<std::size_t>(*chosen.event)];
    return rest_ns(s) >= at.begin_ns && rest_ns(s) <= at.end_ns;
}

}  // namespace

Viewpoint viewpoint_of(const AppState& s) {
    Viewpoint place;
    place.view = s.view;
    place.forms = s.forms;
    place.clock = s.clock;
    place.cursor_ns = rest_ns(s);
    place.range_begin_ns = s.range_begin_ns;
    place.range_end_ns = s.range_end_ns;
    place.lesson_step = s.lesson_step;
    place.rank = s.selection.rank;
    place.event_rank = s.selection.event_rank;
    place.event = s.selection.event;
    place.slice = s.selection.slice;
    place.parameter = s.selection.parameter;
    place.row = s.selection.row;
    return place;
}

std::vector<std::string> command_words(const AppState& s) {
    if (!s.document) return {};
    std::vector<std::string> words{"meshscope-app"};
    for (const auto& run : s.runs) words.push_back(run->path.empty() ? run->name : run->path);
    const auto option = [&](const char* name, const std::string& value) {
        words.insert(words.end(), {name, value});
    };
    if (!s.document->steps.empty()) option("--step", std::to_string(s.lesson_step + 1));
    option("--view", std::string(view::view_name(s.view)));
    if (const auto form = s.forms.of(s.view); form != view::first_form(s.view))
        option("--form", std::string(view::form_name(*form)));
    if (s.selection.rank) option("--rank", std::to_string(*s.selection.rank));
    if (s.clock == time::ClockKind::measured) option("--clock", "measured");
    // An event names its moment; without one the moment itself does.
    const bool event = at_selected_event(s);
    if (event)
        option("--at", std::to_string(*s.selection.event));
    else
        option("--at", std::to_string(rest_ns(s)) + "ns");
    option("--lang", s.language == view::Language::zh ? "zh" : "en");
    return words;
}

bool can_export(const AppState& s, ExportKind kind) {
    return s.document != nullptr || (s.plan != nullptr && kind == ExportKind::png);
}

std::string export_path(const AppState& s, const std::string& extension) {
    std::string name = s.document ? s.document->name : s.plan ? s.plan->name : "meshscope";
    for (const std::string_view ending : {".mscope", ".json"})
        if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    for (char& c : name)
        if (c == '/' || c == ' ') c = '_';
    if (extension != "html" && s.document) name += "-" + std::string(view::view_name(s.view));
    const std::string& folder = s.remembered.folder;
    return (folder.empty() ? "" : folder + "/") + name + "." + extension;
}

std::optional<ExportKind> export_kind_of(const std::string& path) {
    const std::size_t dot = path.rfind('.');
    std::string ending = dot == std::string::npos ? "" : path.substr(dot + 1);
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (std::size_t i = 0; i < std::size(kExportEndings); ++i)
        if (ending == kExportEndings[i]) return static_cast<ExportKind>(i);
    return std::nullopt;
}

}  // namespace meshscope::session
