#include "app/gui/window/glfw_window.h"

#define GLFW_INCLUDE_NONE  // window/gl.h declares more of OpenGL than GLFW would
#include <GLFW/glfw3.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "app/gui/window/gl.h"
#include "app/gui/window/headless_context.h"
#include "core/base/error.h"

namespace meshscope::window {

struct GlfwWindow::Events {
    std::vector<KeyPress> keys;
    std::vector<std::string> drops;
    bool dirty = true;
};

namespace {

/// `first` and those behind it, in the order that GLFW's numbers have too.
Key counted(Key first, int steps) {
    return static_cast<Key>(static_cast<int>(first) + steps);
}

Key translate(int key, int mods) {
    if (key >= GLFW_KEY_A && key <= GLFW_KEY_Z) return counted(Key::a, key - GLFW_KEY_A);
    if (key >= GLFW_KEY_0 && key <= GLFW_KEY_9) return counted(Key::digit0, key - GLFW_KEY_0);
    if (key >= GLFW_KEY_F1 && key <= GLFW_KEY_F12) return counted(Key::f1, key - GLFW_KEY_F1);
    switch (key) {
        case GLFW_KEY_SPACE:
            return Key::space;
        case GLFW_KEY_LEFT:
            return Key::left;
        case GLFW_KEY_RIGHT:
            return Key::right;
        case GLFW_KEY_UP:
            return Key::up;
        case GLFW_KEY_DOWN:
            return Key::down;
        case GLFW_KEY_HOME:
            return Key::home;
        case GLFW_KEY_END:
            return Key::end;
        case GLFW_KEY_ENTER:
        case GLFW_KEY_KP_ENTER:
            return Key::enter;
        case GLFW_KEY_ESCAPE:
            return Key::escape;
        case GLFW_KEY_TAB:
            return Key::tab;
        case GLFW_KEY_PAGE_UP:
            return Key::page_up;
        case GLFW_KEY_PAGE_DOWN:
            return Key::page_down;
        case GLFW_KEY_BACKSPACE:
            return Key::backspace;
        case GLFW_KEY_DELETE:
            return Key::remove;
        case GLFW_KEY_EQUAL:
        case GLFW_KEY_KP_ADD:
            return Key::plus;
        case GLFW_KEY_MINUS:
        case GLFW_KEY_KP_SUBTRACT:
            return Key::minus;
        case GLFW_KEY_LEFT_BRACKET:
            return Key::left_bracket;
        case GLFW_KEY_RIGHT_BRACKET:
            return Key::right_bracket;
        case GLFW_KEY_SLASH:
            return (mods & GLFW_MOD_SHIFT) != 0 ? Key::question : Key::other;
        default:
            return Key::other;
    }
}

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

[[noreturn]] void fail() {
    const char* reason = nullptr;
    glfwGetError(&reason);
    throw DeviceError(
        {"window.no_window", {{"reason", std::string(reason != nullptr ? reason : "unknown")}}});
}

}  // namespace

GlfwWindow::GlfwWindow(int width, int height, const std::string& title)
    : title_(title), events_(std::make_unique<Events>()) {
    require_drawing_room();
    if (glfwInit() != GLFW_TRUE) fail();
    try {
        make(width, height);
    } catch (const DeviceError&) {
        glfwTerminate();
        throw;
    }
}

void GlfwWindow::make(int width, int height) {
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    // A driver that starts anew says so; one that cannot say it makes a context all the same.
    for (const int robust : {GLFW_LOSE_CONTEXT_ON_RESET, GLFW_NO_ROBUSTNESS}) {
        glfwWindowHint(GLFW_CONTEXT_ROBUSTNESS, robust);
        window_ = glfwCreateWindow(width, height, title_.c_str(), nullptr, nullptr);
        if (window_ != nullptr) break;
    }
    if (window_ == nullptr) fail();
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(window_, events_.get());

    // Ours come first; ImGui_ImplGlfw_InitForOpenGL(…, true) keeps them and calls them.
    glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int, int action, int mods) {
        auto* e = static_cast<Events*>(glfwGetWindowUserPointer(w));
        e->dirty = true;
        if (action == GLFW_RELEASE) return;
        const Key known = translate(key, mods);
        if (known != Key::other) {
            e->keys.push_back({known, (mods & GLFW_MOD_SHIFT) != 0, (mods & GLFW_MOD_CONTROL) != 0});
        }
    });
    glfwSetDropCallback(window_, [](GLFWwindow* w, int count, const char** paths) {
        auto* e = static_cast<Events*>(glfwGetWindowUserPointer(w));
        e->dirty = true;
        e->drops.insert(e->drops.end(), paths, paths + count);
    });
    glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double, double) {
        static_cast<Events*>(glfwGetWindowUserPointer(w))->dirty = true;
    });
    glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int, int, int) {
        static_cast<Events*>(glfwGetWindowUserPointer(w))->dirty = true;
    });
    glfwSetScrollCallback(window_, [](GLFWwindow* w, double, double) {
        static_cast<Events*>(glfwGetWindowUserPointer(w))->dirty = true;
    });
    glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned int) {
        static_cast<Events*>(glfwGetWindowUserPointer(w))->dirty = true;
    });
    glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* w, int, int) {
        static_cast<Events*>(glfwGetWindowUserPointer(w))->dirty = true;
    });
    glfwSetWindowRefreshCallback(
        window_, [](GLFWwindow* w) { static_cast<Events*>(glfwGetWindowUserPointer(w))->dirty = true; });
    glfwSetWindowFocusCallback(
        window_, [](GLFWwindow* w, int) { static_cast<Events*>(glfwGetWindowUserPointer(w))->dirty = true; });
}

GlfwWindow::~GlfwWindow() {
    glfwDestroyWindow(window_);
    glfwTerminate();
}

bool GlfwWindow::should_close() const {
    return glfwWindowShouldClose(window_) != 0;
}
void GlfwWindow::close() {
    glfwSetWindowShouldClose(window_, GLFW_TRUE);
}
void GlfwWindow::set_title(const std::string& title) {
    title_ = title;
    glfwSetWindowTitle(window_, title.c_str());
}
void GlfwWindow::present() {
    glfwSwapBuffers(window_);
}

bool GlfwWindow::context_lost() const {
    return glGetGraphicsResetStatus() != GL_NO_ERROR;
}

void GlfwWindow::renew() {
    int x = 0, y = 0, width = 0, height = 0;
    if (window_ != nullptr) {
        glfwGetWindowPos(window_, &x, &y);
        outer_size(width, height);
        glfwDestroyWindow(window_);
        window_ = nullptr;
        renewed_ = {x, y, width, height};
    }
    make(renewed_[2], renewed_[3]);
    glfwSetWindowPos(window_, renewed_[0], renewed_[1]);
    events_->dirty = true;
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

void GlfwWindow::poll(double timeout_s) {
    if (timeout_s > 0) {
        glfwWaitEventsTimeout(timeout_s);
    } else {
        glfwPollEvents();
    }
}

void GlfwWindow::wake() {
    glfwPostEmptyEvent();
}

void GlfwWindow::size(int& width, int& height) const {
    glfwGetFramebufferSize(window_, &width, &height);
}

void GlfwWindow::outer_size(int& width, int& height) const {
    if (window_ != nullptr) glfwGetWindowSize(window_, &width, &height);
}

float GlfwWindow::content_scale() const {
    float x = 1, y = 1;
    glfwGetWindowContentScale(window_, &x, &y);
    return x;
}

std::vector<KeyPress> GlfwWindow::take_keys() {
    return std::exchange(events_->keys, {});
}
std::vector<std::string> GlfwWindow::take_drops() {
    return std::exchange(events_->drops, {});
}
bool GlfwWindow::take_dirty() {
    return std::exchange(events_->dirty, false);
}
void GlfwWindow::copy_text(const std::string& text) {
    glfwSetClipboardString(window_, text.c_str());
}

}  // namespace meshscope::window
