#pragma once

#include <functional>
#include <string>

#include "app/gui/main/options.h"
#include "app/gui/session/session.h"
#include "app/i18n/catalogue.h"
#include "core/trace/trace.h"

namespace meshscope::gui {

/// A record as a large run leaves it, made without running one: `ranks` ranks on a mesh (ranks/64, 8, 8), of
/// fewer than 64 (ranks/4, 2, 2), of replicate, shard and tp, whose every step gathers, computes, sums and
/// scatters layer by layer, `events` in all (rounded to whole ranks). The same arguments give the same
/// record. `ranks`: a multiple of 64, or below that of 4.
trace::Trace made_trace(int32_t ranks, int64_t events);

/// How fast the window is, as JSON lines given to `print`: frames a second of every view on the lesson
/// `lesson` and on a made trace of a million events and 1,024 ranks, how long that trace takes to open, what
/// it adds to the memory, how long a seek takes, what an idle window costs. Drawn off screen
/// at the options' size; each figure is a median, drawing finished. Beside the time on the wall stands the
/// processor time of a frame, ours apart from OpenGL's, which a busy machine does not change, and as
/// "fps_two_cores" the frames a second that it allows on two free cores. Throws DeviceError without EGL.
void bench_app(const Options& options, const i18n::Catalogue& catalogue,
               const session::LessonFolders& folders, const std::string& lesson,
               const std::function<void(const std::string&)>& print);

/// What a window that nobody touches costs, as one JSON line given to `print`: this program opens `lesson`
/// in a real window of the options' size, with settings of its own, is left alone for three seconds, and its
/// processor time is read over five more; "core_percent" is its share of one core. Without a display, or
/// where the window does not come, the line says "skipped" and why.
void bench_idle(const Options& options, const std::string& lesson,
                const std::function<void(const std::string&)>& print);

}  // namespace meshscope::gui
