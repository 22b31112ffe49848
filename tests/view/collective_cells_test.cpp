// How a buffer's cells tell what becomes of what arrives.
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "app/gui/view/collective_view.h"
#include "tests/test.h"
#include "tests/view/picture_check.h"
#include "tests/view/stage.h"

using namespace meshscope;

namespace {

/// The picture of a ring's all_reduce while the hops of a round are under way, and the marks of adding in it.
std::size_t marks_of_adding(int32_t round) {
    test::Toy toy;
    toy.trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 4, 256);
    toy.clock = time::modelled(toy.trace, time::classroom());
    const auto& hops = toy.trace.ranks[0].hops;
    for (std::size_t i = 0; i < hops.size(); ++i)
        if (hops[i].round == round) {
            const time::Interval& hop = toy.clock.hops[0][i];
            const auto picture = view::collective_view(toy.at((hop.begin_ns + hop.end_ns) / 2));
            CHECK(!test::find(picture, "arriving").empty());
            return test::find(picture, "adding").size();
        }
    FAIL("no such round");
    return 0;
}

}  // namespace

TEST_CASE("hop by hop both halves of an all_reduce are named alike, by their names or by their marks") {
    test::Toy toy;
    toy.trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 4, 256);
    toy.clock = time::modelled(toy.trace, time::classroom());
    std::size_t seen = 0;
    for (float width = 700; width < 1500; width += 20) {
        const auto picture = view::collective_view(toy.at(toy.clock.end_ns / 2, {width, 700}));
        if (test::find(picture, "hop").empty()) continue;  // no room for it
        const bool named = test::says(picture, "reduce_scatter") || test::says(picture, "all_gather");
        const bool marked = test::says(picture, "RS") || test::says(picture, "AG");
        INFO(width);
        CHECK(named != marked);
        ++seen;
    }
    CHECK(seen > 10);
}

TEST_CASE("a cell that is added to has a plus on its edge, one that is replaced has none") {
    for (int32_t round = 0; round < 3; ++round) CHECK(marks_of_adding(round) == 4);
    for (int32_t round = 3; round < 6; ++round) CHECK(marks_of_adding(round) == 0);
}

TEST_CASE("a legend leaves out as few signs as it must for one line") {
    test::Toy toy;
    toy.trace = test::one_collective(CollectiveOp::all_reduce, Algorithm::ring, 4, 256);
    toy.clock = time::modelled(toy.trace, time::classroom());
    using Shown = std::pair<bool, bool>;  // what leaves a cell, and how full one is
    std::set<Shown> seen;
    for (float width = 1400; width >= 260; width -= 5) {
        const auto picture = view::collective_view(toy.at(toy.clock.end_ns / 4, {width, 700}));
        seen.emplace(test::says(picture, "being sent"), test::says(picture, "summed so far"));
    }
    CHECK(seen == std::set<Shown>{{true, true}, {false, true}, {true, false}, {false, false}});
}
