// What the pictures and the facts beside them tell: as text, by keyboard, of whatever is open.
#include <algorithm>
#include <set>

#include "app/gui/panels/layout.h"
#include "app/gui/panels/views.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/session/runner.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/session/session.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using test::Harness;
using window::Key;

TEST_CASE("the facts are copied as text") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    app.stage().act(session::GoToLessonStep{1});
    app.frames(3);
    app.click(app.widget("copy_facts"));
    const auto copied = app.stage().take_effects().copy;
    REQUIRE(copied.size() == 1);
    CHECK(copied[0].find("all_gather") != std::string::npos);
    CHECK(copied[0].find("220 B") != std::string::npos);
}

TEST_CASE("facts that are pictures end at the column's margin, as all others do") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    app.stage().act(session::SetView{view::ViewKind::memory});
    app.frames(3);
    float right = 0;
    for (const auto& place : app.stage().memory().shapes)
        if (place.id.kind == "sum") right = std::max(right, place.box.x + place.box.w);
    CHECK(right == Approx(1600 - 24).margin(0.6));
}

TEST_CASE("the facts of every view are copied as text, those that are pictures too") {
    Harness app(1600, 1000);
    app.open(test::lesson());
    for (const view::ViewKind kind : view::kViewKinds) {
        const std::string_view name = view::view_name(kind);
        app.stage().act(session::SetView{kind});
        app.stage().act(session::SetCursor{app.state().document->modelled.end_ns / 2});
        app.frames(3);
        if (!app.has_widget("copy_facts")) app.click(app.widget("drawer"));
        app.frames(2);
        app.click(app.widget("copy_facts"));
        const auto copied = app.stage().take_effects().copy;
        INFO(name);
        REQUIRE(copied.size() == 1);
        CHECK(copied[0].size() > 40);
    }
}

namespace {

/// The kinds of shapes that a pipeline's grid draws while a moved block is run, when it was, and when that is
/// undone.
void add_moved_block(std::set<std::string>& drawn) {
    const session::Document& lesson = *test::lesson("75_pipeline");
    session::RunRequest plain;
    plain.text = session::scenario_text(lesson);
    plain.path = lesson.trace->info.scenario_path;
    plain.name = "plain";
    Harness app(1600, 900);
    app.open(session::run_text(plain, {}, nullptr));
    app.stage().act(session::SetView{view::ViewKind::timeline});
    app.stage().act(session::SetForm{view::Form::grid});
    app.stage().act(session::MoveBlock{{3, 1, 2}});
    const auto look = [&] {
        app.frames(2);
        for (const auto& place : app.stage().memory().shapes) drawn.insert(place.id.kind);
    };
    look();
    const auto asked = app.stage().take_effects().run;
    REQUIRE(asked);
    app.stage().act(session::ShowRunning{});
    app.stage().act(session::RunEnded{*asked, session::run_text(*asked, {}, nullptr)});
    look();
    app.stage().act(session::UndoEdit{});
    look();
}

/// The kinds of shapes that a view draws in the middle of some lessons, in a wide window and in a narrow one.
std::set<std::string> drawn_kinds(view::ViewKind kind) {
    constexpr int kMoments = 16;
    std::set<std::string> drawn;
    std::vector<view::Form> forms;
    for (std::size_t f = 0; f < view::kFormViews.size(); ++f)
        if (view::kFormViews[f] == kind) forms.push_back(static_cast<view::Form>(f));
    for (const char* name :
         {"63_hsdp", "78_three_d", "22_ring", "23_algorithms", "66_true_peak", "75_pipeline", "77_cp"})
        for (const auto& [width, height] : {std::pair{1600, 1400}, std::pair{830, 760}}) {
            Harness app(width, height);
            app.open(test::lesson(name));
            if (panels::view_of(kind).least_runs > 1)
                app.stage().act(session::AddDocument{test::lesson("42_ddp")});
            app.stage().act(session::GoToLessonStep{2});  // where some lay variants beside
            app.stage().act(session::SetView{kind});
            app.stage().act(session::SelectCell{{{0}, {1}}});
            if (width < 1180) app.stage().act(session::ToggleDrawer{});
            const auto look = [&] {
                app.frames(1, 1.0);
                for (const auto& place : app.stage().memory().shapes) drawn.insert(place.id.kind);
            };
            look();  // as the step has it
            for (int i = 0; i <= kMoments; ++i) {
                // Some things stand there only where no question is open.
                if (i == kMoments / 2)
                    for (const auto& quiz : app.state().document->quizzes) {
                        app.stage().act(session::Guess{quiz.id, "0"});
                        app.stage().act(session::Reveal{quiz.id});
                    }
                // Zoomed into the traffic of two ranks, all of it can be shown again.
                if (i == kMoments)
                    app.stage().act(session::SetTraffic{{{}, {}, view::TrafficCell{{0, 2}, {0, 2}}}});
                if (!forms.empty())
                    app.stage().act(session::SetForm{forms[static_cast<std::size_t>(i) % forms.size()]});
                app.stage().act(
                    session::SetCursor{app.state().document->modelled.end_ns * (2 * i + 1) / (2 * kMoments)});
                look();
            }
        }
    if (kind == view::ViewKind::timeline) add_moved_block(drawn);
    return drawn;
}

}  // namespace

TEST_CASE("what a view tells that can be pressed is drawn by it, and told once") {
    for (const view::ViewKind kind : view::kViewKinds) {
        const std::set<std::string> drawn = drawn_kinds(kind);
        std::set<std::string_view> told;
        for (const panels::Target& target : panels::view_of(kind).targets) {
            INFO(view::view_name(kind) << ": " << target.kind);
            CHECK(told.insert(target.kind).second);
            CHECK((target.click != nullptr || target.status != nullptr));
            CHECK(drawn.count(std::string(target.kind)) == 1);
        }
    }
}

TEST_CASE("where there is no lower part the mesh's table is below and can be scrolled to") {
    test::Harness harness(640, 360);
    harness.open(test::lesson("12_device_mesh"));
    harness.settle();
    REQUIRE(harness.state().view == view::ViewKind::mesh);
    const float foot = 360 - panels::kFoot;
    CHECK(harness.shape("cell", 7, 0).y > foot);
    harness.wheel({320, 200}, -40);
    harness.settle();
    CHECK(harness.shape("cell", 7, 0).y < foot);
    harness.click(harness.shape("cell", 7, 0));
    harness.settle();
    CHECK(harness.state().selection.rank == 7);
}

TEST_CASE("choosing an event brings its rank's lanes into view") {
    test::Harness harness;
    harness.open(test::lesson("12_device_mesh"));
    harness.stage().act(session::SetView{view::ViewKind::timeline});
    harness.settle();
    for (const int32_t rank : {7, 0, 5}) {
        harness.stage().act(session::SelectEvent{{rank, 3}, false});
        harness.settle();
        const view::Point lane = harness.shape("rank", rank);
        CHECK(lane.y > 52);
        CHECK(lane.y < 700);
    }
}

TEST_CASE("a rank of the world that has no cell in the mesh is told so, a member is not") {
    Harness app;
    app.open(test::lesson("15_true_world"));
    app.stage().act(session::GoToLessonStep{3});
    const auto copied = [&] {
        app.settle();
        app.stage().act(session::CopyView{});
        app.frames(2);
        const auto texts = app.stage().take_effects().copy;
        REQUIRE(texts.size() == 1);
        return texts[0];
    };
    CHECK(copied().find("Rank 8 has no place in the mesh") != std::string::npos);
    app.stage().act(session::SelectRank{7});
    CHECK(copied().find("has no place in the mesh") == std::string::npos);
}

TEST_CASE("set-up is no step, an evaluation has no micro-batch, calls alone have no phase") {
    Harness app;
    const auto copied = [&](const char* lesson, int32_t step) {
        app.open(test::lesson(lesson));
        app.stage().act(session::GoToLessonStep{step - 1});
        app.settle();
        app.stage().act(session::CopyView{});
        app.frames(2);
        const auto texts = app.stage().take_effects().copy;
        REQUIRE_FALSE(texts.empty());
        return texts.back();
    };
    const std::string set_up = copied("47_accelerate", 3);  // DDP's broadcast of the model
    CHECK(set_up.find("broadcast") != std::string::npos);
    CHECK(set_up.find("step: ") == std::string::npos);
    CHECK(set_up.find("micro-batch") == std::string::npos);
    const std::string evaluation = copied("32_batch_sizes", 5);
    CHECK(evaluation.find("all_gather") != std::string::npos);
    CHECK(evaluation.find("micro-batch") == std::string::npos);
    CHECK(evaluation.find("evaluation, evaluation") == std::string::npos);
    CHECK(copied("21_collectives", 2).find("forward") == std::string::npos);
    CHECK(copied("42_ddp", 6).find("micro-batch") != std::string::npos);
}

TEST_CASE("a document that lies where a closed one lay is not taken for it") {
    const session::Document place;
    const auto kept_by_nobody = [](const session::Document*) {};
    std::shared_ptr<const session::Document> first(&place, kept_by_nobody);
    const panels::DocumentMark mark(first);
    CHECK(mark == panels::DocumentMark(first));
    first.reset();
    const std::shared_ptr<const session::Document> second(&place, kept_by_nobody);
    CHECK_FALSE(mark == panels::DocumentMark(second));
    CHECK(panels::DocumentMark() == panels::DocumentMark(nullptr));
}

TEST_CASE("the film of an attention goes from its beginning to its end on every rank") {
    const auto document = test::lesson("77_cp");
    const auto step = std::ranges::find(document->steps, "merge", &session::LessonStep::id);
    REQUIRE(step != document->steps.end());
    REQUIRE(step->at);
    const auto film = panels::view_of(view::ViewKind::tensors).film;
    const time::Interval span = film(*document, document->modelled, *step->at);
    const auto& trace = *document->trace;
    int calls = 0;
    for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank)
        for (const trace::Event& event : trace.ranks[rank].events) {
            if (event.step != 1 || trace.text(event.rule) != "cp.permute.kv") continue;
            const time::Interval at = document->modelled.events[rank][static_cast<std::size_t>(event.id)];
            CHECK((span.begin_ns <= at.begin_ns && at.end_ns <= span.end_ns));
            ++calls;
        }
    CHECK(calls == 12);
    // No longer than that: it would be over in a moment of a quarter of the step.
    const time::Interval whole = time::span_of_step(trace, document->modelled, 1);
    CHECK(span.end_ns - span.begin_ns < (whole.end_ns - whole.begin_ns) / 4);
}
