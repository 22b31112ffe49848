#include <string>

#include "app/gui/session/app_state.h"

namespace meshscope::session {
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

Place place_of(const AppState& s) {
    Place place;
    place.view = s.view;
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

std::string export_path(const AppState& s, const std::string& extension) {
    std::string name = s.document ? s.document->name : "meshscope";
    if (name.ends_with(".mscope")) name.resize(name.size() - 7);
    for (char& c : name)
        if (c == '/' || c == ' ') c = '_';
    if (extension != "html") name += "-" + std::string(view::view_name(s.view));
    const std::string& folder = s.remembered.folder;
    return (folder.empty() ? "" : folder + "/") + name + "." + extension;
}

}  // namespace meshscope::session
