#include "app/gui/session/sandbox_actions.h"

#include <algorithm>
#include <string>

#include "app/gui/sandbox/toml_text.h"
#include "app/gui/session/open_runs.h"
#include "core/base/toml_text.h"
#include "core/comm/choice.h"
#include "core/time/read_profile.h"

namespace meshscope::session {
namespace {

constexpr const char* kWithoutFaults = "without_faults";

bool knows(const SandboxState& sandbox, const std::shared_ptr<const Document>& document) {
    return std::any_of(sandbox.runs.begin(), sandbox.runs.end(),
                       [&](const auto& run) { return run.lock() == document; });
}

/// Whether a run came of the sandbox or of a question: it makes room for the next.
bool was_made(const AppState& s, const std::shared_ptr<const Document>& document) {
    const auto answered = std::any_of(s.what_ifs.begin(), s.what_ifs.end(),
                                      [&](const WhatIfRun& run) { return run.answer == document; });
    return answered ||
           (s.sandbox && knows(*s.sandbox, document) && document != s.sandbox->runs.front().lock());
}

static_assert(kMostRuns > 3, "the first run, the one in front and the lesson stay");

/// Which run makes room for another: never the first, which the others are measured against, nor the one in
/// front, nor the lesson; the one that was asked of only where there is no other. The oldest that was made,
/// else the latest.
std::size_t run_to_drop(const AppState& s, const std::shared_ptr<const Document>& asked_of) {
    const auto lesson = open_lesson(s);
    std::optional<std::size_t> latest, asked;
    for (std::size_t i = 1; i < s.runs.size(); ++i) {
        const auto& run = s.runs[i];
        if (run == s.document || run == lesson) continue;
        if (run == asked_of) {
            asked = i;
            continue;
        }
        if (was_made(s, run)) return i;
        latest = i;
    }
    return latest ? *latest : asked.value_or(s.runs.size() - 1);
}

void drop_run(AppState& s, std::size_t at) {
    s.runs.erase(s.runs.begin() + static_cast<std::ptrdiff_t>(at));
    s.lane_ranks.erase(s.lane_ranks.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

const std::string& scenario_text(const Document& document) {
    return document.trace->info.scenario;
}

bool can_run_otherwise(const Document& document) {
    return !document.eager_kernels && !scenario_text(document).empty();
}

bool can_save(const sandbox::Draft& draft) {
    return draft.reading().read != nullptr;
}

bool open_sandbox(AppState& s) {
    show_run_of_step(s, false);  // what is edited is the lesson's own scenario
    if (!s.document || scenario_text(*s.document).empty()) return false;
    if (s.sandbox && knows(*s.sandbox, s.document)) {
        s.sandbox->open = true;
        return true;
    }
    // Edits of another run wait there until it is in front again.
    const auto kept = std::find_if(s.other_sandboxes.begin(), s.other_sandboxes.end(),
                                   [&](const SandboxState& other) { return knows(other, s.document); });
    std::optional<SandboxState> next;
    if (kept != s.other_sandboxes.end()) {
        next = std::move(*kept);
        s.other_sandboxes.erase(kept);
        next->open = true;
    } else {
        next = SandboxState{true,
                            sandbox::Draft(scenario_text(*s.document), s.document->trace->info.scenario_path),
                            s.document->name,
                            {},
                            {s.document}};
    }
    if (s.sandbox && s.sandbox->draft.can_undo()) s.other_sandboxes.push_back(std::move(*s.sandbox));
    s.sandbox = std::move(next);
    return true;
}

bool start_exercise(AppState& s, const std::vector<sandbox::Change>& changes) {
    if (!open_sandbox(s)) return false;
    s.sandbox->saving.reset();
    s.sandbox->draft.start_anew();
    s.sandbox->draft.edit(changes);
    return true;
}

void add_run(AppState& s, const RunEnded& ended) {
    if (s.runs.size() >= kMostRuns) drop_run(s, run_to_drop(s, ended.request.asked_of));
    s.runs.push_back(ended.document);
    s.lane_ranks.emplace_back();
    if (ended.request.what_if.empty()) {
        if (s.sandbox) s.sandbox->runs.push_back(ended.document);
        return;
    }
    std::erase_if(s.what_ifs, [&](const WhatIfRun& run) {
        return run.asked_of == ended.request.asked_of && run.id == ended.request.what_if;
    });
    s.what_ifs.push_back({ended.request.what_if, ended.request.asked_of, ended.document});
}

std::optional<RunRequest> sandbox_request(const AppState& s) {
    if (!s.sandbox || s.running || !s.sandbox->draft.reading().scenario) return {};
    const sandbox::Draft& draft = s.sandbox->draft;
    return RunRequest{draft.text(), draft.path(), sandbox::run_name(s.sandbox->name, draft.changed_keys()),
                      "", s.document};
}

std::optional<RunRequest> what_if_request(const AppState& s, const AskWhatIf& asked) {
    if (!s.document || s.running || !can_run_otherwise(*s.document)) return {};
    std::vector<std::string> keys;
    for (const sandbox::Change& change : asked.changes) keys.push_back(change.key);
    // "63_hsdp · faults" would be taken for the run that has them. Of blocks moved again and again the name
    // stays that of the first move.
    const bool again = asked.id == kMovedBlock && can_undo_move(s);
    const std::string name = asked.id == kWithoutFaults ? s.document->name + " · faults = []"
                             : again                    ? s.document->name
                                                        : sandbox::run_name(s.document->name, keys);
    return RunRequest{sandbox::changed_text(scenario_text(*s.document), asked.changes),
                      s.document->trace->info.scenario_path, name, asked.id, s.document};
}

bool can_run_alone(const AppState& s, view::EventRef call) {
    if (!s.document) return false;
    const trace::Trace& trace = *s.document->trace;
    const trace::Event& event = trace.event(call.rank, call.event);
    const auto profiles = time::profile_names();
    return event.group >= 0 && !is_point_to_point(event.op) && event.op != CollectiveOp::barrier &&
           event.reduce_op != ReduceOp::premul_sum &&
           std::ranges::find(profiles, s.document->hardware.name) != profiles.end();
}

std::optional<RunRequest> call_request(const AppState& s, const AskCall& asked) {
    if (!s.document || s.running || !can_run_alone(s, asked.call)) return {};
    const trace::Trace& trace = *s.document->trace;
    const trace::Event& event = trace.event(asked.call.rank, asked.call.event);
    const std::vector<int32_t>& ranks = trace.groups[static_cast<std::size_t>(event.group)].ranks;
    const auto n = static_cast<int64_t>(ranks.size());
    // As many ranks on the first machine as the group has on the machine of its first.
    const std::vector<int32_t>& nodes = trace.info.node_of_rank;
    const auto node = [&](int32_t rank) {
        return static_cast<std::size_t>(rank) < nodes.size() ? nodes[static_cast<std::size_t>(rank)] : 0;
    };
    const auto together =
        std::ranges::count_if(ranks, [&](int32_t rank) { return node(rank) == node(ranks.front()); });
    const int64_t each = std::max<int64_t>(1, asked.bytes / bytes_per_element(event.dtype) / n);
    // What the scenario counts: one rank's input, of which some ops have a part.
    const bool part = event.op == CollectiveOp::all_gather || event.op == CollectiveOp::gather;
    const std::string op(name(event.op)), algorithm(name(asked.algorithm));
    std::string text = "format = 1\n\n[mesh]\nshape = [" + std::to_string(n) +
                       "]\nnames = [\"ranks\"]\n\n[hardware]\nranks_per_node = " + std::to_string(together) +
                       "\nprofile = \"" + s.document->hardware.name + "\"\n\n[parallel]\nalgorithm = \"" +
                       algorithm + "\"\n\n[[call]]\nop = \"" + op +
                       "\"\nelements = " + std::to_string(part ? each : each * n) + "\ndtype = \"" +
                       std::string(name(event.dtype)) + "\"\n";
    if (event.reduce_op != ReduceOp::none)
        text += "reduce = \"" + std::string(name(event.reduce_op)) + "\"\n";
    return RunRequest{text, "", op + " · " + algorithm + " · " + std::to_string(asked.bytes) + " B", "",
                      s.document};
}

const WhatIfRun* answer_to(const AppState& s, const std::string& id) {
    for (const WhatIfRun& run : s.what_ifs)
        if (run.asked_of == s.document && run.id == id) return &run;
    return nullptr;
}

AskWhatIf ask_without_faults() {
    return {kWithoutFaults, {{"faults", ""}}};
}

view::WithoutFault without_faults(const AppState& s) {
    using view::WithoutFault;
    if (!s.document || !s.document->end || !s.document->end->has_faults) return WithoutFault::no;
    if (answer_to(s, kWithoutFaults) != nullptr) return WithoutFault::done;
    if (s.running) return s.running->what_if == kWithoutFaults ? WithoutFault::running : WithoutFault::no;
    return can_run_otherwise(*s.document) ? WithoutFault::offered : WithoutFault::no;
}

std::vector<Algorithm> algorithms_to_ask(const AppState& s, CollectiveOp op) {
    if (!s.document || !can_run_otherwise(*s.document)) return {};
    return comm::algorithms_of(op);
}

AskWhatIf with_algorithm(Algorithm algorithm) {
    const std::string word(name(algorithm));
    return {"algorithm." + word, {{sandbox::joined("parallel", "algorithm"), toml_string(word)}}};
}

std::vector<std::string> attention_to_ask(const AppState& s) {
    if (!s.document || !can_run_otherwise(*s.document)) return {};
    const auto& names = s.document->trace->info.mesh_names;
    if (std::find(names.begin(), names.end(), "cp") == names.end()) return {};
    return {"neighbours", "head_tail", "gather", "heads"};
}

AskWhatIf with_attention(const std::string& way) {
    const auto method = way == "heads" ? "ulysses" : way == "gather" ? "allgather" : "alltoall";
    AskWhatIf asked{"attention." + way, {{sandbox::joined("parallel", "cp"), toml_string(method)}}};
    // Of whole heads every rank has equal work: the key has no meaning there.
    const auto balance = way == "head_tail" ? "true" : way == "neighbours" ? "false" : "";
    if (way != "gather") asked.changes.push_back({sandbox::joined("parallel", "cp_load_balance"), balance});
    return asked;
}

}  // namespace meshscope::session
