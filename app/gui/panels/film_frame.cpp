// The layout of films (look2.md section 9): the picture, two lines of words, how much has been shown.
#include <algorithm>
#include <cmath>
#include <functional>

#include "app/gui/panels/panels.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/views.h"
#include "app/gui/view/fitting.h"

namespace meshscope::panels {
namespace {

/// In pixels of a frame of 1280 by 720.
constexpr float kMargin = 40, kHead = 64, kBand = 132, kProgress = 4;
constexpr float kTitleSize = 20, kSaidSize = 22, kToldSize = 28, kLeastSize = 18;
constexpr Face kWordFaces[] = {Face::display, Face::lesson_title, Face::title, Face::body, Face::caption};

/// Sizes of a film's words: those of the faces that come nearest to what is wanted in a frame of 1280 by 720,
/// however large the picture is drawn.
class FilmType {
  public:
    explicit FilmType(float zoom) : zoom_(zoom) {}

    float px(float pixels) const { return pixels / zoom_; }
    /// The face whose size comes nearest.
    Face face(float pixels) const {
        return *std::ranges::min_element(kWordFaces, std::less<>(), [&](Face face) {
            return std::abs(window::face_size(face) * zoom_ - pixels);
        });
    }
    /// The faces from that size down to the least that is read in a film, largest first.
    std::vector<Face> faces(float pixels) const {
        std::vector<Face> all;
        const float most = window::face_size(face(pixels));
        for (const Face face : kWordFaces)
            if (window::face_size(face) <= most &&
                (all.empty() || window::face_size(face) * zoom_ >= kLeastSize))
                all.push_back(face);
        return all;
    }

  private:
    float zoom_;
};

/// The first face in which the first of the sentences that has room takes at most `lines` lines.
struct Fitted {
    std::vector<std::string> lines;
    Face face = Face::caption;
};
Fitted fitted(const Ui& ui, const std::vector<std::string>& sentences, const std::vector<Face>& faces,
              float width, std::size_t most) {
    for (const std::string& words : sentences)
        for (const Face face : faces) {
            std::vector<std::string> lines = wrap(ui.measure, words, face, width);
            if (lines.size() <= most) return {std::move(lines), face};
        }
    if (sentences.empty()) return {};
    // What is too long even so is broken off.
    std::vector<std::string> lines = wrap(ui.measure, sentences.back(), faces.back(), width);
    lines.resize(std::min(lines.size(), most));
    lines.back() = view::elided(ui.measure, lines.back() + " …", faces.back(), width);
    return {std::move(lines), faces.back()};
}

void logo(Ui& ui, float x, float y, float size) {
    const Token hues[] = {Token::sky, Token::accent, Token::accent, Token::orange};
    const float cell = size * 0.44F, step = size - cell;
    for (int i = 0; i < 4; ++i)
        ui.fill({x + step * static_cast<float>(i % 2), y + step * static_cast<float>(i / 2), cell, cell},
                hues[i], size * 0.12F);
}

/// The lesson at the left, its step at the right.
void head(Ui& ui, const FilmType& type, Rect box) {
    const session::Document& document = *ui.state.document;
    const float x = box.x + type.px(kMargin), size = type.px(16);
    const Rect line{x + type.px(28), box.y + type.px(14), box.w - type.px(2 * kMargin + 28), type.px(36)};
    logo(ui, x, line.y + (line.h - size) / 2, size);
    const Face face = type.face(kTitleSize);
    // The exercises and the summary behind the lesson's own steps are no part of a tour.
    const int64_t own = std::ranges::count_if(
        document.steps, [](const session::LessonStep& each) { return each.part.empty(); });
    const int64_t count = std::max(own, int64_t{ui.state.lesson_step} + 1);
    std::string step, brief;
    if (ui.state.film->of_step && !document.steps.empty()) {
        brief = ui.say("film.step", {{"n", int64_t{ui.state.lesson_step} + 1}, {"steps", count}});
        step = brief + " · " + ui.pick(document.steps[static_cast<std::size_t>(ui.state.lesson_step)].title);
    }
    const session::Document& lesson = document.lesson ? *document.lesson : document;
    const std::string& named = ui.pick(lesson.title);
    const std::string title = named.empty() ? lesson.name : named;
    const float title_w = ui.width(title, face);
    const std::string right = ui.fit(step, brief, line.w - title_w - type.px(24), face);
    const float right_w = right.empty() ? 0 : ui.width(right, face) + type.px(24);
    const std::string left = view::elided(ui.measure, title, face, line.w - right_w);
    ui.text(line, left, face, Token::soft);
    if (!right.empty()) ui.text(line, right, face, Token::text, Align::right);
}

/// The view's picture, without controls.
void picture(Ui& ui, Memory& memory, Rect box) {
    const std::string name(view::view_name(ui.state.view));
    ui.panel = name;
    const view::Picture shown = view_of(ui.state.view).picture(ui, memory, {box.w, box.h});
    memory.film.crowded = std::max(shown.height, shown.content_height) > box.h + 1;
    ui.draw->PushClipRect(ui.px(Point{box.x, box.y}), ui.px(Point{box.x + box.w, box.y + box.h}), true);
    render(ui, shown, {box.x, box.y});
    ui.draw->PopClipRect();
}

void centred(Ui& ui, const Fitted& words, Rect box, Token token) {
    const float line = ui.line(words.face);
    float y = box.y + (box.h - line * static_cast<float>(words.lines.size())) / 2;
    for (const std::string& each : words.lines) {
        ui.text({box.x, y, box.w, line}, each, words.face, token, Align::centre);
        y += line;
    }
}

/// What the step says, and below it what has just happened.
void band(Ui& ui, const FilmType& type, Rect box) {
    ui.fill(box, Token::panel);
    const float margin = type.px(kMargin), width = box.w - 2 * margin;
    const std::string& said = ui.state.film->said;
    const std::vector<std::string> told = happened(ui);
    const Rect inner{box.x + margin, box.y + type.px(8), width, box.h - type.px(16)};
    if (told.empty() || said.empty()) {
        const std::vector<std::string> only = told.empty() ? std::vector<std::string>{said} : told;
        if (!only.front().empty())
            centred(ui, fitted(ui, only, type.faces(told.empty() ? kSaidSize : kToldSize), width, 3), inner,
                    Token::text);
        return;
    }
    const float below = type.px(46);
    centred(ui, fitted(ui, {said}, type.faces(kSaidSize), width, 2),
            {inner.x, inner.y, inner.w, inner.h - below}, Token::soft);
    // One line, in as many words as it has room for.
    centred(ui, fitted(ui, told, type.faces(kToldSize), width, 1),
            {inner.x, inner.y + inner.h - below, inner.w, below}, Token::text);
}

void progress(Ui& ui, Rect box) {
    const session::Film& film = *ui.state.film;
    ui.fill(box, Token::line);
    ui.fill({box.x, box.y, box.w * static_cast<float>(std::clamp(film.shown, 0.0, 1.0)), box.h},
            Token::accent);
    for (const double begin : film.begins)
        ui.fill({box.x + box.w * static_cast<float>(begin) - box.h * 0.4F, box.y, box.h * 0.8F, box.h},
                Token::bg);
}

}  // namespace

void film_frame(Ui& ui, Memory& memory, Rect box) {
    const FilmType type(memory.film.zoom);
    ui.panel = "film";
    const float top = type.px(kHead), below = type.px(kBand + kProgress);
    head(ui, type, {box.x, box.y, box.w, top});
    picture(ui, memory, {box.x, box.y + top, box.w, box.h - top - below});
    ui.panel = "film";
    band(ui, type, {box.x, box.y + box.h - below, box.w, type.px(kBand)});
    progress(ui, {box.x, box.y + box.h - type.px(kProgress), box.w, type.px(kProgress)});
}

}  // namespace meshscope::panels
