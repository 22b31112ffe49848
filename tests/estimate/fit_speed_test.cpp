// A speed of products fitted to measured steps, and the profile that it makes.
#include <vector>

#include "core/base/error.h"
#include "core/estimate/fit_speed.h"
#include "core/estimate/step_time.h"
#include "core/time/read_profile.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::estimate;

namespace {

/// Published runs of one GPU whose steps are replaced by estimates with a speed that is known.
std::vector<PublishedRun> runs_at(double speed) {
    std::vector<PublishedRun> made;
    for (const PublishedRun& run : published_runs()) {
        if (run.skipped || !run.step_ms || run.launch_bound || run.gpu != "h100") continue;
        made.push_back(run);
        const Machine machine(run.profile, run.gpus_per_node, speed);
        made.back().step_ms = 1e3 * step_time(run.job, machine).total_s();
        if (made.size() == 5) break;
    }
    return made;
}

}  // namespace

TEST_CASE("the speed that made the steps comes back, and one odd run does not move it") {
    std::vector<PublishedRun> runs = runs_at(0.8);
    REQUIRE(runs.size() == 5);
    SpeedFit fit = fit_speed(runs);
    CHECK(fit.speed == Approx(0.8).epsilon(2e-3));
    CHECK(fit.runs.size() == 5);
    CHECK(fit.mean_error() < 5e-3);
    runs[0].step_ms = 3 * *runs[0].step_ms;
    fit = fit_speed(runs);
    CHECK(fit.speed == Approx(0.8).epsilon(2e-3));
    CHECK(fit.worst_error() == Approx(-2.0 / 3).epsilon(1e-2));
    // What cannot be estimated is named, and no run at all is refused.
    runs[1].step_ms.reset();
    fit = fit_speed(runs);
    REQUIRE(fit.left_out.size() == 1);
    CHECK(fit.left_out[0].id == runs[1].id);
    for (PublishedRun& run : runs) run.step_ms.reset();
    CHECK_THROWS_AS(fit_speed(runs), InvalidArgument);
}

TEST_CASE("a profile with a fitted speed keeps the data sheet's peak, and is written and read again") {
    const time::Profile h100 = time::named_profile("h100");
    const time::Profile slower = with_speed(h100, 0.5);
    CHECK(slower.bfloat16_flops_per_s == h100.bfloat16_flops_per_s / 2);
    CHECK(slower.bfloat16_peak_flops_per_s == h100.bfloat16_peak_flops_per_s);
    CHECK(Machine(slower, 8).hopper());
    const time::Profile read = time::parse_profile(time::profile_text(slower, "fitted"), "h.toml");
    CHECK(read.bfloat16_flops_per_s == Approx(slower.bfloat16_flops_per_s).epsilon(1e-5));
    CHECK(read.bfloat16_peak_flops_per_s == Approx(h100.bfloat16_peak_flops_per_s).epsilon(1e-5));
    CHECK(read.attention_share == Approx(h100.attention_share).epsilon(1e-5));
}
