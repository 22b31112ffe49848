#include "app/gui/main/lesson_pages.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/main/drawn_svg.h"
#include "app/gui/main/out_folder.h"
#include "app/gui/main/stage.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/session/actions.h"
#include "app/gui/view/svg.h"
#include "app/gui/window/fonts.h"
#include "app/gui/window/imgui_host.h"
#include "app/gui/window/theme.h"
#include "core/base/file_kind.h"
#include "core/base/replace_file.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::gui {
namespace {

using nlohmann::json;
using session::Document;
using view::Language;

constexpr const char* kLessonFile = "lesson.json";

json both(const scenario::Text& text) {
    return {{"en", text.en}, {"zh", text.zh}};
}

json section(const std::string& id, const scenario::Text& title, const scenario::Text& body) {
    return {{"id", id}, {"title", both(title)}, {"body", both(body)}};
}

json question(const session::QuizCard& quiz) {
    json made{{"id", quiz.id},
              {"step", quiz.step},
              {"kind", quiz.kind},
              {"question", both(quiz.question)},
              {"answer", quiz.answer},
              {"shown", scenario::rounded_answer(quiz.answer, quiz.tolerance)},
              {"tolerance", quiz.tolerance},
              {"choices", json::array()},
              {"hints", json::array()},
              {"reveal", both(quiz.reveal)}};
    for (const auto& choice : quiz.choices)
        made["choices"].push_back({{"text", both(choice.text)}, {"hint", both(choice.hint)}});
    for (const auto& hint : quiz.hints)
        made["hints"].push_back({{"when", hint.when}, {"text", both(hint.text)}});
    return made;
}

/// A step's picture: its file's text, and what it tells in words, the scene's and the facts' apart.
struct Shown {
    std::string svg;
    std::vector<std::string> scene, facts;

    bool operator==(const Shown&) const = default;
};

/// Draws the lesson's steps in one language.
class Painter {
  public:
    Painter(const i18n::Catalogue& catalogue, const std::shared_ptr<const Document>& document,
            const Beside& beside, Options options, bool answered)
        : stage_(host_, catalogue), width_(options.width), height_(options.height) {
        session::AppState state;
        state.uncovered = answered;
        stage_.resume(std::move(state));
        options.reduced_motion = true;
        set_up(stage_, options, document, beside);
        stage_.note_pictures(&drawn_);
    }

    Shown draw(int32_t step) {
        stage_.act(session::GoToLessonStep{step});
        // ImGui settles sizes of scrolling parts in the frame after it first sees them.
        for (int i = 0; i < 3; ++i) stage_.frame(width_, height_, 1);
        Shown shown;
        for (const panels::Drawn& part : drawn_) {
            auto& lines = part.panel == "facts" ? shown.facts : shown.scene;
            lines.insert(lines.end(), part.picture.text_lines.begin(), part.picture.text_lines.end());
        }
        const window::FontMeasure measure(host_.fonts());
        // A page has no use for the room that a window has left.
        view::Picture picture = stacked(drawn_);
        picture.height = std::min(picture.height, std::ceil(panels::bottom_of(picture)) + 16);
        shown.svg = view::svg(picture, palette(window::theme(window::ThemeKind::light)),
                              palette(window::theme(window::ThemeKind::dark)), &measure);
        return shown;
    }

  private:
    window::ImGuiHost host_;
    Stage stage_;
    int width_, height_;
    std::vector<panels::Drawn> drawn_;
};

bool has_question(const Document& document, const session::LessonStep& step) {
    return std::ranges::any_of(document.quizzes, [&](const auto& quiz) { return quiz.step == step.id; });
}

/// All that lesson.json has but the pictures.
json texts_of(const Document& document) {
    const trace::RunInfo& info = document.trace->info;
    const scenario::Scenario scenario = scenario::parse_scenario(info.scenario, info.scenario_path);
    json lesson{{kJsonMark, kJsonMarkValue},  {"name", document.name},     {"title", both(document.title)},
                {"before", json::array()},    {"steps", json::array()},    {"after", json::array()},
                {"variants", json::object()}, {"questions", json::array()}};
    for (const auto& part : document.before)
        lesson["before"].push_back(section(part.id, part.title, part.body));
    for (const session::LessonStep& step : document.steps) {
        json made = section(step.id, step.title, step.body);
        made["view"] = view::view_name(step.view);
        lesson[step.part.empty() ? "steps" : "after"].push_back(std::move(made));
    }
    for (const auto& variant : scenario.variants)
        for (const auto& change : variant.changes)
            lesson["variants"][variant.id].push_back({{"key", change.key}, {"value", change.value}});
    for (const auto& quiz : document.quizzes) lesson["questions"].push_back(question(quiz));
    return lesson;
}

}  // namespace

int write_lesson_pages(const std::shared_ptr<const Document>& document, const Options& options,
                       const Beside& beside, const std::string& folder, const i18n::Catalogue& catalogue,
                       const std::function<void(int, int)>& progress) {
    make_out_folder(folder);
    const auto path_of = [&](const std::string& name) {
        return (std::filesystem::path(folder) / name).string();
    };
    const auto refuse_other = [&](const std::string& name, FileKind kind) {
        if (!options.force) refuse_other_kind(path_of(name), kind);
    };
    const auto write = [&](const std::string& name, const std::string& text, FileKind kind) {
        refuse_other(name, kind);
        replace_file(path_of(name), text);
    };
    // It is written last, when all pictures are there: what it would replace is looked at before any is
    // drawn.
    refuse_other(kLessonFile, FileKind::json);
    json lesson = texts_of(*document);
    std::vector<int32_t> all, asked;  // of the lesson's own steps, which come first
    for (const session::LessonStep& step : document->steps) {
        if (!step.part.empty()) continue;
        if (has_question(*document, step)) asked.push_back(static_cast<int32_t>(all.size()));
        all.push_back(static_cast<int32_t>(all.size()));
    }
    int done = 0, written = 0;
    const int pictures = 2 * static_cast<int>(all.size() + asked.size());
    for (const auto& [language, word] : {std::pair{Language::en, "en"}, std::pair{Language::zh, "zh"}}) {
        Options wanted = options;
        wanted.language = language;
        wanted.lesson_step = 0;
        std::vector<Shown> whole;
        const auto draw = [&](const std::vector<int32_t>& steps, const std::string& key,
                              const std::string& ending) {
            Painter painter(catalogue, document, beside, wanted, key == "answered");
            for (const int32_t step : steps) {
                const Shown shown = painter.draw(step);
                if (progress) progress(++done, pictures);
                json& told = lesson["steps"][static_cast<std::size_t>(step)];
                const auto file_of = [&](const std::string& end) {
                    return told["id"].get<std::string>() + "." + word + end;
                };
                std::string file = file_of(ending);
                if (key == "answered")
                    whole.push_back(shown);
                else if (shown == whole[static_cast<std::size_t>(step)])
                    continue;
                else if (shown.svg == whole[static_cast<std::size_t>(step)].svg)
                    file = file_of(".svg");  // only its words leave something out
                if (file == file_of(ending)) {
                    write(file, shown.svg, FileKind::svg);
                    ++written;
                }
                told["pictures"][word][key] = {
                    {"file", file}, {"scene", shown.scene}, {"facts", shown.facts}};
            }
        };
        draw(all, "answered", ".svg");
        draw(asked, "asked", ".asked.svg");
    }
    write(kLessonFile, lesson.dump() + "\n", FileKind::json);
    return written;
}

}  // namespace meshscope::gui
