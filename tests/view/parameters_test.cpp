// Who keeps which rows and what becomes of them, over traces of real runs.
#include "app/gui/view/parameters.h"

#include <algorithm>
#include <map>
#include <set>

#include "app/gui/view/parameter_life.h"
#include "app/gui/view/parameters_picture.h"
#include "app/gui/view/parameters_view.h"
#include "app/gui/view/timeline_view.h"
#include "backends/registry.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::find;
using view::Block;
using view::Holding;

namespace {

/// A run of the toy (net1 10 → 10, net2 10 → 5), under the lessons' clock, ready for a view.
struct Run {
    explicit Run(const std::string& mesh_and_parallel, int steps = 2, const std::string& train = "") {
        const auto scenario = scenario::parse_scenario(
            "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[data]\nkind = \"regression\"\nsamples = "
            "24\nseed = 1\n"
            "[train]\nsteps = " +
                std::to_string(steps) + "\nglobal_batch = 24\n" + train +
                "[optimizer]\nkind = \"adam\"\nlr = 0.01\n[mesh]\n" + mesh_and_parallel,
            "test.toml");
        const auto registry = backends::make_registry();
        trace = *run::run_scenario(scenario, *registry).trace;
        clock = time::modelled(trace, time::classroom());
        units = view::parameter_units(trace);
    }
    view::Input at(int64_t t_ns, view::Size size = {900, 700}) const {
        return {trace, clock, {t_ns}, selection, size, view::Language::en, measure, texts};
    }
    const view::ShownParameter& parameter(const std::string& name) const {
        for (const auto& unit : units)
            for (const auto& p : unit.parameters)
                if (p.name == name) return p;
        throw std::runtime_error("no parameter " + name);
    }
    view::ParameterLife life(int32_t rank, int32_t step, const std::string& name) const {
        return view::life_of(trace, clock, rank, step, parameter(name));
    }
    time::Interval interval(int32_t rank, int32_t event) const {
        return clock.events[static_cast<std::size_t>(rank)][static_cast<std::size_t>(event)];
    }

    trace::Trace trace;
    time::Clock clock;
    std::vector<view::ParameterUnit> units;
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts texts{view::Language::en};
};

const std::string kHsdp =
    "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\nunits = [[\"net1\"], "
    "[\"net2\"]]\n";

std::string words(const view::ParameterLife& life) {
    std::string out;
    for (const auto& span : life.spans)
        out += (out.empty() ? "" : " ") + std::string(view::name(span.holding));
    return out;
}

/// The spans lie side by side and fill the step.
void check_whole(const view::ParameterLife& life) {
    REQUIRE_FALSE(life.spans.empty());
    for (std::size_t i = 0; i < life.spans.size(); ++i) {
        CHECK(life.spans[i].begin_ns < life.spans[i].end_ns);
        if (i > 0) CHECK(life.spans[i].begin_ns == life.spans[i - 1].end_ns);
    }
}

}  // namespace

TEST_CASE("elements of an array are whole rows and what hangs over") {
    trace::ParameterRun run;
    run.rows = run.n_rows = 10;
    run.columns = run.n_columns = 10;
    // FSDP1's three shards of 57 cut net1.weight (10, 10) at 57 and 100.
    CHECK(view::blocks_of(run, 0, 57) == std::vector<Block>{{0, 0, 5, 10}, {5, 0, 1, 7}});
    CHECK(view::blocks_of(run, 57, 43) == std::vector<Block>{{5, 7, 1, 3}, {6, 0, 4, 10}});
    CHECK(view::blocks_of(run, 42, 3) == std::vector<Block>{{4, 2, 1, 3}});
    CHECK(view::blocks_of(run, 42, 0).empty());
    // A row-wise cut of tensor parallelism: the right half of the columns.
    run.first_column = 5;
    run.n_columns = 5;
    CHECK(view::blocks_of(run, 0, 15) == std::vector<Block>{{0, 5, 3, 5}});
    run.padding = 1;
    CHECK(view::blocks_of(run).empty());
}

TEST_CASE("a copy gathered in an earlier step is there from the step's begin until it is dropped") {
    Run run(kHsdp);
    const view::ParameterLife usual = run.life(0, 1, "net1.weight");
    REQUIRE_FALSE(usual.holds(Holding::whole, usual.spans.front().begin_ns));
    // As if the first copy of the step had been made in the one before.
    auto& changes = run.trace.ranks[0].memory;
    for (auto& change : changes) {
        if (change.step != 1) continue;
        change.step = 0;
        if (change.category == MemoryCategory::unsharded_parameters && change.delta_bytes > 0 &&
            run.trace.text(change.label).starts_with("net1"))
            break;
    }
    const view::ParameterLife life = run.life(0, 1, "net1.weight");
    CHECK(life.holds(Holding::whole, life.spans.front().begin_ns));
    const auto dropped = std::ranges::find(life.truths, Holding::whole, &view::LifeSpan::holding);
    const auto as_before = std::ranges::find(usual.truths, Holding::whole, &view::LifeSpan::holding);
    REQUIRE(dropped != life.truths.end());
    CHECK(dropped->end_ns == as_before->end_ns);
}

TEST_CASE("units and keepers are the record's") {
    const Run run(kHsdp);
    REQUIRE(run.units.size() == 2);
    CHECK(run.units[0].name == "net1");
    CHECK(run.units[1].parameters.size() == 2);
    CHECK(run.units[1].parameters[1].name == "net2.bias");
    CHECK(run.units[1].parameters[1].columns == 1);
    // 10 rows on two ranks, twice: 0–4 and 5–9; of 5 rows 0–2 and 3–4.
    CHECK(view::keepers(run.trace, run.parameter("net1.weight").id, 4) == std::vector<int32_t>{0, 2});
    CHECK(view::keepers(run.trace, run.parameter("net1.weight").id, 5) == std::vector<int32_t>{1, 3});
    CHECK(view::keepers(run.trace, run.parameter("net2.weight").id, 2) == std::vector<int32_t>{0, 2});
    CHECK(view::keepers(run.trace, run.parameter("net2.bias").id, 3) == std::vector<int32_t>{1, 3});
}

TEST_CASE(
    "HSDP: a weight is sharded, gathered, whole, freed, gathered again, has a gradient, is summed and "
    "updated") {
    const Run run(kHsdp);
    for (int32_t rank = 0; rank < 4; ++rank)
        for (int32_t step = 0; step < 2; ++step) {
            const auto life = run.life(rank, step, "net1.weight");
            INFO("rank " << rank << " step " << step);
            check_whole(life);
            CHECK(words(life) == "kept gathering whole kept gathering whole gradient reducing updating");
            for (const auto& span : life.spans) {
                if (span.holding != Holding::gathering) continue;
                const auto& event = run.trace.event(rank, span.event);
                CHECK(event.op == CollectiveOp::all_gather);
                CHECK(run.trace.text(event.unit) == "net1");
                CHECK(run.interval(rank, span.event).begin_ns == span.begin_ns);
                CHECK(run.interval(rank, span.event).end_ns == span.end_ns);
            }
            // The sum ends with the replicas' all_reduce, not with the reduce_scatter.
            const auto& sum = life.spans[7];
            int64_t end = 0;
            for (const auto& e : run.trace.ranks[static_cast<std::size_t>(rank)].events)
                if (e.step == step && e.op == CollectiveOp::all_reduce &&
                    e.kind == trace::EventKind::collective && run.trace.text(e.unit) == "net1")
                    end = run.interval(rank, e.id).end_ns;
            CHECK(sum.end_ns == end);
            CHECK(run.trace.event(rank, life.spans.back().event).phase == Phase::optimizer);
        }
    // net2's sum is there long before the optimizer runs.
    CHECK(words(run.life(0, 0, "net2.weight")).find("reducing reduced updating") != std::string::npos);
}

TEST_CASE("what has arrived of a gather is what its hops brought, in the owners' places") {
    const Run run("shape = [4]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\nalgorithm = \"ring\"\n",
                  1);
    for (int32_t rank = 0; rank < 4; ++rank) {
        const trace::Event* gather = nullptr;
        for (const auto& e : run.trace.ranks[static_cast<std::size_t>(rank)].events)
            if (e.kind == trace::EventKind::collective && e.op == CollectiveOp::all_gather &&
                gather == nullptr)
                gather = &e;
        REQUIRE(gather != nullptr);
        const auto interval = run.interval(rank, gather->id);
        CHECK(view::arrived(run.trace, run.clock, interval.begin_ns, rank, *gather).empty());
        int64_t before = 0;
        for (int part = 0; part <= 6; ++part) {
            const int64_t t = interval.begin_ns + (interval.end_ns - interval.begin_ns) * part / 6;
            int64_t now = 0;
            for (const auto& piece : view::arrived(run.trace, run.clock, t, rank, *gather))
                now += piece.block.rows * piece.block.columns;
            CHECK(now >= before);
            before = now;
        }
        // At the end each number that others keep has come once, and none of this rank's own.
        std::map<std::string, std::vector<int>> seen;
        for (const auto& piece : view::arrived(run.trace, run.clock, interval.end_ns, rank, *gather)) {
            const auto& p = run.parameter(std::string(run.trace.text(piece.parameter)));
            auto& times = seen[p.name];
            times.resize(static_cast<std::size_t>(p.rows * p.columns));
            for (int64_t r = piece.block.row; r < piece.block.row + piece.block.rows; ++r)
                for (int64_t c = piece.block.column; c < piece.block.column + piece.block.columns; ++c)
                    ++times[static_cast<std::size_t>(r * p.columns + c)];
        }
        for (const auto& own : run.trace.ranks[static_cast<std::size_t>(rank)].parameters)
            for (const auto& block : view::blocks_of(own)) {
                const auto& p = run.parameter(std::string(run.trace.text(own.parameter)));
                auto& times = seen[p.name];
                times.resize(static_cast<std::size_t>(p.rows * p.columns));
                for (int64_t r = block.row; r < block.row + block.rows; ++r)
                    for (int64_t c = block.column; c < block.column + block.columns; ++c)
                        ++times[static_cast<std::size_t>(r * p.columns + c)];
            }
        CHECK(seen.size() == 4);
        for (const auto& [name, times] : seen) {
            INFO(name);
            CHECK(times == std::vector<int>(times.size(), 1));
        }
    }
}

TEST_CASE("FSDP1 gathers the flat parameter, also for a rank that keeps nothing of this one") {
    Run run("shape = [3]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp1\"\n");
    CHECK(words(run.life(0, 1, "net1.weight")) == "gathering whole gradient reducing reduced updating");
    const auto life = run.life(2, 1, "net1.weight");
    CHECK(words(life) == "gathering whole gradient reducing reduced updating");
    run.selection.parameter = "net1.weight";
    run.selection.rank = 2;
    const auto& whole = life.spans[1];
    const auto picture = view::parameters_view(run.at((whole.begin_ns + whole.end_ns) / 2));
    CHECK_FALSE(find(picture, "copy", 2, 0).empty());
    CHECK(find(picture, "kept", 2, 0).empty());
    CHECK(find(picture, "kept", 0, 0).size() == 2);  // rows 0–4 and a piece of row 5
    // As it travels: 171 numbers, the padding between and behind hatched.
    int padding = 0;
    for (const auto* s : find(picture, "run")) padding += s->pattern == view::Fill::hatch ? 1 : 0;
    CHECK(padding == 3);
    CHECK(test::says_part(picture, "6"));
    CHECK(test::says_part(picture, "FlatParameter"));
    const auto facts = view::parameters_facts(run.at(whole.begin_ns, {400, 700}));
    CHECK(test::says_part(facts, "keeps none of it"));
}

TEST_CASE(
    "a frozen parameter of FSDP1's array has a gradient, which is thrown away, and one of ZeRO-3's none") {
    const auto life_of = [](const std::string& data, const std::string& name) {
        const Run run("shape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"" + data +
                          "\"\nunits = [[\"net1\", \"net2\"]]\n",
                      2, "frozen = [\"net1.bias\"]\n");
        REQUIRE(run.parameter("net1.bias").frozen);
        return words(run.life(0, 1, name));
    };
    CHECK(life_of("fsdp1", "net1.bias").ends_with("gradient reducing reduced"));
    CHECK(life_of("fsdp1", "net1.weight").ends_with("gradient reducing updating"));
    CHECK(life_of("zero3", "net1.bias").find("gradient") == std::string::npos);
    CHECK(life_of("zero3", "net1.weight").ends_with("gradient reducing updating"));
}

TEST_CASE("DDP sums a gradient with its bucket, ZeRO gathers after the update, one rank does neither") {
    const Run ddp("shape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n");
    for (const char* name : {"net1.weight", "net2.bias"}) {
        const auto life = ddp.life(1, 1, name);
        INFO(name);
        check_whole(life);
        CHECK(words(life) == "kept gradient reducing reduced updating");
        CHECK(ddp.trace.event(1, life.spans[2].event).op == CollectiveOp::all_reduce);
    }
    const Run zero("shape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"zero1\"\n");
    const auto life = zero.life(0, 0, "net1.weight");
    CHECK(words(life).find("updating gathering") != std::string::npos);
    Run third("shape = [3]\nnames = [\"shard\"]\n[parallel]\ndata = \"zero3\"\n");
    third.selection.parameter = "net1.weight";
    CHECK(test::says_part(view::parameters_view(third.at(third.clock.end_ns / 2)), "One flat array"));
    const Run one("shape = [1]\nnames = [\"shard\"]\n[parallel]\ndata = \"none\"\n");
    CHECK(words(one.life(0, 1, "net2.weight")) == "kept gradient updating");
}

TEST_CASE("the picture shows each rank's own rows, the copy while it is there, and the gradient") {
    Run run(kHsdp);
    const auto life = run.life(0, 0, "net1.weight");
    for (const auto& span : life.spans) {
        const int64_t t = (span.begin_ns + span.end_ns) / 2;
        const auto picture = view::parameters_view(run.at(t));
        INFO(view::name(span.holding));
        for (int32_t rank = 0; rank < 4; ++rank) CHECK(find(picture, "kept", rank, 0).size() == 1);
        CHECK(find(picture, "copy", 0, 0).empty() != life.holds(Holding::whole, t));
        const bool gradient = span.holding == Holding::gradient || span.holding == Holding::reducing ||
                              life.holds(Holding::reduced, t);
        CHECK(find(picture, "gradient", 0, 0).empty() != gradient);
        CHECK(test::says(picture,
                         run.texts.text({std::string("view.holding.") + view::name(span.holding), {}})));
        CHECK(test::text_problems(picture, run.measure).empty());
    }
    // The kept rows are the upper half on rank 0, the lower on rank 1.
    const auto picture = view::parameters_view(run.at(0));
    const auto *upper = find(picture, "kept", 0, 0)[0], *lower = find(picture, "kept", 1, 0)[0];
    CHECK(upper->box.y + upper->box.h == Approx(lower->box.y).margin(1));
    CHECK(upper->box.h == Approx(lower->box.h).margin(1));
    CHECK(find(picture, "life", 0).size() >= 8);
}

TEST_CASE("a row can be followed: its band, its keepers, where it is in each state") {
    Run run(kHsdp);
    run.selection.parameter = "net1.weight";
    run.selection.row = 7;
    run.selection.rank = 0;
    const auto facts = view::parameters_facts(run.at(0, {420, 1200}));
    CHECK(test::says_part(facts, "[1, 3]"));  // who keeps it
    int here = 0, away = 0;
    for (const auto& line : facts.text_lines) {
        here += line.find("row 7 is here") != std::string::npos ? 1 : 0;
        away += line.find("row 7 is elsewhere") != std::string::npos ? 1 : 0;
    }
    CHECK(here == 3);  // whole twice, and as a gradient of its own samples
    CHECK(away >= 3);  // kept, kept, updated
    const auto picture = view::parameters_view(run.at(0));
    int bands = 0;
    for (const auto& s : picture.shapes) bands += s.stroke == view::Token::sel ? 1 : 0;
    CHECK(bands == 4);

    view::Selection selection;
    auto next = view::next_row(run.trace, selection, 1, 0);
    REQUIRE(next);
    CHECK(next->parameter == "net1.weight");
    CHECK(next->row == 0);
    selection.parameter = "net1.bias";
    selection.row = 9;
    next = view::next_row(run.trace, selection, 1, 0);
    CHECK(next->row == 9);  // the last
    next = view::next_row(run.trace, selection, 0, 1);
    CHECK(next->parameter == "net2.weight");
    CHECK(next->row == 4);  // it has five
    // A selected event brings its unit.
    selection = {};
    selection.event_rank = 0;
    for (const auto& e : run.trace.ranks[0].events)
        if (run.trace.text(e.unit) == "net2") selection.event = e.id;
    CHECK(view::shown_unit(run.trace, run.units, selection) == 1);
}

TEST_CASE("a selected parameter lights up in the timeline: what is not about it steps back") {
    Run run(kHsdp, 1);
    run.selection.parameter = "net1.bias";
    const auto picture = view::timeline_view(run.at(0, {2400, 900}));
    int about = 0, other = 0;
    for (const auto& e : run.trace.ranks[0].events) {
        const std::string_view unit = run.trace.text(e.unit);
        for (const auto* s : find(picture, "event", 0, e.id)) {
            if (s->kind != view::ShapeKind::rect) continue;
            const bool lit = e.kind == trace::EventKind::compute ? s->fill_alpha == Approx(1)
                                                                 : s->stroke_alpha == Approx(1);
            CHECK(lit == (unit == "net1"));
            ++(unit == "net1" ? about : other);
        }
    }
    CHECK(about > 5);
    CHECK(other > 5);
}

TEST_CASE("many ranks that keep the same share a column, and columns are joined before they vanish") {
    trace::Trace trace;
    trace.strings = {"", "w", "u"};
    trace.info.world_size = 4096;
    trace.ranks.resize(4096);
    for (int32_t r = 0; r < 4096; ++r) {
        trace::ParameterRun run;
        run.parameter = 1;
        run.unit = 2;
        run.rows = run.n_rows = 2048;
        run.columns = run.n_columns = 4;
        run.first = r % 2048 * 4;
        run.elements = 4;
        trace.ranks[static_cast<std::size_t>(r)].parameters.push_back(run);
        trace.ranks[static_cast<std::size_t>(r)].events.emplace_back();
    }
    const auto clock = time::measured(trace);
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    const view::Selection selection;
    const view::Input input{trace, clock, {}, selection, {1032, 900}, view::Language::en, measure, texts};
    const auto picture = view::parameters_view(input);
    CHECK(picture.shapes.size() < 12000);
    CHECK(test::text_problems(picture, measure).empty());
    std::set<float> columns;
    for (const auto* s : find(picture, "kept")) columns.insert(s->box.x);
    CHECK(columns.size() > 100);
    CHECK(columns.size() < 200);
    CHECK(find(picture, "kept").size() >= 2048);
    const auto holders = view::holders_of(trace, view::parameter_units(trace)[0], 5000);
    REQUIRE(holders.size() == 2048);
    CHECK(holders[5].ranks == std::vector<int32_t>{5, 2053});
    CHECK(holders[5].name == "rank 5 +1");
}

TEST_CASE("a trace that did not record who keeps what says so") {
    Run run(kHsdp, 1);
    for (auto& rank : run.trace.ranks) rank.parameters.clear();
    CHECK_FALSE(find(view::parameters_view(run.at(0)), "empty").empty());
    CHECK_FALSE(find(view::parameters_facts(run.at(0)), "empty").empty());
    CHECK_FALSE(view::next_row(run.trace, {}, 1, 0));
}

TEST_CASE("texts of the parameters view fit in both languages for every strategy") {
    const std::string parallel = GENERATE(
        std::string(
            "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\nunits = "
            "[[\"net1\"], [\"net2\"]]\n"),
        std::string("shape = [3]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp1\"\n"),
        std::string("shape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n"),
        std::string("shape = [12]\nnames = [\"shard\"]\n[parallel]\ndata = \"zero2\"\n"));
    Run run(parallel, 1);
    run.selection.parameter = "net2.weight";
    run.selection.row = 2;
    std::string problems;
    for (const auto language : {view::Language::en, view::Language::zh}) {
        const test::FakeMeasure measure(language == view::Language::zh ? 1.6F : 1.45F);
        const test::CatalogueTexts texts(language);
        for (const view::Size size : {view::Size{480, 300}, {656, 640}, {1032, 900}, {2400, 1500}})
            for (int64_t part = 0; part <= 5; ++part) {
                view::Input input{run.trace,     run.clock, {run.clock.end_ns * part / 5},
                                  run.selection, size,      language,
                                  measure,       texts};
                for (const auto& p : test::text_problems(view::parameters_view(input), measure))
                    problems += std::to_string(static_cast<int>(size.width)) + ": " + p + "\n";
                input.size.width = std::min(size.width, 460.F);
                for (const auto& p : test::text_problems(view::parameters_facts(input), measure))
                    problems += "facts: " + p + "\n";
            }
    }
    CHECK(problems.substr(0, 1500) == "");
}
