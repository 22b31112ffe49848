// What is predicted of a call for another size, against runs of that size.
#include "app/gui/view/predict_call.h"

#include "core/comm/choice.h"
#include "tests/test.h"
#include "tests/view/really_run.h"

using namespace meshscope;
using test::even;
using test::really_run;

namespace {

int64_t length_ns(const trace::Trace& trace, const time::Profile& profile) {
    const time::Clock clock = time::modelled(trace, profile);
    int64_t end = 0;
    for (const auto& events : clock.events) end = std::max(end, events.front().end_ns);
    return end - clock.events.front().front().begin_ns;
}

}  // namespace

TEST_CASE("what is predicted of a small call for 64 KiB is what a run of 64 KiB takes, or a little more") {
    const time::Profile profile = time::classroom();
    for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather,
                                  CollectiveOp::reduce_scatter, CollectiveOp::broadcast})
        for (const Algorithm algorithm : comm::algorithms_of(op))
            for (const int32_t p : {2, 4, 8}) {
                const auto small = really_run(op, algorithm, even(p, 1));
                const auto large = really_run(op, algorithm, even(p, (1 << 14) / p));
                const auto predicted = view::predicted_ns(small.trace, {0, 0}, profile, 1 << 16);
                const auto takes = static_cast<double>(length_ns(large.trace, profile));
                INFO(name(op) << " " << name(algorithm) << " p=" << p << ": predicted "
                              << predicted.value_or(-1) << ", takes " << takes);
                REQUIRE(predicted);
                CHECK(static_cast<double>(*predicted) >= 0.999 * takes);
                CHECK(static_cast<double>(*predicted) <= 1.6 * takes);
                if (algorithm == Algorithm::ring) CHECK(static_cast<double>(*predicted) <= 1.001 * takes);
            }
}

TEST_CASE("nothing is predicted of a call without an algorithm of the engine's, or of one rank") {
    auto ran = really_run(CollectiveOp::all_reduce, Algorithm::ring, even(2, 4));
    REQUIRE(view::predicted_ns(ran.trace, {0, 0}, time::classroom(), 1 << 16));
    ran.trace.ranks[0].events[0].algorithm = Algorithm::native;
    CHECK_FALSE(view::predicted_ns(ran.trace, {0, 0}, time::classroom(), 1 << 16));
    ran.trace.ranks[0].events[0].algorithm = Algorithm::ring;
    ran.trace.groups[0].ranks = {0};
    CHECK_FALSE(view::predicted_ns(ran.trace, {0, 0}, time::classroom(), 1 << 16));
}
