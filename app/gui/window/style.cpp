#include <imgui.h>

#include "app/gui/window/imgui_host.h"

namespace meshscope::window {
namespace {

ImVec4 rgba(Rgb c, float alpha = 1) {
    return {static_cast<float>(c.r) / 255.0F, static_cast<float>(c.g) / 255.0F,
            static_cast<float>(c.b) / 255.0F, alpha};
}

}  // namespace

void apply_style(const Theme& theme, float scale) {
    using view::Token;
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

    const ImVec4 clear(0, 0, 0, 0);
    const auto c = [&](Token token, float alpha = 1) { return rgba(theme.fill(token), alpha); };
    for (int i = 0; i < ImGuiCol_COUNT; ++i) {
        ImVec4& colour = style.Colors[i];
        switch (i) {
            case ImGuiCol_Text:
                colour = c(Token::text);
                break;
            case ImGuiCol_TextDisabled:
                colour = c(Token::mute);
                break;
            case ImGuiCol_TextSelectedBg:
                colour = c(Token::accent, 0.35F);
                break;
            case ImGuiCol_WindowBg:
                colour = c(Token::bg);
                break;
            case ImGuiCol_ChildBg:
                colour = clear;
                break;
            case ImGuiCol_PopupBg:
                colour = c(Token::raised);
                break;
            case ImGuiCol_MenuBarBg:
                colour = c(Token::panel);
                break;
            case ImGuiCol_Border:
                colour = c(Token::line);
                break;
            case ImGuiCol_BorderShadow:
                colour = clear;
                break;
            case ImGuiCol_ScrollbarBg:
                colour = clear;
                break;
            case ImGuiCol_ScrollbarGrab:
                colour = c(Token::line2);
                break;
            case ImGuiCol_ScrollbarGrabHovered:
                colour = c(Token::mute);
                break;
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
                colour = c(Token::accent);
                break;
            case ImGuiCol_FrameBg:
            case ImGuiCol_TableRowBg:
                colour = c(Token::inset);
                break;
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
                colour = c(Token::raised);
                break;
            case ImGuiCol_Separator:
            case ImGuiCol_TableBorderLight:
            case ImGuiCol_ResizeGrip:
                colour = c(Token::line);
                break;
            case ImGuiCol_TableBorderStrong:
                colour = c(Token::line2);
                break;
            case ImGuiCol_PlotLines:
            case ImGuiCol_PlotHistogram:
                colour = c(Token::sky);
                break;
            case ImGuiCol_PlotLinesHovered:
            case ImGuiCol_PlotHistogramHovered:
                colour = c(Token::text);
                break;
            case ImGuiCol_NavWindowingDimBg:
            case ImGuiCol_ModalWindowDimBg:
                colour = c(Token::bg, 0.7F);
                break;
            // What is left says "this one" (pressed, hovered, active, open).
            default:
                colour = c(Token::accentbg);
                break;
        }
    }
    ImGui::GetStyle() = style;
}

}  // namespace meshscope::window
