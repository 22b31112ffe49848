#pragma once

#include "app/gui/session/app_state.h"
#include "app/gui/view/end_facts.h"

namespace meshscope::session {

/// The sandbox for what is in front: the one there is where its run is in front, else a new one. False where
/// the run says nothing of its scenario.
bool open_sandbox(AppState& state);
/// The sandbox with these changes and no others; what was edited before comes back by Undo. False as above.
bool start_exercise(AppState& state, const std::vector<sandbox::Change>& changes);
/// The sandbox's run, or an answer, stands beside the others; the oldest answer makes room.
void add_run(AppState& state, const RunEnded& ended);
/// What is asked to be run now; nothing where a run is under way or the scenario has mistakes.
std::optional<RunRequest> sandbox_request(const AppState& state);
/// Whether what is edited can be saved: the reader takes it, though it may be for predictions alone.
bool can_save(const sandbox::Draft& draft);
std::optional<RunRequest> what_if_request(const AppState& state, const AskWhatIf& asked);

std::optional<RunRequest> call_request(const AppState& state, const AskCall& asked);
/// Whether a call of the run in front can be run alone: the scenario can say its op and its hardware.
bool can_run_alone(const AppState& state, view::EventRef call);

/// The scenario of a run as text; "" where its record does not hold it.
const std::string& scenario_text(const Document& document);
/// Whether questions can be asked of a run, what it would be otherwise: its record holds its scenario, and a
/// run computes what that says, not a prediction alone ([memory] ops).
bool can_run_otherwise(const Document& document);
/// The answer of this run to a question; null when it was not asked.
const WhatIfRun* answer_to(const AppState& state, const std::string& id);

/// Asks what the run in front would be without the faults that its scenario asks for.
AskWhatIf ask_without_faults();
/// How far that is, and whether it can be asked.
view::WithoutFault without_faults(const AppState& state);

/// Algorithms with which the scenario of the run in front could make its calls of this op, by
/// core/base/algorithms.def; none where it cannot be run otherwise.
std::vector<Algorithm> algorithms_to_ask(const AppState& state, CollectiveOp op);
/// The question what the run in front would be with an algorithm; it is really run.
AskWhatIf with_algorithm(Algorithm algorithm);

/// Other ways in which the run in front could bring queries and keys together over its cp dim, by words of
/// ours: "neighbours", "head_tail" (ring attention, the two cuts), "gather", "heads" (Ulysses). None where it
/// has no such dim or cannot be run otherwise.
std::vector<std::string> attention_to_ask(const AppState& state);
/// The question what the run in front would be that way; it is really run.
AskWhatIf with_attention(const std::string& way);

}  // namespace meshscope::session
