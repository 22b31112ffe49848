#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "app/gui/session/app_state.h"
#include "core/scenario/plan_change.h"

namespace meshscope::session {

// What a user can do. Each is a few words of data; apply() says what it means.
struct SetLanguage {
    view::Language language;
};
struct SetTheme {
    window::ThemeKind theme;
};
struct SetScale {
    float scale;
};
struct SetView {
    view::ViewKind view;
};
struct SetClock {
    time::ClockKind clock;
};
struct SetCursor {
    int64_t t_ns;
};
struct StepHop {
    int direction;
};
struct StepEvent {
    int direction;
};
struct JumpTo {
    bool end;
};
struct TogglePlay {};
struct SetSpeed {
    double speed;
};
struct SelectRank {
    std::optional<int32_t> rank;
};
struct SelectEvent {
    view::EventRef event;
    bool move_cursor = false;
};
struct SelectGroup {
    int32_t group;
};
struct SelectChunk {
    int32_t rank;
    int32_t chunk;
};
struct SelectCell {
    view::TrafficCell cell;
};
struct SelectParameter {
    std::string parameter;
    int64_t row = -1;
};
/// Moves what Traffic or Tensors has selected: `rows` down, `columns` right.
struct MoveSelection {
    int rows, columns;
};
struct SetTraffic {
    view::TrafficFilter filter;
};
struct SetAlgorithms {
    view::AlgorithmsChoice choice;
};
/// The view that has this form shows it so.
struct SetForm {
    view::Form form;
};
struct SetSlice {
    std::string slice;
};
struct BeRank {
    int32_t rank;
};
struct ClearSelection {};
struct GoToLessonStep {
    int32_t index;
};
/// The lesson that is open comes to the front at the step where it was left; what stands before it closes.
struct BackToLesson {};
/// Of a step that shows a variant's run: that run is in front, or the lesson's own.
struct ShowRunOfStep {
    bool of_step = true;
};
/// The cursor goes to where the run in front ended early, on the timeline.
struct GoToEnd {};
/// How the run ended early is told in full, or by its title alone.
struct ToggleEnd {};
struct Guess {
    std::string quiz, guess;
};
struct ShowHint {
    std::string quiz;
};
/// Is the guess right? Then the answer is told; else the guess is noted as missed, and another can be made.
struct Check {
    std::string quiz;
};
/// The answer is told, whatever was guessed.
struct Reveal {
    std::string quiz;
};
struct SetRange {
    int64_t begin_ns, end_ns;
};
struct SetSplit {
    float split;
};
struct ToggleLesson {};
struct ToggleDrawer {};
struct ToggleKeySheet {};
struct DismissError {};
struct ShowToast {
    std::string text;
};
struct CopyText {
    std::string text;
};
struct OpenPath {
    std::string path;
};  ///< a .mscope file, a scenario file or a lesson's name
/// The same, to stand beside what is open. `look`: the comparison is shown when it has come.
struct OpenBeside {
    std::string path;
    bool look = true;
    std::string strategy = {};  ///< not empty: the scenario of `path` under this data strategy
    std::string resume = {};    ///< not empty: going on from this checkpoint
};
struct CloseDocument {};
struct ShowDocument {
    std::shared_ptr<const Document> document;
};
/// A plan's chart takes the place of what is open.
struct ShowPlan {
    std::shared_ptr<const Planned> plan;
};
/// The plan that is open is made again with something changed.
struct ChangePlan {
    scenario::PlanChange change;
};
/// Another layout of the plan is told of.
struct ChooseLayout {
    std::size_t layout;
};
/// The modelled run of a layout of the plan is made and shown.
struct OpenLayout {
    std::size_t layout;
    bool with_fastest = false;  ///< beside the run of the plan's first layout
};
/// One more run beside those that are open.
struct AddDocument {
    std::shared_ptr<const Document> document;
    bool look = true;
};
/// Another of the runs comes to the front: the other views show it.
struct BringToFront {
    int32_t run;
};
/// The same, and an event of it is selected.
struct SelectInRun {
    int32_t run;
    view::EventRef event;
};
struct CloseRun {
    int32_t run;
};
/// Whose lanes the comparison shows of a run.
struct SetLaneRank {
    int32_t run, rank;
};
struct ShowError {
    ErrorBox error;
};
/// What is being opened, and what waits behind it, is given up.
struct CancelLoading {};
struct ShowLoading {
    std::optional<Loading> loading;
};
/// Pictures are drawn without shaders, or with them again.
struct SetPlain {
    bool plain;
};
struct SetReducedMotion {
    bool reduced;
};
struct ToggleExport {};
/// `replace`: even when there is a file of that name.
struct StartExport {
    std::string path;
    bool replace = false;
};
/// There is a file of that name.
struct AskReplace {
    std::string path;
};
struct CancelExport {};
struct ShowExporting {
    std::optional<Exporting> exporting;
};
struct TogglePalette {};
struct TogglePresenter {};
struct ToggleNotes {};
struct CopyView {};
struct CopyCommand {};
struct Remember {
    Remembered remembered;
};
struct RestoreViewpoint {
    Viewpoint place;
};
struct OfferLessons {
    std::vector<LessonCard> offers;
};
/// The welcome page shows these lessons, whose pictures it has not.
struct WantPictures {
    std::vector<std::string> ids;
};
struct ShowLessonPicture {
    std::string id;
    std::shared_ptr<const LessonPicture> picture;  ///< null: its run could not be made
};
/// Runs a mesh of these dims, each of whose groups adds up once.
struct OpenMesh {
    std::vector<MeshDim> dims;
};
/// From now on the layout of films is shown, with these words.
struct ShowFilm {
    Film film;
};
/// Files are chosen by a dialog from now on, where a path would be asked for.
struct OfferPicking {};
/// The welcome page's field for a path gets the keyboard, or has it; where files are chosen by a dialog, that
/// opens.
struct AskPath {
    bool asks = true;
};
struct Tick {
    double seconds;
};  ///< time passes: playing, gliding, toasts

using AnyAction = std::variant<
    SetLanguage, SetTheme, SetScale, SetView, SetClock, SetCursor, StepHop, StepEvent, JumpTo, TogglePlay,
    SetSpeed, SelectRank, SelectEvent, SelectGroup, SelectChunk, SelectCell, SelectParameter, MoveSelection,
    SetTraffic, SetAlgorithms, SetForm, SetSlice, BeRank, ClearSelection, GoToLessonStep, BackToLesson,
    ShowRunOfStep, GoToEnd, ToggleEnd, Guess, ShowHint, Check, Reveal, SetRange, SetSplit, ToggleLesson,
    ToggleDrawer, ToggleKeySheet, DismissError, ShowToast, CopyText, OpenPath, CloseDocument, ShowDocument,
    ShowPlan, ChooseLayout, OpenLayout, OpenBeside, AddDocument, BringToFront, SelectInRun, CloseRun,
    SetLaneRank, ShowError, ShowLoading, CancelLoading, SetReducedMotion, SetPlain, ToggleExport, StartExport,
    ChangePlan, AskReplace, CancelExport, ShowExporting, TogglePalette, TogglePresenter, ToggleNotes,
    CopyView, CopyCommand, Remember, RestoreViewpoint, OfferLessons, WantPictures, ShowLessonPicture,
    OpenMesh, ShowFilm, OfferPicking, AskPath, Tick, ToggleSandbox, StartExercise, EditSandbox, UndoEdit,
    RedoEdit, RunSandbox, StopRun, AskWhatIf, AskCall, AskSave, SaveSandbox, ShowRunning, RunEnded,
    RunRefused, SaveEnded, MoveBlock, NudgeBlock, UsualOrder, StartLive, LetGo, StopLive, ShowLive>;

/// Any of them. How a variant of so many kinds is copied, moved and put away is compiled once, not in every
/// panel that acts.
class Action {
  public:
    template <class Kind>
    requires(!std::same_as<std::remove_cvref_t<Kind>, Action>) Action(Kind&& kind)
        : any_(std::forward<Kind>(kind)) {}
    Action(const Action& other);
    Action(Action&& other) noexcept;
    Action& operator=(const Action& other);
    Action& operator=(Action&& other) noexcept;
    ~Action();

    const AnyAction& any() const { return any_; }
    template <class Kind>
    const Kind* get_if() const {
        return std::get_if<Kind>(&any_);
    }

  private:
    AnyAction any_;
};

/// What apply() cannot do by itself, because it touches the world outside.
struct Effects {
    std::vector<std::string> copy;   ///< to the clipboard
    std::vector<std::string> open;   ///< paths and lesson names
    std::optional<RunRequest> open_text;               ///< a scenario that no file holds, to be run and shown
    std::optional<OpenLayout> open_layout;             ///< of the plan that is open
    std::optional<scenario::PlanChange> change_plan;   ///< the same
    std::optional<std::vector<std::string>> pictures;  ///< lessons whose pictures are wanted
    std::vector<OpenBeside> beside;  ///< the same, to stand beside what is open
    std::vector<Message> tell;       ///< what is to be told in a toast
    std::optional<RunRequest> run;   ///< to be run while the window goes on
    bool stop_run = false;           ///< what runs is to stop
    std::optional<SaveRequest> save;
    std::optional<RunRequest> start_live;  ///< to be run with all ranks held
    std::optional<LetGo> let_go;
    bool stop_live = false;
    std::vector<StartExport> exports;
    bool cancel_export = false;
    bool cancel_loading = false;
    bool pick_files = false;    ///< files are to be chosen by a dialog
    bool copy_command = false;  ///< the command line that shows this, to the clipboard
};

/// Changes the state by one action. Pure but for its arguments; cost: the steps look at every event once, all
/// else O(1).
void apply(AppState& state, const Action& action, Effects& effects);

}  // namespace meshscope::session
