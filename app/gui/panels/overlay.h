#pragma once

#include <string>

#include "app/gui/panels/ui.h"

namespace meshscope::panels {

/// Whether a card takes the pointer, or leaves it to what lies behind.
enum class Pointer { takes, leaves };

/// Lies between a card, which is drawn next, and all behind it, and takes the pointer. True when it is
/// pressed: the reader wants the card gone.
inline bool backdrop(Ui& ui, const std::string& id, Rect whole) {
    ImGui::SetCursorScreenPos(ui.px(Point{whole.x, whole.y}));
    ImGui::BeginChild(id.c_str(), {ui.px(whole.w), ui.px(whole.h)}, false, ImGuiWindowFlags_NoBackground);
    ImGui::SetCursorScreenPos(ui.px(Point{whole.x, whole.y}));
    const bool pressed = ImGui::InvisibleButton("behind", {ui.px(whole.w), ui.px(whole.h)});
    ImGui::EndChild();
    return pressed;
}

/// A card in front of everything else; `box` is where it stands.
class Overlay {
  public:
    Overlay(Ui& ui, const std::string& id, Rect box, Pointer pointer = Pointer::takes)
        : ui_(ui), outer_(ui.draw) {
        ImGui::SetCursorScreenPos(ui.px(Point{box.x, box.y}));
        ImGui::BeginChild(
            id.c_str(), {ui.px(box.w), ui.px(box.h)}, false,
            ImGuiWindowFlags_NoBackground | (pointer == Pointer::leaves ? ImGuiWindowFlags_NoInputs : 0));
        ui.draw = ImGui::GetWindowDrawList();
        ui.fill(box, Token::raised, 12);
        ui.outline(box, Token::line2, 12);
    }
    ~Overlay() {
        ImGui::EndChild();
        ui_.draw = outer_;
    }
    Overlay(const Overlay&) = delete;
    Overlay& operator=(const Overlay&) = delete;

  private:
    Ui& ui_;
    ImDrawList* outer_;
};

}  // namespace meshscope::panels
