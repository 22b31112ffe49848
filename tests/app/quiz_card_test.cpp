// A question's card: what becomes of an answer, and the way to it.
#include "app/gui/session/session.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("what became of an answer comes into view, and a wrong one is typed over") {
    for (const auto language : {view::Language::en, view::Language::zh}) {
        test::Harness harness;
        harness.stage().act(session::SetLanguage{language});
        harness.open(test::lesson("11_processes"));
        harness.stage().act(session::GoToLessonStep{1});
        harness.settle();
        const std::string id = "local-rank";
        const float field = harness.widget(id + ".number").y;
        harness.click(harness.widget(id + ".number"));
        harness.type("77");
        harness.frames(2);
        harness.enter();
        harness.settle();
        REQUIRE(harness.state().quizzes.at(id).missed == "77");
        REQUIRE(harness.has_widget(id + ".reveal"));
        const float foot = harness.widget("lesson_on").y - 29;
        CHECK(harness.widget(id + ".reveal").y + 20 <= foot);
        CHECK(harness.widget(id + ".number").y <= field);
        harness.type("0");
        harness.frames(2);
        CHECK(harness.state().quizzes.at(id).guess == "0");
    }
}

TEST_CASE("a question below the column's foot is told there, and a press leads to it") {
    test::Harness harness(1280, 560);
    harness.open(test::lesson("11_processes"));
    harness.settle();
    REQUIRE(session::open_question(harness.state()) != nullptr);
    const std::string id = session::open_question(harness.state())->id;
    REQUIRE(harness.has_widget("question_below"));
    harness.click(harness.widget("question_below"));
    harness.settle();
    CHECK_FALSE(harness.has_widget("question_below"));
    CHECK(harness.has_widget(id + ".choice0"));
}

TEST_CASE("Enter on what cannot be read as a number tells why, and that is no guess") {
    test::Harness harness;
    harness.open(test::lesson("11_processes"));
    harness.stage().act(session::GoToLessonStep{1});
    harness.settle();
    const std::string id = "local-rank";
    harness.click(harness.widget(id + ".number"));
    harness.type("7");
    harness.frames(2);
    harness.enter();
    harness.settle();
    const auto below_field = [&] {
        return harness.widget(id + ".reveal").y - harness.widget(id + ".number").y;
    };
    harness.type("one");
    harness.frames(2);
    const float before = below_field();
    harness.enter();
    harness.settle();
    CHECK(below_field() > before + 10);
    CHECK(harness.state().quizzes.at(id).missed == "7");
    harness.type("1");
    harness.frames(2);
    CHECK(below_field() == before);
}
