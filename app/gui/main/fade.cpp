#include "app/gui/main/fade.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace meshscope::gui {

window::Image Fade::frame(window::Image drawn) {
    if (left_ > 0 && from_.rgb.size() == drawn.rgb.size()) {
        // 1 … frames_ of frames_ + 1 parts: neither of the two stands there whole.
        const int share = frames_ + 1 - left_, all = frames_ + 1;
        for (std::size_t i = 0; i < drawn.rgb.size(); ++i) {
            const int mixed = (from_.rgb[i] * (all - share) + drawn.rgb[i] * share + all / 2) / all;
            drawn.rgb[i] = static_cast<uint8_t>(mixed);
        }
        --left_;
    }
    if (frames_ > 0) latest_ = drawn;
    return drawn;
}

}  // namespace meshscope::gui
