// The parts of the window that a page does its own way: the canvas is the window, and is as large as the
// page.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <emscripten/emscripten.h>

#include "app/gui/window/gl.h"
#include "app/gui/window/glfw_window.h"
#include "app/gui/window/headless_context.h"

// clang-format off
EM_JS(void, meshscope_fit_canvas, (), { Module['fitCanvas'](); })
EM_JS(float, meshscope_pixel_ratio, (), { return window.devicePixelRatio || 1; })
EM_JS(void, meshscope_copy_text, (const char* text), { Module['copyText'](UTF8ToString(text)); })
EM_JS(void, meshscope_download, (const char* path), { Module['download'](UTF8ToString(path)); })
// clang-format on

namespace meshscope::window {

const char* shader_version() {
    return "#version 300 es";
}

GLFWwindow* GlfwWindow::create(int width, int height, const std::string& title) {
    GLFWwindow* const made = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
    if (made != nullptr) meshscope_fit_canvas();
    return made;
}

std::string GlfwWindow::reason() {
    return "WebGL 2";
}

// The page itself tells of a lost context and offers to load it again.
bool GlfwWindow::context_lost() const {
    return false;
}

void GlfwWindow::on_display_gone(std::function<void()> /*last*/) {}

void GlfwWindow::poll(double /*timeout_s*/) {
    meshscope_fit_canvas();
    glfwPollEvents();
}

// The page draws without being woken.
void GlfwWindow::wake() {}

float GlfwWindow::content_scale() const {
    return meshscope_pixel_ratio();
}

void GlfwWindow::copy_text(const std::string& text) {
    meshscope_copy_text(text.c_str());
}

void GlfwWindow::hand_over(const std::string& path) {
    meshscope_download(path.c_str());
}

// A page's memory is bounded by what it was linked with.
void require_drawing_room() {}

}  // namespace meshscope::window
