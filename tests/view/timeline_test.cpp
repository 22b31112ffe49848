#include "app/gui/view/format_flops.h"
#include "app/gui/view/timeline_view.h"

#include <algorithm>

#include "app/gui/view/stepping.h"
#include "app/gui/view/timeline_bars.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"
#include "tests/view/toy.h"

using namespace meshscope;
using test::find;
using test::Toy;
using view::EventRef;

TEST_CASE("every event of every rank is a bar at its time on the clock") {
    const Toy toy;
    const auto picture = view::timeline_view(toy.at(0, {2000, 1100}));
    const auto axis = view::timeline_axis(toy.at(0, {2000, 1100}));
    CHECK(picture.content_height == 1100);
    for (int32_t r = 0; r < 4; ++r)
        for (const auto& e : toy.trace.ranks[static_cast<std::size_t>(r)].events) {
            const auto bars = find(picture, "event", r, e.id);
            REQUIRE(!bars.empty());
            const auto& t = toy.clock.events[static_cast<std::size_t>(r)][static_cast<std::size_t>(e.id)];
            CHECK(bars[0]->box.x == Approx(axis.x(t.begin_ns)).margin(1));
            CHECK(bars[0]->box.x + bars[0]->box.w == Approx(axis.x(t.end_ns)).margin(1.1));
        }
    CHECK(find(picture, "rank").size() >= 4);
    CHECK(find(picture, "lane", 0, static_cast<int64_t>(Stream::all_reduce)).size() >= 1);
    CHECK(find(picture, "lane", 0, static_cast<int64_t>(Stream::copy)).empty());  // no event uses it
}

TEST_CASE(
    "collectives keep their look: a tint of their hue, a hatch on reduce_scatter, never the compute fill") {
    const Toy toy;
    const auto picture = view::timeline_view(toy.at(0, {2000, 1100}));
    for (const auto& e : toy.trace.ranks[0].events) {
        const auto* bar = find(picture, "event", 0, e.id)[0];
        if (e.kind == trace::EventKind::compute) {
            CHECK(bar->fill == view::Token::compute);
            continue;
        }
        CHECK(bar->fill_alpha == Approx(0.26));
        CHECK(bar->width == Approx(1.4));
        CHECK((bar->pattern == view::Fill::hatch) == (e.op == CollectiveOp::reduce_scatter));
    }
}

TEST_CASE("time and pixels turn into each other") {
    const Toy toy;
    const auto axis = view::timeline_axis(toy.at(0));
    for (const int64_t t : {int64_t{0}, toy.clock.end_ns / 3, toy.clock.end_ns})
        CHECK(static_cast<double>(axis.time(axis.x(t))) == Approx(static_cast<double>(t)).margin(40));
    CHECK(axis.time(-1000) == 0);
    CHECK(axis.time(1e6F) == toy.clock.end_ns);
}

TEST_CASE("narrow bars merge, wide ones never") {
    using view::Bar;
    const std::vector<Bar> bars{{0, 1, 0}, {1.5F, 2, 1}, {3, 4, 2}, {4, 40, 3}, {41, 42, 4}, {60, 61, 5}};
    const auto merged = view::merge_narrow(bars);
    REQUIRE(merged.size() == 4);
    CHECK(merged[0].count == 3);
    CHECK(merged[0].x1 == 4);
    CHECK(merged[1].event == 3);
    CHECK(merged[1].count == 1);
    CHECK(merged[2].event == 4);
    CHECK(merged[3].event == 5);  // too far from the one before
}

TEST_CASE("a collective is never hidden in a bar of kernels, however narrow all are") {
    // As under tensor parallelism: kernels and collectives take turns on one stream.
    std::vector<trace::Event> events(5);
    events[1].kind = events[3].kind = trace::EventKind::collective;
    const std::vector<view::Bar> bars{{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {90, 91, 3}, {91, 92, 4}};
    const auto merged = view::merge_lane(bars, events);
    REQUIRE(merged.size() == 4);
    CHECK(merged[0].event == 0);  // both kernels at the left
    CHECK(merged[0].count == 2);
    CHECK(merged[1].event == 4);
    CHECK(merged[2].event == 1);  // the collectives last, over them
    CHECK(merged[2].count == 1);
    CHECK(merged[3].event == 3);
}

TEST_CASE("a collective waits from when its rank was ready until the last rank is") {
    // rank 0 computes 4 µs, rank 1 computes 8 µs (400 and 800 FLOPs at the classroom's speed), then both
    // reduce.
    test::TraceBuilder b({2}, {"shard"});
    const int32_t g = b.add_dim_groups(0)[0];
    const int32_t a0 = b.compute(0, "linear", "net", Phase::forward, 400),
                  a1 = b.compute(1, "linear", "net", Phase::forward, 800);
    test::TraceBuilder::Call call;
    call.stream = Stream::all_reduce;
    call.after = {{a0}, {a1}};
    b.collective(g, call, {{1, 2}, {3, 4}});
    const auto trace = b.take();
    const auto clock = time::modelled(trace, time::classroom());
    const auto first = view::waits(trace, clock, 0), second = view::waits(trace, clock, 1);
    CHECK(first[1].begin_ns == 4000);
    CHECK(first[1].end_ns == 8000);
    CHECK(second[1].begin_ns == second[1].end_ns);
    CHECK(first[0].begin_ns == first[0].end_ns);
    const auto steps = view::step_intervals(trace, clock);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].begin_ns == 0);
    CHECK(steps[0].end_ns == clock.end_ns);
}

TEST_CASE("stepping by hops stops where chunks land, by events where they begin") {
    const Toy toy;
    const auto first = view::next_hop(toy.trace, toy.clock, {0});
    REQUIRE(first);
    CHECK(first->t_ns == toy.clock.hops[0][0].end_ns);
    // There and back.
    view::Cursor cursor{0};
    std::vector<int64_t> stops;
    while (const auto next = view::next_hop(toy.trace, toy.clock, cursor)) {
        CHECK(next->t_ns > cursor.t_ns);
        cursor = *next;
        stops.push_back(cursor.t_ns);
    }
    // 4 all_gathers and 2 reduce_scatters of one hop; 2 all_reduces of two rounds, whose chunks differ by one
    // element (33 = 17 + 16, 55 = 28 + 27) and so land at two moments: 6 + 2·2·2.
    CHECK(stops.size() == 14);
    for (std::size_t i = stops.size() - 1; i > 0; --i) {
        const auto back = view::previous_hop(toy.trace, toy.clock, {stops[i]});
        REQUIRE(back);
        CHECK(back->t_ns == stops[i - 1]);
    }
    const auto event = view::next_event(toy.trace, toy.clock, {0});
    REQUIRE(event);
    CHECK(event->t_ns > 0);
    CHECK_FALSE(view::previous_event(toy.trace, toy.clock, {0}));
}

TEST_CASE("the event at the cursor is the latest begun, communication before compute") {
    const Toy toy;
    CHECK(view::event_at(toy.trace, toy.clock, {0}, 0) == EventRef{0, 0});
    const auto prefetched = std::find_if(toy.trace.ranks[0].events.begin(), toy.trace.ranks[0].events.end(),
                                         [](const auto& e) { return e.prefetch != 0; });
    REQUIRE(prefetched != toy.trace.ranks[0].events.end());
    const auto& t = toy.clock.events[0][static_cast<std::size_t>(prefetched->id)];
    CHECK(view::event_at(toy.trace, toy.clock, {t.begin_ns + 10}, 0)->event >= prefetched->id);
    CHECK_FALSE(view::event_at(toy.trace, toy.clock, {0}, 9));
}

TEST_CASE("facts of an event hold PyTorch's counts and the formula beside what was sent") {
    const Toy toy;
    // HSDP (2,2): all_gather net1 55 → 110, half of 440 B sent (pytorch_rules: (n−1)/n·S).
    const auto facts = view::describe_event(toy.at(0), {0, 0});
    CHECK(facts.op == "all_gather");
    CHECK(facts.unit == "net1");
    CHECK(facts.sent == "220 B");
    CHECK(facts.predicted == "220 B");
    CHECK(facts.agrees);
    bool counts = false;
    for (const auto& row : facts.rows) counts = counts || row.value == "55 → 110";
    CHECK(counts);
    for (std::size_t r = 0; r < 4; ++r)
        for (const auto& e : toy.trace.ranks[r].events)
            if (const auto f = view::byte_formula(toy.trace, e)) CHECK(f->bytes == e.sent_bytes);
}

TEST_CASE("the ruler keeps its words apart: 8 px beside a step's name") {
    // Two steps; the second begins a little later in each round, so that its name meets every number.
    int64_t seen = 0;
    for (int64_t flops = 400; flops < 6000; flops += 190) {
        test::TraceBuilder b({1}, {"shard"});
        b.compute(0, "linear", "net", Phase::forward, flops, {}, 0);
        b.compute(0, "linear", "net", Phase::forward, 6000, {}, 1);
        auto trace = b.take();
        trace.info.steps = 2;
        const auto clock = time::modelled(trace, time::classroom());
        const test::FakeMeasure measure;
        const test::CatalogueTexts texts(view::Language::en);
        const view::Input in{trace, clock, {0}, {}, {700, 300}, view::Language::en, measure, texts};
        const auto picture = view::timeline_view(in);
        for (const auto* step : find(picture, "step")) {
            if (step->kind != view::ShapeKind::text) continue;
            ++seen;
            for (const auto& other : picture.shapes)
                if (other.kind == view::ShapeKind::text && &other != step &&
                    other.box.y < step->box.y + step->box.h && step->box.y < other.box.y + other.box.h) {
                    INFO(step->text << " and " << other.text << ", " << flops);
                    const bool apart = other.box.x >= step->box.x + step->box.w + 8 ||
                                       other.box.x + other.box.w + 8 <= step->box.x;
                    CHECK(apart);
                }
        }
    }
    CHECK(seen > 20);
}

TEST_CASE("numbers are written as look.md says") {
    CHECK(view::format_bytes(1980) == "1,980 B");
    CHECK(view::format_bytes(99999) == "99,999 B");
    CHECK(view::format_bytes(262144) == "262 KB");
    CHECK(view::format_bytes(2228248) == "2.23 MB");
    CHECK(view::format_exact_bytes(2228248) == "2,228,248 B");
    CHECK(view::format_flops(7424) == "7,424 FLOP");
    CHECK(view::format_flops(99'999) == "99,999 FLOP");
    CHECK(view::format_flops(262'144) == "262 kFLOP");
    CHECK(view::format_flops(2'228'248) == "2.23 MFLOP");
    CHECK(view::format_flops(15'060'000'000) == "15.1 GFLOP");
    CHECK(view::format_flops(999'600) == "1.00 MFLOP");
    CHECK(view::format_time(16100) == "16.1 µs");
    CHECK(view::format_time(999) == "999 ns");
    CHECK(view::format_time(999'600) == "1.00 ms");
    CHECK(view::format_number(-0.25F) == "\u22120.25");
    CHECK(view::format_number(59) == "59");
    CHECK(view::format_percent(0) == "0");
    CHECK(view::format_percent(0.0049) == "< 1");
    CHECK(view::format_percent(0.41) == "41");
}

TEST_CASE("the lanes scroll by as much as brings a chosen rank into view whole, and no more") {
    test::TraceBuilder b({8}, {"shard"});
    for (int32_t r = 0; r < 8; ++r) b.compute(r, "linear", "net", Phase::forward, 400);
    const auto g = b.add_dim_groups(0)[0];
    test::TraceBuilder::Call call;
    call.stream = Stream::all_reduce;
    b.collective(g, call, std::vector<std::vector<float>>(8, {1, 2, 3, 4, 5, 6, 7, 8}));
    const auto trace = b.take();
    const auto clock = time::modelled(trace, time::classroom());
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts(view::Language::en);
    const view::Selection nothing;
    for (const float height : {170.F, 230.F, 328.F, 420.F, 700.F}) {
        INFO(height);
        const view::Input input{trace, clock, {}, nothing, {656, height}, view::Language::en, measure, texts};
        view::TimelineOptions options;
        for (const int32_t rank : {5, 0, 7, 3, 3, 6}) {
            const float before = options.scroll_y;
            const auto seen = [&](const view::Picture& p) {
                const auto lanes = find(p, "lane", rank);
                return lanes.size() >= 2 && std::all_of(lanes.begin(), lanes.end(), [&](const auto* s) {
                           return s->box.y >= 0 && s->box.y + s->box.h <= height;
                       });
            };
            const bool already = seen(view::timeline_view(input, options));
            options.scroll_y = view::timeline_scroll_to(input, options, rank);
            const auto picture = view::timeline_view(input, options);
            CHECK(seen(picture));
            if (already) CHECK(options.scroll_y == before);
            CHECK(options.scroll_y >= 0);
            CHECK(options.scroll_y <= picture.content_height - height + 0.01F);  // the panel can go there
        }
    }
}

TEST_CASE("communication never stands among what is computed, on whatever stream it was called") {
    trace::Trace trace = test::toy_hsdp();
    // As TP's all_reduces and set-up's broadcasts are: collectives on the compute stream.
    int moved = 0;
    for (auto& rank : trace.ranks)
        for (auto& event : rank.events)
            if (event.kind == trace::EventKind::collective && event.stream == Stream::all_reduce) {
                event.stream = Stream::compute;
                ++moved;
            }
    REQUIRE(moved > 0);
    const time::Clock clock = time::modelled(trace, time::classroom());
    const view::Selection selection;
    const test::FakeMeasure measure;
    const test::CatalogueTexts texts{view::Language::en};
    const view::Input input{trace, clock, {0}, selection, {2000, 1400}, view::Language::en, measure, texts};
    const auto picture = view::timeline_view(input);
    std::size_t checked = 0;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const auto rank = static_cast<int32_t>(r);
        const auto lane = [&](view::Lane which) {
            const auto found = find(picture, "lane", rank, static_cast<int64_t>(which));
            REQUIRE_FALSE(found.empty());
            return found[0]->box;
        };
        const auto compute = lane(view::Lane::compute), calls = lane(view::Lane::communication);
        CHECK(calls.y >= compute.y + compute.h);
        for (const auto& event : trace.ranks[r].events) {
            if (event.stream != Stream::compute) continue;
            const auto& own = event.kind == trace::EventKind::collective ? calls : compute;
            for (const auto* bar : find(picture, "event", rank, event.id)) {
                if (bar->kind != view::ShapeKind::rect) continue;
                CHECK(bar->box.y >= own.y - 4);
                CHECK(bar->box.y + bar->box.h <= own.y + own.h + 4);
                ++checked;
            }
        }
    }
    CHECK(checked > 20);
    CHECK(test::says(picture, "communication"));
}
