#include "app/gui/window/glfw_window.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <utility>

#include "app/gui/window/headless_context.h"
#include "app/gui/window/imgui_compat.h"
#include "core/base/error.h"

namespace meshscope::window {

struct GlfwWindow::Events {
    std::vector<KeyPress> keys;
    std::vector<std::string> drops;
    bool dirty = true;
    /// Keys pressed since the latest poll, those of them that were let go again, and those that therefore
    /// count as held for the frame that follows it.
    std::vector<int> pressed, tapped, held;

    void note(int key, int action) {
        if (key == GLFW_KEY_UNKNOWN) return;
        if (action == GLFW_PRESS) {
            pressed.push_back(key);
            std::erase(tapped, key);  // it is down again
        } else if (action == GLFW_RELEASE && std::ranges::count(pressed, key) > 0) {
            tapped.push_back(key);
        }
    }
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

}  // namespace

GlfwWindow::GlfwWindow(int width, int height, const std::string& title)
    : title_(title), events_(std::make_unique<Events>()) {
    require_drawing_room();
    if (glfwInit() != GLFW_TRUE) refuse();
    try {
        make(width, height);
    } catch (const DeviceError&) {
        glfwTerminate();
        throw;
    }
}

void GlfwWindow::refuse() {
    throw DeviceError({"window.no_window", {{"reason", reason()}}});
}

void GlfwWindow::make(int width, int height) {
    window_ = create(width, height, title_);
    if (window_ == nullptr) refuse();
    glfwMakeContextCurrent(window_);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(window_, events_.get());

    // Ours come first; ImGui_ImplGlfw_InitForOpenGL(…, true) keeps them and calls them.
    glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int, int action, int mods) {
        auto* e = static_cast<Events*>(glfwGetWindowUserPointer(w));
        e->dirty = true;
        e->note(key, action);
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

void GlfwWindow::poll(double timeout_s) {
    for (const int key : std::exchange(events_->held, {})) compat::key_down(key, false);
    receive(timeout_s);
    events_->pressed.clear();
    events_->held = std::exchange(events_->tapped, {});
    for (const int key : events_->held) compat::key_down(key, true);
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

void GlfwWindow::size(int& width, int& height) const {
    glfwGetFramebufferSize(window_, &width, &height);
}

void GlfwWindow::outer_size(int& width, int& height) const {
    if (window_ != nullptr) glfwGetWindowSize(window_, &width, &height);
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

}  // namespace meshscope::window
