// Not a test: draws the places of the window into PNG files, without a display. For the pictures of docs/
// (scripts/pictures), and to look at everything once with one's own eyes.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "app/gui/main/stage.h"
#include "app/gui/window/frame_buffer.h"
#include "app/gui/window/headless_context.h"
#include "app/gui/window/png.h"
#include "harness.h"
#include "places.h"

using namespace meshscope;

namespace {

const char* const kThemes[] = {"dark", "light", "contrast"};
const char* const kLanguages[] = {"zh", "en"};

struct Asked {
    std::string folder;
    int width = 1280, height = 720;
    float scale = 1;
    std::vector<std::string> places;  ///< PLACE, PLACE.LANGUAGE or PLACE.LANGUAGE.THEME; none: all of all
};

bool wanted(const Asked& asked, const std::string& place, const std::string& language,
            const std::string& theme) {
    if (asked.places.empty()) return true;
    for (const std::string& name : asked.places)
        if (name == place || name == place + "." + language || name == place + "." + language + "." + theme)
            return true;
    return false;
}

int usage() {
    std::fputs(
        "window_pictures FOLDER [WIDTHxHEIGHT SCALE] [PLACE[.en|.zh[.dark|.light|.contrast]] …]\n"
        "Draws the places of the window (tests/app/places.cpp) into FOLDER/PLACE.LANGUAGE.THEME.png;\n"
        "without names all of them, in both languages and three themes.\n",
        stderr);
    return 2;
}

void draw(const Asked& asked) {
    const window::HeadlessContext context;
    const window::FrameBuffer target(asked.width, asked.height);
    window::GlHost host(nullptr);
    gui::Stage stage(host, test::catalogue());
    for (const test::WindowPlace& place : test::window_places())
        for (const char* language : kLanguages)
            for (int theme = 0; theme < 3; ++theme) {
                if (!wanted(asked, place.name, language, kThemes[theme])) continue;
                session::AppState state = place.state;
                state.language = language == kLanguages[0] ? view::Language::zh : view::Language::en;
                state.theme = static_cast<window::ThemeKind>(theme);
                state.scale = asked.scale;
                stage.resume(std::move(state));
                ImDrawData* data = nullptr;
                // Scrolling parts know their height from the frame before.
                for (int i = 0; i < 3; ++i) data = stage.frame(asked.width, asked.height, 0.001);
                target.bind();
                host.draw(data, asked.width, asked.height,
                          window::theme(stage.state().theme).fill(view::Token::bg));
                const std::string path =
                    asked.folder + "/" + place.name + "." + language + "." + kThemes[theme] + ".png";
                window::write_png(path, target.read());
                std::puts(path.c_str());
            }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return usage();
    Asked asked;
    asked.folder = argv[1];
    int at = 2;
    if (at + 1 < argc && std::sscanf(argv[at], "%dx%d", &asked.width, &asked.height) == 2) {
        asked.scale = std::strtof(argv[at + 1], nullptr);
        at += 2;
    }
    for (; at < argc; ++at) asked.places.emplace_back(argv[at]);
    try {
        draw(asked);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
