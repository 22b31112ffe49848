#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/scenario/scenario.h"
#include "core/scenario/variant.h"
#include "core/time/clock.h"
#include "core/trace/query.h"
#include "core/trace/trace.h"

namespace meshscope::scenario {

/// What a [[check]] gave on a run.
struct CheckResult {
    std::string id;
    Text title;               ///< empty: the id is all there is to show
    SourcePosition position;  ///< of its SQL
    bool passed = false;
    std::string value;             ///< what its SQL gave, as text
    std::optional<Message> error;  ///< why it could not be asked; then it has not passed
};

/// Asks every check of the scenario, in its order. One passes when its value is neither 0, NULL nor an empty
/// text.
std::vector<CheckResult> run_checks(const Scenario& scenario, const trace::TraceDatabase& database);

/// A value read from a run, or why there is none.
struct Answer {
    std::string text;
    std::optional<Message> error;
};

/// Every one of the numbers by id: a scenario's, or a variant's on the run of its changed scenario.
/// `database` is the trace's, `hardware` the profile of its modelled clock. Cost: a query a number, and where
/// any is modelled a replay a profile.
std::map<std::string, Answer> read_numbers(const std::vector<LessonNumber>& numbers,
                                           const trace::Trace& trace, const trace::TraceDatabase& database,
                                           const time::Profile& hardware);
/// Every [[lesson.number]] by id.
std::map<std::string, Answer> read_numbers(const Scenario& scenario, const trace::Trace& trace,
                                           const trace::TraceDatabase& database);

/// A quiz's answer from the run: a number, a list such as "0,2", or for a choice the index of the right one
/// as text. Where a choice has SQL too, both must agree ("scenario.quiz_disagrees"); a list that is none
/// gives "scenario.answer_unusable".
Answer quiz_answer(const Scenario::Quiz& quiz, const trace::TraceDatabase& database);

/// Whether what a learner gave is an answer of the quiz's kind at all: a number ("7,168", "7168 B"), ranks, a
/// list, the index of a choice that there is.
bool is_readable(const Scenario::Quiz& quiz, const std::string& given);
/// The same where only the quiz's kind ("number", "ranks", "order", "choice") and how many choices it has are
/// at hand.
bool is_readable(std::string_view kind, std::size_t choices, const std::string& given);

/// Whether what a learner gave is right: numbers within the tolerance; rank sets in any order; orders item by
/// item; a choice by its index.
bool is_right(const Scenario::Quiz& quiz, const std::string& answer, const std::string& given);
/// The same where only the quiz's kind ("number", "ranks", "order", "choice") and tolerance are at hand.
bool is_right(std::string_view kind, double tolerance, const std::string& answer, const std::string& given);

/// The hint for a wrong answer: that of the chosen choice, or the one whose `when` says the same; null when
/// there is none.
const Text* hint_for_answer(const Scenario::Quiz& quiz, const std::string& given);

/// The event that a lesson step's `at` gives.
struct StepEvent {
    int32_t rank = 0;
    int32_t event = 0;
    double part = 0.5;  ///< where in the event the cursor stands: 0 its start, 1 its end
};

/// Nothing when `at` is empty. Throws InvalidArgument: what the query throws, and "scenario.at_unusable"
/// {step} when the first row does not name an event as "rank, id, part", "rank, id" or "id" (of rank 0).
/// `trace` holds the events; an id outside it throws "trace.no_event".
std::optional<StepEvent> step_event(const Scenario::LessonStep& step, const trace::TraceDatabase& database,
                                    const trace::Trace& trace);

/// A number as it is told to a learner: with a tolerance only the digits that it leaves certain (7.128…
/// within 1.5 is 7.1), else unchanged. What is no number stays as it is.
std::string rounded_answer(const std::string& answer, double tolerance);

/// The items of "0,2", "[0, 2]", "a b" or "a，b、c": separated by commas, also Chinese ones, or by spaces;
/// brackets do not count.
std::vector<std::string> list_items(const std::string& text);

/// True when both name the same items in the same order, in capitals or not: "f0 b0" and "F0,B0".
bool same_items(const std::string& a, const std::string& b);

/// What [[lesson.number]] modelled may name:
///   step_ms           the last step, from its first begin to its last end over all ranks, as `predict` tells
///   compute_ms, communication_ms, exposed_ms   of one rank in that step (time::overlap)
///   mfu_percent       the operations of its matrix products and attention, recomputed ones aside, as a part
///                     of what all ranks could compute in that step at the profile's peak
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
