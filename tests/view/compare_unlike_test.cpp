// "Compare" of runs that are not alike: of other lengths and meshes, broken off, unrecorded, of other work.
#include <algorithm>

#include "app/gui/view/compare_view.h"
#include "app/gui/view/run_end.h"
#include "backends/registry.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/view/compare_stage.h"
#include "tests/view/picture_check.h"

using namespace meshscope;
using namespace meshscope::test::compare;

namespace {

std::shared_ptr<const trace::Trace> broken_off() {
    return run::run_up_to_failure(
               scenario::parse_scenario(kHsdp + "[[faults]]\nkind = \"kill\"\nrank = 3\nstep = 1\n"
                                                "phase = \"backward\"\n",
                                        "test.toml"),
               *backends::make_registry())
        .trace;
}

bool tells(const view::Picture& picture, const std::string& words) {
    return std::any_of(picture.text_lines.begin(), picture.text_lines.end(),
                       [&](const auto& line) { return line.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("runs of other lengths, meshes and sizes stand side by side") {
    std::string brief = kDdp;
    brief.replace(brief.find("steps = 3"), 9, "steps = 1");
    brief.replace(brief.find("[4]"), 3, "[2]");
    brief.replace(brief.find("ranks_per_node = 2"), 18, "ranks_per_node = 1");
    const Side side({three()[2], trace_of(brief)});
    CHECK(view::compared_step(*side.traces[1], 2) == 0);
    auto runs = side.runs(0, 1);
    const auto picture = view::compare_view(side.input({1000, 700}), runs);
    CHECK_FALSE(test::find(picture, "run_event", 1).empty());
    const auto facts = view::compare_facts(side.input({420, 800}), runs);
    CHECK(std::any_of(facts.text_lines.begin(), facts.text_lines.end(), [](const auto& l) {
        return l.find("trained 3 steps") != std::string::npos &&
               l.find("cannot be equal") != std::string::npos;
    }));
}

TEST_CASE("a run that ended early is shown in the step it ended in, named so, and its part is not judged") {
    const Side side({three()[2], broken_off()});
    const auto end = view::run_end(*side.traces[1], 3);
    REQUIRE(end);
    auto runs = side.runs(0, 0);
    runs[1].end = &*end;
    view::Input input = side.input({1100, 700});
    input.cursor.t_ns = time::span_of_step(*side.traces[0], side.clocks[0], 1).begin_ns + 1;
    const auto picture = view::compare_view(input, runs);
    // Both in step 1, of which the second did a part; nothing of it is called better.
    CHECK(tells(picture, "FSDP2 · rank 0 · step 1, up to where it ended"));
    CHECK(tells(picture, "DDP · rank 0 · step 1:"));
    CHECK(tells(picture, "This run ended early, in step 1"));
    CHECK_FALSE(test::find(picture, "broke_off", 1).empty());
    for (const auto& line : picture.text_lines) {
        CHECK(line.find("%)") == std::string::npos);
        INFO(line);
    }
    for (const auto* shape : test::find(picture, "difference")) CHECK(shape->fill != view::Token::ok);
    // Past its end its own last step is named, not the other's.
    input.cursor.t_ns = time::span_of_step(*side.traces[0], side.clocks[0], 2).begin_ns + 1;
    const auto later = view::compare_view(input, runs);
    CHECK(tells(later, "FSDP2 · rank 0 · step 1, up to where it ended"));
    CHECK(tells(later, "DDP · rank 0 · step 2:"));
    const auto facts = view::compare_facts(side.input({420, 800}), runs);
    CHECK(test::says_part(facts, "ended early"));
}

TEST_CASE("a step that a run broke off in counts from its own begin: the one before may not have ended") {
    // A pipeline, whose rank 1 stops before the last gradient of step 1 goes to rank 0. That one waits for it
    // in step 1, and rank 2, which needs no more of that step, in step 2.
    const auto trace =
        run::run_up_to_failure(
            scenario::parse_scenario(
                "format = 1\n[run]\nbackend = \"fibers\"\n"
                "[model]\nkind = \"mlp\"\ndim = 4\nhidden = 4\nlayers = 3\nseed = 1\n"
                "[data]\nkind = \"regression\"\nsamples = 8\nseed = 1\n"
                "[train]\nsteps = 3\nglobal_batch = 4\n[mesh]\nshape = [3]\nnames = [\"pp\"]\n"
                "[parallel]\nschedule = \"gpipe\"\nmicrobatches = 2\n"
                "[[faults]]\nkind = \"stall\"\nrank = 1\nstep = 1\nrule = \"pp.send.gradient\"\nat = 1\n",
                "test.toml"),
            *backends::make_registry())
            .trace;
    const Side side({three()[0], trace});
    const auto end = view::run_end(*trace, 3);
    REQUIRE(end);
    REQUIRE(end->step == 2);
    auto runs = side.runs(0, 2);
    runs[1].end = &*end;
    const int64_t broke = view::broke_off_ns(*trace, side.clocks[1], *end);
    const int64_t begin = time::span_of_step(*trace, side.clocks[1], 2).begin_ns;
    REQUIRE(begin < broke);
    REQUIRE(broke < time::span_of_step(*trace, side.clocks[1], 1).end_ns);  // on the clock rank 0 waits on
    const view::RunFigures figures = view::run_figures(runs[1], 2);
    CHECK_FALSE(figures.whole);
    CHECK(figures.zero_ns() == begin);
    CHECK(figures.step_ns == broke - begin);
    const auto picture = view::compare_view(side.input({1200, 800}), runs);
    const auto ends = test::find(picture, "step_end", 1), bars = test::find(picture, "run_event", 1);
    REQUIRE(ends.size() == 1);
    CHECK_FALSE(bars.empty());
    for (const auto* bar : bars) CHECK(bar->box.x < ends[0]->points[0].x);
}

TEST_CASE("a step that a run did not record has no time, no line of a difference, and no change") {
    const auto off = trace_of(kDdp + "[record]\nlevel = \"off\"\n");
    for (const std::size_t unrecorded : {0, 1}) {
        INFO("the run that recorded nothing is number " << unrecorded);
        const Side side(unrecorded == 0 ? std::vector{off, three()[1]} : std::vector{three()[1], off});
        const auto picture =
            view::compare_view(side.input({1200, 800}, 1 - unrecorded), side.runs(1 - unrecorded));
        const auto names_none = [](const std::string& text) {
            return text.find("\u22121 ns") == std::string::npos && text.find("-1 ns") == std::string::npos;
        };
        for (const auto& line : picture.text_lines) {
            INFO(line);
            CHECK(names_none(line));
            CHECK(line.find(" 0 %") == std::string::npos);
        }
        for (const auto& shape : picture.shapes) CHECK(names_none(shape.text));
        CHECK(tells(picture, "have no figures of one and the same whole step"));
        CHECK(tells(picture, ": —, — exposed"));
        for (const auto* shape : test::find(picture, "difference")) CHECK(shape->id.a != -1);
    }
}

TEST_CASE("runs that do other work are named as such, key by key, and neither is called better") {
    using Trait = view::RunTrait;
    const Side side({three()[0], three()[1], three()[2]});
    const std::vector<Trait> base{{Trait::Kind::work, "model.layers", "2"},
                                  {Trait::Kind::work, "train.global_batch", "8"},
                                  {Trait::Kind::how, "mesh", "4"},
                                  {Trait::Kind::how, "backend", "threads"}};
    auto other = base, alike = base;
    other[0].value = "4";
    other[1].value = "16";
    alike[2].value = "2 × 2";
    alike[3].value = "tcp";
    auto runs = side.runs();
    runs[0].traits = &base;
    runs[1].traits = &other;
    runs[2].traits = &alike;
    const auto picture = view::compare_view(side.input({1200, 800}), runs);
    CHECK(tells(picture, "model.layers 2 / 4, train.global_batch 8 / 16"));
    CHECK(tells(picture, "mesh 4 / 2 × 2, backend threads / tcp"));
    bool judged = false;
    for (const auto* shape : test::find(picture, "difference")) {
        if (shape->id.b == 1) {
            CHECK(shape->fill != view::Token::ok);
            CHECK(shape->fill != view::Token::err);
            CHECK(shape->text.find('%') == std::string::npos);
        }
        judged = judged || (shape->id.b == 2 && shape->text.find('%') != std::string::npos);
    }
    CHECK(judged);  // another mesh is what is compared
}

TEST_CASE("another number of ranks or other hardware is named, and the change has no colour") {
    std::string brief = kDdp;
    brief.replace(brief.find("[4]"), 3, "[2]");
    const Side side({three()[0], trace_of(brief)});
    const auto picture = view::compare_view(side.input({1200, 800}), side.runs());
    CHECK(tells(picture, "ranks 4 / 2"));
    bool change = false;
    for (const auto* shape : test::find(picture, "difference")) {
        CHECK(shape->fill != view::Token::ok);
        CHECK(shape->fill != view::Token::err);
        change = change || shape->text.find('%') != std::string::npos;
    }
    CHECK(change);
}
