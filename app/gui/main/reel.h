#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "app/gui/session/app_state.h"
#include "core/time/clock.h"

namespace meshscope::gui {

/// Where the cursor is in each frame of a shot, and what is told there.
struct Reel {
    std::vector<int64_t> cursor_ns;  ///< a frame each; empty: it stays where it is
    std::vector<view::Beat> beats;   ///< what is told, in order
    std::vector<int> told_from;      ///< the frame from which each beat is told
    /// The beat that is told in that frame.
    std::optional<std::size_t> told_at(int frame) const;
};

/// It stays at the span's begin for `still` frames, then goes evenly to its end. Nothing is told.
Reel even_reel(time::Interval span, int still, int frames);

/// The cursor stays where it is; what is over or begins there is told.
Reel still_reel(const session::AppState& state);

/// As playing goes (docs/window.md): from what ends to what ends next, with a rest at each, where there is
/// time for that; else evenly, and now and then what has just ended is told. While it stays at the begin it
/// tells what begins there. Cost: that of view::next_beat() for each beat, at most two a second of the film.
Reel paused_reel(const session::AppState& state, time::Interval span, int still, int frames,
                 int frames_per_s);

/// A beat that is rested at has at least this long, of which the rest is at most kMostRestSeconds. Where the
/// cursor goes evenly a caption stays for kCaptionSeconds.
inline constexpr double kBeatSeconds = 0.6, kMostRestSeconds = 1.2, kCaptionSeconds = 1.4;

}  // namespace meshscope::gui
