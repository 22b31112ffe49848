#include "app/gui/main/state_dump.h"

#include <imgui.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "app/gui/main/words.h"
#include "app/gui/session/lessons.h"
#include "core/base/file_kind.h"
#include "core/base/json_text.h"

namespace meshscope::gui {

namespace {

using nlohmann::json;

json or_null(const std::optional<int32_t>& value) {
    return value ? json(*value) : json(nullptr);
}

json runs_of(const session::AppState& s) {
    json runs = json::array();
    for (std::size_t i = 0; i < s.runs.size(); ++i)
        runs.push_back({{"name", s.runs[i]->name},
                        {"ranks", s.runs[i]->trace->info.world_size},
                        {"lane_rank", session::lane_rank(s, i)}});
    return runs;
}

json offers_of(const session::AppState& s) {
    json offers = json::array();
    for (const session::LessonCard& offer : s.offers) offers.push_back(session::folder_of(offer.id));
    return offers;
}

json quizzes_of(const session::AppState& s) {
    json quizzes = json::object();
    for (const auto& [id, quiz] : s.quizzes)
        quizzes[id] = {{"guess", quiz.guess},
                       {"missed", quiz.missed},
                       {"hint_shown", quiz.hint_shown},
                       {"revealed", quiz.revealed}};
    return quizzes;
}

json sandbox_of(const session::AppState& s) {
    if (!s.sandbox || !s.sandbox->open) return nullptr;
    const sandbox::Draft& draft = s.sandbox->draft;
    json mistakes = json::array();
    for (const sandbox::Mistake& mistake : draft.mistakes())
        mistakes.push_back({{"key", mistake.key}, {"id", mistake.diagnostic.message.id}});
    return {{"text", draft.text()},
            {"mistakes", mistakes},
            {"can_undo", draft.can_undo()},
            {"can_redo", draft.can_redo()},
            {"saving", s.sandbox->saving ? json(s.sandbox->saving->path) : json(nullptr)}};
}

json live_of(const session::AppState& s) {
    if (!s.live) return nullptr;
    json waits = json::array();
    for (const view::LiveRank& rank : s.live->world.ranks)
        waits.push_back(rank.stands == view::LiveRank::Stands::waiting ? rank.peer : -1);
    const auto& diagnosis = s.live->world.diagnosis;
    return {{"acts", s.live->world.acts},
            {"going", s.live->world.going},
            {"ended", s.live->world.ended},
            {"diagnosed", diagnosis.has_value()},
            {"diagnosis", diagnosis ? json(sentence(*diagnosis).id) : json(nullptr)},
            {"cycle", diagnosis ? diagnosis->cycle : std::vector<int32_t>{}},
            {"waits_for", waits}};
}

json ended_of(const session::AppState& s) {
    if (!s.document || !s.document->end) return nullptr;
    const view::RunEnd& end = *s.document->end;
    return {{"id", end.what.id},
            {"title", view::end_title(end).id},
            {"ranks", end.ranks},
            {"step", end.step},
            {"taught", s.document->end_is_taught},
            {"at_ns", view::broke_off_ns(*s.document->trace, *session::shown_clock(s), end)}};
}

json shown_of(const session::AppState& s) {
    const auto event = session::shown_event(s);
    return event ? json{{"rank", event->rank}, {"event", event->event}} : json(nullptr);
}

json selection_of(const view::Selection& chosen) {
    return {{"rank", or_null(chosen.rank)},     {"event_rank", or_null(chosen.event_rank)},
            {"event", or_null(chosen.event)},   {"group", or_null(chosen.group)},
            {"chunk", or_null(chosen.chunk)},   {"slice", chosen.slice},
            {"asking_rank", chosen.asking_rank}};
}

/// Where things stand on screen, in pixels, so that a test can point at them: a widget's box, a shape's.
json box_of(const view::Rect& box, float pixels) {
    return {box.x * pixels, box.y * pixels, box.w * pixels, box.h * pixels};
}
json boxes_of(const Stage& stage) {
    json boxes = json::object();
    for (const auto& [id, box] : stage.memory().boxes) boxes[id] = box_of(box, stage.pixels_a_unit());
    return boxes;
}
json places_of(const Stage& stage) {
    json places = json::array();
    for (const auto& place : stage.memory().shapes)
        places.push_back({{"kind", place.id.kind},
                          {"a", place.id.a},
                          {"b", place.id.b},
                          {"box", box_of(place.box, stage.pixels_a_unit())}});
    return places;
}

}  // namespace

std::string state_as_json(const Stage& stage) {
    const session::AppState& s = stage.state();
    const std::optional<view::Form> form = s.forms.of(s.view);
    const json state = {{kJsonMark, kJsonMarkValue},
                        {"frame", ImGui::GetFrameCount()},
                        {"language", s.language == view::Language::zh ? "zh" : "en"},
                        {"theme", theme_word(s.theme)},
                        {"scale", s.scale},
                        {"view", view::view_name(s.view)},
                        {"form", form ? json(view::form_name(*form)) : json(nullptr)},
                        {"clock", s.clock == time::ClockKind::measured ? "measured" : "modelled"},
                        {"document", s.document ? json(s.document->name) : json(nullptr)},
                        {"runs", runs_of(s)},
                        {"front", session::front_run(s)},
                        {"end_ns", s.document ? session::shown_clock(s)->end_ns : 0},
                        {"cursor_ns", s.cursor.t_ns},
                        {"moving", s.glide.has_value()},
                        {"playing", s.playing},
                        {"speed", s.speed},
                        {"shown", shown_of(s)},
                        {"ended", ended_of(s)},
                        {"offers", offers_of(s)},
                        {"lesson_step", s.lesson_step},
                        {"quizzes", quizzes_of(s)},
                        {"selection", selection_of(s.selection)},
                        {"range", {s.range_begin_ns, s.range_end_ns}},
                        {"split", s.split},
                        {"lesson_folded", s.lesson_folded},
                        {"facts_drawer", s.facts_drawer},
                        {"key_sheet", s.key_sheet},
                        {"sandbox", sandbox_of(s)},
                        {"running", s.running.has_value()},
                        {"live", live_of(s)},
                        {"palette", s.palette},
                        {"palette_query", stage.memory().palette_query},
                        {"presenter", s.presenter},
                        {"notes", s.notes},
                        {"reduced_motion", s.reduced_motion},
                        {"export_sheet", s.export_sheet.has_value()},
                        {"exporting", s.exporting ? json(s.exporting->path) : json(nullptr)},
                        {"toast", s.toast ? json(s.toast->text) : json(nullptr)},
                        {"loading", s.loading.has_value()},
                        {"error", s.error ? json(s.error->lines) : json(nullptr)},
                        {"focus", stage.memory().focus},
                        {"typing", stage.typing()},
                        {"boxes", boxes_of(stage)},
                        {"places", places_of(stage)}};
    return json_text(state);
}

void dump_state(const Stage& stage, const std::string& path, std::string& last) {
    if (path.empty()) return;
    const std::string now = state_as_json(stage);
    if (now == last) return;
    last = now;
    const std::string beside = path + ".part-" + std::to_string(::getpid());  // nobody else's name
    {
        std::ofstream out(beside, std::ios::binary | std::ios::trunc);
        out << now << '\n';
    }
    std::error_code ignored;
    std::filesystem::rename(beside, path, ignored);
}

}  // namespace meshscope::gui
