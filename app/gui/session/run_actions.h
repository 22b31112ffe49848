#pragma once

#include <optional>

#include "app/gui/session/actions.h"

namespace meshscope::session {

/// What apply() does of the actions that edit a scenario, run it, hold its ranks or move its blocks.
struct RunActions {
    AppState& s;
    Effects& effects;

    void operator()(const ToggleSandbox&) const;
    void operator()(const StartExercise& a) const;
    void operator()(const EditSandbox& a) const;
    void operator()(const UndoEdit&) const;
    void operator()(const RedoEdit&) const;
    void operator()(const RunSandbox&) const;
    void operator()(const StopRun&) const;
    void operator()(const AskWhatIf& a) const;
    void operator()(const MoveBlock& a) const;
    void operator()(const NudgeBlock& a) const;
    void operator()(const UsualOrder&) const;
    void operator()(const AskCall& a) const;
    void operator()(const AskSave& a) const;
    void operator()(const SaveSandbox& a) const;
    void operator()(const ShowRunning& a) const;
    void operator()(const RunEnded& a) const;
    void operator()(const RunRefused& a) const;
    void operator()(const StartLive&) const;
    void operator()(const LetGo& a) const;
    void operator()(const StopLive&) const;
    void operator()(const ShowLive& a) const;
    void operator()(const SaveEnded& a) const;

  private:
    void start(std::optional<RunRequest> request) const;
};

}  // namespace meshscope::session
