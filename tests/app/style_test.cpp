#include <imgui.h>

#include <cmath>

#include "app/gui/window/imgui_host.h"
#include "tests/test.h"

using namespace meshscope;

namespace {

bool same(const ImVec4& c, window::Rgb rgb) {
    return std::abs(c.x - static_cast<float>(rgb.r) / 255) < 0.002F &&
           std::abs(c.y - static_cast<float>(rgb.g) / 255) < 0.002F &&
           std::abs(c.z - static_cast<float>(rgb.b) / 255) < 0.002F;
}

}  // namespace

TEST_CASE("every colour of ImGui's style is one of the theme's, or clear") {
    const window::ImGuiHost host;
    for (const auto kind : {window::ThemeKind::dark, window::ThemeKind::light, window::ThemeKind::contrast}) {
        const window::Theme& theme = window::theme(kind);
        window::apply_style(theme, 1.25F);
        for (int i = 0; i < ImGuiCol_COUNT; ++i) {
            const ImVec4 colour = ImGui::GetStyle().Colors[i];
            bool known = colour.w == 0;
            for (int token = 1; token < window::kTokens; ++token)
                known = known || same(colour, theme.fills[static_cast<size_t>(token)]);
            INFO(ImGui::GetStyleColorName(i));
            CHECK(known);
        }
        CHECK(ImGui::GetStyle().FrameRounding == 10);  // 8 × 1.25
        CHECK(ImGui::GetStyle().WindowRounding == 0);
    }
}
