// What a film in the look of a tour says, and where its cursor rests.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/main/fade.h"
#include "app/gui/main/film_words.h"
#include "app/gui/main/options.h"
#include "app/gui/main/reel.h"
#include "app/gui/main/storyboard.h"
#include "app/gui/session/lesson_document.h"
#include "core/base/error.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using Sentences = std::vector<std::string>;
using test::Harness;

TEST_CASE("a step is told sentence by sentence, without marks, tables and questions") {
    CHECK(gui::sentences("To compute [net1](unit:net1), `rank 0` needs **all** of it. (n−1)/n·S for n = 2.5. "
                         "Does any byte cross? It does not!") ==
          Sentences{"To compute net1, rank 0 needs all of it.", "(n−1)/n·S for n = 2.5.", "It does not!"});
    CHECK(gui::sentences("前向先[收齐](event:all_gather)。（这是 1.5 倍。）会跨过节点吗？不会。") ==
          Sentences{"前向先收齐。", "（这是 1.5 倍。）", "不会。"});
    CHECK(
        gui::sentences(
            "One\nline goes on.\n\n- a point\n- another, e.g. net1.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n") ==
        Sentences{"One line goes on.", "a point", "another, e.g. net1."});
    CHECK(gui::sentences("All ran:\n\n| a |\n|---|\n\n```toml\nx = 1.\n```\nIt ends.") ==
          Sentences{"It ends."});
    CHECK(gui::sentences("").empty());
}

TEST_CASE("sentences stay as long as they take to be read, and the first is always said") {
    CHECK(gui::reading_seconds(std::string(30, 'a')) == Approx(3));
    CHECK(gui::reading_seconds("收齐参数吧") == Approx(2));
    const Sentences three{std::string(30, 'a'), std::string(45, 'b'), std::string(15, 'c')};  // 3, 4, 2 s
    const auto said = [&](int frames) {
        std::vector<int> from;
        for (const gui::Said& each : gui::read_in(three, frames, 10)) from.push_back(each.from_frame);
        return from;
    };
    CHECK(said(5) == std::vector<int>{0});
    CHECK(said(69) == std::vector<int>{0});
    CHECK(said(70) == std::vector<int>{0, 30});
    CHECK(said(90) == std::vector<int>{0, 30, 70});
    CHECK(said(180) == std::vector<int>{0, 60, 140});
    CHECK(gui::read_in({}, 10, 10).empty());
}

TEST_CASE("with time for it the cursor rests at each hop, and what has landed is told there") {
    const auto lesson = gui::without_questions(*test::lesson());
    Harness app;
    app.open(lesson);
    const auto gather = std::ranges::find(lesson->steps, "gather", &session::LessonStep::id);
    REQUIRE(gather != lesson->steps.end());
    const auto index = static_cast<int32_t>(gather - lesson->steps.begin());
    const auto shots = gui::step_alone(*lesson, lesson->modelled, index, 200, 20);
    REQUIRE(shots.size() == 1);
    app.stage().act(session::GoToLessonStep{index});
    const time::Interval span{*shots[0].from_ns, *shots[0].to_ns};
    const gui::Reel reel = gui::paused_reel(app.state(), span, shots[0].still, 200, 20);
    REQUIRE(reel.cursor_ns.size() == 200);
    CHECK(std::ranges::is_sorted(reel.cursor_ns));
    CHECK(reel.cursor_ns.front() == span.begin_ns);
    CHECK(reel.cursor_ns.back() == span.end_ns);
    REQUIRE(reel.beats.size() == reel.told_from.size());
    int hops = 0;
    for (std::size_t i = 0; i < reel.beats.size(); ++i) {
        const view::Beat& beat = reel.beats[i];
        if (beat.begins) continue;
        hops += beat.hop ? 1 : 0;
        // It is told when the cursor has come there, not before, and the cursor rests there.
        const auto from = static_cast<std::size_t>(reel.told_from[i]);
        CHECK(reel.cursor_ns[from] == beat.t_ns);
        CHECK(reel.cursor_ns[from - 1] < beat.t_ns);
        CHECK(reel.cursor_ns[std::min<std::size_t>(from + 3, 199)] == beat.t_ns);
    }
    CHECK(hops >= 1);
    // No rest is longer than it may be, however much time there is.
    int still = 0, longest = 0;
    for (std::size_t i = static_cast<std::size_t>(shots[0].still) + 1; i < 200; ++i) {
        still = reel.cursor_ns[i] == reel.cursor_ns[i - 1] ? still + 1 : 0;
        longest = std::max(longest, still);
    }
    CHECK(longest <= static_cast<int>(gui::kMostRestSeconds * 20) + 1);
}

TEST_CASE("without time for rests the cursor goes evenly, and what is told has just ended") {
    const auto lesson = gui::without_questions(*test::lesson());
    Harness app;
    app.open(lesson);
    const time::Interval whole{0, lesson->modelled.end_ns};
    const gui::Reel reel = gui::paused_reel(app.state(), whole, 4, 120, 20);
    CHECK(reel.cursor_ns == gui::even_reel(whole, 4, 120).cursor_ns);
    CHECK(reel.beats.size() >= 3);
    const auto each = static_cast<int>(gui::kCaptionSeconds * 20);
    for (std::size_t i = 0; i < reel.beats.size(); ++i) {
        if (reel.told_from[i] == 0) continue;  // what begins there
        const auto at = static_cast<std::size_t>(reel.told_from[i]);
        CHECK(reel.beats[i].t_ns <= reel.cursor_ns[at]);
        CHECK(reel.beats[i].t_ns > reel.cursor_ns[at - static_cast<std::size_t>(each)]);
    }
    CHECK_FALSE(reel.told_at(-1));
    CHECK(reel.told_at(119) == reel.beats.size() - 1);
}

TEST_CASE("a step of a film comes while the one before it goes") {
    const auto plain = [](uint8_t grey) {
        window::Image image;
        image.width = image.height = 1;
        image.rgb.assign(3, grey);
        return image;
    };
    gui::Fade fade(3);
    fade.begin();  // the first step follows nothing
    CHECK(fade.frame(plain(0)).rgb[0] == 0);
    fade.begin();
    std::vector<int> greys;
    for (int i = 0; i < 5; ++i) greys.push_back(fade.frame(plain(200)).rgb[0]);
    CHECK(greys == std::vector<int>{50, 100, 150, 200, 200});
    // A third of a second, but never more of a step than a quarter, of the shortest too.
    const auto fading_from = [](int before, int frames, gui::FilmLook look) {
        gui::Shot first, shot;
        first.frames = before;
        shot.frames = frames;
        return gui::Projector({first, shot}, 30, look).fade_frames();
    };
    const auto fading = [&](int frames, gui::FilmLook look) { return fading_from(frames, frames, look); };
    CHECK(fading_from(300, 8, gui::FilmLook::tour) == 2);
    CHECK(fading_from(8, 300, gui::FilmLook::tour) == 2);
    CHECK(fading(90, gui::FilmLook::tour) == 10);
    CHECK(fading(8, gui::FilmLook::tour) == 2);
    CHECK(fading(1, gui::FilmLook::tour) == 0);
    CHECK(fading(90, gui::FilmLook::window) == 0);
}

TEST_CASE("a film of a part of the run names no step of the lesson, and a shot begins settled") {
    const auto lesson = gui::without_questions(*test::lesson());
    Harness app;
    app.open(lesson);
    gui::Shot part;
    part.from_ns = 0;
    part.to_ns = lesson->modelled.end_ns;
    part.frames = 20;
    gui::Projector film({part}, 10, gui::FilmLook::tour);
    CHECK(film.advance(app.stage()));  // a new picture, whose size settles before it is seen
    REQUIRE(app.state().film);
    CHECK_FALSE(app.state().film->of_step);
    CHECK(app.state().film->said.empty());
    CHECK_FALSE(film.advance(app.stage()));
    gui::Projector of_step(gui::step_alone(*lesson, lesson->modelled, 1, 20, 10), 10, gui::FilmLook::tour);
    CHECK(of_step.advance(app.stage()));
    CHECK(app.state().film->of_step);
    CHECK_FALSE(app.state().film->said.empty());
    const auto names_step = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"hsdp", "--render", "out", "--film", "tour"});
        return gui::is_of_step(gui::parse_options(words));
    };
    CHECK(names_step({"--step", "2"}));
    CHECK(names_step({"--step", "2", "--from", "0", "--to", "1"}));
    CHECK_FALSE(names_step({"--step", "2", "--rank", "1"}));
    CHECK_FALSE(names_step({"--step", "2", "--from", "0.5"}));
    CHECK_FALSE(names_step({"--view", "memory"}));
}

TEST_CASE("the look of a film is chosen by a word, and without one a tour has that of a tour") {
    const session::Document& lesson = *test::lesson();
    gui::Options o = gui::parse_options({"hsdp", "--render", "out"});
    CHECK(gui::usual_look(o, lesson, 100) == gui::FilmLook::tour);
    CHECK(gui::usual_look(o, lesson, 1) == gui::FilmLook::window);
    CHECK(gui::usual_look(o, *session::make_document(lesson.trace, "run", nullptr), 100) ==
          gui::FilmLook::window);
    o = gui::parse_options({"hsdp", "--render", "out", "--film", "window"});
    CHECK(gui::usual_look(o, lesson, 100) == gui::FilmLook::window);
    o = gui::parse_options({"hsdp", "--render", "out", "--film=tour", "--view", "memory"});
    CHECK(gui::usual_look(o, lesson, 100) == gui::FilmLook::tour);
    CHECK_THROWS_AS(gui::parse_options({"hsdp", "--film", "cinema"}), InvalidArgument);
    // As long as it takes to read each step's first sentence, unless a length is said.
    const int usual = gui::film_frames(gui::parse_options({"hsdp", "--render", "out"}), lesson, 10);
    CHECK(usual > 10 * 10);
    CHECK(gui::film_frames(gui::parse_options({"hsdp", "--render", "out", "--seconds", "4"}), lesson, 10) ==
          40);
    CHECK(gui::film_frames(gui::parse_options({"hsdp", "--render", "out", "--film", "window"}), lesson, 10) ==
          100);
    CHECK(gui::film_frames(gui::parse_options({"hsdp", "--render", "out", "--frames", "7"}), lesson, 10) ==
          7);
}
