#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/scenario/variant.h"
#include "core/time/clock.h"
#include "core/trace/query.h"
#include "core/trace/trace.h"

namespace meshscope::scenario {

/// What [[lesson.number]] modelled may name:
///   step_ms           the last step, from its first begin to its last end over all ranks, as `predict` tells
///   compute_ms, communication_ms, exposed_ms   of one rank in that step (time::overlap)
///   bubble_percent    how much of that step's forward and backward one rank computes nothing (time::bubble)
///   events_us         the lengths of the events that `sql` names, added up
///   hops_us           of the collectives that `sql` names, each from its first hop's begin to its last's
///   end,
///                     of the hops that its rank received, added up: without what opens the call
std::span<const std::string_view> modelled_figures();

/// Whether a figure is of events that SQL names, as rows of "rank, id"; the others are of the last step.
bool is_of_events(std::string_view figure);

/// Whether a figure of the last step is of one rank.
bool is_of_a_rank(std::string_view figure);

/// A run's modelled clocks, each played when it is first asked for.
class ModelledClocks {
  public:
    /// Both live longer. `hardware` is the scenario's profile.
    ModelledClocks(const trace::Trace& trace, const trace::TraceDatabase& database, time::Profile hardware)
        : trace_(trace), database_(database), hardware_(std::move(hardware)) {}

    /// The value of a number that has `modelled`, with its decimals. Throws what time::modelled and the query
    /// throw, "time.no_rank", and InvalidArgument "scenario.modelled_rows" {id} where a row is no
    /// "rank, id". Cost: a replay the first time for each profile; then a pass over the events.
    std::string text(const LessonNumber& number);

  private:
    const time::Clock& clock(const time::Profile& profile);
    double of_step(const LessonNumber& number, const time::Clock& clock) const;
    double of_events(const LessonNumber& number, const time::Clock& clock) const;

    const trace::Trace& trace_;
    const trace::TraceDatabase& database_;
    time::Profile hardware_;
    std::map<std::string, time::Clock> played_;  ///< by the profile's name
};

}  // namespace meshscope::scenario
