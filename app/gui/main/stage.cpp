#include "app/gui/main/stage.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/gui/main/words.h"
#include "app/gui/panels/block_drag.h"
#include "app/gui/session/keys.h"
#include "app/gui/view/source_location.h"
#include "app/i18n/error_text.h"
#include "core/base/error.h"

namespace meshscope::gui {
namespace {

void add(std::string& glyphs, const scenario::Text& text) {
    glyphs += text.en;
    glyphs += text.zh;
}

/// Every text a document can put on screen.
std::string glyphs_in(const session::Document& document) {
    std::string glyphs = document.name;
    add(glyphs, document.title);
    for (const auto& step : document.steps) {
        add(glyphs, step.title);
        add(glyphs, step.body);
    }
    for (const auto& part : document.before) {
        add(glyphs, part.title);
        add(glyphs, part.body);
    }
    for (const auto& quiz : document.quizzes) {
        add(glyphs, quiz.question);
        add(glyphs, quiz.reveal);
        for (const auto& choice : quiz.choices) {
            add(glyphs, choice.text);
            add(glyphs, choice.hint);
        }
        for (const auto& hint : quiz.hints) add(glyphs, hint.text);
    }
    for (const std::string& text : document.trace->strings) glyphs += text;
    for (const std::string& mesh_name : document.trace->info.mesh_names) glyphs += mesh_name;
    return glyphs;
}

}  // namespace

Stage::Stage(window::ImGuiHost& host, const i18n::Catalogue& catalogue)
    : host_(host), catalogue_(catalogue) {}

void Stage::act(const session::Action& action) {
    try {
        session::apply(state_, action, effects_);
    } catch (const Error& error) {
        // A record may hold a scenario that is none: what cannot be done with it is told, nothing ends.
        const auto described = i18n::describe_error(error, catalogue_, catalogue_language(state_.language));
        session::apply(state_, session::ShowError{{described.lines}}, effects_);
    }
}

void Stage::key(window::KeyPress press) {
    using window::Key;
    if (press.key == Key::escape && panels::give_up_drag(memory_)) return;
    const auto step = [&](Key on, Key back) { return press.key == on ? 1 : press.key == back ? -1 : 0; };
    // In the palette arrows and Enter are the list's; all else is typed.
    if (state_.palette) {
        const int way = step(Key::down, Key::up);
        memory_.palette_at += way;
        memory_.palette_moved = memory_.palette_moved || way != 0;
        if (press.key == Key::enter) memory_.palette_enter = true;
        if (way != 0 || press.key == Key::enter || press.key == Key::tab) return;
    }
    if (press.key == Key::tab) {
        memory_.move_focus(press.shift ? -1 : 1);
        return;
    }
    const bool presses = (press.key == Key::enter || press.key == Key::space) && !press.control;
    if (!memory_.focus.empty() && !typing_ && presses) {
        memory_.activate = true;
        return;
    }
    if (press.key == Key::escape && !memory_.focus.empty()) {
        memory_.focus.clear();
        return;
    }
    // On the welcome page the arrows walk from card to card.
    const int right = step(Key::right, Key::left), down = step(Key::down, Key::up);
    if (!state_.document && state_.plan && !press.control && (right != 0 || down != 0)) {
        // On a plan's they go from layout to layout, down the list and up.
        const bool on = right > 0 || down > 0;
        if (on || state_.layout > 0) act(session::ChooseLayout{on ? state_.layout + 1 : state_.layout - 1});
        return;
    }
    if (!state_.document && !typing_ && !press.control && (right != 0 || down != 0)) {
        memory_.walk_focus(right, down);
        return;
    }
    if (const auto action = session::key_action(state_, press, typing_ || state_.palette)) act(*action);
}

ImDrawData* Stage::frame(int width, int height, double seconds, float content_scale) {
    act(session::Tick{seconds});
    refresh_glyphs();
    if (state_.palette && memory_.palette_items.empty())
        memory_.palette_items = session::palette_items(state_, [&](const std::string& id) {
            return scenario::Text{catalogue_.text(id, i18n::Language::en),
                                  catalogue_.text(id, i18n::Language::zh)};
        });
    const float scale =
        state_.film ? film_scale(width, height)
                    : state_.scale * content_scale * (state_.presenter ? session::kPresenterScale : 1.0F);
    pixels_ = scale;
    const window::Theme& theme = window::theme(state_.theme);
    for (Message& message : host_.prepare(theme, scale, glyphs_)) messages_.push_back(std::move(message));

    if (host_.looks() != nullptr)
        for (Message& message : host_.looks()->take_messages()) messages_.push_back(std::move(message));

    const CatalogueTexts texts(catalogue_, state_.language);
    const window::FontMeasure measure(host_.fonts());
    host_.begin(width, height, static_cast<float>(seconds));
    panels::Ui ui(state_, theme, host_.fonts(), measure, texts, scale);
    if (drawn_ != nullptr) drawn_->clear();
    ui.drawn = drawn_;
    ui.looks = state_.plain ? nullptr : host_.looks();
    panels::draw_frame(ui, memory_, static_cast<float>(width) / scale, static_cast<float>(height) / scale);
    const ImGuiIO& io = ImGui::GetIO();
    if (io.KeyCtrl && io.MouseWheel != 0)
        ui.act(session::SetScale{state_.scale + (io.MouseWheel > 0 ? 0.25F : -0.25F)});
    ImDrawData* data = host_.end();

    typing_ = ui.typing;
    moving_ = ui.moving;
    acted_ = !ui.actions.empty();
    overflows_ = std::move(ui.overflows);
    for (const session::Action& action : ui.actions) act(action);
    return data;
}

float Stage::film_scale(int width, int height) {
    // From largest to smallest, until the picture has room; a step's picture keeps its size once it is
    // smaller.
    constexpr std::array kZooms{1.5F, 1.25F, 1.0F, 0.85F, 0.72F};
    const Filmed now{state_.document.get(), state_.lesson_step, state_.view};
    float& zoom = memory_.film.zoom;
    if (filmed_ != now)
        zoom = kZooms.front();
    else if (memory_.film.crowded)
        zoom =
            *std::ranges::find_if(kZooms, [&](float less) { return less < zoom || less == kZooms.back(); });
    filmed_ = now;
    return zoom * std::min(static_cast<float>(width) / kFilmWidth, static_cast<float>(height) / kFilmHeight);
}

void Stage::refresh_glyphs() {
    if (glyphs_ready_ && glyphs_of_ == state_.runs) return;
    glyphs_ = catalogue_.all_text() + view::source_letters();
    for (const session::Recent& recent : state_.remembered.recent) glyphs_ += recent.path + recent.name;
    for (const session::LessonCard& offer : state_.offers) {
        add(glyphs_, offer.title);
        add(glyphs_, offer.subtitle);
    }
    for (const auto& run : state_.runs) glyphs_ += glyphs_in(*run);
    glyphs_of_ = state_.runs;
    glyphs_ready_ = true;
}

session::Effects Stage::take_effects() {
    return std::exchange(effects_, {});
}
std::vector<Message> Stage::take_messages() {
    return std::exchange(messages_, {});
}

}  // namespace meshscope::gui
