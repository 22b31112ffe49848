// "Compare": figures against PyTorch's element counts, agreement against numbers made by hand, and the
// pictures' texts.
#include <algorithm>
#include <limits>

#include "app/gui/view/compare_figures.h"
#include "app/gui/view/compare_view.h"
#include "backends/registry.h"
#include "core/run/run.h"
#include "core/time/step.h"
#include "core/trace/agreement.h"
#include "tests/test.h"
#include "tests/view/compare_stage.h"
#include "tests/view/picture_check.h"

using namespace meshscope;
using namespace meshscope::test::compare;

namespace {

const view::Difference& row(const std::vector<view::Difference>& rows, const std::string& id,
                            const std::string& op = "") {
    for (const auto& r : rows)
        if (r.id == id && r.op == op) return r;
    throw std::runtime_error("no row " + id + " " + op);
}

trace::RunInfo weights(std::vector<float> a, std::vector<float> b) {
    trace::RunInfo info;
    info.steps = 1;
    info.losses = {0.5};
    const auto na = static_cast<int64_t>(a.size()), nb = static_cast<int64_t>(b.size());
    info.parameters = {{"w", {na}, std::move(a)}, {"b", {nb}, std::move(b)}};
    return info;
}

}  // namespace

TEST_CASE("bytes of DDP, FSDP2 and HSDP are those of PyTorch's collectives on the toy model") {
    // pytorch_rules 1.2: 165 parameters on 4 ranks. A ring of n sends (n-1)/n of the whole buffer for a
    // gather or a scatter and twice that for an all_reduce; FSDP2 pads net1 to 12 rows of 11 and net2 to 8
    // of 11.
    const Side side(three());
    const auto runs = side.runs();
    std::vector<view::RunFigures> figures;
    for (const auto& run : runs) figures.push_back(view::run_figures(run, 2));
    const auto rows = view::differences(figures);
    const int64_t net1 = 12 * 11 * 4, net2 = 8 * 11 * 4;  // padded bytes of FSDP2's units
    const int64_t gathers = 2 * (net1 + net2) * 3 / 4, scatters = (net1 + net2) * 3 / 4;
    CHECK(row(rows, "view.compare.sent_by", "all_gather").values[0] == 0);
    CHECK(row(rows, "view.compare.sent_by", "all_gather").values[1] == gathers);
    CHECK(row(rows, "view.compare.sent_by", "reduce_scatter").values[1] == scatters);
    // HSDP: units of 110 and 66 numbers on groups of two, and an all_reduce of the shard between the
    // replicas.
    const int64_t whole = (110 + 66) * 4;
    CHECK(row(rows, "view.compare.sent_by", "all_gather").values[2] == 2 * whole / 2);
    CHECK(row(rows, "view.compare.sent_by", "reduce_scatter").values[2] == whole / 2);
    CHECK(row(rows, "view.compare.sent_by", "all_reduce").values[2] == 2 * (whole / 2) / 2);
    // DDP: one all_reduce of 165 numbers, cut 42, 42, 42, 39 as torch.chunk cuts: rank 0 sends all but one
    // part on the way there and all but another on the way back.
    const auto& reduced = row(rows, "view.compare.sent_by", "all_reduce").values;
    CHECK(reduced[0] >= 2 * (165 - 42) * 4);
    CHECK(reduced[0] <= 2 * (165 - 39) * 4);
    CHECK(row(rows, "view.compare.calls").values == std::vector<int64_t>{1, 6, 8});
    // HSDP's shard groups stand on one node each: only the all_reduces cross, of 55 + 33 numbers by 4 ranks.
    CHECK(row(rows, "view.compare.nodes").values[2] == 4 * (55 + 33) * 4);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        CHECK(row(rows, "view.compare.step_time").values[i] == figures[i].step_ns);
        int64_t sum = 0;
        for (const auto& r : rows)
            if (r.id == "view.compare.sent_by") sum += r.values[i];
        CHECK(row(rows, "view.compare.sent").values[i] == sum);
        CHECK(row(rows, "view.compare.exposed").values[i] <= figures[i].step_ns);
    }
}

TEST_CASE("a change has its sign and its percent, and none where there was nothing") {
    CHECK(view::change_text(990, 1980) == "+100 %");
    CHECK(view::change_text(660, 220) == "\u221267 %");
    CHECK(view::change_text(5, 5) == "0 %");
    CHECK(view::change_text(100000, 100001) == "+< 1 %");
    CHECK(view::change_text(0, 7).empty());
    CHECK(view::change_text(7, -1).empty());
    CHECK(view::change_text(1, 12346) == "+1,234,500 %");
}

TEST_CASE("weights agree by bits, within rounding, or not: counted number by number") {
    using State = trace::WeightAgreement::State;
    const auto base = weights({1, 2, 3}, {4});
    auto same = trace::compare_weights(base, weights({1, 2, 3}, {4}));
    CHECK(same.state == State::compared);
    CHECK(same.all.same_bits());
    CHECK(same.all.compared == 4);
    CHECK(same.all.largest == 0);
    // One number a last bit off: 2^-22 for a float between 2 and 4.
    const float next = std::nextafter(3.0F, 4.0F);
    auto close = trace::compare_weights(base, weights({1, 2, next}, {4}));
    CHECK(close.all.equal_bits == 3);
    CHECK_FALSE(close.all.same_bits());
    CHECK(close.all.agrees());
    CHECK(close.all.largest == std::ldexp(1.0, -22));
    CHECK(close.same == std::vector<uint8_t>{1, 1, 0, 1});
    REQUIRE(close.parameters.size() == 2);
    CHECK(close.parameters[0].numbers.equal_bits == 2);
    CHECK(close.parameters[1].first == 3);
    const auto far = trace::compare_weights(base, weights({1, 2, 3.1F}, {4}));
    CHECK_FALSE(far.all.agrees());
    CHECK(far.all.within == 3);
    // Zeros of both signs have other bits and no difference.
    const auto zero = trace::compare_weights(weights({0}, {1}), weights({-0.0F}, {1}));
    CHECK(zero.all.equal_bits == 1);
    CHECK(zero.all.agrees());
    const auto nan =
        trace::compare_weights(base, weights({1, 2, std::numeric_limits<float>::quiet_NaN()}, {4}));
    CHECK_FALSE(nan.all.agrees());
    CHECK(nan.all.largest == std::numeric_limits<double>::infinity());
}

TEST_CASE("a run that recorded nothing, or not this step, has no figures, and none of them is zero") {
    const auto off = trace_of(kDdp + "[record]\nlevel = \"off\"\n");
    const Side side({three()[0], off});
    const auto runs = side.runs();
    const std::vector<view::RunFigures> figures{view::run_figures(runs[0], 2), view::run_figures(runs[1], 2)};
    const auto rows = view::differences(figures);
    REQUIRE(rows.size() >= 4);
    for (const view::Difference& row : rows) {
        INFO(row.id);
        CHECK(row.text(1) == "—");
        CHECK(view::change_text(row.values[0], row.values[1]).empty());
    }
}

TEST_CASE("what cannot be compared is told with its reason") {
    using State = trace::WeightAgreement::State;
    const auto base = weights({1, 2, 3}, {4});
    CHECK(trace::compare_weights(base, trace::RunInfo()).state == State::not_kept);
    CHECK(trace::compare_weights(trace::RunInfo(), base).state == State::not_kept);
    const auto shape = trace::compare_weights(base, weights({1, 2}, {4}));
    CHECK(shape.state == State::other_models);
    CHECK(shape.culprit == "w");
    auto more = base;
    more.parameters.push_back({"extra", {1}, {0}});
    CHECK(trace::compare_weights(base, more).culprit == "extra");
    CHECK(trace::compare_weights(more, base).culprit == "extra");
    auto longer = base;
    longer.steps = 2;
    const auto lengths = trace::compare_weights(base, longer);
    CHECK(lengths.state == State::other_lengths);
    CHECK(lengths.all.same_bits());
    // Parameters are matched by name.
    auto turned = base;
    std::swap(turned.parameters[0], turned.parameters[1]);
    CHECK(trace::compare_weights(base, turned).all.same_bits());
    CHECK(trace::compare_losses(base, weights({}, {})).same_bits());
    CHECK(trace::compare_losses(base, trace::RunInfo()).compared == 0);
}

TEST_CASE("the runs' own weights: a run and its repetition are equal by bits, the strategies agree") {
    const auto& runs = three();
    const auto again = trace_of(kHsdp);
    const auto same = trace::compare_weights(runs[2]->info, again->info);
    CHECK(same.all.compared == 165);  // Linear(10, 10) and Linear(10, 5)
    CHECK(same.all.same_bits());
    CHECK(trace::compare_losses(runs[2]->info, again->info).same_bits());
    for (std::size_t i = 1; i < 3; ++i) {
        const auto w = trace::compare_weights(runs[0]->info, runs[i]->info);
        CHECK(w.all.compared == 165);
        CHECK(w.all.agrees());
    }
    const Side side({runs[2], again});
    const auto facts = view::compare_facts(side.input({420, 800}), side.runs());
    CHECK(test::says_part(facts, "Equal, bit for bit"));
    CHECK(test::find(facts, "number").size() == 165);
    const Side other(three());
    const auto three_facts = view::compare_facts(other.input({420, 800}), other.runs());
    CHECK(test::says_part(three_facts, "They agree"));
}

TEST_CASE("weights that differ, are missing or belong to another model are told in the facts") {
    auto changed = std::make_shared<trace::Trace>(*three()[2]);
    changed->info.parameters[0].numbers[0] += 1;
    const Side differ({three()[2], changed});
    CHECK(test::says_part(view::compare_facts(differ.input({420, 800}), differ.runs()), "They differ"));
    changed->info.parameters.clear();
    const auto bare = view::compare_facts(differ.input({420, 800}), differ.runs());
    CHECK(test::says_part(bare, "Can't compare"));
    CHECK(test::find(bare, "number").empty());
    CHECK(std::any_of(bare.text_lines.begin(), bare.text_lines.end(), [](const auto& l) {
        return l.find("keeps no final parameters") != std::string::npos;
    }));
    CHECK(std::any_of(bare.text_lines.begin(), bare.text_lines.end(), [](const auto& l) {
        return l.find("equal bit for bit in 3 steps") != std::string::npos;
    }));
}

TEST_CASE("lanes begin at 0 in each run's own step, end where the step ends, and the cursor stands in all") {
    const Side side(three());
    const auto runs = side.runs(1);
    const auto input = side.input({1100, 900}, 1);
    const auto picture = view::compare_view(input, runs);
    // The front run's bars are events of the other views, the others' their own.
    CHECK_FALSE(test::find(picture, "event", 0).empty());
    CHECK_FALSE(test::find(picture, "run_event", 0).empty());
    CHECK_FALSE(test::find(picture, "run_event", 2).empty());
    CHECK(test::find(picture, "run_event", 1).empty());
    CHECK(test::find(picture, "cursor").size() == 1);
    // A bar's width is its share of the axis: all runs have the same scale.
    const auto scale = [&](const view::Shape& bar, std::size_t run) {
        const auto& t = side.clocks[run].events[0][static_cast<std::size_t>(bar.id.b)];
        return static_cast<double>(bar.box.w + 1) / static_cast<double>(t.end_ns - t.begin_ns);
    };
    const auto widest = [&](const std::vector<const view::Shape*>& bars) {
        return **std::max_element(bars.begin(), bars.end(), [](const auto* a, const auto* b) {
            return (a->kind == view::ShapeKind::rect ? a->box.w : 0) <
                   (b->kind == view::ShapeKind::rect ? b->box.w : 0);
        });
    };
    const double own = scale(widest(test::find(picture, "event", 0)), 1);
    CHECK(scale(widest(test::find(picture, "run_event", 0)), 0) == Approx(own).epsilon(0.02));
    CHECK(scale(widest(test::find(picture, "run_event", 2)), 2) == Approx(own).epsilon(0.02));
    // The step's difference is told with its sign.
    const auto figures = {view::run_figures(runs[0], 2), view::run_figures(runs[1], 2)};
    const int64_t off = figures.begin()[1].step_ns - figures.begin()[0].step_ns;
    CHECK(test::says_part(picture, view::format_time(off) + ", "));
}

TEST_CASE("texts of the comparison fit at every size in both languages, for two to four runs") {
    auto runs = three();
    const std::size_t count = GENERATE(2, 3, 4);
    if (count == 4) runs.push_back(three()[2]);
    runs.resize(count);
    for (const auto language : {view::Language::en, view::Language::zh}) {
        const Side side(runs, language);
        for (const view::Size size :
             {view::Size{480, 300}, view::Size{956, 596}, view::Size{1452, 956}, view::Size{3320, 1900}})
            for (std::size_t front = 0; front < count; ++front) {
                const auto input = side.input(size, front);
                const auto facts_input = side.input({std::min(size.width, 316.F), size.height}, front);
                for (const auto& picture : {view::compare_view(input, side.runs(front, 1)),
                                            view::compare_facts(facts_input, side.runs(front, 1))}) {
                    const auto problems = test::text_problems(picture, side.measure);
                    INFO(count << " runs at " << size.width);
                    CHECK((problems.empty() ? "" : problems[0]) == "");
                    CHECK(picture.text_lines.size() > 8);
                }
            }
    }
}

TEST_CASE("runs of plain calls stand side by side, and are said to have no weights") {
    const std::string calls =
        "format = 1\n[mesh]\nshape = [2]\n[[call]]\nop = \"all_reduce\"\nelements = 4\n";
    const Side side({trace_of(calls), trace_of(calls)});
    const auto facts = view::compare_facts(side.input({420, 800}), side.runs());
    CHECK(test::says_part(facts, "Can't compare"));
    const auto told = [&](std::string_view words) {
        return std::any_of(facts.text_lines.begin(), facts.text_lines.end(),
                           [&](const auto& l) { return l.find(words) != std::string::npos; });
    };
    CHECK(told("only makes collective calls"));
    CHECK_FALSE(told("keeps no final parameters"));
}

TEST_CASE("one run alone: the comparison says how to lay a second beside it") {
    const Side side({three()[0]});
    CHECK(test::says_part(view::compare_view(side.input({900, 600}), side.runs()), "Only one run is open"));
    CHECK(test::says_part(view::compare_facts(side.input({400, 600}), side.runs()), "With a second run"));
}

TEST_CASE("a step of a pipeline is as long as predict says: what the next one began in it counts once") {
    const auto trace = trace_of(
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 64\nlayers = 4\nvocab = 12\nseq = 8\nheads "
        "= "
        "4\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\nshape = [2, 2]\nnames = [\"pp\", \"shard\"]\n"
        "[parallel]\ndata = \"fsdp2\"\nschedule = \"1F1B\"\nmicrobatches = 2\n");
    const Side side({trace});
    const view::RunFigures figures = view::run_figures(side.runs()[0], 2);
    CHECK(figures.step_ns == time::step_ns(*trace, side.clocks[0], 2));
    CHECK(figures.step_ns < figures.span.end_ns - figures.span.begin_ns);
}

TEST_CASE("a pipeline's bars end at the line where its step ends, which lies at its step time from 0") {
    const auto pipeline = [](const std::string& microbatches) {
        return trace_of(
            "format = 1\n[model]\nkind = \"gpt\"\ndim = 16\nhidden = 64\nlayers = 4\nvocab = 12\nseq = 8\n"
            "heads = 4\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\nshape = [2, 2]\nnames = [\"pp\", "
            "\"shard\"]\n[parallel]\ndata = \"fsdp2\"\nschedule = \"1F1B\"\nmicrobatches = " +
            microbatches + "\n");
    };
    const Side side({pipeline("2"), pipeline("4")});
    const auto line = [](const view::Picture& picture, const std::string& kind, int64_t run) {
        const auto found = test::find(picture, kind, run);
        REQUIRE(found.size() == 1);
        return found[0]->points[0].x;
    };
    std::vector<float> last(2, -1e6F);  // how far behind the line a run's last bar ends, over its ranks
    float first = 1e6F;                 // how far behind 0 the first one begins
    for (int32_t rank = 0; rank < 4; ++rank) {
        const auto runs = side.runs(0, rank);
        const auto picture = view::compare_view(side.input({1400, 900}), runs);
        CHECK(test::text_problems(picture, side.measure).empty());
        CHECK(test::says(picture, "0: all ranks had ended the step before"));
        const float zero = test::find(picture, "zero")[0]->points[0].x;
        double ns_per_px[2] = {};
        for (std::size_t i = 0; i < 2; ++i) {
            const auto figures = view::run_figures(runs[i], 2);
            const float end = line(picture, "step_end", static_cast<int64_t>(i));
            ns_per_px[i] = static_cast<double>(figures.step_ns) / static_cast<double>(end - zero);
            const auto bars = i == 0 ? test::find(picture, "event", rank)
                                     : test::find(picture, "run_event", static_cast<int64_t>(i));
            CHECK(bars.size() > 20);
            for (const auto* bar : bars) {
                if (bar->kind != view::ShapeKind::rect) continue;
                CHECK(bar->box.x + bar->box.w <= end + 1.5F);  // a bar is at least so wide
                last[i] = std::max(last[i], bar->box.x + bar->box.w - end);
                first = std::min(first, bar->box.x - zero);
            }
        }
        CHECK(ns_per_px[0] == Approx(ns_per_px[1]).epsilon(0.01));
    }
    for (const float end : last) CHECK(end > -1.5F);
    CHECK(first < -2);  // the last stage gathers while the first ends the step before
}
