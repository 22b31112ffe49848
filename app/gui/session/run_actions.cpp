#include "app/gui/session/run_actions.h"

#include <cstddef>
#include <string>
#include <utility>

#include "app/gui/session/open_runs.h"
#include "app/gui/session/sandbox_actions.h"

namespace meshscope::session {

void RunActions::operator()(const ToggleSandbox&) const {
    if (s.sandbox && s.sandbox->open)
        s.sandbox->open = false;
    else if (!open_sandbox(s) && s.document)
        effects.tell.push_back({"sandbox.no_scenario", {{"name", s.document->name}}});
}

void RunActions::operator()(const StartExercise& a) const {
    if (!start_exercise(s, a.changes) && s.document)
        effects.tell.push_back({"sandbox.no_scenario", {{"name", s.document->name}}});
}

void RunActions::operator()(const EditSandbox& a) const {
    if (s.sandbox) s.sandbox->draft.edit(a.changes, a.typing);
}

void RunActions::operator()(const UndoEdit&) const {
    if (s.sandbox && s.sandbox->open)
        s.sandbox->draft.undo();
    else
        undo_move(s);
}

void RunActions::operator()(const RedoEdit&) const {
    if (s.sandbox && s.sandbox->open)
        s.sandbox->draft.redo();
    else
        redo_move(s);
}

void RunActions::start(std::optional<RunRequest> request) const {
    if (!request) return;
    s.running = Running{request->name, request->what_if, 0, 0, false};
    effects.run = std::move(request);
}

void RunActions::operator()(const RunSandbox&) const {
    if (s.sandbox && s.sandbox->open) start(sandbox_request(s));
}

void RunActions::operator()(const StopRun&) const {
    if (!s.running) return;
    s.running->stopping = true;
    effects.stop_run = true;
}

void RunActions::operator()(const AskWhatIf& a) const {
    start(what_if_request(s, a));
}

void RunActions::operator()(const MoveBlock& a) const {
    const auto movable = movable_grid(s);
    if (!movable || !movable->has(a.move)) return;
    s.playing = false;  // else the step at the cursor would be another when the answer comes
    const MoveTried tried = try_move(s, *movable, a.move);
    if (tried.refusal.refused()) s.refused_move = a.move;
    if (tried.asks) start(what_if_request(s, *tried.asks));
}

void RunActions::operator()(const NudgeBlock& a) const {
    s.playing = false;
    const Nudged nudged = nudge(s, a.direction);
    s.refused_move = nudged.refused;
    if (nudged.asks) start(what_if_request(s, *nudged.asks));
}

void RunActions::operator()(const UsualOrder&) const {
    s.playing = false;
    if (const auto asked = usual_order(s)) start(what_if_request(s, *asked));
}

void RunActions::operator()(const AskCall& a) const {
    start(call_request(s, a));
}

void RunActions::operator()(const AskSave& a) const {
    if (s.sandbox) s.sandbox->saving = a.form;
}

void RunActions::operator()(const SaveSandbox& a) const {
    if (!s.sandbox || !s.sandbox->saving) return;
    const sandbox::Draft& draft = s.sandbox->draft;
    const std::size_t slash = draft.path().rfind('/');
    effects.save = SaveRequest{draft.text(), slash == std::string::npos ? "" : draft.path().substr(0, slash),
                               *s.sandbox->saving, a.replace};
}

void RunActions::operator()(const ShowRunning& a) const {
    s.running = a.running;
}

void RunActions::operator()(const RunEnded& a) const {
    if (!s.document) return;  // closed meanwhile
    if (a.request.what_if == kMovedBlock) return add_moved(s, a.request, a.document);
    add_run(s, a);
    if (!a.request.what_if.empty()) return;
    const bool compares = s.view == view::ViewKind::compare;
    bring_to_front(s, s.runs.size() - 1);
    if (s.document->end && !compares) s.view = view_of_end(*s.document->end);
}

void RunActions::operator()(const RunRefused& a) const {
    if (s.sandbox && a.request.what_if.empty()) s.sandbox->draft.run_ended_with(a.found);
}

void RunActions::operator()(const StartLive&) const {
    if (!s.sandbox || s.live) return;
    effects.start_live = sandbox_request(s);
    if (effects.start_live) s.live = LiveState{effects.start_live->name, {}, nullptr};
    if (s.live) s.live->world.going = true;
}

void RunActions::operator()(const LetGo& a) const {
    if (!s.live || s.live->world.going || s.live->world.ended) return;
    s.live->world.going = true;
    effects.let_go = a;
}

void RunActions::operator()(const StopLive&) const {
    if (!s.live) return;
    effects.stop_live = true;
    s.live.reset();
}

void RunActions::operator()(const ShowLive& a) const {
    show_live(s, a);
}

void RunActions::operator()(const SaveEnded& a) const {
    if (!s.sandbox || !s.sandbox->saving) return;
    if (a.exists)
        s.sandbox->saving->exists = true;
    else
        s.sandbox->saving.reset();
}

}  // namespace meshscope::session
