#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/sandbox/pipeline_order.h"
#include "app/gui/view/compare_figures.h"
#include "app/gui/view/run_end.h"
#include "app/gui/view/state.h"
#include "app/gui/view/stepping.h"
#include "core/scenario/scenario.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::session {

using scenario::Text;

struct Document;
struct Planned;

/// A step of a lesson, ready to show: the numbers in its text are filled in from the trace.
struct LessonStep {
    std::string id;
    /// Of the steps that follow the lesson's own, beside its last picture: "break" and "change", an exercise
    /// each, and "summary". "" for the lesson's own.
    std::string part;
    Text title, body;  ///< body: paragraphs; **strong**, `code`, [word](rank:0) links
    view::ViewKind view = view::ViewKind::mesh;
    std::optional<view::Form> form;  ///< of the view, where it has several
    std::vector<std::shared_ptr<const Document>> beside;  ///< runs of variants, which the form lays beside
    std::optional<view::EventRef> at;  ///< the event that the cursor goes to, of the document's own record
    double at_part = 0.5;              ///< where in it: 0 its start, 1 its end
    std::shared_ptr<const Document> run;   ///< a variant's, which the step shows; null: the lesson's own
    std::optional<view::EventRef> run_at;  ///< `at` of that run
    double run_at_part = 0.5;
    std::string slice;
    std::optional<int32_t> rank;
    /// The mesh view speaks of this mesh instead of the run's (only RunInfo's mesh is filled in); null: the
    /// run's.
    std::shared_ptr<const trace::Trace> mesh;
};

/// A part of a lesson that is no step: its goals, its introduction.
struct LessonSection {
    std::string id;
    Text title, body;  ///< as a step's; an empty title: the panel's own words
};

/// What a question for a number asks for, where that is something that is recorded of the run.
enum class Asked : uint8_t {
    other,     ///< a rank's number, a step, what another run would give: nothing on screen is left out
    bytes,     ///< sent, or held in memory
    elements,  ///< put into a collective, or got out of it
    calls,     ///< how many collectives, or hops of one
    peer,      ///< to whom something is sent
};
/// By what the SQL of the answer selects: "sum(bytes)" asks for bytes, "count(*)" of collectives for calls.
/// What is computed from several columns is recorded nowhere.
Asked asked_by(const std::string& sql);

/// A question of a step, with its answer as the trace gave it.
struct QuizCard {
    struct Choice {
        Text text, hint;
    };
    struct Hint {
        std::string when;
        Text text;
    };
    std::string id, step;
    std::string kind;  ///< number, choice, ranks, order
    Text question;
    std::vector<Choice> choices;
    std::string answer;  ///< what the trace says: "110"; "2" (index of the right choice); "0,2"
    double tolerance = 0;
    Asked asked = Asked::other;  ///< of kind number
    std::vector<Hint> hints;
    Text reveal;
};

/// A check of the scenario that did not hold for the run.
struct FailedCheck {
    Text title;   ///< its title, else its id
    Message why;  ///< what its query gave, or why it could not be asked
};

/// What is open: a run, its two clocks and its lesson. Immutable; shared by everything that shows it.
struct Document {
    std::string name;  ///< for the top bar: "hsdp.mscope"
    Text title;
    std::shared_ptr<const trace::Trace> trace;
    time::Clock modelled, measured;
    time::Profile hardware = time::classroom();  ///< that `modelled` plays the run under
    std::string schedule;  ///< of its pipeline: "1F1B"; "" without one
    std::shared_ptr<const sandbox::PipelineOrder> order;  ///< in which its pipeline works; null without one
    std::vector<LessonStep> steps;
    std::vector<LessonSection> before;  ///< shown above the first step
    std::vector<QuizCard> quizzes;
    std::optional<view::RunEnd> end;     ///< how the run ended, where it did not come to its end
    std::vector<FailedCheck> failed_checks;
    std::vector<view::RunTrait> traits;  ///< what the run was of, for comparisons
    /// What the run is, where it is a lesson's variant: its id, and the keys that it changes as TOML.
    std::string variant, variant_changes;
    /// The lesson for whose step a variant's run is in front, with the lesson's steps and questions; null: a
    /// run of its own.
    std::shared_ptr<const Document> lesson;
    std::shared_ptr<const Planned> plan;  ///< of whose layout this is the modelled run; null: of none
    std::size_t layout = 0;
    /// Its scenario has eager PyTorch's kernels ([memory] ops), which predictions alone have: such a run is
    /// modelled.
    bool eager_kernels = false;
    bool end_is_taught = false;          ///< the lesson's own fault ends it: its steps lead there
    std::string path;                    ///< what it was opened from; "" for what was made otherwise
    /// The scenario's [compare]: what is opened beside it.
    std::vector<scenario::Scenario::Compared> compare;
    /// Data strategies that the same scenario can be run with, to stand beside it.
    std::vector<std::string> strategies;
};

/// A run's clock of that kind.
inline const time::Clock& clock_of(const Document& run, time::ClockKind kind) {
    return kind == time::ClockKind::measured ? run.measured : run.modelled;
}

/// Whether `guess` is an answer of the quiz's kind at all, as scenario::is_readable judges it.
bool readable_answer(const QuizCard& quiz, const std::string& guess);

/// True when `guess` is what the trace answers, as scenario::is_right judges it.
bool right_answer(const QuizCard& quiz, const std::string& guess);

}  // namespace meshscope::session
