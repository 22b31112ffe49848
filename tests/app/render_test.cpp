#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "app/gui/main/render_film.h"
#include "app/gui/main/storyboard.h"
#include "app/gui/session/lesson_document.h"
#include "app/gui/window/film.h"
#include "app/gui/window/shell_line.h"
#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope;
namespace fs = std::filesystem;
using test::content;
using test::Folder;
using test::Harness;

namespace {

gui::Options options(const fs::path& folder, int frames) {
    gui::Options o;
    o.render = folder.string();
    o.frames = frames;
    o.width = 960;
    o.height = 540;
    o.language = view::Language::zh;
    o.view = view::ViewKind::collective;
    return o;
}

std::string path_value() {
    const char* value = std::getenv("PATH");
    return value != nullptr ? value : "";
}

}  // namespace

TEST_CASE("frames are PNG pictures of the asked size, and differ where the cursor differs") {
    const Folder folder;
    const auto report =
        gui::render_film(test::lesson(), options(folder.path / "a", 3), test::catalogue(), "", nullptr);
    CHECK(report.frames == 3);
    std::vector<std::string> frames;
    for (const char* name : {"frame_00000.png", "frame_00001.png", "frame_00002.png"}) {
        frames.push_back(content(folder.path / "a" / name));
        REQUIRE(frames.back().size() > 10000);
        // PNG's signature, then IHDR with width and height, most significant byte first.
        CHECK(frames.back().substr(1, 3) == "PNG");
        const auto number = [&](size_t at) {
            unsigned value = 0;
            for (size_t i = 0; i < 4; ++i)
                value = value << 8 | static_cast<unsigned char>(frames.back()[at + i]);
            return value;
        };
        CHECK(number(16) == 960);
        CHECK(number(20) == 540);
    }
    CHECK(frames[0] != frames[1]);
    CHECK(frames[1] != frames[2]);
}

TEST_CASE("the same frames are the same bytes, run to run") {
    const Folder folder;
    gui::render_film(test::lesson(), options(folder.path / "a", 2), test::catalogue(), "", nullptr);
    gui::render_film(test::lesson(), options(folder.path / "b", 2), test::catalogue(), "", nullptr);
    for (const char* name : {"frame_00000.png", "frame_00001.png"}) {
        CHECK(content(folder.path / "a" / name) == content(folder.path / "b" / name));
    }
}

TEST_CASE("themes and languages make different pictures") {
    const Folder folder;
    gui::Options o = options(folder.path / "zh", 1);
    gui::render_film(test::lesson(), o, test::catalogue(), "", nullptr);
    o.render = (folder.path / "en").string();
    o.language = view::Language::en;
    gui::render_film(test::lesson(), o, test::catalogue(), "", nullptr);
    o.render = (folder.path / "light").string();
    o.theme = window::ThemeKind::light;
    gui::render_film(test::lesson(), o, test::catalogue(), "", nullptr);
    const std::string zh = content(folder.path / "zh/frame_00000.png"),
                      en = content(folder.path / "en/frame_00000.png"),
                      light = content(folder.path / "light/frame_00000.png");
    CHECK(zh != en);
    CHECK(en != light);
}

TEST_CASE("a film is an MP4 file: without ffmpeg the frames stay and the command is told") {
    const Folder folder;
    gui::Options o = options(folder.path / "a", 6);
    o.mp4 = (folder.path / "film.mp4").string();
    const auto without = gui::render_film(test::lesson(), o, test::catalogue(), "", nullptr);
    CHECK(without.mp4.empty());
    CHECK(without.command.find("ffmpeg -y -framerate 30") == 0);
    CHECK(fs::exists(folder.path / "a" / "frame_00005.png"));
    CHECK_FALSE(fs::exists(o.mp4));

    REQUIRE_FALSE(window::find_program("ffmpeg", path_value()).empty());
    const auto with = gui::render_film(test::lesson(), o, test::catalogue(), path_value(), nullptr);
    CHECK(with.mp4 == o.mp4);
    CHECK(content(o.mp4).substr(4, 4) == "ftyp");
}

TEST_CASE("a film being written touches no other file, and leaves the process's signals alone") {
    const Folder folder;
    fs::create_directories(folder.path / "bin");
    const std::string keeps = (folder.path / "bin/keeps").string(),
                      dies = (folder.path / "bin/dies").string();
    // Both write what they are given to their last argument; one stops at once.
    std::ofstream(keeps) << "#!/bin/sh\nfor a; do last=$a; done\ncat > \"$last\"\n";
    std::ofstream(dies) << "#!/bin/sh\nexit 0\n";
    for (const auto& p : {keeps, dies}) fs::permissions(p, fs::perms::owner_all);
    const std::string mp4 = (folder.path / "film.mp4").string(), other = mp4 + ".part.mp4";
    std::ofstream(other) << "mine";
    struct sigaction before {
    }, during{};
    ::sigaction(SIGPIPE, nullptr, &before);
    window::Image frame;
    frame.width = frame.height = 2;
    frame.rgb.assign(12, 7);
    {
        window::Film first(keeps, mp4, 2, 2, 30), second(keeps, mp4, 2, 2, 30);  // two renders at once
        ::sigaction(SIGPIPE, nullptr, &during);
        CHECK(during.sa_handler == before.sa_handler);
        first.add(frame);
        second.add(frame);
        second.add(frame);
        first.finish();
        CHECK(content(mp4).size() == 12 + kMp4Mark.size());
        second.finish();
        CHECK(content(mp4).size() == 24 + kMp4Mark.size());
        window::Film dropped(keeps, mp4, 2, 2, 30);
        dropped.add(frame);
    }
    CHECK(content(mp4).size() == 24 + kMp4Mark.size());
    CHECK(content(other) == "mine");
    // Only what was there and the film: no part is left.
    CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 3);
    {
        window::Film gone(dies, mp4, 2, 2, 30);
        frame.rgb.assign(1'000'000, 7);
        CHECK_THROWS_AS(
            [&] {
                for (int i = 0; i < 100; ++i) gone.add(frame);
            }(),
            IoError);
    }
    CHECK(content(mp4).size() == 24 + kMp4Mark.size());
}

TEST_CASE("an ffmpeg that fails is an error with the film's name, and leaves nothing half done") {
    const Folder folder;
    fs::create_directories(folder.path / "bin");
    {
        std::ofstream script(folder.path / "bin/ffmpeg");
        script << "#!/bin/sh\nexit 3\n";
    }
    fs::permissions(folder.path / "bin/ffmpeg", fs::perms::owner_all);
    gui::Options o = options(folder.path / "a", 6);
    o.mp4 = (folder.path / "film.mp4").string();
    try {
        gui::render_film(test::lesson(), o, test::catalogue(), (folder.path / "bin").string(), nullptr);
        FAIL("a film was made by a program that fails");
    } catch (const IoError& error) {
        CHECK(error.message().id == "window.film_failed");
    }
    CHECK_FALSE(fs::exists(o.mp4));
}

TEST_CASE("frames go to a folder that exists or can be made, not to a tree that is missing") {
    const Folder folder;
    try {
        gui::render_film(test::lesson(), options(folder.path / "none/a", 1), test::catalogue(), "", nullptr);
        FAIL("a missing folder was made");
    } catch (const IoError& error) {
        CHECK(describe(error.message()) == "window.no_folder(path=" + (folder.path / "none/a").string() +
                                               ", folder=" + (folder.path / "none").string() + ")");
    }
    CHECK_FALSE(fs::exists(folder.path / "none"));
    gui::Options o = options(folder.path / "b", 1);
    o.render += "/";
    gui::render_film(test::lesson(), o, test::catalogue(), "", nullptr);
    CHECK(fs::exists(folder.path / "b/frame_00000.png"));
}

TEST_CASE("words for a shell are quoted where they must be") {
    CHECK(window::as_shell_line({"ffmpeg", "-i", "a b'c.png", "x.mp4"}) == "ffmpeg -i 'a b'\\''c.png' x.mp4");
    CHECK(window::find_program("ffmpeg", "/nowhere:") == "");
}

namespace {

/// What a film is made of when nothing but its length is named.
gui::Options short_film(const fs::path& folder, int frames) {
    gui::Options o;
    o.render = folder.string();
    o.frames = frames;
    o.width = 640;
    o.height = 360;
    o.language = view::Language::en;
    return o;
}

std::vector<std::string> frames_of(const std::shared_ptr<const session::Document>& document,
                                   const gui::Options& o) {
    gui::render_film(document, o, test::catalogue(), "", nullptr);
    std::vector<std::string> frames;
    for (int i = 0; i < o.frames; ++i) {
        char name[32];
        std::snprintf(name, sizeof(name), "frame_%05d.png", i);
        frames.push_back(content(fs::path(o.render) / name));
        REQUIRE(frames.back().size() > 1000);
    }
    return frames;
}

int differing(const std::vector<std::string>& frames) {
    int n = 0;
    for (size_t i = 1; i < frames.size(); ++i) n += frames[i] != frames[i - 1] ? 1 : 0;
    return n;
}

}  // namespace

TEST_CASE(
    "in the film of a lesson at least half of the frames differ from the one before, run to run the same") {
    const Folder folder;
    const auto frames = frames_of(test::lesson(), short_film(folder.path / "a", 60));
    CHECK(differing(frames) >= 30);
    gui::Options whole = short_film(folder.path / "b", 60);
    whole.from = 0;  // all of the run said in words
    whole.to = 1;
    CHECK(frames_of(test::lesson(), whole) == frames);
    gui::Options zh = short_film(folder.path / "zh", 60);
    zh.language = view::Language::zh;
    const auto chinese = frames_of(test::lesson(), zh);
    CHECK(differing(chinese) >= 30);
    for (size_t i = 0; i < frames.size(); ++i) CHECK(chinese[i] != frames[i]);
}

TEST_CASE("a run without a lesson is filmed in the timeline, where each frame differs from the one before") {
    const Folder folder;
    const auto run = session::make_document(test::lesson()->trace, "run", nullptr);
    const auto frames = frames_of(run, short_film(folder.path / "a", 8));
    CHECK(differing(frames) == 7);
    gui::Options named = short_film(folder.path / "b", 8);
    named.view = view::ViewKind::timeline;
    CHECK(frames_of(run, named) == frames);
    named.render = (folder.path / "c").string();
    named.view = view::ViewKind::memory;
    CHECK(frames_of(run, named) != frames);
}

TEST_CASE("a tour shows the step of a variant in that variant's run, and the clock of it moves") {
    const auto lesson = gui::without_questions(*test::lesson("52_zero"));
    const auto shots =
        gui::storyboard(*lesson, lesson->modelled, 8 * static_cast<int>(lesson->steps.size()), 30);
    Harness harness;
    harness.open(lesson);
    gui::Projector projector(shots);
    std::set<std::string> shown;
    for (const gui::Shot& shot : shots)
        for (int frame = 0; frame < shot.frames; ++frame) {
            projector.advance(harness.stage());
            const session::LessonStep& step = lesson->steps[static_cast<size_t>(harness.state().lesson_step)];
            const session::Document& front = *harness.state().document;
            CHECK(front.trace == (step.run ? step.run->trace : lesson->trace));
            shown.insert(front.variant);
            if (step.run && step.run_at) CHECK(shot.from_ns < shot.to_ns);
        }
    CHECK(shown == std::set<std::string>{"", "zero", "two", "change"});
}

TEST_CASE("a storyboard has every step of the lesson in its order, in its own view and at its own moment") {
    const auto lesson = gui::without_questions(*test::lesson());
    CHECK(lesson->quizzes.empty());
    CHECK(lesson->before.empty());
    CHECK(lesson->trace == test::lesson()->trace);
    REQUIRE(lesson->steps.size() == 8);
    const std::vector<gui::Shot> shots = gui::storyboard(*lesson, lesson->modelled, 300, 30);
    REQUIRE(shots.size() == 8);
    int frames = 0;
    for (size_t i = 0; i < shots.size(); ++i) {
        INFO(i);
        const gui::Shot& shot = shots[i];
        const session::LessonStep& step = lesson->steps[i];
        frames += shot.frames;
        CHECK(shot.step == static_cast<int32_t>(i));
        CHECK(shot.from_ns.has_value() == step.at.has_value());
        // One step of eight stands still: 1 part for it, 2 for each other.
        CHECK(shot.frames == (step.at ? 40 : 20));
        if (!step.at) continue;
        const time::Interval event =
            lesson->modelled.events[static_cast<size_t>(step.at->rank)][static_cast<size_t>(step.at->event)];
        CHECK(*shot.from_ns <= event.begin_ns);
        CHECK(*shot.to_ns >= event.end_ns);
        if (step.view == view::ViewKind::collective) CHECK(*shot.from_ns == event.begin_ns);
        if (step.view == view::ViewKind::memory) {
            const int32_t in = lesson->trace->event(step.at->rank, step.at->event).step;
            CHECK(*shot.to_ns < time::span_of_step(*lesson->trace, lesson->modelled, in).end_ns);
        }
        CHECK(shot.still == 8);
    }
    CHECK(frames == 300);

    Harness harness;
    harness.open(lesson);
    gui::Projector projector(shots);
    for (size_t i = 0; i < shots.size(); ++i) {
        const gui::Shot& shot = shots[i];
        for (int frame = 0; frame < shot.frames; ++frame) {
            CHECK(projector.advance(harness.stage()) == (frame == 0));
            CHECK(harness.state().view == lesson->steps[i].view);
            CHECK(harness.state().lesson_step == static_cast<int32_t>(i));
            if (!shot.from_ns) continue;
            if (frame < shot.still) CHECK(harness.state().cursor.t_ns == *shot.from_ns);
            if (frame == shot.frames - 1) CHECK(harness.state().cursor.t_ns == *shot.to_ns);
        }
    }
    CHECK_FALSE(projector.advance(harness.stage()));
}

TEST_CASE("a film too short for all steps leaves some out, in the same order") {
    const auto& lesson = *test::lesson();
    for (const int n : {2, 3, 7, 9}) {
        INFO(n);
        int frames = 0, last = -1;
        for (const gui::Shot& shot : gui::storyboard(lesson, lesson.modelled, n, 30)) {
            CHECK(shot.frames >= 1);
            CHECK(*shot.step > last);
            last = *shot.step;
            frames += shot.frames;
        }
        CHECK(frames == n);
    }
}

TEST_CASE("a place or a part that is named is filmed instead of the lesson's steps") {
    const auto& lesson = *test::lesson();
    const gui::Options plain = short_film("a", 300);
    CHECK(gui::tours_lesson(plain, lesson, 300));
    CHECK_FALSE(gui::tours_lesson(plain, lesson, 1));  // a still picture
    CHECK_FALSE(gui::tours_lesson(plain, *session::make_document(lesson.trace, "run", nullptr), 300));
    gui::Options o = plain;
    o.view = view::ViewKind::memory;
    CHECK_FALSE(gui::tours_lesson(o, lesson, 300));
    o = plain;
    o.lesson_step = 0;
    CHECK_FALSE(gui::tours_lesson(o, lesson, 300));
    o = plain;
    o.rank = 2;
    CHECK_FALSE(gui::tours_lesson(o, lesson, 300));
    o = plain;
    o.at = gui::At{false, 10};
    CHECK_FALSE(gui::tours_lesson(o, lesson, 300));
    o = plain;
    o.to = 0.5;
    CHECK_FALSE(gui::tours_lesson(o, lesson, 300));
}
