#pragma once

#include <imgui.h>

#include <algorithm>
#include <cfloat>

/// What changed in ImGui between 1.86 (Debian 12) and 1.92: the rest of the window only calls these.
namespace meshscope::compat {

inline void rect(ImDrawList& list, ImVec2 a, ImVec2 b, ImU32 colour, float rounding, float thickness) {
#if IMGUI_VERSION_NUM >= 19280
    list.AddRect(a, b, colour, rounding, thickness, 0);
#else
    list.AddRect(a, b, colour, rounding, 0, thickness);
#endif
}

/// Points of one line that ImGui can take at once: it makes up to four vertices of each, and those of one
/// line must be counted by a 16-bit index.
inline constexpr int kMostPoints = 8192;

inline void polyline(ImDrawList& list, const ImVec2* points, int count, ImU32 colour, bool closed,
                     float thickness) {
    if (count > kMostPoints) {
        for (int at = 0; at + 1 < count; at += kMostPoints - 1)
            polyline(list, points + at, std::min(kMostPoints, count - at), colour, false, thickness);
        const ImVec2 last[] = {points[count - 1], points[0]};
        if (closed) polyline(list, last, 2, colour, false, thickness);
        return;
    }
    const ImDrawFlags flags = closed ? ImDrawFlags_Closed : ImDrawFlags_None;
#if IMGUI_VERSION_NUM >= 19280
    list.AddPolyline(points, count, colour, thickness, flags);
#else
    list.AddPolyline(points, count, colour, flags, thickness);
#endif
}

/// A key, by the platform's number, that ImGui is to see down or up. From 1.87 on it keeps a queue of its
/// own, and this does nothing; before, it saw only what was down at the beginning of a frame.
inline void key_down([[maybe_unused]] int key, [[maybe_unused]] bool down) {
#if IMGUI_VERSION_NUM < 18700
    ImGui::GetIO().KeysDown[key] = down;
#endif
}

/// For this frame. Before 1.87 the backend sets it anew in each; later it comes with the next event.
inline void pointer_away() {
    ImGui::GetIO().MousePos = {-FLT_MAX, -FLT_MAX};
}

}  // namespace meshscope::compat
