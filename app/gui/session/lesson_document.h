#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/session/document.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::session {

/// A trace with its two clocks, ready to show; a lesson where `scenario` has one: its texts are read from the
/// scenario's folder, its numbers, answers and events are asked of the trace. Throws InputError for a damaged
/// lesson text, InvalidArgument for SQL that the trace cannot answer. Texts hold the marks that panels read:
/// **strong**, `code`, [words](kind:target), "- " points, "| a | b |" rows, ``` blocks. `variants` gives the
/// numbers of the lesson's variants, {{break.gathers}}; without it they stay as they stand. The modelled
/// clock plays it under `hardware`; null: under the scenario's own.
std::shared_ptr<const Document> make_document(std::shared_ptr<const trace::Trace> trace, std::string name,
                                              const scenario::Scenario* scenario,
                                              const std::map<std::string, std::string>& variants = {},
                                              const time::Profile* hardware = nullptr);

/// How many steps such a document has behind the lesson's own: what to break, what to change, the summary.
int32_t steps_after(const scenario::LessonText& en, const scenario::LessonText& zh);

/// Plays the document's record again under its hardware: both clocks of one whose times were not measured. Of
/// a dry run some ranks may stand for all. Throws what time::modelled() throws.
void set_clocks(Document& document);

/// The scenario's checks that fail for a run of it; of one that ended early they say nothing. Cost: a
/// database of the whole record.
std::vector<FailedCheck> failed_checks(const scenario::Scenario& scenario, const trace::Trace& trace);

/// The step shows this variant's run instead of the lesson's own, at the event that `at` asks of its record.
void show_run(LessonStep& step, const std::string& at, std::shared_ptr<const Document> run);

}  // namespace meshscope::session
