#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/sandbox/draft.h"
#include "app/gui/session/document.h"

namespace meshscope::session {

/// Where the sandbox's scenario is to be saved, while that is asked.
struct SaveForm {
    std::string path;
    sandbox::SaveForm form = sandbox::SaveForm::whole;
    bool exists = false;  ///< there is a file: it is replaced only when that is said
};

/// The scenario that is being changed.
struct SandboxState {
    bool open = false;  ///< its panel stands in the place of the lesson
    sandbox::Draft draft;
    std::string name;  ///< of the run that it began with
    std::optional<SaveForm> saving;
    /// Those that it began with or that it ran: beside them it stays as it is.
    std::vector<std::weak_ptr<const Document>> runs;
};

/// A run on its way, of the sandbox or of a what-if question.
struct Running {
    std::string name;
    std::string what_if;                ///< "" for the sandbox's own
    int32_t steps_done = 0, steps = 0;  ///< 0 steps: not known yet
    bool stopping = false;              ///< it was told to stop
};

/// What the outside is to run.
struct RunRequest {
    std::string text, path;  ///< the scenario's, and where its relative paths are meant from
    std::string name;        ///< of the run
    std::string what_if;     ///< "" for the sandbox's own
    std::shared_ptr<const Document> asked_of;  ///< whose scenario it was
};

/// The answer to a what-if question: a run beside the one that was asked of.
struct WhatIfRun {
    std::string id;
    std::shared_ptr<const Document> asked_of, answer;
};

/// What the outside is to save.
struct SaveRequest {
    std::string text, from_folder;  ///< the scenario's, and where its relative paths are meant from
    SaveForm to;
    bool replace = false;  ///< a file that is there
};

// What a user can do in the sandbox, and what comes of it.
struct ToggleSandbox {};
/// What a lesson tells to break or to change, made of the lesson's own scenario whatever was tried before.
struct StartExercise {
    std::vector<sandbox::Change> changes;
};
struct EditSandbox {
    std::vector<sandbox::Change> changes;
    bool typing = false;
};
struct UndoEdit {};
struct RedoEdit {};
struct RunSandbox {};
struct StopRun {};
struct AskWhatIf {
    std::string id;
    std::vector<sandbox::Change> changes;
};
/// Asks to run a recorded collective alone, by an algorithm and with a whole buffer of so many bytes, on as
/// many ranks of the same hardware. Its run comes to the front.
struct AskCall {
    view::EventRef call;
    Algorithm algorithm = Algorithm::none;
    int64_t bytes = 0;
};
/// Asks where to save; nothing: no longer.
struct AskSave {
    std::optional<SaveForm> form;
};
struct SaveSandbox {
    bool replace = false;
};
struct ShowRunning {
    std::optional<Running> running;
};
struct RunEnded {
    RunRequest request;
    std::shared_ptr<const Document> document;
};
/// The run found mistakes in the scenario's file.
struct RunRefused {
    RunRequest request;
    std::vector<Diagnostic> found;
};
/// Saved, or not because there is a file.
struct SaveEnded {
    bool exists = false;
};

}  // namespace meshscope::session
