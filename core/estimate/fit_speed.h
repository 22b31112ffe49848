#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/estimate/published.h"
#include "core/time/profile.h"

namespace meshscope::estimate {

/// The speed of products with which `run` takes as long as was measured, as a factor on its profile's, from
/// 0.25 to 4, by halving: estimates fall as the speed grows. Its step_ms must be there. Cost: 30 estimates.
double own_speed(const PublishedRun& run);

/// The middle one of the runs' own speeds, to a thousandth: one odd run moves it little. `runs` must not be
/// empty.
double fitted_speed(std::span<const PublishedRun* const> runs);

/// A measured step beside what is estimated of it with the fitted speed.
struct FittedRun {
    std::string id;
    double measured_ms = 0, fitted_ms = 0;
    double error() const { return fitted_ms / measured_ms - 1; }
};

/// A run that the speed was not fitted to.
struct LeftOutRun {
    std::string id;
    Message why;
};

/// One speed of products, fitted to measured training steps.
struct SpeedFit {
    double speed = 1;  ///< a factor on the profile's
    std::vector<FittedRun> runs;
    std::vector<LeftOutRun> left_out;  ///< not estimated, without a step time, or bound by launches
    double mean_error() const;         ///< of the absolute shares
    double worst_error() const;        ///< signed
};

/// Fits the speed of products to all runs that can be estimated, each under its own profile. Throws
/// InvalidArgument "estimate.fit.no_runs" where there is none. Cost: 30 estimates a run.
SpeedFit fit_speed(std::span<const PublishedRun> runs);

/// The profile with its products, of every dtype, at `speed` times their speed. The data sheet's peak, which
/// utilisation is a part of, stays; where none is stated it is what products reached before.
time::Profile with_speed(time::Profile profile, double speed);

}  // namespace meshscope::estimate
