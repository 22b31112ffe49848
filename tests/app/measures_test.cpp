// Reference measures of everything that can stand in the window, in place of comparing whole pictures: they
// are taken from what a frame really draws, so they hold for panels and views alike.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <map>

#include "app/gui/window/imgui_host.h"
#include "drawn_text.h"
#include "harness.h"
#include "places.h"
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

}  // namespace

TEST_CASE("whatever stands in the window can be read: both languages, three themes, three sizes") {
    Looker looker;
    std::vector<std::string> wrong;
    for (const Screen& screen : kScreens)
        for (const WindowPlace& place : test::window_places())
            for (const Language language : {Language::en, Language::zh})
                for (const ThemeKind theme : kThemes) {
                    // Scrolling parts know their height from the frame before; a theme moves nothing.
                    const bool first = theme == ThemeKind::dark;
                    const auto texts = looker.look(place, screen, language, theme, first ? 3 : 1);
                    const std::string at = where(place, screen, language, theme);
                    if (first) check_places(texts, screen, at, wrong);
                    check_contrast(texts, at, wrong);
                }
    INFO(lines(wrong));
    CHECK(wrong.empty());
}
