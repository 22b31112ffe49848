// What is told as text, for those who have the window read to them.
#include "app/gui/panels/inline_text.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("a question and what became of an answer are told as text, the answer only once it is revealed") {
    test::Harness harness;
    harness.open(test::lesson("11_processes"));
    harness.stage().act(session::GoToLessonStep{1});
    harness.stage().tell(true);
    harness.settle();
    const session::QuizCard* quiz = session::open_question(harness.state());
    REQUIRE(quiz != nullptr);
    const auto says = [&](const std::string& words) {
        return harness.stage().memory().told.find(words) != std::string::npos;
    };
    const auto say = [](const std::string& id, std::vector<MessageArg> args = {}) {
        return test::catalogue().text(Message{id, std::move(args)}, i18n::Language::en);
    };
    const std::string missed = say("ui.quiz.missed", {{"guess", "77"}});
    const std::string verdict = say("ui.quiz.verdict", {{"guess", "77"}, {"answer", quiz->answer}});
    CHECK(says(panels::without_marks(quiz->question.en)));
    CHECK_FALSE(says(missed));
    harness.click(harness.widget(quiz->id + ".number"));
    harness.type("77");
    harness.frames(2);
    harness.enter();
    harness.settle();
    CHECK(says(missed));
    CHECK_FALSE(says(panels::without_marks(quiz->reveal.en)));
    harness.stage().act(session::Reveal{quiz->id});
    harness.settle();
    CHECK_FALSE(says(missed));
    CHECK(says(verdict));
    CHECK(says(panels::without_marks(quiz->reveal.en)));
    harness.stage().act(session::ShowToast{"something passes"});
    harness.frames(2);
    CHECK(says("something passes"));
}
