#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/input.h"
#include "app/gui/view/stepping.h"
#include "app/gui/view/wait_graph.h"
#include "core/base/diagnosis.h"

namespace meshscope::view {

/// How a run ended that did not end as it was meant to, as its record tells it.
struct RunEnd {
    enum class Kind : uint8_t {
        failed,      ///< the engine says why (RunInfo::failure)
        recovered,   ///< its record was put together from part files
        stopped,     ///< fewer steps than its scenario asks for, without a failure
        not_finite,  ///< it went on with numbers that are NaN or infinite
    };
    Kind kind = Kind::failed;
    Message what;                            ///< the engine's sentence, or ours where it has none
    std::optional<DiagnosisKind> diagnosis;  ///< of what failed
    std::vector<int32_t> ranks;              ///< whom the diagnosis names; empty: nobody
    std::vector<int32_t> unrecorded;  ///< ranks of which the record holds nothing, while it holds others
    EventRef at;                      ///< the last thing before it broke off
    bool by_fault = false;            ///< ranks were threads: only a fault that was asked for ends one alone
    bool in_call = false;             ///< `at` is a call that it broke off in, else one that ended
    int32_t step = -1;                ///< that the run was in; -1: set-up
    WaitGraph waits;                  ///< of kind failed: who waits for whom; else of no rank
    bool has_faults = false;          ///< its scenario asks for faults: without them it can be run again
};

/// How this record's run ended; nothing for a run that came to its end. `planned_steps`: what its scenario
/// asks for, < 0 where that is not known. Cost: that of wait_graph() where it failed, else a pass over the
/// ranks.
std::optional<RunEnd> run_end(const trace::Trace& trace, int32_t planned_steps = -1);

/// When it broke off, on a clock: from then on no rank went on. Of one that failed the latest time at which a
/// rank came to stand (stood_ns()), else the end of the last thing before. Cost: the ranks.
int64_t broke_off_ns(const trace::Trace& trace, const time::Clock& clock, const RunEnd& end);
/// When a rank died or stopped, on a clock; nothing where it did neither.
std::optional<int64_t> gone_ns(const time::Clock& clock, const RunEnd& end, int32_t rank);
/// Up to when it is known what a rank did: of a run that failed its death, else where it broke off; the
/// clock's end of every other. Cost: that of broke_off_ns().
int64_t known_until_ns(const trace::Trace& trace, const time::Clock& clock, const RunEnd& end, int32_t rank);
/// The call had not ended on its rank.
bool is_open(const RunEnd& end, int32_t rank, int32_t event);

/// "This run ended early, in step 1: rank 3 died", as a message.
Message end_title(const RunEnd& end);
/// What to do, in three lines.
std::vector<Message> end_advice(const RunEnd& end);
/// A rank that the diagnosis names, as the pictures mark it: what it did that the others did not ("died",
/// "makes a different call"), by the end of an id: "lost", "stalled", "missing", "mismatch", "corrupt"; ""
/// where it did nothing else than the others.
std::string_view mark_of(const RunEnd& end, int32_t rank);

/// Whether there is anything to mark on ranks: one that waits, or that did otherwise than the others.
bool is_marked(const RunEnd& end);

/// What can be done about a fault that the scenario asked for.
enum class WithoutFault : uint8_t {
    no,       ///< it asks for none, or cannot be run
    offered,  ///< it can be run without
    running,  ///< it is being run
    done      ///< that run is open beside this one
};
/// Its button: the words' id and the shape's; nothing for `no`.
struct FaultButton {
    const char *words, *id;
    bool primary;
};
std::optional<FaultButton> button_of(WithoutFault without);

/// How much the banner says.
struct BannerOptions {
    bool folded = false;  ///< the title alone
    bool alone = false;   ///< no facts stand beside it: it says itself what to do, with the buttons
    WithoutFault without = WithoutFault::no;
};

/// The banner that says so above every view: title, the engine's sentence, who waits for whom; folded the
/// title alone. Ids: "end_show" (a button that leads there), "end_rerun", "end_going", "end_compare" (what
/// can be done about a fault), "end_fold" (opens and folds it). The buttons stand right below the title, so
/// that they are seen where it has less room than it needs. As high as it needs.
Picture run_end_view(const Input& input, const RunEnd& end, const BannerOptions& options);

}  // namespace meshscope::view
