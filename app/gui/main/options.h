#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/state.h"
#include "app/gui/window/theme.h"
#include "app/i18n/catalogue.h"
#include "core/base/message.h"
#include "core/time/clock.h"
#include "core/trace/excerpt.h"

namespace meshscope::gui {

/// A moment of the run: the event of that number on the rank of --rank, or a time.
struct At {
    bool is_event = false;
    int64_t value = 0;  ///< the event's number, or nanoseconds on the shown clock
    friend bool operator==(const At&, const At&) = default;
};

/// What the frames of a film look like.
enum class FilmLook : uint8_t {
    window,  ///< the window as a person sees it
    tour     ///< the picture and captions alone
};

/// What the command line asks for.
struct Options {
    std::string open;  ///< FILE.mscope, scenario.toml or a lesson's name; "" = the welcome page
    std::vector<std::string> beside;  ///< more of them, laid beside the first
    std::optional<view::Language> language;
    std::optional<window::ThemeKind> theme;  ///< nothing: as it was kept, else dark
    std::optional<float> scale;              ///< nothing: as it was kept, else 1
    std::optional<view::ViewKind> view;
    std::optional<view::Form> form;
    std::optional<int32_t> rank;
    std::optional<At> at;
    std::optional<time::ClockKind> clock;
    bool reduced_motion = false;
    bool plain = false;              ///< without shaders
    std::string export_to;           ///< a file whose ending tells the format; "" = a window
    std::string lesson_pages;        ///< folder for a lesson's texts and pictures; "" = a window
    std::string render;              ///< folder of frames; "" = a window
    std::optional<double> from, to;  ///< fractions of the run; 0 and 1, but see step_moment
    int width = 1280, height = 720;
    bool size_given = false;
    int frames_per_s = 30;
    bool fps_given = false;
    std::optional<FilmLook> film;  ///< nothing: usual_look()
    double seconds = 10;
    bool seconds_given = false;
    int frames = 0;  ///< 0: seconds × frames_per_s
    std::string mp4;
    int bench = 0;           ///< frames to time
    bool bench_all = false;  ///< every view, a lesson and a large made trace
    std::string dump_state;  ///< file that always holds the state as JSON
    int lesson_step = -1;    ///< from 0
    /// A single frame of a lesson's step shows the moment that the step stops at, unless one is named.
    bool step_moment() const { return lesson_step >= 0 && frames == 1 && !from && !to; }
    bool force = false;  ///< files of another kind may be written over
    std::optional<trace::StepRange> steps;  ///< of a page (--export to .html): these alone
    bool help = false, version = false;
};

/// Reads the arguments after the program's name. Throws InvalidArgument ("app.unknown_option",
/// "app.bad_value" …).
Options parse_options(const std::vector<std::string>& arguments);

/// What --help prints.
std::string help_text(i18n::Language language);
/// What --version prints.
std::string version_line();

}  // namespace meshscope::gui
