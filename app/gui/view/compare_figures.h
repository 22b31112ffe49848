#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/format.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/run_end.h"
#include "core/time/clock.h"
#include "core/time/exposed.h"
#include "core/trace/agreement.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// One thing that a run was of, under the scenario file's own key: "model.layers", "4".
struct RunTrait {
    enum class Kind : uint8_t {
        work,   ///< what is computed: runs that differ in it do not compare
        where,  ///< on how much of what
        how,    ///< what a comparison is about
    };
    Kind kind = Kind::how;
    std::string key, value;
};

/// One of the runs that stand side by side. References must live while it is used.
struct ComparedRun {
    std::string name;  ///< what its lanes are called; no two are the same
    const trace::Trace& trace;
    const time::Clock& clock;
    int32_t rank = 0;                               ///< whose lanes are shown and whose bytes are counted
    bool front = false;                             ///< the run that the other views show
    const RunEnd* end = nullptr;                    ///< how it ended early; null: it did not
    const std::vector<RunTrait>* traits = nullptr;  ///< what it was of; null: not known
    bool fixed = false;  ///< it is not closed here, and its rank not chosen: a lesson's step shows it
};

/// What one rank of a run did in one step; -1 where the record does not tell.
struct RunFigures {
    int32_t step = 0;
    bool whole = true;    ///< false: the run ended within this step
    time::Interval span;  ///< the step on the run's clock, over all ranks, no evaluation counted
    /// time::step_ns(): the end of the span less where the step begins to count; of a step that the run ended
    /// within, the span.
    int64_t step_ns = 0;
    int64_t exposed_ns = 0, peak_bytes = 0;
    /// From when the step counts; what ranks that were done with the one before began of it lies earlier.
    int64_t zero_ns() const { return step_ns < 0 ? span.begin_ns : span.end_ns - step_ns; }
    int64_t lead_ns() const { return zero_ns() - span.begin_ns; }  ///< how much earlier its first begin lies
    int64_t calls = 0;       ///< collectives; a send or a recv counts as one
    int64_t sent_bytes = 0;  ///< by the rank, all ops
    std::map<CollectiveOp, int64_t> sent_by_op;
    /// Bytes that all ranks together sent from one node to another; nothing where no hops were recorded or
    /// there is one node only.
    std::optional<int64_t> between_nodes;
};
/// Cost: a pass over the step's events and hops of all ranks; in a large record once a rank and step.
RunFigures run_figures(const ComparedRun& run, int32_t step, Memo* memo = nullptr);

/// The overlap of the run's rank in a step, as far as it is known what the rank did. Cost: time::overlap().
time::Overlap overlap_of(const ComparedRun& run, int32_t step);

/// A time of the figures; "—" where the record does not tell it.
std::string figure_time(int64_t ns);

/// The step of every run that stands beside step `step` of the front run: the same number, or the last of
/// which it recorded anything. Cost: a look at each rank.
int32_t compared_step(const trace::Trace& trace, int32_t step);

/// One line of the table of differences. Less is better in all of them.
struct Difference {
    std::string id;  ///< "view.compare.sent" …: its words
    std::string op;  ///< for bytes by op
    bool time = false, bytes = false;
    std::vector<int64_t> values;  ///< one a run; -1: not known there
    std::string text(std::size_t run) const;
};
/// Step time, exposed communication, peak memory, bytes sent (all, by op, between nodes), calls. Lines that
/// are 0 in all runs, or known in none, are left out. Cost: linear in the runs.
std::vector<Difference> differences(const std::vector<RunFigures>& figures);

/// "+100 %", "−29 %", "0 %" of a value against the first run's; "" where that is 0 or one is not known.
std::string change_text(int64_t base, int64_t value);

/// What may be said of a run's figures beside the first run's.
enum class Verdict : uint8_t {
    better_or_worse,  ///< the same work on as much of the same hardware: how they change, in colour
    change,           ///< the same work, on other hardware or another number of ranks: how they change
    none              ///< other work, another step or one that broke off: each figure for itself
};

/// How a run differs from the first of those it stands beside.
struct Unlike {
    Verdict verdict = Verdict::better_or_worse;
    std::vector<std::string> work;   ///< "model.layers 2 / 4": model, data, batch, dtype
    std::vector<std::string> where;  ///< ranks, the clock's hardware; the backend where times were measured
    std::vector<std::string> how;    ///< what is compared: mesh, strategy, steps, optimizer, seeds, backend
    bool other_step = false;  ///< not the first run's step, or one broke off in it or did not record it
};

/// `run` against `first`; what one of them does not say counts as equal. Cost: the traits.
Unlike unlike(const ComparedRun& first, const RunFigures& first_figures, const ComparedRun& run,
              const RunFigures& figures);

}  // namespace meshscope::view
