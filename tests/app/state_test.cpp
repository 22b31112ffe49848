#include <algorithm>

#include "app/gui/session/cursor_moves.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/view/collective_view.h"
#include "machine.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::session;
using test::Machine;
using test::with_lesson;

TEST_CASE("switching the clock keeps the place: the same event stays under the cursor") {
    Machine m = with_lesson();
    m.act(SelectRank{1});
    const auto& events = m.state.document->modelled.events[1];
    const auto middle = static_cast<size_t>(events.size() / 2);
    m.act(SelectEvent{{1, static_cast<int32_t>(middle)}, true});
    m.act(ClearSelection{});
    m.act(SelectRank{1});
    const auto before = shown_event(m.state);
    REQUIRE(before);
    m.act(SetClock{time::ClockKind::measured});
    const auto in = m.state.document->measured.events[1][static_cast<size_t>(before->event)];
    CHECK(m.state.cursor.t_ns >= in.begin_ns);
    CHECK(m.state.cursor.t_ns <= in.end_ns);
}

TEST_CASE("a selected event brings its rank along: Escape clears all but who is asking") {
    Machine m = with_lesson();
    m.act(SelectEvent{{2, 3}, false});
    CHECK(m.state.selection.rank == 2);
    CHECK(m.state.selection.event == 3);
    m.act(ClearSelection{});
    CHECK_FALSE(m.state.selection.rank);
    CHECK_FALSE(m.state.selection.event);
    CHECK(m.state.selection.asking_rank == 2);
}

TEST_CASE("Escape closes what is in front before it touches the selection") {
    Machine m = with_lesson();
    m.act(SelectRank{3});
    m.act(ToggleKeySheet{});
    m.act(ClearSelection{});
    CHECK_FALSE(m.state.key_sheet);
    CHECK(m.state.selection.rank == 3);
}

TEST_CASE("a lesson step brings its view, its rank and its event") {
    Machine m = with_lesson();
    const auto& steps = m.state.document->steps;
    REQUIRE(steps.size() == 11);  // eight of its own, two exercises, the summary
    for (int32_t i = 0; i < static_cast<int32_t>(steps.size()); ++i) {
        m.act(GoToLessonStep{i});
        const LessonStep& step = steps[static_cast<size_t>(i)];
        CHECK(m.state.view == step.view);
        if (step.at) {
            CHECK(shown_event(m.state) == *step.at);
            const auto at =
                m.state.document->modelled
                    .events[static_cast<size_t>(step.at->rank)][static_cast<size_t>(step.at->event)];
            CHECK(m.state.cursor.t_ns >= at.begin_ns);
            CHECK(m.state.cursor.t_ns <= at.end_ns);
        }
    }
    m.act(GoToLessonStep{99});
    CHECK(m.state.lesson_step == 10);
    m.act(GoToLessonStep{-1});
    CHECK(m.state.lesson_step == 0);
}

TEST_CASE("nothing is revealed without a guess, and no guess changes after") {
    Machine m = with_lesson();
    const std::string id = m.state.document->quizzes[0].id;
    m.act(Reveal{id});
    CHECK_FALSE(m.state.quizzes[id].revealed);
    m.act(Guess{id, "22"});
    m.act(Reveal{id});
    CHECK(m.state.quizzes[id].revealed);
    m.act(Guess{id, "33"});
    CHECK(m.state.quizzes[id].guess == "22");
}

TEST_CASE("a right guess is told at once, a wrong one can be made again, and only what was told is kept") {
    Machine m = with_lesson();
    const QuizCard& quiz = m.state.document->quizzes[0];
    const auto& kept = m.state.remembered.progress[m.state.document->name].answers;
    m.act(Check{quiz.id});
    m.act(Check{"no such question"});
    CHECK(m.state.quizzes[quiz.id].missed.empty());
    m.act(Guess{quiz.id, "31"});
    m.act(Check{quiz.id});
    CHECK(m.state.quizzes[quiz.id].missed == "31");
    CHECK_FALSE(m.state.quizzes[quiz.id].revealed);
    CHECK(kept.empty());
    m.act(Guess{quiz.id, "one"});  // no number: no guess either
    m.act(Check{quiz.id});
    CHECK(m.state.quizzes[quiz.id].missed == "31");
    m.act(Guess{quiz.id, quiz.answer});
    m.act(Check{quiz.id});
    CHECK(m.state.quizzes[quiz.id].revealed);
    CHECK(kept.at(quiz.id) == quiz.answer);
}

TEST_CASE("answers: numbers by tolerance, rank sets in any order, orders in theirs") {
    QuizCard quiz;
    quiz.answer = "110";
    quiz.kind = "number";
    CHECK(right_answer(quiz, "110"));
    CHECK(right_answer(quiz, " 110 "));
    CHECK_FALSE(right_answer(quiz, "109.9"));
    CHECK_FALSE(right_answer(quiz, ""));
    quiz.tolerance = 0.5;
    CHECK(right_answer(quiz, "109.6"));
    quiz.answer = "1056";
    CHECK(right_answer(quiz, "1,056 B"));
    quiz = {};
    quiz.answer = "[0, 2]";
    quiz.kind = "ranks";
    CHECK(right_answer(quiz, "2,0"));
    CHECK(right_answer(quiz, "0, 2, 0"));
    CHECK_FALSE(right_answer(quiz, "0"));
    CHECK_FALSE(right_answer(quiz, "0,1,2"));
    quiz.kind = "order";
    CHECK(right_answer(quiz, "0,2"));
    CHECK_FALSE(right_answer(quiz, "2,0"));
    quiz.answer = "F0,B0";
    CHECK(right_answer(quiz, "F0, B0"));
    CHECK_FALSE(right_answer(quiz, "B0, F0"));
    CHECK_FALSE(right_answer(quiz, "0,0"));
}

TEST_CASE("the lesson's numbers are the run's: 55 elements in, 110 out, 220 bytes") {
    // toy_hsdp2x2: net1 has 110 elements in two shards; a ring all_gather sends (n-1)/n of 440 B.
    const auto document = test::lesson();
    const auto& gather = document->steps[1];
    REQUIRE(gather.id == "gather");
    for (const std::string& body : {gather.body.en, gather.body.zh}) {
        CHECK(body.find("55") != std::string::npos);
        CHECK(body.find("110") != std::string::npos);
        CHECK(body.find("220") != std::string::npos);
        CHECK(body.find("{{") == std::string::npos);
    }
    CHECK(document->quizzes[0].answer == "33");
}

TEST_CASE("keys mean what the key sheet says") {
    using window::Key;
    Machine m = with_lesson();
    m.press(Key::digit3);
    CHECK(m.state.view == view::ViewKind::timeline);
    m.press(Key::digit1);
    CHECK(m.state.view == view::ViewKind::mesh);
    m.press(Key::l);
    CHECK(m.state.language == view::Language::zh);
    m.press(Key::t);
    CHECK(m.state.theme == window::ThemeKind::light);
    m.press(Key::plus, false, true);
    CHECK(m.state.scale == 1.25F);
    m.press(Key::digit0, false, true);
    CHECK(m.state.scale == 1.0F);
    m.press(Key::end);
    CHECK(m.state.cursor.t_ns == m.state.document->modelled.end_ns);
    m.press(Key::home);
    CHECK(m.state.cursor.t_ns == 0);
    m.press(Key::question, true);
    CHECK(m.state.key_sheet);
    m.press(Key::f2);
    CHECK(m.state.facts_drawer);
    m.press(Key::digit1, false, true);
    CHECK(m.state.lesson_folded);
    m.press(Key::down);
    CHECK(m.state.lesson_step == 1);
}

TEST_CASE("while text is typed, letters are text and Escape still works") {
    using window::Key;
    Machine m = with_lesson();
    m.press(Key::l, false, false, true);
    CHECK(m.state.language == view::Language::en);
    m.press(Key::space, false, false, true);
    CHECK_FALSE(m.state.playing);
    m.act(SelectRank{1});
    m.press(Key::escape, false, false, true);
    CHECK_FALSE(m.state.selection.rank);
}

TEST_CASE("text size stays within its limits") {
    Machine m = with_lesson();
    for (int i = 0; i < 30; ++i) m.press(window::Key::plus, false, true);
    CHECK(m.state.scale == kScaleMax);
    for (int i = 0; i < 30; ++i) m.press(window::Key::minus, false, true);
    CHECK(m.state.scale == kScaleMin);
}

TEST_CASE("the timeline's range is kept inside the run: all of it is no range") {
    Machine m = with_lesson();
    const int64_t end = m.state.document->modelled.end_ns;
    m.act(SetRange{-50, end / 2});
    CHECK(m.state.range_begin_ns == 0);
    CHECK(m.state.range_end_ns == end / 2);
    m.act(SetRange{0, end + 10});
    CHECK(m.state.range_end_ns == 0);
    m.act(SetRange{10, 10});
    CHECK(m.state.range_end_ns == 0);
}

TEST_CASE("without a document nothing that needs one does anything") {
    Machine m;
    for (const Action& action : std::vector<Action>{
             StepHop{1}, StepEvent{-1}, JumpTo{true}, TogglePlay{}, SetCursor{5}, SetRange{0, 5},
             GoToLessonStep{1}, Reveal{"x"}, Tick{1.0}, SetClock{time::ClockKind::measured}}) {
        m.act(action);
    }
    CHECK(m.state.cursor.t_ns == 0);
    CHECK_FALSE(m.state.playing);
    CHECK_FALSE(shown_event(m.state));
}

TEST_CASE("a selected event is let go when the cursor leaves it, by keys, by playing and on the ruler") {
    Machine m = with_lesson();
    const trace::Trace& trace = *m.state.document->trace;
    const auto call = std::find_if(
        trace.ranks[0].events.begin(), trace.ranks[0].events.end(),
        [](const trace::Event& e) { return e.step == 1 && e.kind == trace::EventKind::collective; });
    REQUIRE(call != trace.ranks[0].events.end());
    const time::Interval at = m.state.document->modelled.events[0][static_cast<size_t>(call->id)];
    const auto pinned = [&] { return m.state.selection.event == call->id; };
    const auto pin = [&] {
        m.act(SelectEvent{{0, call->id}, true});
        REQUIRE(pinned());
    };
    pin();
    m.act(SetCursor{at.begin_ns});
    CHECK(pinned());
    m.act(SetCursor{at.end_ns});
    CHECK(pinned());  // its end is still of it
    m.act(SetCursor{at.begin_ns - 1});
    CHECK_FALSE(pinned());
    CHECK(m.state.selection.rank == 0);  // whom the picture is about stays
    pin();
    m.act(JumpTo{false});
    CHECK_FALSE(pinned());
    pin();
    m.act(JumpTo{true});
    CHECK_FALSE(pinned());
    pin();
    for (int i = 0; i < 40 && m.state.cursor.t_ns <= at.end_ns; ++i) {
        m.act(StepHop{1});
        m.settle();
        CHECK(pinned() == (m.state.cursor.t_ns <= at.end_ns));
    }
    CHECK_FALSE(pinned());
    pin();
    m.act(TogglePlay{});
    for (int i = 0; i < 100000 && m.state.playing && m.state.cursor.t_ns <= at.end_ns; ++i) {
        CHECK(pinned());
        m.act(Tick{0.001});
        if (!m.state.playing) m.act(TogglePlay{});  // it stops where a lesson's call ends
    }
    CHECK_FALSE(pinned());
    m.act(TogglePlay{});
    // The other clock has it elsewhere, and the cursor goes along.
    pin();
    m.act(SetClock{time::ClockKind::measured});
    CHECK(pinned());
}

TEST_CASE("in the view of calls the facts are those of the call in the picture, wherever the cursor is") {
    Machine m = with_lesson();
    m.act(SetView{view::ViewKind::collective});
    const Document& document = *m.state.document;
    m.act(SelectRank{1});
    for (int64_t k = 0; k <= 200; ++k) {
        m.act(SetCursor{document.modelled.end_ns * k / 200});
        const auto facts = shown_event(m.state);
        const auto picture =
            view::shown_collective(*document.trace, document.modelled, m.state.cursor, m.state.selection);
        REQUIRE(facts);
        REQUIRE(picture);
        CHECK(facts->rank == picture->rank);
        CHECK(facts->event == picture->event);
    }
    // A computation that is selected stands beside the call of its unit.
    for (const trace::Event& e : document.trace->ranks[1].events) {
        if (e.kind != trace::EventKind::compute || document.trace->text(e.unit) != "net1" || e.step != 0)
            continue;
        m.act(SelectEvent{{1, e.id}, true});
        const auto picture =
            view::shown_collective(*document.trace, document.modelled, m.state.cursor, m.state.selection);
        REQUIRE(picture);
        CHECK(document.trace->text(document.trace->event(1, picture->event).unit) == "net1");
    }
}

TEST_CASE("a link to a unit in a lesson's text goes to a call of that unit where calls are shown") {
    test::Harness app(1600, 1000);
    app.open(test::lesson());
    app.stage().act(GoToLessonStep{1});
    app.frames(3);
    REQUIRE(app.state().view == view::ViewKind::collective);
    for (int i = 0; i < 6; ++i) {
        app.click(app.widget("body.0/0"));  // "To compute net1, …"
        const AppState& s = app.state();
        const auto picture =
            view::shown_collective(*s.document->trace, *shown_clock(s), s.cursor, s.selection);
        REQUIRE(picture);
        const trace::Event& shown = s.document->trace->event(picture->rank, picture->event);
        CHECK(s.document->trace->text(shown.unit) == "net1");
        CHECK(shown_event(s) == view::EventRef{picture->rank, picture->event});
    }
}

TEST_CASE("a step that names a variant has its run in front, at its moment, and the next step the lesson's") {
    const auto lesson = test::lesson("52_zero");
    const auto& steps = lesson->steps;
    const auto place = [&](const char* id) {
        return static_cast<int32_t>(std::ranges::find(steps, id, &LessonStep::id) - steps.begin());
    };
    Machine m;
    m.act(ShowDocument{lesson});
    m.act(GoToLessonStep{place("stage1")});
    CHECK(m.state.document == lesson);
    m.act(GoToLessonStep{place("stage2")});
    const LessonStep& step = steps[static_cast<std::size_t>(place("stage2"))];
    REQUIRE(step.run);
    REQUIRE(step.run_at);
    const auto front = m.state.document;
    CHECK(front->trace == step.run->trace);
    CHECK(front->trace != lesson->trace);
    CHECK(front->variant == "two");
    CHECK(front->variant_changes.find("zero2") != std::string::npos);
    CHECK(front->lesson == lesson);
    CHECK(front->steps.size() == steps.size());
    CHECK(front->quizzes.size() == lesson->quizzes.size());
    CHECK(m.state.runs == std::vector<std::shared_ptr<const Document>>{front});
    CHECK(m.state.selection.event == step.run_at->event);
    CHECK(shown_event(m.state) == *step.run_at);
    // The other run of the step, and back.
    m.act(ShowRunOfStep{false});
    CHECK(m.state.document == lesson);
    m.act(ShowRunOfStep{true});
    CHECK(m.state.document->trace == step.run->trace);
    // What is noted is noted of the lesson.
    CHECK(m.state.remembered.progress.size() == 1);
    CHECK(m.state.remembered.progress[lesson->name].seen.contains("stage2"));
    // From one variant's step to another's, and on to one of the lesson's own.
    m.act(GoToLessonStep{place("stage3")});
    CHECK(m.state.document == lesson);  // its question is open
    m.act(Guess{"stage-1-large", "1"});
    m.act(Reveal{"stage-1-large"});
    CHECK(m.state.document->variant == "change");
    m.act(GoToLessonStep{place("formula")});
    CHECK(m.state.document == lesson);
    CHECK(m.state.runs == std::vector<std::shared_ptr<const Document>>{lesson});
}

TEST_CASE(
    "another run in front and back: the step's variant is there again, and the sandbox edits the lesson") {
    const auto lesson = test::lesson("52_zero");
    const auto& steps = lesson->steps;
    const auto stage2 =
        static_cast<int32_t>(std::ranges::find(steps, "stage2", &LessonStep::id) - steps.begin());
    Machine m;
    m.act(ShowDocument{lesson});
    m.act(AddDocument{test::lesson()});
    m.act(GoToLessonStep{stage2});
    const auto variant = m.state.document->trace;
    m.act(BringToFront{1});
    CHECK(m.state.document == test::lesson());
    m.act(BringToFront{0});
    CHECK(m.state.document->trace == variant);
    CHECK(m.state.lesson_step == stage2);
    m.act(ToggleSandbox{});
    REQUIRE(m.state.sandbox);
    CHECK(m.state.document == lesson);
    CHECK(m.state.sandbox->draft.text() == lesson->trace->info.scenario);
}

TEST_CASE(
    "another run comes to the front at the step where the one before stood, a lesson at its own place") {
    Machine m;
    m.act(ShowDocument{test::lesson("42_ddp")});
    const auto made = m.state.document;
    auto plain = std::make_shared<Document>(*made);
    plain->steps.clear();
    m.act(AddDocument{plain, false});
    const auto step = [&] { return step_at_cursor(m.state, *m.state.document); };
    m.act(GoToLessonStep{0});
    move_cursor(m.state, time::span_of_step(*made->trace, *shown_clock(m.state), 1).begin_ns);
    REQUIRE(step() == 1);
    m.act(BringToFront{1});
    REQUIRE(m.state.document == plain);
    CHECK(step() == 1);
    m.act(BringToFront{0});
    CHECK(m.state.document == made);
}
