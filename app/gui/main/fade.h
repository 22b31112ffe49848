#pragma once

#include "app/gui/window/png.h"

namespace meshscope::gui {

/// From a step's last frame to the next step's: the one goes as the other comes.
class Fade {
  public:
    /// `frames`: how many frames are mixed; 0: none ever.
    explicit Fade(int frames) : frames_(frames) {}
    /// What comes next follows another picture: the latest.
    void begin() { from_ = latest_, left_ = from_.rgb.empty() ? 0 : frames_; }
    /// The frame as the film has it.
    window::Image frame(window::Image drawn);

  private:
    int frames_, left_ = 0;
    window::Image from_, latest_;
};

}  // namespace meshscope::gui
