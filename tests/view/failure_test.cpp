// How runs that failed are drawn: who waits for whom, who is crossed out, where the timeline breaks off.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "app/gui/view/collective_view.h"
#include "app/gui/view/compare_figures.h"
#include "app/gui/view/compare_view.h"
#include "app/gui/view/end_facts.h"
#include "core/time/exposed.h"
#include "tests/test.h"
#include "tests/view/failure_stage.h"
#include "tests/view/picture_check.h"

using namespace meshscope;
using namespace test::failure;
using test::find;

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
                CHECK(view::end_advice(*stand.end).size() == 3);
                for (const auto& shape : facts.shapes)  // a head's note is in its face
                    if (shape.text == stand.texts.text(Message{"view.end.waits.certain", {}}))
                        CHECK(shape.face == view::Face::caption);
                for (const Message& line : view::end_advice(*stand.end))
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

TEST_CASE("the cursor runs through no word of a run that broke off, and a rank seen in part has its cross") {
    const Stand stand(record_of(kHsdp));
    std::size_t words = 0;
    for (const float width : {656.F, 820.F, 1100.F})
        for (int64_t part = 0; part <= 40; ++part) {
            const time::Interval span = time::span_of_step(*stand.trace, stand.clock, stand.end->step);
            const int64_t t = span.begin_ns + (stand.clock.end_ns - span.begin_ns) * part / 40;
            const auto options = stand.step();
            const auto picture = view::timeline_view(stand.at({width, 700}, t), options);
            for (const auto* line : find(picture, "cursor")) {
                if (line->kind != view::ShapeKind::line) continue;
                const float x = line->points.front().x;
                for (const auto& shape : picture.shapes) {
                    const bool marks = shape.id.kind == "event" || shape.id.kind == "broke_off";
                    if (shape.kind != view::ShapeKind::text || !marks || shape.box.y < line->points[0].y)
                        continue;
                    ++words;
                    const float wide = stand.measure.width(shape.text, shape.face),
                                left = shape.box.x + (shape.box.w - wide) / 2;
                    INFO(shape.text << " at " << left << ", cursor at " << x);
                    CHECK((x <= left || x >= left + wide));
                }
            }
        }
    CHECK(words > 1000);
    // The lowest rank's lanes are cut by the picture's edge, its call's is not.
    const auto whole = stand.timeline({656, 700});
    const auto cross = find(whole, "broke_off", 3);
    REQUIRE_FALSE(cross.empty());
    const float below = cross.front()->box.y + cross.front()->box.h;
    const auto low = stand.timeline({656, below + 20});
    CHECK_FALSE(find(low, "broke_off", 3).empty());
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
    // Those who wait do so to the clock's end; what counts is what the run took.
    const float broke_off = axis.x(stand.broke_off());
    REQUIRE(broke_off < axis.x1 - 1);
    CHECK_FALSE(find(picture, "exposed", 0).empty());
    for (const view::Shape* shape : find(picture, "exposed"))
        if (shape->kind == view::ShapeKind::rect) CHECK(shape->box.x + shape->box.w <= broke_off + 0.5F);
    CHECK(test::says_part(picture, "dies here"));
    CHECK(test::says(picture, "run ends"));
    // While the end is not told nothing of it is marked, and yet no call that never ended looks whole.
    view::TimelineOptions untold = options;
    untold.untold = std::exchange(untold.end, nullptr);
    const auto before = view::timeline_view(input, untold);
    for (const char* kind : {"torn", "gone", "broke_off"}) CHECK(find(before, kind).empty());
    for (const int32_t rank : {0, 1, 2, 3})
        CHECK(find(before, "open", rank, stand.rank(rank).call).size() == 1);
    // Of a run that ended well nothing of this is drawn.
    const Stand whole(record_of(kHsdp.substr(0, kHsdp.find("[[faults]]"))));
    const auto healthy = view::timeline_view(whole.at(size, 0));
    for (const char* kind : {"torn", "open", "gone", "broke_off"}) CHECK(find(healthy, kind).empty());
    const auto mesh = view::mesh_view(whole.at(size, whole.clock.end_ns));
    for (const char* kind : {"end", "wait"}) CHECK(find(mesh, kind).empty());
}

TEST_CASE("in a low picture all ranks of a run that ended early are seen: lanes share rows") {
    for (const auto language : {view::Language::en, view::Language::zh}) {
        const Stand stand(record_of(kHsdp), language);
        const view::Size size{656, 272};  // below the mesh in the smallest window
        view::TimelineOptions options = stand.step();
        const auto ranks = [&](const view::Picture& picture) {  // with all their lanes
            std::map<int64_t, int> lanes;
            std::set<int64_t> whole;
            for (const view::Shape* lane : find(picture, "lane"))
                if (lane->kind == view::ShapeKind::rect && lane->box.y + lane->box.h <= size.height)
                    if (++lanes[lane->id.a] == 5) whole.insert(lane->id.a);
            return whole;
        };
        const auto rows = [&](const view::Picture& picture, int64_t rank) {
            std::set<float> tops;
            for (const view::Shape* lane : find(picture, "lane", rank))
                if (lane->kind == view::ShapeKind::rect) tops.insert(lane->box.y);
            return tops.size();
        };
        const auto picture = stand.timeline(size);
        check_texts(picture, stand.measure);
        CHECK(ranks(picture) == std::set<int64_t>{0, 1, 2, 3});
        CHECK(picture.content_height <= size.height);
        for (const int64_t rank : {0, 1, 2, 3}) {
            INFO(rank);
            CHECK(rows(picture, rank) == 3);
            // What shares a row stands beside each other, as the whole lanes of a higher picture have it.
            std::vector<const view::Shape*> bars;
            for (const view::Shape* bar : find(picture, "event", rank))
                if (bar->kind == view::ShapeKind::rect && bar->box.w > 3) bars.push_back(bar);
            CHECK(bars.size() > 5);
            for (const auto* one : bars)
                for (const auto* other : bars) {
                    if (one->id.b >= other->id.b || one->box.y >= other->box.y + other->box.h ||
                        other->box.y >= one->box.y + one->box.h)
                        continue;
                    CHECK(std::max(one->box.x, other->box.x) + 0.1F >=
                          std::min(one->box.x + one->box.w, other->box.x + other->box.w));
                }
        }
        for (const char* words : {"AG", "RS", "AR"}) CHECK(test::says(picture, words));
        // Where there is room for whole lanes each has its row and its name.
        const auto high = stand.timeline({656, 700});
        CHECK(rows(high, 0) == 5);
        CHECK(test::says(high, "reduce_scatter"));
        // Where not even that is enough more ranks are seen than whole lanes would let.
        options.end = nullptr;
        const auto input = stand.at(size, stand.broke_off());
        CHECK(ranks(view::timeline_view(input, options)).size() == 1);
        CHECK(ranks(stand.timeline({656, 200})).size() >= 2);
    }
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
    const view::Picture told = facts(view::WithoutFault::no);
    const auto rows = find(told, "wait", 0);
    REQUIRE_FALSE(rows.empty());
    CHECK(rows[0]->id.b == stand.rank(0).call);
}

TEST_CASE("a rank that dies in a call dies behind the last hop in which it took part") {
    // A ring of four: rank 3 has taken two messages of the bucket's all_reduce, and dies before the third.
    const std::string text =
        "format = 1\n[model]\nkind = \"toy\"\nseed = 1\n[train]\nsteps = 3\nglobal_batch = 8\n[mesh]\n"
        "shape = [4]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\nalgorithm = \"ring\"\n[[faults]]\n"
        "kind = \"kill\"\nrank = 3\nstep = 1\nrule = \"ddp.bucket.all_reduce\"\nhop = 2\n";
    const Stand stand(record_of(text));
    REQUIRE(stand.end);
    const view::RankEnd& dead = stand.rank(3);
    REQUIRE(dead.stands == view::RankEnd::Stands::lost);
    REQUIRE(dead.call >= 0);
    const time::Clock measured = time::measured(*stand.trace);
    for (const time::Clock* clock : {&stand.clock, &measured}) {
        const int64_t died = view::stood_ns(*clock, stand.end->waits, 3);
        int32_t received = 0;
        for (std::size_t h = 0; h < stand.trace->ranks[3].hops.size(); ++h) {
            if (stand.trace->ranks[3].hops[h].event != dead.call) continue;
            ++received;
            CHECK(clock->hops[3][h].end_ns <= died);
        }
        CHECK(received == 2);
        CHECK(died > clock->events[3][static_cast<std::size_t>(dead.call)].begin_ns);
    }
    // On the modelled clock a message leaves for as long as it arrives.
    const int64_t died = view::stood_ns(stand.clock, stand.end->waits, 3);
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t h = 0; h < stand.trace->ranks[r].hops.size(); ++h)
            if (stand.trace->ranks[r].hops[h].src == 3) CHECK(stand.clock.hops[r][h].end_ns <= died);
    // Of its call the facts say what had arrived of it, and neither a duration nor "0 B".
    int64_t bytes = 0;
    for (const trace::RankTrace& rank : stand.trace->ranks)
        for (const trace::Hop& hop : rank.hops)
            if (hop.src == 3 && hop.event == stand.rank(hop.dst).call) bytes += hop.bytes;
    REQUIRE(bytes > 0);
    for (const auto language : {view::Language::en, view::Language::zh}) {
        const Stand told(stand.trace, language);
        const auto facts = view::describe_event(told.at({324, 600}, 0), {3, dead.call});
        CHECK(facts.sent.find(view::format_exact_bytes(bytes)) != std::string::npos);
        CHECK(facts.sent != view::format_exact_bytes(bytes));
        CHECK(facts.formula.empty());
        const std::string duration = told.texts.text({"view.fact.duration", {}}),
                          never = told.texts.text({"view.fact.not_ended", {}});
        for (const view::Fact& fact : facts.rows) CHECK(fact.label != duration);
        CHECK(std::ranges::count(facts.rows, never, &view::Fact::value) == 1);
    }
}

TEST_CASE("beside its healthy run a broken one is as long as it ran, and what never ended is open") {
    const auto broken = record_of(kHsdp), whole = record_of(kHsdp.substr(0, kHsdp.find("[[faults]]")));
    const Stand stand(broken), healthy(whole);
    const std::vector<view::ComparedRun> runs{{"broken", *broken, stand.clock, 0, true, &*stand.end},
                                              {"whole", *whole, healthy.clock, 0}};
    const auto figures = view::run_figures(runs[0], stand.end->step);
    CHECK(figures.span.end_ns == stand.broke_off());
    CHECK(figures.step_ns <
          time::span_of_step(*broken, stand.clock, stand.end->step).end_ns - figures.span.begin_ns);
    CHECK(figures.exposed_ns <= figures.step_ns);
    CHECK(figures.sent_bytes == -1);  // of the call that never ended nobody knows
    const view::Input input = stand.at({1100, 800}, stand.broke_off());
    const auto picture = view::compare_view(input, runs, {});
    check_texts(picture, stand.measure);
    CHECK(find(picture, "open", 0, stand.rank(0).call).size() == 1);
    // Behind the break nothing is drawn of it.
    const auto line = find(picture, "broke_off", 0);
    REQUIRE_FALSE(line.empty());
    for (const view::Shape* edge : find(picture, "open"))
        CHECK(edge->points.front().x <= line[0]->points.front().x + 3);  // a bar's least width
    const std::vector<view::ComparedRun> of_dead{{"broken", *broken, stand.clock, 3, true, &*stand.end},
                                                 {"whole", *whole, healthy.clock, 3}};
    CHECK(find(view::compare_view(input, of_dead, {}), "torn", 3, stand.rank(3).call).size() == 1);
}

TEST_CASE("where the run broke off is drawn whole on the measured clock too, though all ends there") {
    for (const char* kind : {"lost", "mismatch", "stalled"}) {
        Stand stand(record_of(kinds().at(kind)));
        stand.clock = time::measured(*stand.trace);
        for (const view::Size size : {view::Size{656, 420}, view::Size{1100, 700}}) {
            INFO(kind << " " << size.width);
            view::TimelineOptions whole;  // a rank that stalls is found out behind its step
            whole.end = &*stand.end;
            const auto picture = view::timeline_view(stand.at(size, stand.broke_off()), whole);
            check_texts(picture, stand.measure);
            CHECK_FALSE(find(picture, "broke_off").empty());
            CHECK(test::says(picture, "run ends"));
            for (const char* mark : {"open", "torn", "broke_off", "event"})
                for (const view::Shape* shape : find(picture, mark)) {
                    float right = shape->box.x + shape->box.w;
                    for (const view::Point& point : shape->points) right = std::max(right, point.x);
                    CHECK(right <= size.width - 2);
                }
        }
    }
}

TEST_CASE("among many ranks the dead one has a cross that can be told from its square") {
    const Stand stand(record_of(
        [] {
            Diagnosis diagnosis;
            diagnosis.kind = DiagnosisKind::lost;
            diagnosis.culprits = {19};
            return diagnosis;
        }(),
        {8, 8}));
    REQUIRE(stand.end);
    const auto picture = stand.mesh({656, 290});
    const view::Shape* square = nullptr;
    int strokes = 0;
    for (const view::Shape* shape : find(picture, "end", 19)) {
        if (shape->kind == view::ShapeKind::rect) square = shape;
        if (shape->kind == view::ShapeKind::line && shape->stroke == view::Token::err) ++strokes;
    }
    REQUIRE(square != nullptr);
    CHECK(strokes == 2);
    CHECK(square->fill != view::Token::err);
}

TEST_CASE("where a question asks how the run ends the facts of a call do not tell that it never ended") {
    const Stand stand(record_of(kHsdp));
    const view::EventRef ref{3, stand.rank(3).call};
    const auto told = view::describe_event(stand.at({324, 600}, 0), ref),
               covered = view::describe_event(stand.at({324, 600}, 0), ref, false);
    const std::string never = stand.texts.text({"view.fact.not_ended", {}});
    CHECK(std::ranges::count(told.rows, never, &view::Fact::value) == 1);
    CHECK(std::ranges::count(covered.rows, never, &view::Fact::value) == 0);
    CHECK(covered.sent.empty());
    CHECK(covered.rows.size() + 1 == told.rows.size());
}
