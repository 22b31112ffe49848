#include <imgui.h>

#include "app/gui/window/imgui_host.h"

namespace meshscope::window {
namespace {

ImVec4 rgba(Rgb c, float alpha = 1) {
    return {static_cast<float>(c.r) / 255.0F, static_cast<float>(c.g) / 255.0F,
            static_cast<float>(c.b) / 255.0F, alpha};
}

/// The theme's colour for a part of ImGui's own widgets.
ImVec4 colour_of(ImGuiCol part, const Theme& theme) {
    using view::Token;
    const auto c = [&](Token token, float alpha = 1) { return rgba(theme.fill(token), alpha); };
    switch (part) {
        case ImGuiCol_Text:
        case ImGuiCol_PlotLinesHovered:
        case ImGuiCol_PlotHistogramHovered:
            return c(Token::text);
        case ImGuiCol_TextDisabled:
        case ImGuiCol_ScrollbarGrabHovered:
            return c(Token::mute);
        case ImGuiCol_TextSelectedBg:
            return c(Token::accent, 0.35F);
        case ImGuiCol_WindowBg:
            return c(Token::bg);
        case ImGuiCol_ChildBg:
        case ImGuiCol_BorderShadow:
        case ImGuiCol_ScrollbarBg:
            return ImVec4(0, 0, 0, 0);
        case ImGuiCol_PopupBg:
        case ImGuiCol_FrameBgHovered:
        case ImGuiCol_FrameBgActive:
        case ImGuiCol_TableRowBgAlt:
        case ImGuiCol_TitleBg:
        case ImGuiCol_TitleBgCollapsed:
        case ImGuiCol_TableHeaderBg:
        case ImGuiCol_Button:
        case ImGuiCol_Header:
        case ImGuiCol_Tab:
        case ImGuiCol_TabUnfocused:
            return c(Token::raised);
        case ImGuiCol_MenuBarBg:
            return c(Token::panel);
        case ImGuiCol_Border:
        case ImGuiCol_Separator:
        case ImGuiCol_TableBorderLight:
        case ImGuiCol_ResizeGrip:
            return c(Token::line);
        case ImGuiCol_ScrollbarGrab:
        case ImGuiCol_TableBorderStrong:
            return c(Token::line2);
        case ImGuiCol_ScrollbarGrabActive:
        case ImGuiCol_CheckMark:
        case ImGuiCol_SliderGrab:
        case ImGuiCol_SliderGrabActive:
        case ImGuiCol_SeparatorHovered:
        case ImGuiCol_SeparatorActive:
        case ImGuiCol_ResizeGripHovered:
        case ImGuiCol_ResizeGripActive:
        case ImGuiCol_NavHighlight:
        case ImGuiCol_NavWindowingHighlight:
        case ImGuiCol_DragDropTarget:
            return c(Token::accent);
        case ImGuiCol_FrameBg:
        case ImGuiCol_TableRowBg:
            return c(Token::inset);
        case ImGuiCol_PlotLines:
        case ImGuiCol_PlotHistogram:
            return c(Token::sky);
        case ImGuiCol_NavWindowingDimBg:
        case ImGuiCol_ModalWindowDimBg:
            return c(Token::bg, 0.7F);
        // What is left says "this one" (pressed, hovered, active, open).
        default:
            return c(Token::accentbg);
    }
}

}  // namespace

void apply_style(const Theme& theme, float scale) {
    ImGuiStyle style;
    style.WindowPadding = {0, 0};
    style.WindowRounding = 0;
    style.WindowBorderSize = 0;
    style.ChildRounding = 0;
    style.ChildBorderSize = 0;
    style.PopupRounding = 12;
    style.PopupBorderSize = 1;
    style.FrameRounding = 8;
    style.FrameBorderSize = 1;
    style.FramePadding = {12, 9};
    style.GrabRounding = 8;
    style.ScrollbarSize = 8;
    style.ScrollbarRounding = 4;
    style.ItemSpacing = {8, 8};
    style.AntiAliasedLinesUseTex = false;  // textured lines have whole-pixel widths only
    style.ScaleAllSizes(scale);

    for (int i = 0; i < ImGuiCol_COUNT; ++i) style.Colors[i] = colour_of(i, theme);
    ImGui::GetStyle() = style;
}

}  // namespace meshscope::window
