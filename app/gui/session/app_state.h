#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "app/gui/session/document.h"
#include "app/gui/session/live_state.h"
#include "app/gui/session/sandbox_state.h"
#include "app/gui/view/state.h"
#include "app/gui/window/keys.h"
#include "app/gui/window/theme.h"

namespace meshscope::session {

/// A guess at a quiz: nothing is revealed before the reader asks.
struct QuizState {
    std::string guess;
    bool hint_shown = false;
    bool revealed = false;
};

/// The cursor on its way to where a step leads (look.md section 6).
struct Glide {
    int64_t from_ns = 0, to_ns = 0;
    double passed_s = 0, lasts_s = 0.32;
};

/// Something is being opened or run.
struct Loading {
    std::string name;
    int32_t steps_done = 0, steps = 0;  ///< 0 steps: not known yet
};

/// What could not be done, as told to the user; copied as text.
struct ErrorBox {
    std::vector<std::string> lines;
};

struct Toast {
    std::string text;
    double age_s = 0;
};

/// A dim of a mesh.
struct MeshDim {
    std::string name;  ///< "dim" where it has none
    int64_t size = 1;
};

/// A lesson or scenario that the welcome page offers.
struct Offer {
    std::string id;  ///< what opens it
    Text title, subtitle;
    std::vector<MeshDim> mesh;  ///< for its thumbnail
};

/// Where an export would go, asked before it is made.
struct ExportSheet {
    std::string path;       ///< proposed; the format is told by its ending
    bool replaces = false;  ///< there is a file of that name: asked once more
};

/// An export that is being made.
struct Exporting {
    std::string path;
    int32_t done = 0, all = 0;  ///< frames
};

/// What was open lately, newest first.
struct Recent {
    std::string path;  ///< what opens it again
    std::string name;
    friend bool operator==(const Recent&, const Recent&) = default;
};

/// How far a reader came in a lesson.
struct LessonProgress {
    int32_t steps = 0;                           ///< that the lesson has
    std::set<std::string> seen;                  ///< ids of steps
    std::map<std::string, std::string> answers;  ///< quiz id to the guess that was revealed
    friend bool operator==(const LessonProgress&, const LessonProgress&) = default;
};

/// Where somebody looks in a document: kept for each, so that it opens again there.
struct Place {
    view::ViewKind view = view::ViewKind::mesh;
    time::ClockKind clock = time::ClockKind::modelled;
    int64_t cursor_ns = 0, range_begin_ns = 0, range_end_ns = 0;
    int32_t lesson_step = 0;
    std::optional<int32_t> rank, event_rank, event;
    std::string slice, parameter;
    int64_t row = -1;
    friend bool operator==(const Place&, const Place&) = default;
};

/// The user's own keys by the id of the command (session/commands.h); a command that is not named has its
/// usual ones.
using OwnKeys = std::map<std::string, std::vector<window::KeyPress>>;

/// What is remembered from one start to the next, beside what the state holds anyway.
struct Remembered {
    std::vector<Recent> recent;
    std::map<std::string, LessonProgress> progress;  ///< by the lesson's name
    OwnKeys keys;
    std::string folder;  ///< where the latest export went
};
inline constexpr std::size_t kMostRecent = 12;

/// Everything that decides what is on screen. Plain data: the window draws it, apply() changes it, tests read
/// it.
struct AppState {
    view::Language language = view::Language::en;
    window::ThemeKind theme = window::ThemeKind::dark;
    float scale = 1;
    bool reduced_motion = false;

    view::ViewKind view = view::ViewKind::mesh;
    time::ClockKind clock = time::ClockKind::modelled;
    std::shared_ptr<const Document> document;  ///< null: the welcome page
    /// Side by side in the order in which they were opened; the others are measured against the first. One of
    /// them is `document`, the run in front. Empty when nothing is open.
    std::vector<std::shared_ptr<const Document>> runs;
    /// By run: whose lanes the comparison shows; nothing: the rank in focus.
    std::vector<std::optional<int32_t>> lane_ranks;
    view::Cursor cursor;
    view::Selection selection;
    view::TrafficFilter traffic;  ///< what the traffic matrix counts

    bool playing = false;
    double speed = 1;
    std::optional<Glide> glide;
    double slice_age_s = 1e9;  ///< since the slice changed: the sheets slide apart

    int32_t lesson_step = 0;
    std::map<std::string, QuizState> quizzes;

    int64_t range_begin_ns = 0, range_end_ns = 0;  ///< the timeline's range; end <= begin: all
    float split = 0.515F;                          ///< the scene's share of the height
    bool lesson_folded = false;
    bool facts_drawer = false;
    bool key_sheet = false;
    bool palette = false;    ///< the list of all that can be done is open
    bool presenter = false;  ///< for a class: large type, one key a step
    bool notes = false;      ///< presenting: the step's text is shown
    bool copy_view = false;  ///< the next frame copies what the view tells

    std::optional<ExportSheet> export_sheet;
    std::optional<Exporting> exporting;
    Remembered remembered;

    std::optional<SandboxState> sandbox;
    std::optional<Running> running;   ///< of the sandbox or of a what-if question
    std::vector<WhatIfRun> what_ifs;  ///< answers, while their runs are among `runs`

    std::optional<LiveState> live;  ///< a run whose ranks are held: its panel stands before the sandbox

    std::optional<Loading> loading;
    std::optional<ErrorBox> error;
    std::optional<Toast> toast;
    std::vector<Offer> offers;
};

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
struct SelectLink {
    view::Link link;
};
struct SelectParameter {
    std::string parameter;
    int64_t row = -1;
};
/// Moves what the traffic or the parameters view has selected: `rows` down, `columns` right.
struct MoveSelection {
    int rows, columns;
};
struct SetTraffic {
    view::TrafficFilter filter;
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
struct Guess {
    std::string quiz, guess;
};
struct ShowHint {
    std::string quiz;
};
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
struct ShowLoading {
    std::optional<Loading> loading;
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
struct RestorePlace {
    Place place;
};
struct OfferLessons {
    std::vector<Offer> offers;
};
struct Tick {
    double seconds;
};  ///< time passes: playing, gliding, toasts

using Action = std::variant<
    SetLanguage, SetTheme, SetScale, SetView, SetClock, SetCursor, StepHop, StepEvent, JumpTo, TogglePlay,
    SetSpeed, SelectRank, SelectEvent, SelectGroup, SelectChunk, SelectLink, SelectParameter, MoveSelection,
    SetTraffic, SetSlice, BeRank, ClearSelection, GoToLessonStep, Guess, ShowHint, Reveal, SetRange, SetSplit,
    ToggleLesson, ToggleDrawer, ToggleKeySheet, DismissError, ShowToast, CopyText, OpenPath, CloseDocument,
    ShowDocument, OpenBeside, AddDocument, BringToFront, SelectInRun, CloseRun, SetLaneRank, ShowError,
    ShowLoading, SetReducedMotion, ToggleExport, StartExport, AskReplace, CancelExport, ShowExporting,
    TogglePalette, TogglePresenter, ToggleNotes, CopyView, CopyCommand, Remember, RestorePlace, OfferLessons,
    Tick, ToggleSandbox, EditSandbox, UndoEdit, RedoEdit, RunSandbox, StopRun, AskWhatIf, AskSave,
    SaveSandbox, ShowRunning, RunEnded, RunRefused, SaveEnded, StartLive, LetGo, StopLive, ShowLive>;

/// What apply() cannot do by itself, because it touches the world outside.
struct Effects {
    std::vector<std::string> copy;   ///< to the clipboard
    std::vector<std::string> open;   ///< paths and lesson names
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
    bool copy_command = false;  ///< the command line that shows this, to the clipboard
};

/// Changes the state by one action. Pure but for its arguments; cost: the steps look at every event once, all
/// else O(1).
void apply(AppState& state, const Action& action, Effects& effects);

/// The clock on show; null without a document.
const time::Clock* shown_clock(const AppState& state);

/// The event the facts column speaks of: the selected one, else what the selected (or asking) rank does at
/// the cursor.
std::optional<view::EventRef> shown_event(const AppState& state);

/// Clock nanoseconds that pass in a second at speed 1: a hop of median length takes 0.32 s.
double playing_rate(const trace::Trace& trace, const time::Clock& clock);

/// Something on screen moves by itself: the next frame must be drawn without waiting for input.
bool in_motion(const AppState& state);

/// The most runs that stand side by side.
inline constexpr std::size_t kMostRuns = 4;

/// Where the run in front stands among the runs; 0 when nothing is open.
std::size_t front_run(const AppState& state);
/// Whose lanes the comparison shows of a run: its own choice, else the rank in focus, where it has that rank.
int32_t lane_rank(const AppState& state, std::size_t run);

/// Where the reader looks now, and whether `place` still exists in what is open (its parts that do not are
/// left out by RestorePlace).
Place place_of(const AppState& state);

/// The words of the command line that shows what is on screen: program, file, --view, --rank, --at ….
/// Empty without a document.
std::vector<std::string> command_words(const AppState& state);

/// Where an export of what is seen would go: FOLDER/NAME-VIEW.EXTENSION.
std::string export_path(const AppState& state, const std::string& extension);

/// How much larger than `scale` presenting draws.
inline constexpr float kPresenterScale = 1.4F;

inline constexpr float kScaleMin = 0.75F, kScaleMax = 3.0F;

}  // namespace meshscope::session
