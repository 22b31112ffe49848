// Algorithms side by side: what lands is what the engine recorded, for all of them, and the picture tells it.
#include <algorithm>

#include "app/gui/view/algorithms_view.h"
#include "app/gui/view/collective_state.h"
#include "core/comm/choice.h"
#include "core/time/profile.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/really_run.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::even;
using test::Ran;
using test::really_run;

namespace {

constexpr std::array kOps{CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                          CollectiveOp::broadcast, CollectiveOp::all_to_all};

/// Runs of one call under several algorithms, the first in front.
struct Stage {
    std::vector<Ran> runs;
    std::vector<time::Clock> clocks;
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts texts;
    view::Language language;

    explicit Stage(view::Language shown = view::Language::en) : texts(shown), language(shown) {
        selection.rank = selection.event_rank = selection.event = 0;
    }
    void add(Ran ran) {
        clocks.push_back(time::modelled(ran.trace, time::classroom()));
        runs.push_back(std::move(ran));
    }
    view::Input at(double part, view::Size size = {1000, 620}) const {
        const auto t = static_cast<int64_t>(static_cast<double>(clocks[0].end_ns) * part);
        return {runs[0].trace, clocks[0], {t}, selection, size, language, measure, texts};
    }
    view::AlgorithmsOptions options() const {
        view::AlgorithmsOptions options;
        options.name = "front";
        for (std::size_t i = 1; i < runs.size(); ++i)
            options.beside.push_back({"run " + std::to_string(i), runs[i].trace, clocks[i]});
        return options;
    }
};

/// Five all_reduces of one number a part on p ranks.
void five(Stage& stage, int32_t p, int64_t each = 1) {
    for (const Algorithm algorithm :
         {Algorithm::star, Algorithm::direct, Algorithm::tree, Algorithm::ring, Algorithm::halving_doubling})
        stage.add(really_run(CollectiveOp::all_reduce, algorithm, even(p, each)));
}

}  // namespace

TEST_CASE("hop by hop every algorithm of every op completes its result, and never counts a rank twice") {
    for (const CollectiveOp op : kOps)
        for (const Algorithm algorithm : comm::algorithms_of(op))
            for (int32_t p = 2; p <= 9; ++p)
                for (const int64_t each : {1, 5}) {
                    const Ran ran = really_run(op, algorithm, even(p, each));
                    const auto clock = time::modelled(ran.trace, time::classroom());
                    const auto call = view::call_landings(ran.trace, clock, {0, 0}, nullptr);
                    INFO(name(op) << " " << name(algorithm) << " p=" << p << " parts of " << each);
                    REQUIRE(call->done());
                    CHECK(call->all > 0);
                    CHECK(call->complete.front().second < call->all);
                    const auto state = view::collective_after(ran.trace, ran.instance, 1 << 20);
                    CHECK(call->rounds == state.rounds);
                    std::size_t hops = 0;
                    int64_t before = 0;
                    std::vector<view::CallCell> cells = call->cells;
                    bool sound = true, in_order = true;
                    for (const view::Landing& landing : call->landings) {
                        hops += landing.n_links;
                        in_order = in_order && landing.end_ns >= before && landing.begin_ns < landing.end_ns;
                        before = landing.end_ns;
                        for (std::size_t k = landing.first; k < landing.last; ++k) {
                            const view::CallChange& change = call->changes[k];
                            cells[call->at(static_cast<std::size_t>(change.member),
                                           static_cast<std::size_t>(change.column))] = change.cell;
                            sound = sound && change.cell.count <= p;
                        }
                    }
                    CHECK(sound);
                    CHECK(in_order);
                    CHECK(hops == state.hops.size());
                    CHECK(before <= call->length_ns);
                    bool ends = true;
                    for (std::size_t at = 0; at < cells.size(); ++at)
                        ends = ends && (call->wanted[at] == 0 || cells[at].count == call->wanted[at]);
                    CHECK(ends);
                }
}

TEST_CASE("the numbers in the cells are those that the engine recorded: at the end its output") {
    for (const Algorithm algorithm : comm::algorithms_of(CollectiveOp::all_reduce))
        for (const int32_t p : {2, 3, 4, 7, 8}) {
            const Ran ran = really_run(CollectiveOp::all_reduce, algorithm, even(p, 1));
            const auto clock = time::modelled(ran.trace, time::classroom());
            const auto call = view::call_landings(ran.trace, clock, {0, 0}, nullptr);
            std::vector<view::CallCell> cells = call->cells;
            for (const view::CallChange& change : call->changes)
                cells[call->at(static_cast<std::size_t>(change.member),
                               static_cast<std::size_t>(change.column))] = change.cell;
            INFO(name(algorithm) << " p=" << p);
            REQUIRE(call->columns() == static_cast<std::size_t>(p));
            for (std::size_t m = 0; m < ran.trace.ranks.size(); ++m)
                for (const auto& snapshot : ran.trace.ranks[m].snapshots)
                    for (std::size_t c = 0; c < call->columns(); ++c) {
                        const float recorded =
                            ran.trace.ranks[m].values[static_cast<std::size_t>(snapshot.values) + c];
                        const bool input = snapshot.kind == trace::SnapshotKind::input;
                        const view::CallCell& cell =
                            input ? call->cells[call->at(m, c)] : cells[call->at(m, c)];
                        CHECK(cell.known);
                        CHECK(cell.value == recorded);
                    }
        }
}

TEST_CASE(
    "of several algorithms the one that ends first is told, once it has ended, and only where they compare") {
    Stage stage;
    five(stage, 4);
    const auto rows = view::algorithm_rows(stage.at(0), stage.options());
    REQUIRE(rows.size() == 5);
    // A small buffer: rounds decide, so the one that has but one is first.
    for (const view::AlgorithmRow& row : rows) CHECK(row.first == (row.name == "direct"));
    const auto early = view::algorithms_view(stage.at(0.05), stage.options());
    CHECK(test::find(early, "first").empty());
    const auto late = view::algorithms_view(stage.at(1), stage.options());
    CHECK(test::find(late, "first").size() == 1);
    CHECK(test::says(late, "0 µs"));  // the ruler has one unit, told once
    CHECK_FALSE(test::says(late, "0 ns"));
    view::AlgorithmsOptions asked = stage.options();
    asked.sums = false;
    const auto covered = view::algorithms_view(stage.at(1), asked);
    CHECK(test::find(covered, "first").empty());
    CHECK_FALSE(test::says_part(covered, "µs"));
    CHECK_FALSE(test::says_part(covered, " B"));

    // Another size is laid below, and not compared.
    stage.add(really_run(CollectiveOp::all_reduce, Algorithm::ring, even(4, 3)));
    const auto unlike = view::algorithm_rows(stage.at(0), stage.options());
    REQUIRE(unlike.size() == 6);
    CHECK_FALSE(unlike.back().comparable);
    // The ring stands there twice: the runs' names tell them apart.
    CHECK(unlike.back().name == "ring · run 5");
}

TEST_CASE(
    "two that end first are both first, and a call that two runs made alike has one row with both names") {
    Stage stage;
    five(stage, 4);
    const auto fastest = view::algorithm_rows(stage.at(0), stage.options())[1].landings->length_ns;
    // The tree as fast as direct: the same shape of clock, its hops squeezed into that time.
    time::Clock& tree = stage.clocks[2];
    const int64_t takes = tree.events[0][0].end_ns - tree.events[0][0].begin_ns;
    for (auto* list : {&tree.events, &tree.hops})
        for (auto& rank : *list)
            for (time::Interval& at : rank) at = {at.begin_ns * fastest / takes, at.end_ns * fastest / takes};
    const auto tied = view::algorithm_rows(stage.at(0), stage.options());
    REQUIRE(tied.size() == 5);
    for (const view::AlgorithmRow& row : tied) {
        const bool both = row.name == "direct" || row.name == "tree";
        CHECK(row.first == both);
        CHECK(row.tied == both);
    }
    const auto late = view::algorithms_view(stage.at(1), stage.options());
    CHECK(test::find(late, "first").size() == 2);
    CHECK(test::says(late, "first to end, tied"));

    stage.add(really_run(CollectiveOp::all_reduce, Algorithm::ring, even(4, 1)));
    const auto rows = view::algorithm_rows(stage.at(0), stage.options());
    REQUIRE(rows.size() == 5);
    CHECK(rows[3].name == "ring");
    CHECK(rows[3].runs == std::vector<std::string>{"run 3", "run 5"});
    const auto told = view::algorithms_view(stage.at(1), stage.options()).text_lines;
    CHECK(std::ranges::count_if(told, [](const std::string& line) {
              return line.find("identical: run 3, run 5") != std::string::npos;
          }) == 1);
    CHECK(test::says_part(view::algorithms_facts(stage.at(1, {324, 620}), stage.options()), "run 3, run 5"));
    // On its own time it is no longer the same.
    for (time::Interval& at : stage.clocks[5].hops[1]) at.end_ns += 1;
    CHECK(view::algorithm_rows(stage.at(0), stage.options()).size() == 6);
}

TEST_CASE("rows are ordered by time, bytes or rounds, and what does not compare stands below") {
    Stage stage;
    five(stage, 4);
    stage.add(really_run(CollectiveOp::all_reduce, Algorithm::ring, even(4, 3)));
    const auto tops = [&](view::AlgorithmOrder order) {
        view::AlgorithmsOptions options = stage.options();
        options.choice.order = order;
        const auto picture = view::algorithms_view(stage.at(1, {1280, 900}), options);
        std::vector<std::pair<float, std::string>> names;
        for (const view::Shape& s : picture.shapes)
            if (s.kind == view::ShapeKind::text && s.id.kind == "algorithm")
                names.emplace_back(s.box.y, s.text.substr(0, 4));
        std::ranges::sort(names);
        std::vector<std::string> words;
        for (const auto& [y, name] : names) words.push_back(name);
        return words;
    };
    using view::AlgorithmOrder;
    using Names = std::vector<std::string>;
    // On four ranks with α = 2 µs: one round of three messages a port, two of three, four and six of one.
    CHECK(tops(AlgorithmOrder::opened) == Names{"star", "dire", "tree", "ring", "halv", "ring"});
    CHECK(tops(AlgorithmOrder::time) == Names{"dire", "halv", "tree", "ring", "star", "ring"});
    CHECK(tops(AlgorithmOrder::rounds) == Names{"dire", "star", "tree", "halv", "ring", "ring"});
    // Rank 0 sends 48, 48, 32, 24 and 24 B.
    CHECK(tops(AlgorithmOrder::bytes) == Names{"ring", "halv", "tree", "star", "dire", "ring"});
}

TEST_CASE("a pip names its rank and whether it is in") {
    Stage stage;
    five(stage, 4);
    const auto picture = view::algorithms_view(stage.at(1, {1600, 900}), stage.options());
    std::size_t in = 0, out = 0;
    for (const view::Shape* const s : test::find(picture, "pip")) {
        const view::Pip pip = view::pip_of(s->id);
        CHECK((pip.rank >= 0 && pip.rank < 4 && pip.of >= 0 && pip.of < 4 && pip.column < 4));
        CHECK((s->fill == view::Token::line2) != pip.in);
        ++(pip.in ? in : out);
    }
    CHECK(in > 0);
    CHECK(out > 0);
    const view::Pip far{1023, 77, 1022, true}, read = view::pip_of(view::pip_id(far));
    CHECK((read.rank == far.rank && read.column == far.column && read.of == far.of && read.in));
}

TEST_CASE("what has just landed is lit for 160 ms while it plays, and not otherwise") {
    Stage stage;
    five(stage, 4);
    const auto call = view::algorithm_rows(stage.at(0), stage.options())[3].landings;
    view::AlgorithmsOptions options = stage.options();
    const double part = static_cast<double>(call->begin_ns + call->landings[1].end_ns) /
                        static_cast<double>(stage.clocks[0].end_ns);
    const auto lit = [&] {
        const auto picture = view::algorithms_view(stage.at(part, {1600, 900}), options);
        return std::ranges::count_if(picture.shapes, [](const view::Shape& s) {
            return s.kind == view::ShapeKind::rect && s.stroke == view::Token::text && s.width == 1.5F;
        });
    };
    CHECK(lit() == 0);
    options.ns_per_s = 1e4;
    CHECK(lit() > 0);
    options.rested_s = 0.17;
    CHECK(lit() == 0);
}

TEST_CASE("a followed chunk is outlined where it lands, in every algorithm") {
    Stage stage;
    five(stage, 4);
    const auto plain = view::algorithms_view(stage.at(1, {1600, 800}), stage.options());
    stage.selection.chunk = 1;
    const auto followed = view::algorithms_view(stage.at(1, {1600, 800}), stage.options());
    const auto outlined = [](const view::Picture& picture) {
        return std::ranges::count_if(picture.shapes, [](const view::Shape& s) {
            return s.kind == view::ShapeKind::rect && s.stroke == view::Token::sel &&
                   s.fill == view::Token::none;
        });
    };
    CHECK(outlined(plain) == 0);
    CHECK(outlined(followed) > 5 * 3);
}

TEST_CASE(
    "the picture of algorithms keeps its texts apart, in both languages, whatever its size and moment") {
    for (const auto language : {view::Language::en, view::Language::zh})
        for (const int32_t p : {2, 4, 8, 9, 16}) {
            Stage stage(language);
            five(stage, p, p == 8 ? 32 : 1);
            for (const view::Size size :
                 {view::Size{656, 560}, view::Size{980, 620}, view::Size{1280, 620}, view::Size{1500, 980}})
                for (const double part : {0.0, 0.07, 0.4, 1.0}) {
                    const auto picture = view::algorithms_view(stage.at(part, size), stage.options());
                    const auto problems = test::text_problems(picture, stage.measure);
                    INFO("p=" << p << " " << size.width << " x " << size.height << " at " << part);
                    CHECK((problems.empty() ? "" : problems[0]) == "");
                    const auto facts = view::algorithms_facts(stage.at(part, {324, 620}), stage.options());
                    const auto wrong = test::text_problems(facts, stage.measure);
                    CHECK((wrong.empty() ? "" : wrong[0]) == "");
                }
        }
}

TEST_CASE("many ranks: colours by count from nine on, one curve from 65 on, with few shapes") {
    Stage nine;
    five(nine, 9);
    CHECK(test::says_part(view::algorithms_view(nine.at(0.4), nine.options()), "1 to 9"));
    Stage many;
    for (const Algorithm algorithm :
         {Algorithm::tree, Algorithm::recursive_doubling, Algorithm::halving_doubling})
        many.add(really_run(CollectiveOp::all_reduce, algorithm, even(128, 1)));
    const auto picture = view::algorithms_view(many.at(0.5), many.options());
    CHECK(picture.shapes.size() < 2000);
    CHECK(test::find(picture, "part").empty());
    for (const view::AlgorithmRow& row : view::algorithm_rows(many.at(0), many.options())) {
        INFO(row.name);
        CHECK(row.done);
        CHECK(row.landings->all == 128 * 128);
        CHECK(row.landings->changes.empty());
        CHECK(row.landings->complete_at(0) == 0);
        CHECK(row.landings->complete_at(row.landings->length_ns) == 128 * 128);
    }
}

TEST_CASE("a call that broke off says so and is not first, and what makes no such call is named") {
    Stage stage;
    five(stage, 4);
    // The record of direct, which would be first, as a rank's death leaves it: some heard of others, no event
    // came to its end, so that none counts what it sent.
    trace::Trace& broken = stage.runs[1].trace;
    broken.info.failure = "{}";
    for (std::size_t r = 0; r < 4; ++r) {
        broken.ranks[r].events[0].sent_bytes = 0;
        if (r < 2) continue;
        broken.ranks[r].hops.clear();
        stage.clocks[1].hops[r].clear();
    }
    const auto rows = view::algorithm_rows(stage.at(0), stage.options());
    CHECK_FALSE(rows[1].done);
    CHECK_FALSE(rows[1].first);
    CHECK(rows[1].landings->complete.back().second < rows[1].landings->all);
    CHECK(test::says(view::algorithms_view(stage.at(1), stage.options()), "broke off"));
    CHECK(std::ranges::count(rows, true, &view::AlgorithmRow::first) == 1);
    stage.add(really_run(CollectiveOp::all_gather, Algorithm::ring, even(4, 1)));
    std::vector<std::string> without;
    CHECK(view::algorithm_rows(stage.at(0), stage.options(), &without).size() == 5);
    CHECK(without == std::vector<std::string>{"run 5"});
    CHECK(test::says_part(view::algorithms_view(stage.at(0), stage.options()), "run 5"));
}

TEST_CASE("what has nothing to lay side by side says why") {
    Stage stage;
    stage.add(really_run(CollectiveOp::all_reduce, Algorithm::ring, even(2, 2)));
    stage.runs[0].trace.ranks[0].events[0].op = CollectiveOp::barrier;
    const auto picture = view::algorithms_view(stage.at(0));
    CHECK(test::find(picture, "empty").size() > 0);
    CHECK(test::find(picture, "form").size() > 0);
}
