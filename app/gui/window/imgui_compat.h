#pragma once

#include <imgui.h>

/// What changed in ImGui between 1.86 (Debian 12) and 1.92: the rest of the window only calls these.
namespace meshscope::compat {

inline void rect(ImDrawList& list, ImVec2 a, ImVec2 b, ImU32 colour, float rounding, float thickness) {
#if IMGUI_VERSION_NUM >= 19280
    list.AddRect(a, b, colour, rounding, thickness, 0);
#else
    list.AddRect(a, b, colour, rounding, 0, thickness);
#endif
}

inline void polyline(ImDrawList& list, const ImVec2* points, int count, ImU32 colour, bool closed,
                     float thickness) {
    const ImDrawFlags flags = closed ? ImDrawFlags_Closed : ImDrawFlags_None;
#if IMGUI_VERSION_NUM >= 19280
    list.AddPolyline(points, count, colour, thickness, flags);
#else
    list.AddPolyline(points, count, colour, flags, thickness);
#endif
}

inline void mouse_position(ImGuiIO& io, float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMousePosEvent(x, y);
#else
    io.MousePos = ImVec2(x, y);
#endif
}

inline void mouse_button(ImGuiIO& io, int button, bool down) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMouseButtonEvent(button, down);
#else
    io.MouseDown[button] = down;
#endif
}

inline void mouse_wheel(ImGuiIO& io, float amount) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMouseWheelEvent(0.0F, amount);
#else
    io.MouseWheel += amount;
#endif
}

}  // namespace meshscope::compat
