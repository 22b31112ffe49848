// How a run ended early: what its record tells, where the timeline marks it, what the banner says.
#include "app/gui/view/run_end.h"

#include <algorithm>
#include <limits>

#include "app/gui/view/collective_view.h"
#include "app/gui/view/timeline_view.h"
#include "backends/registry.h"
#include "core/base/error.h"
#include "core/base/recorded_failure.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::find;
using Kind = view::RunEnd::Kind;

namespace {

const std::string kDdp =
    "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\n"
    "shape = [4]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n";

std::string fault(const std::string& kind, int32_t rank, int32_t step, const std::string& more = "") {
    return "[[faults]]\nkind = \"" + kind + "\"\nrank = " + std::to_string(rank) +
           "\nstep = " + std::to_string(step) + "\n" + more;
}

std::shared_ptr<const trace::Trace> record_of(const std::string& text) {
    return run::run_up_to_failure(scenario::parse_scenario(text, "ended.toml"), *backends::make_registry())
        .trace;
}

struct Stand {
    explicit Stand(const trace::Trace& t, view::Language l = view::Language::en)
        : trace(t), texts(l), language(l) {}
    view::Input at(view::Size size, int64_t t_ns = 0) const {
        return {trace, clock, {t_ns}, selection, size, language, measure, texts};
    }
    const trace::Trace& trace;
    time::Clock clock = time::modelled(trace, time::classroom());
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts texts;
    view::Language language;
};

}  // namespace

TEST_CASE("a run that came to its end has ended no way that must be told") {
    CHECK_FALSE(view::run_end(*record_of(kDdp), 3));
}

TEST_CASE("a killed rank's record tells who died, in which step, and in which call") {
    const auto trace = record_of(kDdp + fault("kill", 3, 1, "rule = \"ddp.bucket.all_reduce\"\n"));
    const auto end = view::run_end(*trace, 3);
    REQUIRE(end);
    CHECK(end->kind == Kind::failed);
    CHECK(end->diagnosis == DiagnosisKind::lost);
    CHECK(end->what.id == "diagnosis.lost");
    CHECK(end->ranks == std::vector<int32_t>{3});
    CHECK(end->step == 1);
    CHECK(end->at.rank == 3);
    CHECK(end->at.event == trace->ranks[3].events.back().id);
    CHECK(view::end_title(*end).id == "view.end.title.lost");
    CHECK(view::end_advice(*end)[0].id == "view.end.advice.lost.fault.1");
    const Stand stand(*trace);
    const int64_t at = view::broke_off_ns(*trace, stand.clock, *end);
    CHECK(at > 0);
    CHECK(at <= stand.clock.end_ns);
}

TEST_CASE("calls that do not fit, and one that was left out, are told by their own kind") {
    const auto mismatch = view::run_end(
        *record_of(kDdp + fault("mismatch", 1, 1, "field = \"count\"\nrule = \"ddp.bucket.all_reduce\"\n")),
        3);
    REQUIRE(mismatch);
    CHECK(mismatch->diagnosis == DiagnosisKind::mismatch);
    CHECK(mismatch->step == 1);
    CHECK(mismatch->in_call);
    const auto missing =
        view::run_end(*record_of(kDdp + fault("skip", 2, 1, "rule = \"ddp.bucket.all_reduce\"\n")), 3);
    REQUIRE(missing);
    CHECK(missing->diagnosis == DiagnosisKind::missing);
    CHECK(missing->ranks == std::vector<int32_t>{2});
    CHECK(missing->at.rank != 2);  // it is the others that could not go on
    CHECK(missing->step == 2);
}

TEST_CASE("recovered, stopped and not finite records are told, and what a newer version says of its end") {
    trace::Trace trace = *record_of(kDdp);
    CHECK(view::run_end(trace, 5)->kind == Kind::stopped);
    trace.info.losses[1] = std::numeric_limits<double>::quiet_NaN();
    const auto nan = view::run_end(trace, 3);
    REQUIRE(nan);
    CHECK(nan->kind == Kind::not_finite);
    CHECK(nan->step == 1);
    CHECK(trace.event(nan->at.rank, nan->at.event).step == 1);
    trace.info.failure = failure_json(Error({"run.recovered", {{"steps", int64_t{2}}}}));
    trace.ranks[2] = {};
    CHECK(view::run_end(trace, 3)->unrecorded.empty());  // a rank may have done nothing
    trace.info.failure = with_unrecorded(trace.info.failure, {2});
    const auto recovered = view::run_end(trace, 3);
    REQUIRE(recovered);
    CHECK(recovered->kind == Kind::recovered);
    CHECK(recovered->unrecorded == std::vector<int32_t>{2});
    trace.info.failure = "what a later version writes";
    CHECK(view::run_end(trace, 3)->what.id == "view.end.unknown");
}

TEST_CASE("the timeline marks where the run broke off, at its time, and whom the diagnosis names") {
    const auto trace = record_of(kDdp + fault("kill", 3, 1, "rule = \"ddp.bucket.all_reduce\"\n"));
    const auto end = view::run_end(*trace, 3);
    const Stand stand(*trace);
    view::TimelineOptions options;
    CHECK(find(view::timeline_view(stand.at({1000, 700}), options), "broke_off").empty());
    options.end = &*end;
    const auto input = stand.at({1000, 700});
    const auto picture = view::timeline_view(input, options);
    const auto marks = find(picture, "broke_off", -1);
    REQUIRE_FALSE(marks.empty());
    const float x = view::timeline_axis(input, options).x(stand.clock.end_ns);
    CHECK(std::any_of(marks.begin(), marks.end(), [&](const view::Shape* mark) {
        return mark->points.size() == 2 && mark->points[0].x == Approx(x).margin(1);
    }));
    CHECK_FALSE(find(picture, "broke_off", 3).empty());
    CHECK(find(picture, "broke_off", 0).empty());
    CHECK(test::says_part(picture, stand.texts.text({"view.end.mark.run", {}})));
}

TEST_CASE("the banner tells the engine's sentence and what to do next, and its texts fit at every width") {
    const auto trace = record_of(kDdp + fault("kill", 3, 1));
    const auto end = view::run_end(*trace, 3);
    REQUIRE(end);
    for (const auto language : {view::Language::en, view::Language::zh}) {
        const Stand stand(*trace, language);
        const std::string sentence = stand.texts.text(end->what),
                          advice = stand.texts.text(view::end_advice(*end)[0]);
        for (const float width : {240.F, 480.F, 656.F, 1452.F}) {
            INFO("width " << width);
            const auto banner = view::run_end_view(stand.at({width, 1}), *end, {false, true});
            const auto problems = test::text_problems(banner, stand.measure);
            CHECK((problems.empty() ? "" : problems[0]) == "");
            for (const std::string& told : {sentence, advice})
                CHECK(std::count(banner.text_lines.begin(), banner.text_lines.end(), told) == 1);
            CHECK_FALSE(find(banner, "end_show").empty());
            // The buttons stand above all that is told, where a low banner shows them.
            const auto offering =
                view::run_end_view(stand.at({width, 1}), *end, {false, true, view::WithoutFault::offered});
            CHECK(test::text_problems(offering, stand.measure).empty());
            const auto rerun = find(offering, "end_rerun");
            REQUIRE_FALSE(rerun.empty());
            int told_below = 0;
            for (const view::Shape& shape : offering.shapes)
                if (shape.kind == view::ShapeKind::text && shape.face == view::Face::mono_small) {
                    CHECK(shape.box.y > rerun[0]->box.y);
                    ++told_below;
                }
            CHECK(told_below > 0);
            // Beside the facts, which have the exact words and the button, it is lower.
            const auto beside = view::run_end_view(stand.at({width, 1}), *end, {false, false});
            CHECK(beside.height < banner.height);
            CHECK(find(beside, "end_show").empty());
            CHECK(test::text_problems(beside, stand.measure).empty());
            const auto folded = view::run_end_view(stand.at({width, 1}), *end, {true, false});
            CHECK(folded.height < beside.height);
            CHECK(find(folded, "end_show").empty());
            CHECK_FALSE(find(folded, "end_fold").empty());
        }
    }
}

TEST_CASE("what to do next about a rank that died is what can be done: a thread has no log of its own") {
    auto trace = *record_of(kDdp + fault("kill", 3, 1));
    CHECK(view::end_advice(*view::run_end(trace, 3))[0].id == "view.end.advice.lost.fault.1");
    trace.info.backend = "tcp";
    CHECK(view::end_advice(*view::run_end(trace, 3))[0].id == "view.end.advice.lost.1");
}

TEST_CASE("ranks of an end are folded and told in the language's words, one or many or none") {
    const auto trace = record_of(kDdp + fault("kill", 3, 1));
    auto end = view::run_end(*trace, 3);
    REQUIRE(end);
    const auto title = [&](view::Language language) {
        return test::CatalogueTexts(language).text(view::end_title(*end));
    };
    end->step = 1;
    CHECK(title(view::Language::en) == "This run ended early, in step 1: rank 3 died");
    CHECK(title(view::Language::zh) == "这次运行在第 1 步提前结束：rank 3 异常退出");
    end->ranks.clear();
    for (int32_t rank = 0; rank < 60; ++rank) end->ranks.push_back(rank);
    end->ranks.push_back(63);
    end->unrecorded = end->ranks;
    for (const auto kind :
         {DiagnosisKind::lost, DiagnosisKind::missing, DiagnosisKind::stalled, DiagnosisKind::timeout}) {
        end->diagnosis = kind;
        INFO(name(kind));
        CHECK(title(view::Language::en)
                  .find(": " + std::string(kind == DiagnosisKind::timeout ? "the wait for " : "") +
                        "ranks 0–59, 63 ") != std::string::npos);
        CHECK(title(view::Language::zh).find("rank 0–59, 63 ") != std::string::npos);
        for (const auto language : {view::Language::en, view::Language::zh}) {
            const Stand stand(*trace, language);
            for (const auto& line : view::run_end_view(stand.at({480, 1}), *end, {false, true}).text_lines) {
                INFO(line);
                CHECK(line.find("58") == std::string::npos);
                if (language == view::Language::zh) CHECK(line.find("ranks") == std::string::npos);
            }
        }
        // Where the record names nobody, nobody is spoken of.
        auto nobody = *end;
        nobody.ranks.clear();
        CHECK(view::end_title(nobody).id == "view.end.title.failed");
        CHECK(view::end_advice(nobody)[0].id == "view.end.advice.failed.1");
    }
}

TEST_CASE("a call that broke off on one of its ranks is not called complete, nor its bytes a part of none") {
    trace::Trace trace = *record_of(kDdp);
    view::EventRef call;
    for (const auto& event : trace.ranks[0].events)
        if (event.kind == trace::EventKind::collective && event.step == 1 && event.sent_bytes > 0)
            call = {0, event.id};
    REQUIRE(call.event > 0);
    const auto at_its_end = [&](view::Selection& selection) {
        selection.event_rank = call.rank;
        selection.event = call.event;
        const Stand stand(trace);
        view::Input input = stand.at({1000, 560}, stand.clock.end_ns);
        const view::Input shown{input.trace, input.clock,    input.cursor,  selection,
                                input.size,  input.language, input.measure, input.texts};
        return view::collective_view(shown).text_lines;
    };
    const auto tells = [](const std::vector<std::string>& lines, const std::string& words) {
        return std::any_of(lines.begin(), lines.end(),
                           [&](const auto& line) { return line.find(words) != std::string::npos; });
    };
    view::Selection selection;
    CHECK(tells(at_its_end(selection), "complete"));
    // As it is recorded where rank 0 was stopped in the call and the others were through.
    trace.ranks[0].events[static_cast<std::size_t>(call.event)].sent_bytes = 0;
    trace.info.failure = failure_json(Error({"run.recovered", {{"steps", int64_t{1}}}}));
    const auto broken = at_its_end(selection);
    CHECK_FALSE(tells(broken, "complete"));
    CHECK(tells(broken, "broke off"));
    CHECK_FALSE(tells(broken, "of 0 B"));
}
