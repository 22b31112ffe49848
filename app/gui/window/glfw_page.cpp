// The parts of the window that a page does its own way: the canvas is the window, and is as large as the
// page.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <emscripten/emscripten.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "app/gui/window/gl.h"
#include "app/gui/window/glfw_window.h"
#include "app/gui/window/headless_context.h"

// clang-format off
EM_JS(void, meshscope_fit_canvas, (), { Module['fitCanvas'](); })
EM_JS(float, meshscope_pixel_ratio, (), { return window.devicePixelRatio || 1; })
EM_JS(void, meshscope_copy_text, (const char* text), { Module['copyText'](UTF8ToString(text)); })
EM_JS(void, meshscope_download, (const char* path), { Module['download'](UTF8ToString(path)); })
EM_JS(void, meshscope_pick_files, (), { Module['pickFiles'](); })
EM_JS(void, meshscope_tell, (const char* text), { Module['told'](UTF8ToString(text)); })
EM_JS(char*, meshscope_pasted, (), { return stringToNewUTF8(Module['pasted']()); })
EM_JS(char*, meshscope_link, (const char* words), { return stringToNewUTF8(Module['linkTo'](UTF8ToString(words).split('\n'))); })
// clang-format on

// Fingers and the wheel, from app/web/page.js, as the wheel where the pointer is.

/// Whether what is under the pointer scrolls.
extern "C" EMSCRIPTEN_KEEPALIVE int meshscope_scrolls() {
    const ImGuiWindow* const under = GImGui != nullptr ? GImGui->HoveredWindow : nullptr;
    return under != nullptr && under->ScrollMax.y > 0 ? 1 : 0;
}

/// Whether what is under the pointer can be taken along sideways: the panels say so by the pointer's form.
extern "C" EMSCRIPTEN_KEEPALIVE int meshscope_drags() {
    return GImGui != nullptr && GImGui->MouseCursor == ImGuiMouseCursor_ResizeEW ? 1 : 0;
}

/// By so many CSS pixels: ImGui's own step of the wheel, in parts.
extern "C" EMSCRIPTEN_KEEPALIVE void meshscope_scroll(float pixels) {
    const ImGuiWindow* const under = GImGui->HoveredWindow;
    if (under == nullptr) return;
    const float step = std::min(5 * under->CalcFontSize(), 0.67F * under->InnerRect.GetHeight());
    ImGui::GetIO().MouseWheel += pixels * meshscope_pixel_ratio() / step;
}

/// So many notches of the wheel, up where positive.
extern "C" EMSCRIPTEN_KEEPALIVE void meshscope_turn(float notches) {
    ImGui::GetIO().MouseWheel += notches;
}

// What the page's own field for text must know, app/web/typing.js.

namespace {

ImVec2 caret() {
#if IMGUI_VERSION_NUM < 18700
    return GImGui->PlatformImePos;
#else
    return GImGui->PlatformImeData.InputPos;
#endif
}

}  // namespace

/// Whether a field is typed into.
extern "C" EMSCRIPTEN_KEEPALIVE int meshscope_wants_text() {
    return GImGui != nullptr && GImGui->IO.WantTextInput ? 1 : 0;
}

/// Whether what is under the pointer is a field.
extern "C" EMSCRIPTEN_KEEPALIVE int meshscope_over_field() {
    return GImGui != nullptr && GImGui->MouseCursor == ImGuiMouseCursor_TextInput ? 1 : 0;
}

/// Where its caret is, in the canvas's pixels; while one is typed into.
extern "C" EMSCRIPTEN_KEEPALIVE float meshscope_caret_x() {
    return caret().x;
}
extern "C" EMSCRIPTEN_KEEPALIVE float meshscope_caret_y() {
    return caret().y;
}

// For ImGui's copying, cutting and pasting; emscripten's own do nothing.
extern "C" void glfwSetClipboardString(GLFWwindow* /*window*/, const char* text) {
    meshscope_copy_text(text);
}

extern "C" const char* glfwGetClipboardString(GLFWwindow* /*window*/) {
    static std::string pasted;
    char* const text = meshscope_pasted();
    pasted = text;
    std::free(text);
    return pasted.c_str();
}

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

void GlfwWindow::receive(double /*timeout_s*/) {
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

std::string GlfwWindow::way_to(const std::vector<std::string>& command) {
    // Options by their names, "--step 3", and what is opened; page.js reads the same.
    std::string link;
    const auto add = [&](const std::string& name, const std::string& value) {
        link += (link.empty() ? "" : "\n") + name + '\n' + value;
    };
    for (std::size_t i = 1; i < command.size(); ++i) {
        if (command[i].starts_with("--") && i + 1 < command.size()) {
            add(command[i].substr(2), command[i + 1]);
            ++i;
        } else if (link.empty()) {
            add("lesson", command[i]);
        }
    }
    char* const made = meshscope_link(link.c_str());
    std::string text = made;
    std::free(made);
    return text;
}

bool GlfwWindow::is_heard() {
    return true;
}

void GlfwWindow::tell(const std::string& text) {
    meshscope_tell(text.c_str());
}

bool GlfwWindow::files_are_seen() {
    return false;
}

void GlfwWindow::pick_files() {
    meshscope_pick_files();
}

void GlfwWindow::hand_over(const std::string& path) {
    meshscope_download(path.c_str());
}

// A page's memory is bounded by what it was linked with.
void require_drawing_room() {}

}  // namespace meshscope::window
