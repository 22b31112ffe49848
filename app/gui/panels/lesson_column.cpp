#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/panels/panels.h"
#include "app/gui/panels/rich_text.h"
#include "app/gui/sandbox/what_if.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/planned.h"
#include "app/gui/session/sandbox_actions.h"
#include "core/trace/simulated.h"

namespace meshscope::panels {
namespace {

/// One segment a step: done, present, to come. Pressing one goes there.
float progress(Ui& ui, Memory& memory, float x, float y, float w, int count, int at) {
    const float gap = 5, wide = (w - gap * static_cast<float>(count - 1)) / static_cast<float>(count);
    for (int i = 0; i < count; ++i) {
        const Rect box{x + static_cast<float>(i) * (wide + gap), y, wide, 4};
        ui.fill(box, i <= at ? Token::accent : Token::line, 2, i < at ? 0.6F : 1);
        const Touch t = touch(ui, memory, "step" + std::to_string(i), {box.x, y - 10, wide, 24});
        if (t.hovered) {
            ui.outline({box.x, y - 2, wide, 8}, Token::soft, 3);
            const auto& step = ui.state.document->steps[static_cast<size_t>(i)];
            tooltip(ui, std::to_string(i + 1) + " · " + ui.pick(step.title));
        }
        if (t.pressed) ui.act(session::GoToLessonStep{i});
    }
    return y + 4;
}

/// Back and Next keep their place above the controls, however long the step is.
constexpr float kStepsButtons = 58;

void steps_buttons(Ui& ui, Memory& memory, float x, float y, float w) {
    const auto count = static_cast<int32_t>(ui.state.document->steps.size());
    const float wide = (w - 8) / 2;
    const std::string back =
        ui.fit(ui.say("ui.lesson.back"), ui.say("ui.lesson.back.short"), wide - 32, Face::body);
    const std::string on =
        ui.fit(ui.say("ui.lesson.on"), ui.say("ui.lesson.on.short"), wide - 32, Face::body);
    if (button(ui, memory, "lesson_back", {x, y, wide, 38}, back, ButtonLook::plain, ui.state.lesson_step > 0,
               Icon::previous)) {
        ui.act(session::GoToLessonStep{ui.state.lesson_step - 1});
    }
    const Rect right{x + wide + 8, y, wide, 38};
    if (ui.state.lesson_step + 1 >= count) {
        const std::string all =
            ui.fit(ui.say("ui.lessons"), ui.say("ui.lessons.short"), wide - 16, Face::body);
        if (button(ui, memory, "lesson_end", right, all)) show_lessons(ui);
    } else if (button(ui, memory, "lesson_on", right, on, ButtonLook::plain, true, Icon::next)) {
        ui.act(session::GoToLessonStep{ui.state.lesson_step + 1});
    }
}

}  // namespace

float back_to_lesson(Ui& ui, Memory& memory, float x, float y, float w, ButtonLook look) {
    const auto lesson = session::open_lesson(ui.state);
    if (!lesson) return y;
    const std::string words =
        ui.fit(ui.say("ui.lesson.return"), ui.say("ui.lesson.return.short"), w - 48, Face::body);
    const float wide = std::min(w, button_width(ui, words, true));
    if (button(ui, memory, "back_to_lesson", {x, y, wide, 38}, words, look, true, Icon::previous,
               ui.pick(lesson->title)))
        ui.act(session::BackToLesson{});
    return y + 38 + 20;
}

namespace {

/// The scenario's checks that do not hold for this run, where there are any.
float failed_checks(Ui& ui, float x, float y, float w) {
    const auto& failed = ui.state.document->failed_checks;
    if (failed.empty()) return y;
    y = section_head(ui, x, y + 16, w, ui.say("ui.run.checks_failed"), "");
    for (const session::FailedCheck& check : failed) {
        y = paragraph(ui, x, y, w, ui.pick(check.title), Face::body, Token::text) + 2;
        y = paragraph(ui, x, y, w, ui.say(check.why.id, check.why.args), Face::caption, Token::soft) + 10;
    }
    return y;
}

/// Eager PyTorch's kernels hold other memory than ours.
const char* dry_words(const session::Document& document) {
    return document.eager_kernels ? "ui.run.dry.eager" : "ui.run.dry";
}

/// A run without a lesson: what it was, and the way back to the lesson that is open beside it.
float about_run(Ui& ui, Memory& memory, float x, float y, float w) {
    const trace::RunInfo& info = ui.state.document->trace->info;
    y = beside_plan(ui, memory, x, back_to_lesson(ui, memory, x, y, w, ButtonLook::primary), w);
    const session::Document& document = *ui.state.document;
    // The scenario's title, where it has one, and whose file it is; else the file's name alone.
    const std::string& title = ui.pick(document.title);
    const bool titled = !title.empty() && title != document.name;
    if (titled) y = paragraph(ui, x, y, w, document.name, Face::caption, Token::mute) + 4;
    y = paragraph(ui, x, y, w, titled ? title : document.name, Face::lesson_title, Token::text) + 12;
    std::string mesh;
    for (size_t i = 0; i < info.mesh_shape.size(); ++i) {
        if (i > 0) mesh += ", ";
        if (i < info.mesh_names.size()) mesh += info.mesh_names[i] + "=";
        mesh += std::to_string(info.mesh_shape[i]);
    }
    y = paragraph(
        ui, x, y, w,
        ui.say(trace::is_simulated(info) ? "ui.run.simulated"
               : trace::is_dry(info)     ? dry_words(document)
                                         : "ui.run.summary",
               {{"ranks", int64_t{info.world_size}},
                {"run", std::ranges::count_if(document.trace->ranks,
                                              [](const auto& rank) { return !rank.events.empty(); })},
                {"steps", int64_t{info.steps}},
                {"backend", info.backend},
                {"mesh", mesh}}),
        Face::body, Token::soft);
    y = failed_checks(ui, x, y, w);
    for (size_t i = 0; i < info.losses.size(); ++i) {
        char loss[32];
        std::snprintf(loss, sizeof(loss), "%.6g", info.losses[i]);
        if (i == 0) y = section_head(ui, x, y + 16, w, ui.say("ui.run.losses"), "");
        ui.text({x, y, w, 24}, ui.say("ui.run.step_n", {{"n", static_cast<int64_t>(i)}}), Face::caption,
                Token::mute);
        ui.text({x, y, w, 24}, loss, Face::mono_small, Token::text, Align::right);
        y += 24;
    }
    return y;
}

/// Opens the sandbox with what the lesson's text tells to change.
float make_change(Ui& ui, Memory& memory, const std::string& id, float x, float y, float w) {
    const std::string words = ui.say("sandbox.variant");
    const float wide = std::min(w, button_width(ui, words, false));
    if (!button(ui, memory, "make." + id, {x, y, wide, 38}, words)) return y + 46;
    const std::string& text = session::scenario_text(*ui.state.document);
    show_first_change(memory);
    ui.act(session::StartExercise{
        sandbox::variant_changes(text, ui.state.document->trace->info.scenario_path, id)});
    return y + 46;
}

/// The goals above the first step, under their own head.
float lesson_parts(Ui& ui, Memory& memory, const std::vector<session::LessonSection>& parts, float x, float y,
                   float w) {
    for (const session::LessonSection& part : parts) {
        if (part.id != "introduction") {
            const std::string kind = ui.say("ui.lesson." + part.id), title = ui.pick(part.title);
            const bool own = !title.empty() && title != kind;
            if (own) y = paragraph(ui, x, y, w, kind, Face::caption, Token::mute) + 2;
            y = paragraph(ui, x, y, w, own ? title : kind, Face::body, Token::text) + 8;
        }
        y = rich_text(ui, memory, part.id, x, y, w, ui.pick(part.body)) + 12;
        y += 12;
    }
    return y;
}

/// Of a step that shows a variant's run: which run is in front, and the way to the other.
float run_note(Ui& ui, Memory& memory, const session::LessonStep& step, float x, float y, float w) {
    const session::Document& run = *step.run;
    if (ui.quiz_mask.open())
        return paragraph(ui, x, y, w, ui.say("ui.lesson.run.later", {{"variant", run.variant}}),
                         Face::caption, Token::mute) +
               16;
    const bool in_front = ui.state.document->trace == run.trace;
    const std::vector<MessageArg> args{{"variant", run.variant}, {"changes", run.variant_changes}};
    const float top = y, left = x + 14, room = w - 14;
    y = paragraph(ui, left, y, room, ui.say(in_front ? "ui.lesson.run.of_step" : "ui.lesson.run.own", args),
                  Face::caption, in_front ? Token::text : Token::soft) +
        6;
    const std::string words = ui.say(in_front ? "ui.lesson.run.show_own" : "ui.lesson.run.show");
    if (button(ui, memory, "run_of_step", {left, y, std::min(room, button_width(ui, words, false)), 32},
               words))
        ui.act(session::ShowRunOfStep{!in_front});
    y += 32;
    ui.fill({x, top, 4, y - top}, in_front ? Token::accent : Token::line2, 2);
    return y + 16;
}

/// Below the lesson's last words: what comes next in the course.
float way_on(Ui& ui, Memory& memory, float x, float y, float w) {
    const session::LessonCard* next = session::next_lesson(ui.state);
    if (next == nullptr) return y;
    y = paragraph(ui, x, y, w, ui.say("ui.lesson.next"), Face::caption, Token::mute) + 4;
    const std::string words = std::to_string(next->number) + " · " + ui.pick(next->title);
    if (button(ui, memory, "lesson_next", {x, y, w, 40}, ui.fit(words, words, w - 48, Face::body),
               ButtonLook::primary, !ui.state.loading, Icon::next))
        ui.act(session::OpenPath{next->id});
    return y + 40 + 16;
}

constexpr const char* kColumn = "lesson";

constexpr float kQuestionBelow = 50;

/// Below the text while a question that is open lies further down: the way there, by `down`.
void question_below(Ui& ui, Memory& memory, Rect box, float down) {
    const std::string words = ui.say("ui.lesson.question_below");
    const float w = std::min(box.w - 32, button_width(ui, words, true));
    const Rect at{box.x + (box.w - w) / 2, box.y + 8, w, 34};
    const Touch t = touch(ui, memory, "question_below", at);
    ui.fill(at, Token::accentbg, 12);
    ui.outline(at, t.hovered ? Token::text : Token::accent, 12);
    const float y = at.y + at.h / 2;
    ui.draw->AddTriangleFilled(ui.px(Point{at.x + 12, y - 4}), ui.px(Point{at.x + 24, y - 4}),
                               ui.px(Point{at.x + 18, y + 5}), ui.word(Token::text));
    ui.text({at.x + 32, at.y, w - 40, at.h}, words, Face::body, Token::text);
    if (t.pressed) memory.scroll_column = down;
}

/// Notes what the column shows now. True where that is another step, lesson or run than before: it starts at
/// its top, and what was typed and told in another lesson is over.
bool turn_to_shown(const Ui& ui, Memory& memory) {
    const session::Document& document = *ui.state.document;
    const auto lesson = session::open_lesson(ui.state);
    const std::string name = (lesson ? lesson->name : "") + '\n';
    const std::string shown =
        name + (document.steps.empty() ? document.name : std::to_string(ui.state.lesson_step));
    if (shown == memory.column_shown) return false;
    if (!memory.column_shown.starts_with(name)) {
        memory.entered.clear();
        memory.answered.clear();
    }
    memory.column_shown = shown;
    return true;
}

/// What the step says and asks, scrolling where it is longer than its room. Gives how far below its foot a
/// question that is open begins; 0: none does.
float lesson_step(Ui& ui, Memory& memory, Rect box, bool from_top) {
    Region region(ui, kColumn, box, true, from_top);
    if (const float down = std::exchange(memory.scroll_column, 0.0F); down > 0)
        ImGui::SetScrollY(ImGui::GetScrollY() + ui.px(down));
    float below = 0;
    const float x = box.x + 24, w = box.w - 48;
    float y = region.top() + 20;
    const session::Document& document = *ui.state.document;
    const auto count = static_cast<int>(document.steps.size());
    const session::LessonStep& step = document.steps[static_cast<size_t>(ui.state.lesson_step)];
    const std::string of = step.part.empty() ? ui.pick(document.title) : ui.say("ui.lesson." + step.part);
    const std::string& title = ui.pick(step.title);
    if (of != title) y = paragraph(ui, x, y, w, of, Face::caption, Token::mute) + 4;
    if (ui.state.lesson_step == 0) y = lesson_parts(ui, memory, document.before, x, y + 8, w);
    y = paragraph(ui, x, y, w, title, Face::lesson_title, Token::text) + 12;
    y = progress(ui, memory, x, y, w, count, ui.state.lesson_step) + 18;
    if (step.run) y = run_note(ui, memory, step, x, y, w);
    // For a class the speaker says the text; it is there for who asks for it.
    if (ui.state.presenter && !ui.state.notes)
        y = paragraph(ui, x, y, w, ui.say("presenter.hint"), Face::caption, Token::mute) + 20;
    else
        y = rich_text(ui, memory, "body", x, y, w, ui.pick(step.body)) + 20;
    if (step.part == "break" || step.part == "change") y = make_change(ui, memory, step.part, x, y - 4, w);
    for (const session::QuizCard& quiz : document.quizzes) {
        if (quiz.step != step.id) continue;
        const float top = y;
        y = quiz_card(ui, memory, quiz, x - 4, y, w + 8) + 16;
        if (below == 0 && session::open_question(ui.state) == &quiz && top > box.y + box.h - 48)
            below = y - (box.y + box.h);
    }
    if (!ui.quiz_mask.open()) y = failed_checks(ui, x, y, w);
    if (const view::RunEnd* end = told_end(ui)) {
        y = paragraph(ui, x, y, w, ui.say("view.end.head"), Face::caption, Token::mute) + 2;
        y = paragraph(ui, x, y, w, ui.say(end->what.id, end->what.args), Face::body, Token::soft) + 20;
    }
    if (ui.state.lesson_step + 1 == count) y = way_on(ui, memory, x, y, w);
    region.content_ends(y + 4);
    return below;
}

}  // namespace

void lesson_column(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "lesson";
    ui.fill(box, Token::panel);
    const float x = box.x + 24, w = box.w - 48;
    const session::Document& document = *ui.state.document;
    const bool from_top = turn_to_shown(ui, memory);
    if (document.steps.empty()) {
        Region region(ui, kColumn, box, true, from_top);
        region.content_ends(about_run(ui, memory, x, region.top() + 20, w) + 16);
        return;
    }
    const float foot = std::min(kStepsButtons, box.h);
    // While a question lies below, its sign takes room from the text.
    const float sign = memory.question_below ? kQuestionBelow : 0;
    const Rect text{box.x, box.y, box.w, box.h - foot - sign};
    const float down = lesson_step(ui, memory, text, from_top);
    if (sign > 0 && down > 0) question_below(ui, memory, {box.x, text.y + text.h, box.w, sign}, down);
    memory.question_below = down > 0;
    ui.hairline(box.x, box.y + box.h - foot, box.w);
    steps_buttons(ui, memory, x, box.y + box.h - foot + 10, w);
}

void foot_row(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "foot";
    const float controls = std::min(box.w, 330.0F);
    transport(ui, memory, {box.x, box.y, controls, box.h});
    ui.panel = "foot";
    ui.fill({controls, box.y, box.w - controls, box.h}, Token::panel);
    ui.hairline(box.x, box.y, box.w);
    const std::vector<std::string> news = happened(ui);
    // The first sentence that has room.
    const auto told = [&](float room) {
        const auto fits = std::ranges::find_if(
            news, [&](const std::string& words) { return ui.width(words, Face::body) <= room; });
        return fits == news.end() ? std::string() : *fits;
    };
    if (ui.state.document->steps.empty()) {
        // Where the column is folded the way back stands here.
        const float wide = box.w - controls - 40;
        const bool leads_back = session::open_lesson(ui.state) != nullptr;
        if (const std::string words = told(wide); !leads_back && !words.empty() && wide > 120)
            ui.text({controls + 16, box.y, wide, box.h}, words, Face::body, Token::soft);
        if (box.w - controls > 120 && ui.state.document->plan && ui.state.document->plan == ui.state.plan)
            back_to_plan(ui, memory, controls + 16, box.y + (box.h - 38) / 2, box.w - controls - 40);
        else if (box.w - controls > 120)
            back_to_lesson(ui, memory, controls + 16, box.y + (box.h - 38) / 2, box.w - controls - 40);
        return;
    }
    const session::LessonStep& step = ui.state.document->steps[static_cast<size_t>(ui.state.lesson_step)];
    const float x = box.x + controls + 16, room = box.x + box.w - x - 24 - 96;
    const std::string full = std::to_string(ui.state.lesson_step + 1) + " · " + ui.pick(step.title);
    const std::string brief =
        std::to_string(ui.state.lesson_step + 1) + " / " + std::to_string(ui.state.document->steps.size());
    std::string line = told(room);
    if (line.empty()) line = ui.fit(full, brief, room, Face::body);
    if (room < 0) return;
    // The line leads to what it names: from the comparison back to the step.
    const bool names_step = line == full || line == brief;
    const Touch t =
        touch(ui, memory, "foot_step", {x, box.y + 8, ui.width(line, Face::body), box.h - 16}, names_step);
    ui.text({x, box.y, room, box.h}, line, Face::body, t.hovered ? Token::text : Token::soft);
    if (t.hovered) tooltip(ui, ui.say("ui.lesson.return"));
    if (t.pressed) ui.act(session::BackToLesson{});
    const auto count = static_cast<int32_t>(ui.state.document->steps.size());
    const float y = box.y + (box.h - 38) / 2;
    if (button(ui, memory, "lesson_back", {box.x + box.w - 24 - 88, y, 40, 38}, "", ButtonLook::plain,
               ui.state.lesson_step > 0, Icon::previous, ui.say("ui.lesson.back"))) {
        ui.act(session::GoToLessonStep{ui.state.lesson_step - 1});
    }
    if (button(ui, memory, "lesson_on", {box.x + box.w - 24 - 40, y, 40, 38}, "", ButtonLook::plain,
               ui.state.lesson_step + 1 < count, Icon::next, ui.say("ui.lesson.on"))) {
        ui.act(session::GoToLessonStep{ui.state.lesson_step + 1});
    }
}

}  // namespace meshscope::panels
