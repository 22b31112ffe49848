#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/gui/session/document.h"
#include "app/gui/session/move_history.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/session/sandbox_state.h"
#include "app/gui/view/algorithms_choice.h"
#include "app/gui/view/beats.h"
#include "app/gui/view/live_view.h"
#include "app/gui/view/state.h"
#include "app/gui/window/keys.h"
#include "app/gui/window/theme.h"

namespace meshscope::session {

struct Planned;

/// A run whose ranks are held.
struct LiveState {
    std::string name;
    view::LiveWorld world;
    std::shared_ptr<const Document> document;  ///< what was recorded so far; null: nothing yet
};

/// How far a held rank is let go.
enum class LetGoHow : uint8_t {
    hop,         ///< until it has sent or received one message of a tensor
    collective,  ///< until it stands before its next call
    all          ///< all ranks, to the end
};

/// Begins to run the sandbox's scenario with all ranks held.
struct StartLive {};
struct LetGo {
    int32_t rank = 0;
    LetGoHow how = LetGoHow::hop;
};
/// Gives the held run up; what it recorded stays.
struct StopLive {};
/// How it stands; nothing: it is over.
struct ShowLive {
    std::optional<LiveState> live;
};

enum class ExportKind { png, svg, gif, mp4, html };

/// "png", …: the endings of the kinds, in their order.
inline constexpr const char* kExportEndings[] = {"png", "svg", "gif", "mp4", "html"};

/// What a file's name asks for by its ending, in either case; nothing where it asks for none of them.
std::optional<ExportKind> export_kind_of(const std::string& path);

/// A guess at a quiz: nothing is revealed before the reader asks.
struct QuizState {
    std::string guess;
    std::string missed;  ///< the latest guess that was checked and was wrong
    bool hint_shown = false;
    bool revealed = false;
};

/// The cursor on its way to where a step leads (look.md section 6).
struct Glide {
    int64_t from_ns = 0, to_ns = 0;
    double passed_s = 0, lasts_s = 0.32;
};

/// What playing is at: on the way to the next beat, or resting there.
struct Stretch {
    int64_t from_ns = 0, to_ns = 0;
    std::optional<view::Beat> beat;  ///< where it leads; absent: to the end of the run
    double travel_s = 0, rest_s = 0, passed_s = 0;
};

/// Something is being opened or run.
struct Loading {
    std::string name;
    int32_t steps_done = 0, steps = 0;  ///< 0 steps: not known yet
    std::string file = {};              ///< "" where it is none: a lesson's name
    bool models = false;                ///< a layout is modelled: what is counted are ranks
    bool plans = false;                 ///< a plan that is open is made again
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
struct LessonCard {
    std::string id;  ///< what opens it
    Text title, subtitle;
    std::vector<MeshDim> mesh;        ///< for its thumbnail, until its run is there
    int32_t number = 0, chapter = 0;  ///< 63 and 6 of "63_hsdp"; 0 for others
    std::string words = {};           ///< what a search looks through, Latin letters in lower case
};

/// What the welcome page draws a lesson's picture from: its own run, at a step that shows most.
struct LessonPicture {
    std::shared_ptr<const Document> run;
    int32_t step = 0;
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
struct Viewpoint {
    view::ViewKind view = view::ViewKind::mesh;
    view::Forms forms;
    time::ClockKind clock = time::ClockKind::modelled;
    int64_t cursor_ns = 0, range_begin_ns = 0, range_end_ns = 0;
    int32_t lesson_step = 0;
    std::optional<int32_t> rank, event_rank, event;
    std::string slice, parameter;
    int64_t row = -1;
    friend bool operator==(const Viewpoint&, const Viewpoint&) = default;
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

/// Where the reader left a lesson that is open while another run is in front.
struct LeftLesson {
    std::weak_ptr<const Document> lesson;
    int32_t step = 0;
    std::map<std::string, QuizState> quizzes;
};

/// What a film tells beside its picture.
struct Film {
    bool of_step = false;            ///< the lesson's step is named
    std::string said;                ///< of that step: what is seen, in its own words
    std::optional<view::Beat> told;  ///< what has just happened
    std::vector<double> begins;      ///< where steps but the first begin, 0 … 1 of the film, ascending
    double shown = 0;                ///< how much of the film has been shown, 0 … 1
};

/// Everything that decides what is on screen. Plain data: the window draws it, apply() changes it, tests read
/// it.
struct AppState {
    view::Language language = view::Language::en;
    window::ThemeKind theme = window::ThemeKind::dark;
    float scale = 1;
    bool reduced_motion = false;
    bool plain = false;  ///< pictures are drawn without shaders

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
    view::Forms forms;
    view::AlgorithmsChoice algorithms;  ///< how algorithms side by side are shown

    bool picks_files = false;  ///< a page: the browser's own dialog chooses files, and paths name none

    bool playing = false;
    double speed = 1;
    std::optional<Glide> glide;
    std::optional<Stretch> stretch;  ///< while playing, from the first tick on
    std::optional<view::Beat>
        beat;                  ///< the latest that the cursor came to; shown_beat() tells whether it holds
    double slice_age_s = 1e9;  ///< since the slice changed: the sheets slide apart

    int32_t lesson_step = 0;
    std::map<std::string, QuizState> quizzes;
    std::vector<LeftLesson> left_lessons;    ///< of lessons among `runs` that are not in front
    bool uncovered = false;                  ///< an export: what the open question asks for is shown
    bool end_folded = false;                 ///< only the title of the early-end notice is shown

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
    std::vector<SandboxState> other_sandboxes;  ///< with edits, of runs that are not in front
    std::optional<Running> running;             ///< of the sandbox or of a what-if question
    std::vector<WhatIfRun> what_ifs;            ///< answers, while their runs are among `runs`
    std::optional<MovedRuns> moved;             ///< runs made by moving a pipeline's blocks
    std::optional<BlockMove> refused_move;      ///< why it cannot be is told beside the block

    std::optional<LiveState> live;  ///< a run whose ranks are held: its panel stands before the sandbox

    std::shared_ptr<const Planned> plan;  ///< its page is shown while no document is open
    std::size_t layout = 0;               ///< of the plan's layouts the chosen one

    std::optional<Loading> loading;
    std::optional<ErrorBox> error;
    std::optional<Toast> toast;
    std::vector<LessonCard> offers;
    /// By the cards' ids, as far as they were made; null: there is none to be had.
    std::map<std::string, std::shared_ptr<const LessonPicture>> lesson_pictures;
    std::optional<Film> film;  ///< the layout of films is shown: the picture and captions, no panels
    bool asks_path = false;  ///< the welcome page's field for a path is to have the keyboard
};

/// The clock on show; null without a document.
const time::Clock* shown_clock(const AppState& state);

/// The event the facts column speaks of: the selected one, else what the selected (or asking) rank does at
/// the cursor.
std::optional<view::EventRef> shown_event(const AppState& state);

/// What has just happened, to be told in a sentence: the beat that the cursor stands on, or, while playing,
/// the one that it came from; in a film, what the film tells.
std::optional<view::Beat> shown_beat(const AppState& state);

/// Something on screen moves by itself: the next frame must be drawn without waiting for input.
bool in_motion(const AppState& state);

/// The most runs that stand side by side.
inline constexpr std::size_t kMostRuns = 4;

/// Where the run in front stands among the runs; 0 when nothing is open.
std::size_t front_run(const AppState& state);
/// The lesson that is open: the run in front where it is one, else the first of the runs that is; null where
/// none is.
std::shared_ptr<const Document> open_lesson(const AppState& state);
/// The lesson step's first question that has not been revealed yet; null when there is none. O(quizzes).
const QuizCard* open_question(const AppState& state);
/// Whose lanes the comparison shows of a run: its own choice, else the rank in focus, where it has that rank.
int32_t lane_rank(const AppState& state, std::size_t run);

/// Where the reader looks now: the document, view, selection and moment, for
/// RestoreViewpoint.
Viewpoint viewpoint_of(const AppState& state);

/// The words of the command line that shows what is on screen: program, file, --view, --rank, --at ….
/// Empty without a document.
std::vector<std::string> command_words(const AppState& state);

/// Of a run all kinds, of a plan's page a picture, of the welcome page nothing.
bool can_export(const AppState& state, ExportKind kind);

/// Where an export of what is seen would go: FOLDER/NAME-VIEW.EXTENSION; of a plan's page
/// FOLDER/NAME.EXTENSION.
std::string export_path(const AppState& state, const std::string& extension);

/// How much larger than `scale` presenting draws.
inline constexpr float kPresenterScale = 1.4F;

inline constexpr double kSlowest = 0.25, kFastest = 16;

inline constexpr float kScaleMin = 0.75F, kScaleMax = 3.0F;

}  // namespace meshscope::session
