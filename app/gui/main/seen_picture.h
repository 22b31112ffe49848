#pragma once

#include "app/gui/main/stage.h"
#include "app/gui/session/app_state.h"
#include "app/gui/window/frame_buffer.h"
#include "app/gui/window/imgui_host.h"

namespace meshscope::gui {

/// What is open in front of the view, and what passes, is no part of a picture of it.
session::AppState without_overlays(session::AppState state);

/// The window as it stands, scrolled and folded, by its own panels, which draw some frames for it: without
/// what is open in front of them, and as if the pointer were elsewhere. Throws DeviceError
/// ("window.framebuffer").
window::Image seen_picture(Stage& stage, window::GlHost& host, int width, int height, float content_scale);

}  // namespace meshscope::gui
