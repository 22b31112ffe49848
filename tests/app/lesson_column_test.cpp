// A lesson beside its picture: texts, questions, tables, goals, and its ways on.
#include <algorithm>

#include "app/gui/panels/layout.h"
#include "app/gui/panels/quiz_mask.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/session.h"
#include "harness.h"
#include "tests/folder.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using test::Harness;

TEST_CASE("a quiz: nothing shown before the guess, the run's answer after") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    app.stage().act(session::GoToLessonStep{4});
    app.frames(3);
    const session::QuizCard* quiz = nullptr;
    for (const auto& card : app.state().document->quizzes) {
        if (card.kind == "choice") quiz = &card;
    }
    REQUIRE(quiz != nullptr);
    REQUIRE(app.has_widget(quiz->id + ".choice1"));
    CHECK_FALSE(app.has_widget(quiz->id + ".check"));  // not to be pressed before a guess
    CHECK_FALSE(app.has_widget(quiz->id + ".reveal"));
    app.click(app.widget(quiz->id + ".choice0"));
    CHECK(app.state().quizzes.at(quiz->id).guess == "0");
    app.click(app.widget(quiz->id + ".choice1"));
    app.click(app.widget(quiz->id + ".check"));
    CHECK(app.state().quizzes.at(quiz->id).revealed);
    CHECK(session::right_answer(*quiz, "1"));
    CHECK_FALSE(app.has_widget(quiz->id + ".choice1"));
}

TEST_CASE("a wrong guess can be made again, or the answer shown") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    const std::string id = app.state().document->quizzes[0].id;
    app.click(app.widget(id + ".number"));
    app.type("22");
    app.frames(2);
    CHECK(app.state().quizzes.at(id).guess == "22");
    CHECK_FALSE(app.has_widget(id + ".reveal"));  // first a guess
    app.click(app.widget(id + ".check"));
    app.frames(2);
    CHECK_FALSE(app.state().quizzes.at(id).revealed);
    CHECK(app.state().quizzes.at(id).missed == "22");
    CHECK_FALSE(app.has_widget(id + ".check"));  // not twice the same
    app.click(app.widget(id + ".number"));
    app.type("4");
    app.frames(2);
    REQUIRE(app.state().quizzes.at(id).guess == "224");
    app.click(app.widget(id + ".check"));
    app.frames(2);
    CHECK(app.state().quizzes.at(id).missed == "224");
    CHECK(session::open_question(app.state()) != nullptr);
    app.click(app.widget(id + ".reveal"));
    CHECK(app.state().quizzes.at(id).revealed);
    CHECK(app.state().quizzes.at(id).guess == "224");
}

TEST_CASE("a list that ranks cannot spell is typed: F0 B0, or more numbers than there are ranks") {
    Harness app(1600, 1000);
    app.open(test::lesson("76_true_1f1b"));
    app.stage().act(session::GoToLessonStep{1});
    app.frames(3);
    REQUIRE(app.has_widget("real-order.number"));
    CHECK_FALSE(app.has_widget("real-order.rank0"));
    app.click(app.widget("real-order.number"));
    app.type("F0, B0, F1, B1");
    app.frames(2);
    app.click(app.widget("real-order.check"));
    CHECK(app.state().quizzes.at("real-order").revealed);
    for (const auto& quiz : app.state().document->quizzes)
        if (quiz.id == "real-order") CHECK(session::right_answer(quiz, "F0, B0, F1, B1"));
}

TEST_CASE("a question is open until it is revealed") {
    Harness app(1600, 1000);
    app.open(test::lesson("14_true_rank5"));
    app.frames(2);
    REQUIRE(session::open_question(app.state()) != nullptr);
    CHECK(panels::QuizMask(app.state()).mesh_options().covered);  // it asks for the ranks of a group
    app.stage().act(session::Guess{"tp-of-rank-5", "4,5"});
    app.stage().act(session::Reveal{"tp-of-rank-5"});
    CHECK(session::open_question(app.state()) == nullptr);

    app.open(test::lesson("41_dp"));
    app.stage().act(session::GoToLessonStep{1});
    const session::Document& dp = *app.state().document;
    const auto& ref = app.state().selection.event;
    REQUIRE(ref.has_value());
    const int64_t sent = dp.trace->event(app.state().selection.event_rank.value_or(0), *ref).sent_bytes;
    CHECK(panels::QuizMask(app.state()).asks_bytes(sent));
    CHECK_FALSE(panels::QuizMask(app.state()).asks_bytes(sent + 1));
    app.stage().act(session::Guess{"copied-bytes", "660"});
    app.stage().act(session::Reveal{"copied-bytes"});
    CHECK_FALSE(panels::QuizMask(app.state()).asks_bytes(sent));
}

TEST_CASE("every character of what stands around a lesson's steps has a glyph") {
    Harness app;
    app.open(test::lesson("76_true_1f1b"));
    app.stage().act(session::SetLanguage{view::Language::zh});
    app.frames(2);
    const session::Document& document = *app.state().document;
    REQUIRE(!document.before.empty());
    const auto drawn = [&](const session::Text& title, const session::Text& body) {
        for (const char32_t c : window::code_points(title.zh + body.zh)) {
            INFO("U+" << std::hex << static_cast<uint32_t>(c));
            CHECK((c < 0x20 || app.draws(c)));
        }
    };
    for (const session::LessonSection& part : document.before) drawn(part.title, part.body);
    REQUIRE(document.steps.back().part == "summary");
    for (const session::LessonStep& step : document.steps) drawn(step.title, step.body);
}

TEST_CASE("Back and Next keep their place above the controls, on every step and however far it is scrolled") {
    for (const char* name : {"63_hsdp", "12_device_mesh"}) {
        test::Harness harness;
        harness.open(test::lesson(name));
        const auto steps = static_cast<int>(harness.state().document->steps.size());
        for (int step = 0; step < steps; ++step) {
            harness.settle();
            // A disabled button takes no pointer: at the ends one of the two is looked at.
            const char* id = step + 1 < steps ? "lesson_on" : "lesson_back";
            REQUIRE(harness.has_widget(id));
            const view::Point on = harness.widget(id);
            if (step > 0) CHECK(harness.widget("lesson_back").y == on.y);
            CHECK(on.y + 19 <= 720 - panels::kTransport);
            CHECK(on.y + 60 > 720 - panels::kTransport);
            harness.wheel({150, 300}, -20);
            harness.settle();
            CHECK(harness.widget(id).y == on.y);
            CHECK(harness.state().lesson_step == step);
            if (step + 1 < steps) harness.click(harness.widget("lesson_on"));
        }
    }
}

TEST_CASE(
    "goals stand above a lesson's first step, what to break, to change and the summary are steps at its "
    "end") {
    test::Harness harness(1280, 3000);
    const auto lesson = test::lesson("12_device_mesh");
    REQUIRE(lesson->before.size() == 1);
    CHECK(lesson->before[0].id == "goals");
    const auto n = static_cast<int32_t>(lesson->steps.size());
    REQUIRE(n > 3);
    const session::LessonStep *own = &lesson->steps[lesson->steps.size() - 4], *to_break = own + 1,
                              *to_change = own + 2, *summary = own + 3;
    CHECK(own->part.empty());
    CHECK(to_break->part == "break");
    CHECK(to_change->part == "change");
    CHECK(summary->part == "summary");
    CHECK(to_break->view == own->view);
    // The numbers of a variant were asked of the variant's own run: shape (4, 2) puts rank 5 in row [4, 5].
    CHECK(to_change->body.en.find("the ranks [4, 5], its all_reduce [1, 3, 5, 7]") != std::string::npos);
    CHECK(to_change->body.zh.find("[1, 3, 5, 7]") != std::string::npos);
    CHECK(summary->body.en.find("{{") == std::string::npos);
    harness.open(lesson);
    harness.settle();
    CHECK_FALSE(harness.has_widget("make.change"));
    const float steps_text = harness.widget("body.0/0").y;
    harness.stage().act(session::GoToLessonStep{1});
    harness.settle();
    CHECK(harness.widget("body.0/0").y < steps_text - 100);  // no goals above the second step
    harness.stage().act(session::GoToLessonStep{n - 2});
    harness.settle();
    CHECK(harness.has_widget("make.change"));
    CHECK_FALSE(harness.has_widget("make.break"));
    REQUIRE(harness.has_widget("body.0/0"));  // [rank 5] in the text
    harness.click(harness.widget("body.0/0"));
    harness.settle();
    CHECK(harness.state().selection.rank == 5);
}

TEST_CASE("a table in a lesson's text has columns and rows, and its links work") {
    for (const float scale : {1.0F, 1.5F}) {
        test::Harness harness(1280, 1600);
        auto lesson = std::make_shared<session::Document>(*test::lesson());
        const std::string table =
            "Before.\n\n| op | of | long words that have to wrap in their own cell |\n"
            "| `all_gather` | [net1](unit:net1) | [rank 1](rank:1) |\n|  | [net2](unit:net2) | [rank "
            "2](rank:2) |\n\n"
            "Behind [rank 3](rank:3).";
        lesson->steps[0].body = {table, table};
        lesson->before.clear();
        harness.open(lesson);
        harness.stage().act(session::SetScale{scale});
        harness.settle();
        const view::Point net1 = harness.widget("body.1.1.1/0"), net2 = harness.widget("body.1.2.1/0"),
                          one = harness.widget("body.1.1.2/0"), two = harness.widget("body.1.2.2/0"),
                          behind = harness.widget("body.2/0");
        CHECK(net1.x == net2.x);
        CHECK(one.x > net1.x + 20);
        CHECK(net1.y == one.y);
        CHECK(net2.y > net1.y + 20);
        CHECK(behind.y > two.y + 20);
        harness.click(two);
        harness.settle();
        CHECK(harness.state().selection.rank == 2);
    }
}

TEST_CASE("a table with far more columns than there is room for is drawn all the same") {
    test::Harness harness(1280, 2400);
    auto lesson = std::make_shared<session::Document>(*test::lesson());
    std::string head, row;
    for (int column = 0; column < 60; ++column) {
        head += "| 列 ";
        row += "| [rank 1](rank:1) ";
    }
    const std::string table = head + "|\n" + row + "|\n\nBehind [rank 2](rank:2).";
    lesson->steps[0].body = {table, table};
    lesson->before.clear();
    harness.open(lesson);
    harness.settle();
    harness.click(harness.widget("body.1/0"));
    harness.settle();
    CHECK(harness.state().selection.rank == 2);
}

TEST_CASE("a lesson whose fault ends its run is opened with what was recorded up to there") {
    const test::Folder folder;
    folder.write("lesson.en.md", "# A dead rank\n\n## one: Who waits\n\nTwo steps, {{steps}} done.\n");
    folder.write("lesson.zh.md", "# 退出的 rank\n\n## one: 谁在等\n\n两步，做完 {{steps}} 步。\n");
    folder.write("scenario.toml", R"(format = 1
[model]
kind = "toy"
[train]
steps = 2
global_batch = 8
[mesh]
shape = [2]
[parallel]
data = "fsdp2"
[[faults]]
kind = "kill"
rank = 1
step = 1
[[lesson.step]]
id = "one"
[[lesson.number]]
id = "steps"
sql = "SELECT count(*) FROM losses"
)");
    const auto document = session::load_document(folder.file("scenario.toml"), {}, nullptr);
    CHECK(document->trace->info.failure.find("diagnosis.lost") != std::string::npos);
    REQUIRE(document->steps.size() == 1);
    CHECK(document->steps[0].body.en == "Two steps, 1 done.");
    Harness app;
    app.open(document);
    app.settle();
    CHECK(app.has_widget("tab0"));
}

TEST_CASE(
    "a step about memory is read beside its picture, and a run without a lesson gives memory its place") {
    test::Harness harness;
    harness.open(test::lesson());
    harness.stage().act(session::GoToLessonStep{7});
    harness.settle();
    REQUIRE(harness.state().view == view::ViewKind::memory);
    CHECK(harness.has_widget("body.0/0"));
    auto run = std::make_shared<session::Document>(*test::lesson());
    run->steps.clear();
    harness.open(run);
    harness.stage().act(session::SetView{view::ViewKind::memory});
    harness.settle();
    CHECK(harness.shape("rank", 0).x < 300);
}

TEST_CASE("each step begins at its top, also one that was left scrolled, and that of another lesson") {
    test::Harness harness;
    harness.open(test::lesson("63_hsdp"));
    harness.settle();
    const auto scrolled_down = [&] {
        const float top = harness.widget("step0").y;
        harness.wheel({150, 300}, -20);
        harness.settle();
        CHECK(harness.widget("step0").y < top - 20);
    };
    const float top = harness.widget("step0").y;
    scrolled_down();
    harness.click(harness.widget("lesson_on"));
    harness.settle();
    harness.stage().act(session::GoToLessonStep{0});
    harness.frames();  // not one frame stands elsewhere
    CHECK(harness.widget("step0").y == top);
    harness.settle();
    CHECK(harness.widget("step0").y == top);
    scrolled_down();
    const auto other_at = [](test::Harness& window) {
        window.open(test::lesson("12_device_mesh"));
        window.settle();
        return window.widget("step0").y;
    };
    test::Harness anew;
    CHECK(other_at(harness) == other_at(anew));
}

TEST_CASE("a lesson's end leads to the next in the course, the last one's to none") {
    const auto course = session::find_lessons({{test::source_root() + "/scenarios"}});
    const auto at = [&](const char* folder) {
        return std::ranges::find_if(
            course, [&](const session::LessonCard& each) { return session::folder_of(each.id) == folder; });
    };
    for (const char* name : {"11_processes", "104_published"}) {
        test::Harness harness;
        harness.stage().act(session::OfferLessons{course});
        harness.open(test::lesson(name));
        CHECK_FALSE(harness.has_widget("lesson_next"));
        const auto last = static_cast<int32_t>(harness.state().document->steps.size()) - 1;
        harness.stage().act(session::GoToLessonStep{last});
        harness.settle();
        const auto next = at(name) + 1;
        REQUIRE(harness.has_widget("lesson_next") == (next != course.end()));
        if (next == course.end()) continue;
        harness.click(harness.widget("lesson_next"));
        CHECK(harness.stage().take_effects().open == std::vector<std::string>{next->id});
    }
}

TEST_CASE("the end of a lesson and the logo lead to all lessons") {
    for (const bool by_logo : {false, true}) {
        test::Harness harness;
        harness.open(test::lesson());
        const auto last = static_cast<int32_t>(harness.state().document->steps.size()) - 1;
        harness.stage().act(session::GoToLessonStep{last - 1});
        harness.settle();
        CHECK_FALSE(harness.has_widget("lesson_end"));
        harness.click(harness.widget("lesson_on"));
        harness.settle();
        REQUIRE(harness.has_widget("lesson_end"));
        CHECK_FALSE(harness.has_widget("lesson_on"));
        harness.click(harness.widget(by_logo ? "home" : "lesson_end"));
        harness.settle();
        CHECK(harness.state().document == nullptr);
        CHECK(harness.has_widget("open_path"));
    }
}
