// What a lesson's open question asks for stands nowhere in the window until it is answered.
#include "app/gui/panels/quiz_mask.h"

#include <algorithm>

#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using panels::QuizMask;
using test::Harness;

namespace {

/// A document of one step that asks this.
session::AppState asking(const std::string& kind, const std::string& answer, double tolerance = 0,
                         session::Asked asked = session::Asked::bytes) {
    auto document = std::make_shared<session::Document>();
    session::LessonStep step;
    step.id = "step";
    document->steps.push_back(step);
    session::QuizCard quiz;
    quiz.id = "quiz";
    quiz.step = "step";
    quiz.kind = kind;
    quiz.answer = answer;
    quiz.tolerance = tolerance;
    if (kind == "number") quiz.asked = asked;
    document->quizzes.push_back(quiz);
    session::AppState state;
    state.document = document;
    return state;
}

std::string masked(const session::AppState& state, const std::string& text, bool amount = false) {
    return QuizMask(state).mask(text, amount);
}

/// All that the pictures of the next frame show and tell, and what is copied of the view.
std::string told(Harness& app) {
    std::vector<panels::Drawn> drawn;
    app.stage().note_pictures(&drawn);
    app.stage().act(session::CopyView{});
    app.frames(2);
    app.stage().note_pictures(nullptr);
    std::string text;
    for (const panels::Drawn& part : drawn) {
        for (const view::Shape& shape : part.picture.shapes) text += shape.text + "\n";
        for (const std::string& line : part.picture.text_lines) text += line + "\n";
    }
    for (const std::string& copied : app.stage().take_effects().copy) text += copied + "\n";
    return text;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

void go(Harness& app, const std::string& lesson, int32_t step) {
    app.open(test::lesson(lesson));
    app.stage().act(session::GoToLessonStep{step - 1});
    app.settle();
}

/// The step's questions are answered.
void answer(Harness& app) {
    while (const session::QuizCard* quiz = session::open_question(app.state())) {
        app.stage().act(session::Guess{quiz->id, quiz->answer});
        app.stage().act(session::Reveal{quiz->id});
        app.frames(1);
    }
}

}  // namespace

TEST_CASE("an amount that is asked for is a question mark, however it is written") {
    const session::AppState state = asking("number", "1536");
    CHECK(masked(state, "rank 0 has sent 120 of 1,536 B") == "rank 0 has sent 120 of ? B");
    CHECK(masked(state, "2(n−1)/n·S = 2·3/4·1,024 B = 1536 B") == "2(n−1)/n·S = 2·3/4·1,024 B = ? B");
    CHECK(masked(state, "1.54 KB, 1.53 KB, 11,536 B, 1,536,000 B") == "? KB, 1.53 KB, 11,536 B, 1,536,000 B");
    CHECK(masked(state, "layers.1536, x1536, 1536 ns, 1,536 µs") == "layers.1536, x1536, 1536 ns, 1,536 µs");
    CHECK(masked(asking("number", "262144"), "all_gather 262 KB") == "all_gather ? KB");
    CHECK(masked(asking("number", "31.4", 0.1), "31.4 GB of 120 GB") == "? GB of 120 GB");
}

TEST_CASE("a small number is left out where it counts, and stays where it names") {
    using session::Asked;
    const session::AppState calls = asking("number", "3", 0, Asked::calls);
    CHECK(masked(calls, "rank 3, step 3, chunk 3, layers.3, (0, 3), [2, 3]") ==
          "rank 3, step 3, chunk 3, layers.3, (0, 3), [2, 3]");
    // The quantity that is asked, and no other of the same number.
    CHECK(masked(calls, "3× · 3 次 · calls: 3 · 3 B · 3 hops · 3 ms · 2·3/4 · chunk 0 [3]") ==
          "?× · ? 次 · calls: ? · 3 B · ? hops · 3 ms · 2·3/4 · chunk 0 [3]");
    const session::AppState elements = asking("number", "3", 0, Asked::elements);
    CHECK(masked(elements, "3 → 12", true) == "? → 12");
    CHECK(masked(elements, "chunk 0 [3]: 1/4 · 3 B · 3×") == "chunk 0 [?]: 1/4 · 3 B · 3×");
    CHECK(masked(asking("number", "3", 0, Asked::bytes), "3 B · 3× · 3 elements") == "? B · 3× · 3 elements");
    CHECK(masked(asking("number", "0", 0, Asked::other), "rank 0 has sent 0 of 1,536 B") ==
          "rank 0 has sent 0 of 1,536 B");
    CHECK(masked(asking("choice", "1"), "1 B, [0, 1]") == "1 B, [0, 1]");
}

TEST_CASE("what would be taken for the answer is left out, too") {
    CHECK(masked(asking("number", "7.1", 1.5), "8 B, 9 B") == "? B, 9 B");
}

TEST_CASE("ranks that are asked for stand in no list, in any order, and an order only in its own") {
    const session::AppState ranks = asking("ranks", "[0, 2]");
    CHECK(masked(ranks, "group [2, 0], [0, 1], [0, 2]") == "group [?], [0, 1], [?]");
    CHECK(masked(ranks, "[[0, 2], [1, 3]]") == "[[0, 2], [1, 3]]");  // the mesh itself
    CHECK(masked(asking("order", "[2, 0]"), "[2, 0] [0, 2]") == "[?] [0, 2]");
    CHECK(masked(asking("ranks", "2"), "rank 2 [2]") == "rank 2 [2]");
    CHECK(QuizMask(ranks).asks(std::vector<int32_t>{2, 0}));
    CHECK_FALSE(QuizMask(ranks).asks(std::vector<int32_t>{0, 1, 2}));
}

TEST_CASE("the mesh draws no hull and lists no group while ranks are asked") {
    Harness app;
    go(app, "12_device_mesh", 5);
    const std::string before = told(app);
    CHECK_FALSE(has(before, "[1, 5]"));
    CHECK_FALSE(has(before, "shard [4, 5, 6, 7]"));
    const auto hulls = [&] {
        std::vector<panels::Drawn> drawn;
        app.stage().note_pictures(&drawn);
        app.frames(1);
        app.stage().note_pictures(nullptr);
        int64_t count = 0;
        for (const panels::Drawn& part : drawn)
            if (part.panel == "mesh")
                count += std::count_if(
                    part.picture.shapes.begin(), part.picture.shapes.end(),
                    [](const auto& s) { return s.id.kind == "group" && s.kind == view::ShapeKind::polygon; });
        return count;
    };
    CHECK(hulls() == 0);
    app.stage().act(session::SetSlice{"shard"});  // to run it is to look it up
    app.settle();
    CHECK_FALSE(has(told(app), "[4, 5, 6, 7]\n"));
    answer(app);
    app.settle();
    CHECK(hulls() > 0);
    CHECK(has(told(app), "[4, 5, 6, 7]"));
}

TEST_CASE("a question for one rank, or for numbers that are no ranks, leaves the groups where they are") {
    CHECK_FALSE(QuizMask(asking("ranks", "3")).groups());
    CHECK_FALSE(QuizMask(asking("order", "F0, F1, B0, F2")).groups());
    CHECK_FALSE(QuizMask(asking("order", "[22, 22, 24]")).groups());
    CHECK(QuizMask(asking("ranks", "0, 1")).groups());
    for (const auto& [lesson, step] : {std::pair{"81_uneven", 2}, std::pair{"83_swapped", 2}}) {
        INFO(lesson);
        Harness app;
        go(app, lesson, step);
        REQUIRE(session::open_question(app.state()) != nullptr);
        for (const auto kind : {view::ViewKind::mesh, view::ViewKind::timeline, view::ViewKind::collective}) {
            app.stage().act(session::SetView{kind});
            app.settle();
            CHECK_FALSE(has(told(app), "?"));
        }
    }
}

TEST_CASE("a slice that is not shown yet is said not to be") {
    Harness app;
    go(app, "16_true_slice_order", 2);
    const std::string own = app.state().selection.slice;
    CHECK_FALSE(panels::QuizMask(app.state()).hides(own));
    CHECK(panels::QuizMask(app.state()).hides("dp"));
    CHECK_FALSE(panels::QuizMask(app.state()).hides(""));
    app.click(app.widget("slice_enter"));
    CHECK_FALSE(app.state().toast);
    app.stage().act(session::SetSlice{"dp"});
    app.settle();
    app.click(app.widget("slice_enter"));
    CHECK(app.state().toast);
    answer(app);
    CHECK_FALSE(panels::QuizMask(app.state()).hides("dp"));
}

TEST_CASE("a slice that is refused is told where the lesson tells of it") {
    Harness app;
    go(app, "16_true_slice_order", 2);
    REQUIRE(session::open_question(app.state()) != nullptr);
    CHECK(has(told(app), "KeyError"));
}

TEST_CASE("no picture and no copied text gives the bytes or elements that a step asks for") {
    struct Asked {
        const char* lesson;
        int32_t step;
        const char* number;
    };
    for (const Asked& asked : {Asked{"22_ring", 4, "1,536 B"}, Asked{"41_dp", 2, "1,980 B"},
                               Asked{"65_true_reduce_scatter", 3, "840 B"}, Asked{"61_fsdp1", 2, "9 → 36"}}) {
        INFO(asked.lesson << " step " << asked.step);
        Harness app;
        go(app, asked.lesson, asked.step);
        REQUIRE(session::open_question(app.state()) != nullptr);
        for (const auto kind : {view::ViewKind::collective, view::ViewKind::timeline, view::ViewKind::memory,
                                view::ViewKind::traffic, view::ViewKind::code}) {
            app.stage().act(session::SetView{kind});
            app.settle();
            CHECK_FALSE(has(told(app), asked.number));
        }
        answer(app);
        app.stage().act(session::SetView{view::ViewKind::collective});
        app.settle();
        CHECK(has(told(app), asked.number));
    }
}

TEST_CASE("which ranks take part is not drawn while that is asked") {
    Harness app;
    go(app, "11_processes", 5);
    const auto places = [&] {
        app.frames(1);
        return std::count_if(
            app.stage().memory().shapes.begin(), app.stage().memory().shapes.end(),
            [](const auto& place) { return place.id.kind == "bytes" || place.id.kind == "title"; });
    };
    CHECK(places() == 0);
    answer(app);
    app.settle();
    CHECK(places() > 0);
}

TEST_CASE("what a question asks for is told by what its answer selects of the record") {
    using session::Asked;
    using session::asked_by;
    CHECK(asked_by("SELECT bytes FROM collectives WHERE rank = 0") == Asked::bytes);
    CHECK(asked_by("SELECT coalesce(sum(h.bytes), 0) FROM hops h JOIN collectives c") == Asked::bytes);
    CHECK(asked_by("select SUM(delta_bytes)\nFROM memory") == Asked::bytes);
    CHECK(asked_by("SELECT DISTINCT in_elements FROM collectives") == Asked::elements);
    CHECK(asked_by("SELECT count(*) FROM collectives WHERE step = 1") == Asked::calls);
    CHECK(asked_by("SELECT DISTINCT h.dst FROM hops h") == Asked::peer);
    // Of another run, of another unit, or a name.
    CHECK(asked_by("SELECT 2 * (8 - 1) * 4 * in_elements / 8 FROM collectives") == Asked::other);
    CHECK(asked_by("SELECT sum(delta_bytes) / 4 FROM memory") == Asked::other);
    CHECK(asked_by("SELECT count(*) FROM ranks") == Asked::other);
    CHECK(asked_by("SELECT 3") == Asked::other);
    CHECK(asked_by("WITH a AS (SELECT bytes FROM collectives) SELECT max(bytes) FROM a") == Asked::other);
}

TEST_CASE("nothing is left out of an export, and to export answers no question") {
    Harness app;
    go(app, "65_true_reduce_scatter", 3);
    REQUIRE(session::open_question(app.state()) != nullptr);
    app.stage().act(session::SetView{view::ViewKind::collective});
    app.settle();
    CHECK_FALSE(has(told(app), "840 B"));
    Harness exported;
    session::AppState state = app.state();
    state.uncovered = true;  // as gui::Exporter and --render do
    exported.stage().resume(state);
    exported.frames(3);
    CHECK(has(told(exported), "840 B"));
    CHECK_FALSE(has(told(exported), "?"));
    CHECK(session::open_question(app.state()) != nullptr);
}
