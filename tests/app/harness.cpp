#include "harness.h"

#include <imgui.h>

#include <map>
#include <stdexcept>

#include "app/gui/session/session.h"
#include "tests/tree.h"

namespace meshscope::test {
namespace {

// The pointer, as ImGui 1.86 (Debian 12) and newer ones are told of it.
void mouse_position(ImGuiIO& io, float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMousePosEvent(x, y);
#else
    io.MousePos = ImVec2(x, y);
#endif
}

void mouse_button(ImGuiIO& io, int button, bool down) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMouseButtonEvent(button, down);
#else
    io.MouseDown[button] = down;
#endif
}

void mouse_wheel(ImGuiIO& io, float amount) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMouseWheelEvent(0.0F, amount);
#else
    io.MouseWheel += amount;
#endif
}

void enter_key(ImGuiIO& io, bool down) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddKeyEvent(ImGuiKey_Enter, down);
#else
    constexpr int kPlace = 257;  // any: nothing else is mapped without a window
    io.KeyMap[ImGuiKey_Enter] = kPlace;
    io.KeysDown[kPlace] = down;
#endif
}

}  // namespace

std::shared_ptr<const session::Document> lesson(const std::string& folder) {
    static std::map<std::string, std::shared_ptr<const session::Document>> opened;
    auto& document = opened[folder];
    if (!document) {
        document = session::load_document(test::source_root() + "/scenarios/" + folder, {}, nullptr);
    }
    return document;
}

const i18n::Catalogue& catalogue() {
    static const i18n::Catalogue made = i18n::Catalogue::embedded();
    return made;
}

Harness::Harness(int width, int height) : stage_(host_, catalogue()), width_(width), height_(height) {
    mouse_position(ImGui::GetIO(), -1, -1);
}

void Harness::open(std::shared_ptr<const session::Document> document) {
    stage_.act(session::ShowDocument{std::move(document)});
    frames(3);
}

void Harness::frames(int count, double seconds) {
    for (int i = 0; i < count; ++i) stage_.frame(width_, height_, seconds);
}

void Harness::settle() {
    for (int i = 0; i < 600 && session::in_motion(state()); ++i) frames(1, 0.05);
    frames(2);
}

void Harness::resize(int width, int height) {
    width_ = width;
    height_ = height;
    frames(3);
}

void Harness::click(view::Point at) {
    ImGuiIO& io = ImGui::GetIO();
    const float scale = stage_.pixels_a_unit();
    // ImGui wants to see the pointer there a frame before the press.
    mouse_position(io, at.x * scale, at.y * scale);
    frames(2);
    mouse_button(io, 0, true);
    frames(1);
    mouse_button(io, 0, false);
    frames(2);
    io.MouseClickedTime[0] = -1e9;  // the next click is not the second half of a double click
}

void Harness::drag(view::Point from, view::Point to) {
    hold(from, to);
    release();
}

void Harness::release() {
    mouse_button(ImGui::GetIO(), 0, false);
    frames(2);
    ImGui::GetIO().MouseClickedTime[0] = -1e9;  // the next press is not the second of a double click
}

void Harness::hold(view::Point from, view::Point to) {
    ImGuiIO& io = ImGui::GetIO();
    const float scale = stage_.pixels_a_unit();
    mouse_position(io, from.x * scale, from.y * scale);
    frames(2);
    mouse_button(io, 0, true);
    frames(1);
    for (int i = 1; i <= 4; ++i) {
        const float t = static_cast<float>(i) / 4;
        mouse_position(io, (from.x + (to.x - from.x) * t) * scale, (from.y + (to.y - from.y) * t) * scale);
        frames(1);
    }
}

void Harness::wheel(view::Point at, float notches) {
    ImGuiIO& io = ImGui::GetIO();
    const float scale = stage_.pixels_a_unit();
    mouse_position(io, at.x * scale, at.y * scale);
    frames(2);
    mouse_wheel(io, notches);
    frames(2);
}

void Harness::key(window::Key key, bool shift, bool control) {
    stage_.key({key, shift, control});
    frames(2);
}

void Harness::type(const std::string& text) {
    for (const char c : text) {
        ImGui::GetIO().AddInputCharacter(static_cast<unsigned int>(static_cast<unsigned char>(c)));
        frames(1);
    }
}

void Harness::enter() {
    ImGuiIO& io = ImGui::GetIO();
    for (const bool down : {true, false}) {
        enter_key(io, down);
        frames(2);
    }
}

view::Point Harness::widget(const std::string& id) const {
    const auto found = stage_.memory().boxes.find(id);
    if (found == stage_.memory().boxes.end()) throw std::runtime_error("no widget " + id);
    const view::Rect box = found->second;
    return {box.x + box.w / 2, box.y + box.h / 2};
}

bool Harness::has_widget(const std::string& id) const {
    return stage_.memory().boxes.count(id) > 0;
}

view::Point Harness::shape(const std::string& kind, int64_t a, int64_t b) const {
    for (const auto& place : stage_.memory().shapes) {
        if (place.id.kind == kind && place.id.a == a && (b < 0 || place.id.b == b)) {
            return {place.box.x + place.box.w / 2, place.box.y + place.box.h / 2};
        }
    }
    throw std::runtime_error("no shape " + kind + " " + std::to_string(a));
}

}  // namespace meshscope::test
