#include <imgui.h>

#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/strokes.h"
#include "app/gui/view/memory_columns.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using view::Id;
using view::Picture;
using view::Shape;
using view::ShapeKind;

namespace {

Shape rect(view::Rect box, Id id, int layer = 0) {
    Shape s;
    s.box = box;
    s.id = std::move(id);
    s.layer = layer;
    s.fill = view::Token::sky;
    return s;
}

}  // namespace

TEST_CASE("the topmost shape with an id is hit: higher layers first, then the later one") {
    Picture picture;
    picture.shapes = {rect({0, 0, 100, 100}, {"rank", 0}, 2), rect({10, 10, 20, 20}, {"chunk", 1}, 3),
                      rect({0, 0, 100, 100}, {"group", 2}, 1), rect({0, 0, 100, 100}, {}, 9)};
    CHECK(panels::hit(picture, {15, 15}) == Id{"chunk", 1});
    CHECK(panels::hit(picture, {50, 50}) == Id{"rank", 0});
    CHECK_FALSE(panels::hit(picture, {150, 50}));
}

TEST_CASE("circles, polygons and lines are hit by their form, not their box") {
    Picture picture;
    Shape circle = rect({0, 0, 100, 100}, {"circle", 0});
    circle.kind = ShapeKind::circle;
    Shape triangle;
    triangle.kind = ShapeKind::polygon;
    triangle.id = {"triangle", 0};
    triangle.points = {{200, 0}, {300, 0}, {200, 100}};
    Shape line;
    line.kind = ShapeKind::line;
    line.id = {"line", 0};
    line.points = {{400, 0}, {500, 100}};
    picture.shapes = {circle, triangle, line};
    CHECK(panels::hit(picture, {50, 50})->kind == "circle");
    CHECK_FALSE(panels::hit(picture, {3, 3}));
    CHECK(panels::hit(picture, {210, 50})->kind == "triangle");
    CHECK_FALSE(panels::hit(picture, {290, 90}));
    CHECK(panels::hit(picture, {452, 50})->kind == "line");
    CHECK_FALSE(panels::hit(picture, {450, 90}));
}

TEST_CASE("a dashed line draws its dashes and leaves its gaps") {
    test::Harness harness;
    harness.frames();
    ImDrawList list(ImGui::GetDrawListSharedData());
    list._ResetForNewFrame();
    list.PushClipRectFullScreen();
    const int before = list.VtxBuffer.Size;
    // 100 px in dashes of 5 and gaps of 4: 12 dashes (the twelfth cut short at 100).
    panels::stroke(list, {{0, 0}, {100, 0}}, false, view::Stroke::dashed, IM_COL32_WHITE, 1, 1);
    ImDrawList one(ImGui::GetDrawListSharedData());
    one._ResetForNewFrame();
    one.PushClipRectFullScreen();
    one.AddLine({0, 0}, {5, 0}, IM_COL32_WHITE, 1);
    CHECK(list.VtxBuffer.Size - before == 12 * one.VtxBuffer.Size);
}

TEST_CASE("a filled shape that is not convex covers its own area and no more") {
    test::Harness harness;
    harness.frames();
    ImDrawList list(ImGui::GetDrawListSharedData());
    list._ResetForNewFrame();
    list.PushClipRectFullScreen();
    list.Flags = ImDrawListFlags_None;  // no smoothed edges: triangles are the area
    // An L of area 300.
    panels::fill_polygon(list, {{0, 0}, {20, 0}, {20, 10}, {10, 10}, {10, 20}, {0, 20}}, IM_COL32_WHITE);
    double area = 0;
    for (int i = 0; i + 2 < list.IdxBuffer.Size; i += 3) {
        const ImVec2 a = list.VtxBuffer[list.IdxBuffer[i]].pos, b = list.VtxBuffer[list.IdxBuffer[i + 1]].pos,
                     c = list.VtxBuffer[list.IdxBuffer[i + 2]].pos;
        area += std::abs((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)) / 2.0;
    }
    CHECK(area == Approx(300));
}

TEST_CASE("an arrow's line ends at the head's foot") {
    std::vector<ImVec2> path = {{0, 0}, {50, 0}, {100, 0}};
    panels::shorten(path, 10);
    CHECK(path.back().x == Approx(90));
    panels::shorten(path, 60);
    CHECK(path.size() == 2);
    CHECK(path.back().x == Approx(30));
}

TEST_CASE(
    "a hatch stands out from the tint that it lies on, in every theme: in high contrast it is twice as "
    "dense") {
    const window::Theme& dark = window::theme(window::ThemeKind::dark);
    for (const auto kind : {window::ThemeKind::dark, window::ThemeKind::light, window::ThemeKind::contrast}) {
        const window::Theme& theme = window::theme(kind);
        const bool high = kind == window::ThemeKind::contrast;
        for (int c = 0; c < kMemoryCategories; ++c) {
            Shape s;
            view::style_category(s, static_cast<MemoryCategory>(c));
            if (s.pattern == view::Fill::solid) continue;
            INFO("theme " << static_cast<int>(kind) << " category " << c);
            const window::Rgb under =
                window::mix(theme.fill(s.fill), theme.fill(view::Token::panel), s.fill_alpha);
            const panels::HatchLook look = panels::hatch_look(theme, s);
            CHECK(window::contrast(window::mix(look.line, under, look.alpha), under) >= (high ? 3.0 : 1.4));
        }
        Shape s;
        s.fill = view::Token::pink;
        for (const auto pattern : {view::Fill::hatch, view::Fill::dense_hatch, view::Fill::cross_hatch}) {
            s.pattern = pattern;
            const panels::HatchLook look = panels::hatch_look(theme, s);
            CHECK(look.step - look.width >= 1.99);  // else lines melt into one tint
            // Density is the share that the lines cover.
            if (high && pattern == view::Fill::hatch)
                CHECK(look.width / look.step >= 2 * dark.hatch_width / dark.hatch_step);
        }
    }
}
