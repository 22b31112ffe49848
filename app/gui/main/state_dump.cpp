#include "app/gui/main/state_dump.h"
#include "core/base/json_text.h"

#include <imgui.h>

#include <filesystem>

namespace meshscope::gui {

std::string state_as_json(const Stage& stage) {
    const session::AppState& s = stage.state();
    constexpr const char* kThemes[] = {"dark", "light", "contrast"};
    const auto number = [](const std::optional<int32_t>& value) {
        return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
    };
    nlohmann::json runs = nlohmann::json::array();
    for (std::size_t i = 0; i < s.runs.size(); ++i)
        runs.push_back({{"name", s.runs[i]->name},
                        {"ranks", s.runs[i]->trace->info.world_size},
                        {"lane_rank", session::lane_rank(s, i)}});
    nlohmann::json offers = nlohmann::json::array();
    for (const session::Offer& offer : s.offers)
        offers.push_back(std::filesystem::path(offer.id).parent_path().filename().string());
    nlohmann::json quizzes = nlohmann::json::object();
    for (const auto& [id, quiz] : s.quizzes) {
        quizzes[id] = {{"guess", quiz.guess}, {"hint_shown", quiz.hint_shown}, {"revealed", quiz.revealed}};
    }
    // Where things stand on screen, in pixels, so that a test can point at them.
    const float pixels = stage.pixels_a_unit();
    const auto box = [pixels](const view::Rect& r) {
        return nlohmann::json{r.x * pixels, r.y * pixels, r.w * pixels, r.h * pixels};
    };
    nlohmann::json boxes = nlohmann::json::object(), places = nlohmann::json::array();
    for (const auto& [id, rect] : stage.memory().boxes) boxes[id] = box(rect);
    for (const auto& place : stage.memory().places) {
        places.push_back(
            {{"kind", place.id.kind}, {"a", place.id.a}, {"b", place.id.b}, {"box", box(place.box)}});
    }
    nlohmann::json edited = nullptr;
    if (s.sandbox && s.sandbox->open) {
        const sandbox::Draft& draft = s.sandbox->draft;
        nlohmann::json mistakes = nlohmann::json::array();
        for (const sandbox::Mistake& mistake : draft.mistakes())
            mistakes.push_back({{"key", mistake.key}, {"id", mistake.diagnostic.message.id}});
        edited = {{"text", draft.text()},
                  {"mistakes", mistakes},
                  {"can_undo", draft.can_undo()},
                  {"can_redo", draft.can_redo()},
                  {"saving",
                   s.sandbox->saving ? nlohmann::json(s.sandbox->saving->path) : nlohmann::json(nullptr)}};
    }
    nlohmann::json live = nullptr;
    if (s.live) {
        nlohmann::json waits = nlohmann::json::array();
        for (const view::LiveRank& rank : s.live->world.ranks)
            waits.push_back(rank.stands == view::LiveRank::Stands::waiting ? rank.peer : -1);
        const auto& diagnosis = s.live->world.diagnosis;
        live = {{"acts", s.live->world.acts},
                {"going", s.live->world.going},
                {"ended", s.live->world.ended},
                {"diagnosed", diagnosis.has_value()},
                {"diagnosis", diagnosis ? nlohmann::json(sentence(*diagnosis).id) : nlohmann::json(nullptr)},
                {"cycle", diagnosis ? diagnosis->cycle : std::vector<int32_t>{}},
                {"waits_for", waits}};
    }
    nlohmann::json ended = nullptr;
    if (s.document && s.document->end) {
        const view::RunEnd& end = *s.document->end;
        ended = {{"id", end.what.id},
                 {"title", view::end_title(end).id},
                 {"ranks", end.ranks},
                 {"step", end.step},
                 {"taught", s.document->end_is_taught},
                 {"at_ns", view::broke_off_ns(*s.document->trace, *session::shown_clock(s), end)}};
    }
    nlohmann::json shown = nullptr;
    if (const auto event = session::shown_event(s)) shown = {{"rank", event->rank}, {"event", event->event}};
    const nlohmann::json json = {
        {"frame", ImGui::GetFrameCount()},
        {"language", s.language == view::Language::zh ? "zh" : "en"},
        {"theme", kThemes[static_cast<size_t>(s.theme)]},
        {"scale", s.scale},
        {"view", view::view_name(s.view)},
        {"clock", s.clock == time::ClockKind::measured ? "measured" : "modelled"},
        {"document", s.document ? nlohmann::json(s.document->name) : nlohmann::json(nullptr)},
        {"runs", runs},
        {"front", session::front_run(s)},
        {"end_ns", s.document ? session::shown_clock(s)->end_ns : 0},
        {"cursor_ns", s.cursor.t_ns},
        {"moving", s.glide.has_value()},
        {"playing", s.playing},
        {"speed", s.speed},
        {"shown", shown},
        {"ended", ended},
        {"offers", offers},
        {"lesson_step", s.lesson_step},
        {"quizzes", quizzes},
        {"selection",
         {{"rank", number(s.selection.rank)},
          {"event_rank", number(s.selection.event_rank)},
          {"event", number(s.selection.event)},
          {"group", number(s.selection.group)},
          {"chunk", number(s.selection.chunk)},
          {"slice", s.selection.slice},
          {"asking_rank", s.selection.asking_rank}}},
        {"range", {s.range_begin_ns, s.range_end_ns}},
        {"split", s.split},
        {"lesson_folded", s.lesson_folded},
        {"facts_drawer", s.facts_drawer},
        {"key_sheet", s.key_sheet},
        {"sandbox", edited},
        {"running", s.running.has_value()},
        {"live", live},
        {"palette", s.palette},
        {"presenter", s.presenter},
        {"notes", s.notes},
        {"reduced_motion", s.reduced_motion},
        {"export_sheet", s.export_sheet.has_value()},
        {"exporting", s.exporting ? nlohmann::json(s.exporting->path) : nlohmann::json(nullptr)},
        {"toast", s.toast ? nlohmann::json(s.toast->text) : nlohmann::json(nullptr)},
        {"loading", s.loading.has_value()},
        {"error", s.error ? nlohmann::json(s.error->lines) : nlohmann::json(nullptr)},
        {"focus", stage.memory().focus},
        {"typing", stage.typing()},
        {"boxes", boxes},
        {"places", places}};
    return json_text(json);
}

}  // namespace meshscope::gui
