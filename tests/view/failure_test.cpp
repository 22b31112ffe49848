// How runs that failed are drawn: who waits for whom, who is crossed out, where the timeline breaks off.
#include <algorithm>
#include <map>

#include "app/gui/view/collective_view.h"
#include "app/gui/view/end_facts.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/run_end.h"
#include "app/gui/view/timeline_view.h"
#include "backends/registry.h"
#include "core/base/diagnosis.h"
#include "core/run/run.h"
#include "core/trace/ended.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::find;
using Stands = view::RankEnd::Stands;

namespace {

const std::string kDdp =
    "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\n"
    "shape = [4]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n[[faults]]\n";

/// HSDP whose rank 3 is killed in net2's reduce_scatter of step 1.
const std::string kHsdp =
    "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\n"
    "shape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"
    "units = [[\"net1\"], [\"net2\"]]\n[[faults]]\nkind = \"kill\"\nrank = 3\nstep = 1\n"
    "rule = \"fsdp2.reduce_scatter.gradients\"\nunit = \"net2\"\n[hardware]\nranks_per_node = 2\n";

const std::string kAllReduce = "rule = \"ddp.bucket.all_reduce\"\n";

/// Each of four ranks first sends to the next.
std::string ring_of_sends() {
    std::string text = "format = 1\n[mesh]\nshape = [4]\nnames = [\"pp\"]\n";
    for (const char* op : {"send", "recv"})
        for (int rank = 0; rank < 4; ++rank)
            text += "[[call]]\nop = \"" + std::string(op) +
                    "\"\nelements = 4\nsrc = " + std::to_string(rank) +
                    "\ndst = " + std::to_string((rank + 1) % 4) + "\n";
    return text;
}

std::shared_ptr<const trace::Trace> record_of(const std::string& text) {
    std::shared_ptr<const trace::Trace> trace;
    run::RunOptions options;
    options.on_failure = [&](const std::shared_ptr<const trace::Trace>& so_far) { trace = so_far; };
    try {
        return run::run_scenario(scenario::parse_scenario(text, "failure.toml"), *backends::make_registry(),
                                 options)
            .trace;
    } catch (const CommError&) {
        return trace;
    }
}

struct Stand {
    explicit Stand(std::shared_ptr<const trace::Trace> t, view::Language l = view::Language::en)
        : trace(std::move(t)), texts(l), language(l), end(view::run_end(*trace, 3)) {}
    view::Input at(view::Size size, int64_t t_ns) const {
        return {*trace, clock, {t_ns}, selection, size, language, measure, texts};
    }
    int64_t broke_off() const { return view::broke_off_ns(*trace, clock, *end); }
    view::Picture mesh(view::Size size) const { return mesh(size, broke_off()); }
    view::Picture mesh(view::Size size, int64_t t_ns) const {
        view::MeshOptions options;
        options.end = &*end;
        return view::mesh_view(at(size, t_ns), options);
    }
    /// The step that broke off, as the window goes to it.
    view::TimelineOptions step() const {
        const time::Interval span = time::span_of_step(*trace, clock, end->step);
        view::TimelineOptions options;
        options.begin_ns = span.begin_ns;
        options.end_ns = span.end_ns;
        options.end = &*end;
        return options;
    }
    view::Picture timeline(view::Size size) const {
        const view::TimelineOptions options = step();
        return view::timeline_view(at(size, broke_off()), options);
    }
    const view::RankEnd& rank(int32_t r) const { return end->waits.ranks.at(static_cast<std::size_t>(r)); }

    std::shared_ptr<const trace::Trace> trace;
    time::Clock clock = time::modelled(*trace, time::classroom());
    view::Selection selection;
    test::FakeMeasure measure;
    test::CatalogueTexts texts;
    view::Language language;
    std::optional<view::RunEnd> end;
};

/// From whom to whom lines lead: "wait" names who waits; whom, the rings at their ends tell by place.
std::vector<int64_t> who_waits(const view::Picture& picture) {
    std::vector<int64_t> who;
    for (const view::Shape* shape : find(picture, "wait"))
        if (shape->stroke_style == view::Stroke::dotted) who.push_back(shape->id.a);
    std::sort(who.begin(), who.end());
    return who;
}

void check_texts(const view::Picture& picture, const view::TextMeasure& measure) {
    const auto problems = test::text_problems(picture, measure);
    CHECK((problems.empty() ? "" : problems[0]) == "");
}

/// One of each kind that the engine diagnoses on threads.
const std::map<std::string, std::string>& kinds() {
    static const std::map<std::string, std::string> all{
        {"lost", kHsdp},
        {"mismatch", kDdp + "kind = \"mismatch\"\nfield = \"count\"\nrank = 1\nstep = 1\n" + kAllReduce},
        {"missing", kDdp + "kind = \"skip\"\nrank = 2\nstep = 1\n" + kAllReduce},
        {"stalled", kDdp + "kind = \"stall\"\nrank = 2\nstep = 1\n"},
        {"corrupt", kDdp + "kind = \"corrupt\"\nrank = 1\nstep = 1\nphase = \"backward\"\nat = 0\n"},
        {"deadlock", ring_of_sends()}};
    return all;
}

}  // namespace

TEST_CASE("a dead rank is waited for by its shard group and its replica, and the fourth waits through one") {
    const Stand stand(record_of(kHsdp));
    REQUIRE(stand.end);
    CHECK(stand.rank(3).stands == Stands::lost);
    CHECK(stand.rank(2).waits_for == std::vector<int32_t>{3});
    CHECK(stand.rank(1).waits_for == std::vector<int32_t>{3});
    CHECK(stand.rank(0).waits_for == std::vector<int32_t>{2});
    CHECK(stand.rank(2).through == 0);
    CHECK(stand.rank(0).through == 1);
    const auto& events = stand.trace->ranks[2].events;
    CHECK(events[static_cast<std::size_t>(stand.rank(2).call)].op == CollectiveOp::reduce_scatter);
    CHECK(view::call_in_short(*stand.trace, events[static_cast<std::size_t>(stand.rank(2).call)]) ==
          "reduce_scatter net2 #10");
    const auto sentences = view::wait_sentences(stand.end->waits);
    REQUIRE(sentences.size() == 2);
    CHECK(stand.texts.text(sentences[0]) == "Ranks 1, 2 wait for rank 3.");
    CHECK(stand.texts.text(sentences[1]) == "Rank 0 waits for rank 2.");
}

TEST_CASE("where the record holds no diagnosis the calls that did not end tell the same waits") {
    auto trace = std::make_shared<trace::Trace>(*record_of(kHsdp));
    // As a transport tells it that sees its own connection alone.
    Diagnosis d;
    d.kind = DiagnosisKind::lost;
    d.culprits = {3};
    trace->info.failure = failure_json(DiagnosedError(d, GlobalRank{1}));
    const auto check = [&] {
        const Stand stand(trace);
        CHECK(stand.rank(3).stands == Stands::lost);
        CHECK(stand.rank(2).waits_for == std::vector<int32_t>{3});
        CHECK(stand.rank(1).waits_for == std::vector<int32_t>{3});
        CHECK(stand.rank(0).waits_for == std::vector<int32_t>{2});
        CHECK_FALSE(stand.end->waits.certain);
    };
    check();
    // Rank 0, who learnt of the death, is in a call of which the dead rank is no member.
    RankReport told;
    told.rank = 0;
    told.state = RankState::waiting;
    told.waits_for = 3;
    d.ranks = {told};
    trace->info.failure = failure_json(DiagnosedError(d, GlobalRank{0}));
    check();
    CHECK(Stand(record_of(kHsdp)).end->waits.certain);
}

TEST_CASE("calls that did not end are found in the record of a run that failed, and in no other") {
    const auto failed = record_of(kHsdp);
    const auto open = trace::unended_calls(*failed);
    for (std::size_t r = 0; r < open.size(); ++r) {
        INFO("rank " << r);
        CHECK_FALSE(open[r].empty());
        for (const int32_t id : open[r]) {
            const auto& event = failed->ranks[r].events[static_cast<std::size_t>(id)];
            CHECK(event.kind == trace::EventKind::collective);
            CHECK(event.step == 1);
            CHECK(event.phase == Phase::backward);
        }
    }
    const auto whole = record_of(kHsdp.substr(0, kHsdp.find("[[faults]]")));
    for (const auto& calls : trace::unended_calls(*whole)) CHECK(calls.empty());
    CHECK_FALSE(view::run_end(*whole, 3));
}

TEST_CASE("each kind of failure says how every rank stood") {
    const auto stands = [](const Stand& stand) {
        std::vector<Stands> all;
        for (const auto& rank : stand.end->waits.ranks) all.push_back(rank.stands);
        return all;
    };
    const auto of = [](const char* kind) { return Stand(record_of(kinds().at(kind))); };
    CHECK(stands(of("mismatch")) == std::vector<Stands>(4, Stands::in_call));
    CHECK(of("mismatch").end->waits.calls.at(1).in_elements == 164);
    CHECK(stands(of("missing")) ==
          std::vector<Stands>{Stands::waiting, Stands::waiting, Stands::finished, Stands::waiting});
    CHECK(stands(of("stalled")) ==
          std::vector<Stands>{Stands::waiting, Stands::waiting, Stands::stalled, Stands::waiting});
    CHECK(stands(of("corrupt")) == std::vector<Stands>(4, Stands::in_call));
    const Stand ring = of("deadlock");
    CHECK(stands(ring) == std::vector<Stands>(4, Stands::waiting));
    CHECK(ring.end->waits.ring == std::vector<int32_t>{0, 1, 2, 3});
    for (int32_t r = 0; r < 4; ++r) CHECK(ring.rank(r).through == -1);
    CHECK(ring.texts.text(view::wait_sentences(ring.end->waits).at(0)) ==
          "0 → 1 → 2 → 3 → 0 wait for each other in a ring.");
}

TEST_CASE(
    "every kind of failure is drawn, in both languages and at every size, without a text out of place") {
    for (const auto& [kind, text] : kinds()) {
        const auto trace = record_of(text);
        for (const auto language : {view::Language::en, view::Language::zh}) {
            const Stand stand(trace, language);
            REQUIRE(stand.end);
            CHECK(name(*stand.end->diagnosis) == kind);
            CHECK(view::is_marked(*stand.end));
            for (const view::Size size :
                 {view::Size{656, 380}, view::Size{656, 200}, view::Size{1100, 700}}) {
                INFO(kind << " " << size.width << " x " << size.height);
                check_texts(stand.mesh(size), stand.measure);
                check_texts(stand.timeline(size), stand.measure);
                view::CollectiveOptions options;
                options.end = &*stand.end;
                check_texts(view::collective_view(stand.at(size, stand.broke_off()), options), stand.measure);
            }
            for (const float width : {248.F, 324.F, 468.F}) {
                INFO(kind << " " << width);
                const auto facts =
                    view::end_facts(stand.at({width, 600}, 0), *stand.end, view::WithoutFault::offered);
                check_texts(facts, stand.measure);
                CHECK_FALSE(find(facts, "end_show").empty());
                CHECK_FALSE(find(facts, "end_rerun").empty());
                const std::string exact = stand.texts.text(stand.end->what);
                CHECK(std::count(facts.text_lines.begin(), facts.text_lines.end(), exact) == 1);
                CHECK(view::end_todo(*stand.end).size() == 3);
                for (const Message& line : view::end_todo(*stand.end))
                    CHECK(stand.texts.text(line).find("view.end") == std::string::npos);
            }
        }
    }
}

TEST_CASE("on the mesh the dead rank is crossed out and lines lead from those that wait, once they wait") {
    const Stand stand(record_of(kHsdp));
    const view::Size size{900, 500};
    const auto picture = stand.mesh(size);
    CHECK(who_waits(picture) == std::vector<int64_t>{0, 1, 2});
    const auto crossed = find(picture, "end", 3);
    CHECK(std::count_if(crossed.begin(), crossed.end(), [](const view::Shape* shape) {
              return shape->kind == view::ShapeKind::line && shape->stroke == view::Token::err;
          }) == 2);
    for (const int64_t rank : {0, 1, 2})
        for (const view::Shape* shape : find(picture, "end", rank)) CHECK(shape->stroke != view::Token::err);
    CHECK(test::says_part(picture, "died in"));
    // Before it died nothing of this is drawn.
    const auto before = stand.mesh(size, 0);
    CHECK(who_waits(before).empty());
    CHECK(find(before, "end", 3).empty());
    // A rank waits from the begin of its call on.
    const int64_t first = view::stood_ns(stand.clock, stand.end->waits, 2);
    CHECK(who_waits(stand.mesh(size, first)) == std::vector<int64_t>{2});
}

TEST_CASE("a rank that has finished and one that is stuck look different") {
    const Stand stand(record_of(kinds().at("missing")));
    const auto picture = stand.mesh({900, 400});
    CHECK(who_waits(picture) == std::vector<int64_t>{0, 1, 3});
    const auto outline = [&](int64_t rank) {
        for (const view::Shape* shape : find(picture, "end", rank))
            if (shape->kind == view::ShapeKind::rect && shape->fill == view::Token::none) return *shape;
        return view::Shape{};
    };
    CHECK(outline(0).stroke == view::Token::warn);
    CHECK(outline(2).stroke == view::Token::err);
    CHECK(outline(2).stroke_style == view::Stroke::dashed);
    CHECK(test::says(picture, "has finished"));
}

TEST_CASE(
    "the timeline tears the dead rank's last bar, leaves others open, and draws nothing behind a death") {
    const Stand stand(record_of(kHsdp));
    const view::Size size{1000, 900};
    const view::TimelineOptions options = stand.step();
    const auto input = stand.at(size, stand.broke_off());
    const auto picture = view::timeline_view(input, options);
    const auto axis = view::timeline_axis(input, options);
    CHECK(find(picture, "torn", 3, stand.rank(3).call).size() == 1);
    CHECK(find(picture, "torn").size() == 1);
    for (const int32_t rank : {0, 1, 2})
        CHECK(find(picture, "open", rank, stand.rank(rank).call).size() == 1);
    CHECK(find(picture, "open", 3).empty());
    CHECK_FALSE(find(picture, "gone", 3).empty());
    CHECK(find(picture, "gone").size() == find(picture, "gone", 3).size());
    const float died = axis.x(view::stood_ns(stand.clock, stand.end->waits, 3));
    for (const view::Shape* shape : find(picture, "exposed", 3))
        CHECK(shape->box.x + shape->box.w <= died + 0.5F);
    CHECK(test::says_part(picture, "dies here"));
    CHECK(test::says(picture, "run ends"));
    // Of a run that ended well nothing of this is drawn.
    const Stand whole(record_of(kHsdp.substr(0, kHsdp.find("[[faults]]"))));
    const auto healthy = view::timeline_view(whole.at(size, 0));
    for (const char* kind : {"torn", "open", "gone", "broke_off"}) CHECK(find(healthy, kind).empty());
    const auto mesh = view::mesh_view(whole.at(size, whole.clock.end_ns));
    for (const char* kind : {"end", "wait"}) CHECK(find(mesh, kind).empty());
}

TEST_CASE(
    "members that did not call it have an empty place in the collective, and a mismatch is named in bytes") {
    const Stand missing(record_of(kinds().at("missing")));
    view::CollectiveOptions options;
    options.end = &*missing.end;
    view::Selection selection;
    selection.event_rank = 0;
    selection.event = missing.rank(0).call;
    const auto input = missing.at({1000, 560}, missing.broke_off());
    const view::Input shown{input.trace, input.clock,    input.cursor,  selection,
                            input.size,  input.language, input.measure, input.texts};
    const auto picture = view::collective_view(shown, options);
    CHECK(test::says(picture, "has not called it"));
    const auto place = find(picture, "rank", 2);
    CHECK(std::any_of(place.begin(), place.end(), [](const view::Shape* shape) {
        return shape->kind == view::ShapeKind::rect && shape->stroke_style == view::Stroke::dashed;
    }));
    const Stand mismatch(record_of(kinds().at("mismatch")));
    const auto facts = view::end_facts(mismatch.at({400, 600}, 0), *mismatch.end, view::WithoutFault::no);
    // 164 and 165 numbers of 4 bytes.
    const auto tells = [&](const std::string& words) {
        return std::any_of(facts.text_lines.begin(), facts.text_lines.end(),
                           [&](const auto& line) { return line.find(words) != std::string::npos; });
    };
    CHECK(tells("in 164 elements = 656 B"));
    CHECK(tells("in 165 elements = 660 B"));
    CHECK(find(facts, "end_rerun").empty());
}

TEST_CASE("what can be done about a fault is offered, said while it runs, and leads to the comparison then") {
    const Stand stand(record_of(kHsdp));
    const auto facts = [&](view::WithoutFault without) {
        return view::end_facts(stand.at({324, 600}, 0), *stand.end, without);
    };
    CHECK(find(facts(view::WithoutFault::no), "end_rerun").empty());
    CHECK(find(facts(view::WithoutFault::running), "end_rerun").empty());
    CHECK_FALSE(find(facts(view::WithoutFault::running), "end_going").empty());
    CHECK_FALSE(find(facts(view::WithoutFault::done), "end_compare").empty());
    // A wait leads to its call.
    const auto rows = find(facts(view::WithoutFault::no), "wait", 0);
    REQUIRE_FALSE(rows.empty());
    CHECK(rows[0]->id.b == stand.rank(0).call);
}

TEST_CASE("of 1,024 ranks in a chain of waits the dead one is crossed out and the others are folded") {
    constexpr int32_t kRanks = 1024;
    test::TraceBuilder builder({32, 32}, {"replicate", "shard"});
    const int32_t group = builder.add_group("world", [] {
        std::vector<int32_t> all;
        for (int32_t r = 0; r < kRanks; ++r) all.push_back(r);
        return all;
    }());
    Diagnosis d;
    d.kind = DiagnosisKind::lost;
    d.culprits = {77};
    for (int32_t r = 0; r < kRanks; ++r) {
        builder.compute(r, "linear", "net1", Phase::forward, 100);
        trace::Event call;
        call.id = 1;
        call.kind = trace::EventKind::collective;
        call.op = CollectiveOp::all_reduce;
        call.reduce_op = ReduceOp::sum;
        call.algorithm = Algorithm::ring;
        call.group = group;
        call.sequence = 0;
        call.in_elements = call.out_elements = 8;
        auto& events = builder.trace().ranks[static_cast<std::size_t>(r)].events;
        call.t_issue_ns = call.t_begin_ns = call.t_end_ns = events.back().t_end_ns;
        events.push_back(call);
        RankReport report;
        report.rank = r;
        report.state = r == 77 ? RankState::lost : RankState::waiting;
        // Neighbours wait for the dead one itself, all others for the neighbour towards it.
        if (r != 77) report.waits_for = r > 77 ? r - 1 : r + 1;
        d.ranks.push_back(report);
    }
    builder.trace().info.failure = failure_json(DiagnosedError(d, GlobalRank{0}));
    builder.trace().info.world_size = kRanks;
    const Stand stand(std::make_shared<trace::Trace>(builder.take()));
    REQUIRE(stand.end);
    const auto sentences = view::wait_sentences(stand.end->waits);
    REQUIRE(sentences.size() == 2);
    CHECK(stand.texts.text(sentences[0]) == "Ranks 76, 78 wait for rank 77.");
    CHECK(stand.texts.text(sentences[1]) == "1021 ranks wait through up to 945 others.");
    const view::Size size{656, 380};
    const auto picture = stand.mesh(size);
    CHECK(who_waits(picture).empty());  // too many lines to be read
    CHECK(test::says_part(picture, "1021 ranks wait"));
    const auto square = [&](int64_t rank) {
        const auto marks = find(picture, "end", rank);
        return marks.empty() ? view::Token::none : marks[0]->fill;
    };
    CHECK(square(77) == view::Token::err);
    CHECK(square(0) == view::Token::warn);
    CHECK(square(1023) == view::Token::warn);
    check_texts(picture, stand.measure);
    const auto facts = view::end_facts(stand.at({324, 600}, 0), *stand.end, view::WithoutFault::no);
    check_texts(facts, stand.measure);
    CHECK(find(facts, "wait").size() < 60);
    CHECK(facts.height < 1500);
}
