// Reference measures of everything that can stand in the window, in place of comparing whole pictures: they
// are taken from what a frame really draws, so they hold for panels and views alike.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <map>

#include "app/gui/panels/quiz_mask.h"
#include "app/gui/window/imgui_host.h"
#include "drawn_text.h"
#include "harness.h"
#include "places.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using namespace meshscope;
using test::DrawnText;
using test::WindowPlace;
using view::Language;
using window::ThemeKind;

namespace {

struct Screen {
    int width, height;
    float scale;
};
constexpr std::array<Screen, 3> kScreens = {{{1280, 720, 1}, {1920, 1080, 1}, {3840, 2160, 2}}};
constexpr std::array<ThemeKind, 3> kThemes = {ThemeKind::dark, ThemeKind::light, ThemeKind::contrast};

/// A window without GL, whose draw lists are measured.
struct Looker {
    window::ImGuiHost host;
    gui::Stage stage{host, test::catalogue()};

    // As OpenGL does: a large window's hatches are more than 65,536 corners.
    Looker() { ImGui::GetIO().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset; }

    std::vector<DrawnText> look(const WindowPlace& place, const Screen& screen, Language language,
                                ThemeKind theme, int frames) {
        session::AppState state = place.state;
        state.language = language;
        state.theme = theme;
        state.scale = screen.scale;
        stage.resume(std::move(state));
        ImDrawData* data = nullptr;
        for (int i = 0; i < frames; ++i) data = stage.frame(screen.width, screen.height, 0.001);
        return test::drawn_texts(*data, window::theme(theme).fill(view::Token::bg));
    }
};

std::string where(const WindowPlace& place, const Screen& screen, Language language, ThemeKind theme) {
    const char* themes[] = {"dark", "light", "contrast"};
    return place.name + (language == Language::zh ? " zh " : " en ") + themes[static_cast<int>(theme)] + " " +
           std::to_string(screen.width) + ": ";
}

/// What is wrong with where the texts stand: the same in every theme.
void check_places(const std::vector<DrawnText>& texts, const Screen& screen, const std::string& at,
                  std::vector<std::string>& wrong) {
    std::map<std::string, int> by_window;
    for (const DrawnText& t : texts) {
        ++by_window[t.window];
        if (t.cut && !t.covered) wrong.push_back(at + "cut: \"" + t.text + "\" in " + t.window);
        if (t.size < 13 * screen.scale) wrong.push_back(at + "too small: \"" + t.text + "\"");
        if (t.text.find("\xEF\xBF\xBD") != std::string::npos)
            wrong.push_back(at + "no glyph in \"" + t.text + "\"");
    }
    for (const std::string& pair : test::overlapping(texts)) wrong.push_back(at + pair);
    for (const char* part : {"host/scene", "host/facts", "host/lesson", "host/sandbox", "host/live"})
        for (const auto& [window, count] : by_window)
            if (window.find(part) == 0 && count < 3) wrong.push_back(at + "nothing to read in " + window);
}

void check_contrast(const std::vector<DrawnText>& texts, const std::string& at,
                    std::vector<std::string>& wrong) {
    for (const DrawnText& t : texts)
        if (!t.covered && t.contrast < 4.5)
            wrong.push_back(at + "contrast " + std::to_string(t.contrast) + ": \"" + t.text + "\" in " +
                            t.window);
}

std::string lines(const std::vector<std::string>& wrong) {
    std::string out = std::to_string(wrong.size()) + " found\n";
    for (std::size_t i = 0; i < wrong.size() && i < 60; ++i) out += wrong[i] + "\n";
    return out;
}

/// Where everything that can be pressed stands: inside the window, large enough, the same in every place.
void check_widgets(const panels::Memory& memory, const WindowPlace& place, const Screen& screen,
                   const std::string& at, std::map<std::string, view::Rect>& always,
                   std::vector<std::string>& wrong) {
    const float width = static_cast<float>(screen.width) / screen.scale;
    for (const auto& [id, box] : memory.boxes) {
        // Downwards a part may scroll, to the side none does.
        if (box.x < 0 || box.x + box.w > width + 0.5F) wrong.push_back(at + id + " leaves the window");
        // Words in a text, a step's mark and the splitter's line have a button or a key beside them.
        const bool thin =
            id.find("body.") == 0 || id.find("step") == 0 || id.find("splitter") != std::string::npos;
        if (!thin && (box.w < 24 || box.h < 24)) wrong.push_back(at + id + " is hard to press");
    }
    if (!place.state.document || place.state.presenter) return;
    for (const char* id : {"tab0", "tab1", "tab2", "tab3", "tab4", "tab5", "tab6", "tab7", "help", "theme",
                           "export", "language0", "language1"}) {
        const auto found = memory.boxes.find(id);
        if (found == memory.boxes.end()) {
            wrong.push_back(at + "no " + id);
            continue;
        }
        const view::Rect& box = found->second;
        if (box.y < 0 || box.y + box.h > 52) wrong.push_back(at + id + " is not in the bar at the top");
        const view::Rect& known = always.emplace(id, box).first->second;
        // The run's name, before the tabs, has another length in another run.
        if (std::string(id).find("tab") != 0 &&
            (std::abs(box.x - known.x) > 0.5F || std::abs(box.w - known.w) > 0.5F))
            wrong.push_back(at + id + " has moved");
    }
}

}  // namespace

TEST_CASE("whatever stands in the window can be read: both languages, three themes, three sizes") {
    test::Sample sample(3);
    Looker looker;
    std::vector<std::string> wrong;
    std::map<std::pair<int, Language>, std::map<std::string, view::Rect>> always;
    // Outermost what has the faces made anew.
    for (const float scale : {1.0F, 2.0F})
        for (const WindowPlace& place : test::window_places())
            for (const Screen& screen : kScreens) {
                if (screen.scale != scale || !sample.takes()) continue;
                for (const Language language : {Language::en, Language::zh})
                    for (const ThemeKind theme : kThemes) {
                        // Scrolling parts know their height from the frame before; a theme moves nothing.
                        const bool first = theme == ThemeKind::dark;
                        const auto texts = looker.look(place, screen, language, theme, first ? 3 : 1);
                        const std::string at = where(place, screen, language, theme);
                        check_contrast(texts, at, wrong);
                        if (!first) continue;
                        check_places(texts, screen, at, wrong);
                        check_widgets(looker.stage.memory(), place, screen, at,
                                      always[{screen.width, language}], wrong);
                    }
            }
    INFO(lines(wrong));
    CHECK(wrong.empty());
}

TEST_CASE(
    "controls are never covered: the speed of playing keeps its number while that number is asked for") {
    Looker looker;
    session::AppState state;
    session::Effects effects;
    session::apply(state, session::ShowDocument{test::lesson("42_ddp")}, effects);
    std::size_t asked = 0;
    const auto steps = static_cast<int32_t>(state.document->steps.size());
    for (int32_t step = 0; step < steps; ++step) {
        session::apply(state, session::GoToLessonStep{step}, effects);
        const session::QuizCard* quiz = session::open_question(state);
        if (quiz == nullptr || quiz->asked != session::Asked::calls || quiz->answer != "2") continue;
        session::apply(state, session::SetSpeed{2}, effects);
        const auto texts = looker.look({"speed", state}, {1280, 720, 1}, Language::en, ThemeKind::dark, 3);
        const auto drawn = [&](const char* words) {
            return std::any_of(texts.begin(), texts.end(),
                               [&](const DrawnText& t) { return t.text == words; });
        };
        CHECK(drawn("2×"));
        CHECK_FALSE(drawn("?×"));
        ++asked;
    }
    CHECK(asked > 0);
}

TEST_CASE("what has just happened is not told where a question asks to whom something is sent") {
    Looker looker;
    session::AppState state;
    session::Effects effects;
    const auto act = [&](const session::Action& action) { session::apply(state, action, effects); };
    act(session::ShowDocument{test::lesson("22_ring")});
    std::size_t asked = 0;
    const auto& quizzes = state.document->quizzes;
    for (int32_t step = 0; step < static_cast<int32_t>(state.document->steps.size()); ++step) {
        act(session::GoToLessonStep{step});
        const session::QuizCard* quiz = session::open_question(state);
        if (quiz == nullptr || quiz->asked != session::Asked::peer) continue;
        const auto tells = [&] {
            act(session::StepHop{1});
            for (int i = 0; i < 100 && state.glide; ++i) act(session::Tick{0.1});
            REQUIRE(session::shown_beat(state));
            const auto texts = looker.look({"beat", state}, {1280, 720, 1}, Language::en, ThemeKind::dark, 3);
            return std::ranges::any_of(texts, [](const DrawnText& t) {
                return t.text.find(", hop ") != std::string::npos &&
                       t.text.find(": rank") != std::string::npos;
            });
        };
        CHECK_FALSE(tells());
        for (const session::QuizCard& each : quizzes) {
            act(session::Guess{each.id, each.answer});
            act(session::Reveal{each.id});
        }
        for (int i = 0; i < 100 && state.glide; ++i) act(session::Tick{0.1});
        act(session::GoToLessonStep{step});
        CHECK(tells());
        ++asked;
        break;
    }
    CHECK(asked > 0);
}

TEST_CASE("the measures find what they are for") {
    window::ImGuiHost host;
    const window::Theme& theme = window::theme(ThemeKind::dark);
    host.prepare(theme, 1, "abc");
    host.begin(400, 300, 0.01F);
    ImDrawList* draw = ImGui::GetForegroundDrawList();
    ImFont* font = host.fonts().font(view::Face::body);
    const auto put = [&](float x, float y, const char* words, ImU32 colour) {
        draw->AddText(font, font->FontSize, {x, y}, colour, words);
    };
    constexpr ImU32 kWhite = IM_COL32(255, 255, 255, 255);
    put(10, 10, "plain words", kWhite);
    put(100, 10, "two words", kWhite);
    put(104, 14, "that meet", IM_COL32(250, 255, 255, 255));
    // #767676 on white is the formula's own example: 4.54.
    draw->AddRectFilled({10, 60}, {200, 90}, kWhite);
    put(14, 64, "grey", IM_COL32(0x76, 0x76, 0x76, 255));
    draw->PushClipRect({10, 100}, {40, 130});
    put(14, 104, "mmmmmm", kWhite);
    draw->PopClipRect();
    put(14, 144, "hidden", kWhite);
    draw->AddRectFilled({10, 140}, {200, 170}, IM_COL32(0, 0, 0, 200));
    put(14, 180, "half", IM_COL32(255, 255, 255, 128));
    draw->AddText(font, 9, {14, 210}, kWhite, "small");
    const auto texts = test::drawn_texts(*host.end(), {0, 0, 0});
    const auto find = [&](const std::string& words) -> const DrawnText& {
        for (const DrawnText& t : texts)
            if (t.text == words) return t;
        FAIL("no text " + words);
        return texts.front();
    };
    CHECK(find("plain words").contrast == Approx(21));
    CHECK(find("plain words").size == font->FontSize);
    CHECK_FALSE(find("plain words").cut);
    CHECK_FALSE(find("plain words").covered);
    CHECK(find("plain words").box.x >= 10);
    CHECK(find("plain words").box.y >= 10);
    CHECK(find("grey").contrast == Approx(4.54).margin(0.01));
    CHECK(find("hidden").covered);
    CHECK(find("small").size == Approx(9));
    // White at one half over black is #808080: 5.32 by the formula.
    CHECK(find("half").contrast == Approx(5.32).margin(0.05));
    const auto cut = std::find_if(texts.begin(), texts.end(), [](const DrawnText& t) { return t.cut; });
    REQUIRE(cut != texts.end());
    CHECK(cut->box.y > 100);
    CHECK(cut->box.x + cut->box.w <= 40);
    REQUIRE(test::overlapping(texts).size() == 1);
    CHECK(test::overlapping(texts).front().find("two words") != std::string::npos);
}
