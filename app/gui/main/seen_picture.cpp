#include "app/gui/main/seen_picture.h"

#include <utility>

#include "app/gui/window/gl.h"
#include "app/gui/window/theme.h"

namespace meshscope::gui {
namespace {

/// What lay in front is gone in the first; parts of the window that it changed stand right in the next.
constexpr int kFrames = 2;

}  // namespace

session::AppState without_overlays(session::AppState state) {
    state.playing = state.palette = state.key_sheet = state.copy_view = false;
    state.glide.reset();
    state.export_sheet.reset();
    state.exporting.reset();
    state.toast.reset();
    state.error.reset();
    state.loading.reset();
    state.refused_move.reset();
    return state;
}

window::Image seen_picture(Stage& stage, window::GlHost& host, int width, int height, float content_scale) {
    const window::FrameBuffer target(width, height);
    const session::AppState before = stage.state();
    stage.resume(without_overlays(before));
    host.ignore_pointer(true);
    for (int i = 0; i < kFrames; ++i) {
        ImDrawData* data = stage.frame(width, height, 0, content_scale);
        target.bind();
        host.draw(data, width, height, window::theme(before.theme).fill(view::Token::bg));
    }
    window::Image image = target.read();
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    host.ignore_pointer(false);
    stage.resume(before);
    return image;
}

}  // namespace meshscope::gui
