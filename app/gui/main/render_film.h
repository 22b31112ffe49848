#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/main/first_actions.h"
#include "app/gui/main/options.h"
#include "app/i18n/catalogue.h"

namespace meshscope::gui {

/// What came of a film.
struct FilmReport {
    int frames = 0;
    std::string folder;
    std::string mp4;      ///< "" when none was made
    std::string command;  ///< the ffmpeg command to run by hand, when ffmpeg is missing
};

/// Draws the frames of a document without any display and writes frame_00000.png … into options.render: a
/// tour of its lesson (storyboard.h), or the cursor going from `from` to `to` (fractions of the run) in equal
/// steps. The same arguments give the same
/// bytes. Throws DeviceError without EGL, IoError when the disk refuses. `path_value`: PATH, where ffmpeg is
/// looked for.
FilmReport render_film(std::shared_ptr<const session::Document> document, const Options& options,
                       const i18n::Catalogue& catalogue, const std::string& path_value,
                       const std::function<void(int done, int all)>& progress, const Beside& beside = {});

/// What one frame cost. The processor's times do not grow when others use the machine.
struct FrameCost {
    double ms = 0;             ///< on the wall, drawing finished
    double build_cpu_ms = 0;   ///< ours: the view-models, and shapes made triangles
    double submit_cpu_ms = 0;  ///< the same thread in OpenGL
    double raster_cpu_ms = 0;  ///< all other threads: those that OpenGL draws with
    int64_t vertices = 0, commands = 0;
};

/// Draws options.bench frames off screen while the cursor runs; returns what each cost.
std::vector<FrameCost> bench_frames(std::shared_ptr<const session::Document> document, const Options& options,
                                    const i18n::Catalogue& catalogue, const Beside& beside = {});

}  // namespace meshscope::gui
