// The tour of every lesson, frame by frame as a film has it, drawn without a window: something changes at
// least every four seconds.
#include <imgui.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/gui/main/storyboard.h"
#include "app/gui/session/session.h"
#include "harness.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;

namespace {

/// FNV-1a over everything that a frame draws.
uint64_t look_of(const ImDrawData& data) {
    uint64_t hash = 1469598103934665603ULL;
    const auto add = [&](const void* bytes, std::size_t size) {
        for (const char c : std::string_view(static_cast<const char*>(bytes), size))
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    };
    for (int i = 0; i < data.CmdListsCount; ++i) {
        const ImDrawList& list = *data.CmdLists[i];
        add(list.VtxBuffer.Data, static_cast<std::size_t>(list.VtxBuffer.size_in_bytes()));
        add(list.IdxBuffer.Data, static_cast<std::size_t>(list.IdxBuffer.size_in_bytes()));
    }
    return hash;
}

struct Stretch {
    int frames = 0;  ///< that look alike
    int32_t step = 0;
};

/// The longest stretch of a tour of so many seconds in which no frame differs from the one before, but for
/// how much of the film has been shown. In the look of a tour every word has its room, and nothing can be
/// pressed.
Stretch longest_still(const std::string& folder, int seconds, int frames_per_s, gui::FilmLook look,
                      view::Language language = view::Language::en) {
    const auto lesson = gui::without_questions(*test::lesson(folder));
    test::Harness app(1280, 720);
    app.open(lesson);
    app.stage().act(session::SetLanguage{language});
    const int frames = seconds * frames_per_s;
    gui::Projector projector(gui::storyboard(*lesson, lesson->modelled, frames, frames_per_s), frames_per_s,
                             look);
    Stretch longest, now;
    uint64_t before = 0;
    for (int i = 0; i < frames; ++i) {
        const bool begins = projector.advance(app.stage());
        if (auto film = app.state().film) {
            film->shown = 0;
            app.stage().act(session::ShowFilm{*film});
        }
        for (int settling = 0; begins && look == gui::FilmLook::tour && settling < gui::kSettling; ++settling)
            app.stage().frame(1280, 720, 0);
        const uint64_t drawn = look_of(*app.stage().frame(1280, 720, 1.0 / frames_per_s));
        if (look == gui::FilmLook::tour) {
            INFO(folder << ", step " << app.state().lesson_step + 1);
            for (const panels::Overflow& over : app.stage().overflows()) {
                INFO(over.where << ": " << over.text);
                CHECK(over.measured <= over.available);
            }
            CHECK(app.stage().memory().boxes.empty());
        }
        now = drawn == before ? Stretch{now.frames + 1, now.step} : Stretch{1, app.state().lesson_step};
        before = drawn;
        if (now.frames > longest.frames) longest = now;
    }
    return longest;
}

std::vector<std::string> folders() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(test::source_root() + "/scenarios"))
        if (std::filesystem::exists(entry.path() / "lesson.en.md"))
            found.push_back(entry.path().filename().string());
    std::ranges::sort(found);
    return found;
}

}  // namespace

TEST_CASE("no tour of a lesson stands still for more than four seconds, be the film short or long") {
    const std::vector<std::string> lessons = folders();
    REQUIRE(lessons.size() > 40);
    for (const std::string& folder : lessons)
        for (const auto& [seconds, frames_per_s] : {std::pair{24, 2}, {60, 1}}) {
            const Stretch still = longest_still(folder, seconds, frames_per_s, gui::FilmLook::window);
            INFO(folder << ", a film of " << seconds << " s, step " << still.step + 1);
            CHECK(still.frames <= gui::kMostStillSeconds * frames_per_s);
        }
}

TEST_CASE(
    "in the look of a tour nothing stands still either, all words have room, and nothing can be pressed") {
    using view::Language;
    for (const auto& [folder, language] : {std::pair{"22_ring", Language::en},
                                           {"23_algorithms", Language::en},
                                           {"42_ddp", Language::en},
                                           {"52_zero", Language::zh},
                                           {"63_hsdp", Language::zh},
                                           {"75_pipeline", Language::zh}}) {
        const Stretch still = longest_still(folder, 30, 2, gui::FilmLook::tour, language);
        INFO(folder << ", step " << still.step + 1);
        CHECK(still.frames <= gui::kMostStillSeconds * 2);
    }
}
