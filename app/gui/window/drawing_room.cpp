#include "app/gui/window/drawing_room.h"

#include <cstdint>
#include <string>

#include "core/base/address_space.h"
#include "core/base/error.h"

namespace meshscope::window {

void require_drawing_room() {
    constexpr int64_t kMiB = int64_t{1} << 20;
    // Mesa's llvmpipe, a picture of 1920 × 1080 pixels and the glyphs of both languages, as measured.
    constexpr int64_t kNeeded = 640 * kMiB;
    const auto left = address_space_left();
    if (!left || left->left_bytes >= kNeeded) return;
    throw DeviceError({"window.no_room",
                       {{"need", kNeeded / kMiB},
                        {"option", std::string(left->data ? "ulimit -d" : "ulimit -v")},
                        {"free", left->left_bytes / kMiB}}});
}

}  // namespace meshscope::window
