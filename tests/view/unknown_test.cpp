// Unknown is not zero: what a record does not hold is said to be so, and never shown as nothing.
#include "app/gui/view/collective_view.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/traffic_view.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;
using test::says_part;
using test::Toy;

namespace {

/// The toy as a run of a library's own collectives, or of a lower level, would have left it.
struct Without : Toy {
    Without(trace::Level level, bool native) {
        trace.info.level = level;
        for (trace::RankTrace& rank : trace.ranks) {
            rank.hops.clear();
            rank.pieces.clear();
            if (!native) continue;
            for (trace::Event& event : rank.events) {
                if (event.kind != trace::EventKind::collective) continue;
                event.algorithm = Algorithm::native;
                event.sent_bytes = 0;
            }
        }
        clock = time::modelled(trace, time::classroom());
    }
    /// In the middle of rank 0's first collective.
    int64_t during_collective() const {
        for (const trace::Event& event : trace.ranks[0].events)
            if (event.kind == trace::EventKind::collective) {
                const time::Interval at = clock.events[0][static_cast<std::size_t>(event.id)];
                return (at.begin_ns + at.end_ns) / 2;
            }
        return 0;
    }
};

}  // namespace

TEST_CASE("a library's own collectives take time on the modelled clock, as the engine's would") {
    const Toy told;
    const Without native(trace::Level::values, true);
    for (std::size_t r = 0; r < native.trace.ranks.size(); ++r)
        for (const trace::Event& event : native.trace.ranks[r].events) {
            if (event.kind != trace::EventKind::collective) continue;
            if (native.trace.groups[static_cast<std::size_t>(event.group)].ranks.size() < 2) continue;
            const time::Interval at = native.clock.events[r][static_cast<std::size_t>(event.id)];
            CHECK(at.end_ns - at.begin_ns > time::classroom().launch_ns);
        }
    CHECK(static_cast<double>(native.clock.end_ns) ==
          Approx(static_cast<double>(told.clock.end_ns)).epsilon(0.3));
}

TEST_CASE("what the record does not tell of traffic and hops is said, in both views, and fits") {
    for (const bool is_native : {true, false}) {
        CAPTURE(is_native);
        const Without run(is_native ? trace::Level::values : trace::Level::collectives, is_native);
        const auto traffic = view::traffic_view(run.at(run.clock.end_ns));
        CHECK(says_part(traffic, "Traffic: not recorded"));
        CHECK_FALSE(says_part(traffic, "No rank sent anything"));
        CHECK(test::text_problems(traffic, run.measure).empty());
        const auto collective = view::collective_view(run.at(run.during_collective()));
        CHECK(says_part(collective, is_native ? "does not tell how" : "hops were not recorded"));
        CHECK_FALSE(says_part(collective, "nothing has moved"));
        CHECK(test::text_problems(collective, run.measure).empty());
    }
}

TEST_CASE("a rank without memory in a step is named, and one that has some stands in its place") {
    Toy toy;
    const auto forget = [&](std::size_t rank) {
        toy.trace.ranks[rank] = {};
        toy.clock.events[rank].clear();
        toy.clock.hops[rank].clear();
    };
    forget(1);
    toy.selection.rank = 1;
    const auto picture = view::memory_view(toy.at(toy.clock.end_ns / 2));
    CHECK(says_part(picture, "Rank 1 recorded no memory in this step"));
    CHECK_FALSE(test::find(picture, "peak", 0).empty());
    CHECK(test::text_problems(picture, toy.measure).empty());
    for (std::size_t rank = 0; rank < toy.trace.ranks.size(); ++rank) forget(rank);
    toy.trace.info.level = trace::Level::off;
    CHECK(says_part(view::memory_view(toy.at(0)), "this record has the level \"off\""));
}
