// The parts of the window that desktops do their own way; a page's are in glfw_page.cpp, and CMakeLists.txt
// chooses.
#define GLFW_INCLUDE_NONE  // window/gl.h declares more of OpenGL than GLFW would
#include <GLFW/glfw3.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "app/gui/window/gl.h"
#include "app/gui/window/glfw_window.h"
#include "app/gui/window/shell_line.h"

namespace meshscope::window {
namespace {

/// EX_UNAVAILABLE, as without a display at the start.
constexpr int kExitCode = 69;

/// What is done last when the display goes away, and the thread that has it.
struct DisplayGone {
    std::function<void()> last;
    std::thread::id thread;
};
DisplayGone& display_gone() {
    static DisplayGone gone;
    return gone;
}

/// X's library ends the program when this returns; it runs where the connection was found broken.
int end_of_display(void* /*display*/) {
    DisplayGone& gone = display_gone();
    const bool own = std::this_thread::get_id() == gone.thread;
    // A thread that only wanted to wake the window waits for the window's own, which finds the same within
    // half a second; but not for ever: that one may be waiting for this thread to end.
    if (!own) std::this_thread::sleep_for(std::chrono::seconds(5));
    if (own && gone.last) gone.last();
    std::_Exit(kExitCode);
}

}  // namespace

const char* shader_version() {
    return "#version 330 core";
}

GLFWwindow* GlfwWindow::create(int width, int height, const std::string& title) {
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    // A driver that starts anew says so; one that cannot say it makes a context all the same.
    for (const int robust : {GLFW_LOSE_CONTEXT_ON_RESET, GLFW_NO_ROBUSTNESS}) {
        glfwWindowHint(GLFW_CONTEXT_ROBUSTNESS, robust);
        GLFWwindow* const made = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
        if (made != nullptr) return made;
    }
    return nullptr;
}

std::string GlfwWindow::reason() {
    const char* told = nullptr;
    glfwGetError(&told);
    return told != nullptr ? told : "unknown";
}

bool GlfwWindow::context_lost() const {
    return glGetGraphicsResetStatus() != GL_NO_ERROR;
}

void GlfwWindow::on_display_gone(std::function<void()> last) {
    DisplayGone& gone = display_gone();
    gone.last = std::move(last);
    gone.thread = std::this_thread::get_id();
    // Only X ends the program by itself; its library is here already where GLFW speaks it.
    void* const x11 = ::dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (x11 == nullptr) return;
    using Handler = int (*)(void*);
    const auto set = reinterpret_cast<Handler (*)(Handler)>(::dlsym(x11, "XSetIOErrorHandler"));
    if (set != nullptr) set(end_of_display);
    ::dlclose(x11);  // GLFW holds it
}

void GlfwWindow::receive(double timeout_s) {
    if (timeout_s > 0) {
        glfwWaitEventsTimeout(timeout_s);
    } else {
        glfwPollEvents();
    }
}

void GlfwWindow::wake() {
    glfwPostEmptyEvent();
}

float GlfwWindow::content_scale() const {
    float x = 1, y = 1;
    glfwGetWindowContentScale(window_, &x, &y);
    return x;
}

void GlfwWindow::copy_text(const std::string& text) {
    glfwSetClipboardString(window_, text.c_str());
}

std::string GlfwWindow::way_to(const std::vector<std::string>& command) {
    return as_shell_line(command);
}

// Nothing of GLFW's reaches a screen reader.
bool GlfwWindow::is_heard() {
    return false;
}

void GlfwWindow::tell(const std::string& /*text*/) {}

bool GlfwWindow::files_are_seen() {
    return true;
}

void GlfwWindow::pick_files() {}

void GlfwWindow::hand_over(const std::string& /*path*/) {}

}  // namespace meshscope::window
