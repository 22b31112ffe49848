#include "app/gui/main/seen_picture.h"

#include <utility>

#include "app/gui/window/gl.h"
#include "app/gui/window/theme.h"

namespace meshscope::gui {
namespace {

/// The first frame takes away what lay in front; the second settles what that moved.
constexpr int kFrames = 2;

/// The stage without overlays and without the pointer, until this goes.
class Uncluttered {
  public:
    Uncluttered(Stage& stage, window::GlHost& host) : stage_(stage), host_(host), before_(stage.state()) {
        stage_.resume(without_overlays(before_));
        host_.ignore_pointer(true);
    }
    ~Uncluttered() {
        glBindFramebuffer(GL_FRAMEBUFFER, 0);
        host_.ignore_pointer(false);
        stage_.resume(std::move(before_));
    }
    Uncluttered(const Uncluttered&) = delete;
    Uncluttered& operator=(const Uncluttered&) = delete;

  private:
    Stage& stage_;
    window::GlHost& host_;
    session::AppState before_;
};

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
    const Uncluttered uncluttered(stage, host);
    for (int i = 0; i < kFrames; ++i) {
        ImDrawData* data = stage.frame(width, height, 0, content_scale);
        target.bind();
        host.draw(data, width, height, window::theme(stage.state().theme).fill(view::Token::bg));
    }
    return target.read();
}

}  // namespace meshscope::gui
