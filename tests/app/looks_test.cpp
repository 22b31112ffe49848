// What shaders draw is what is drawn without them.
#include "app/gui/window/looks.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include "app/gui/main/words.h"
#include "app/gui/panels/cell_grid.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/view/paint.h"
#include "app/gui/window/frame_buffer.h"
#include "app/gui/window/gl.h"
#include "app/gui/window/headless_context.h"
#include "app/gui/window/imgui_host.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;
using view::Fill;
using view::Picture;
using view::Shape;
using view::ShapeKind;
using view::Token;
using window::ShapeShader;

namespace {

enum class With : uint8_t { shaders, nothing };
constexpr int kWide = 640, kHigh = 360;

/// Draws pictures off screen, with shaders or without.
class LookStudio {
  public:
    LookStudio() : target_(kWide, kHigh), host_(nullptr) {}

    window::GlHost& host() { return host_; }
    /// How many batches of shaders the latest picture had.
    int batches() const { return batches_; }

    window::Image draw(const Picture& picture, With with, float scale = 1,
                       std::optional<view::Rect> clip = {},
                       window::ThemeKind kind = window::ThemeKind::dark) {
        const window::Theme& theme = window::theme(kind);
        host_.prepare(theme, scale, "rank 0123456789");
        const window::FontMeasure measure(host_.fonts());
        const gui::CatalogueTexts texts(test::catalogue(), view::Language::en);
        const session::AppState state;
        host_.begin(kWide, kHigh, 1.0F / 60);
        panels::Ui ui(state, theme, host_.fonts(), measure, texts, scale);
        ui.looks = with == With::shaders ? host_.looks() : nullptr;
        ui.draw = ImGui::GetBackgroundDrawList();
        if (clip) ui.draw->PushClipRect({clip->x, clip->y}, {clip->x + clip->w, clip->y + clip->h}, true);
        panels::render(ui, picture, {3, 5});
        if (clip) ui.draw->PopClipRect();
        // What follows in the list is ImGui's again.
        ui.draw->AddRectFilled({600, 320}, {630, 350}, IM_COL32(255, 0, 255, 128), 6);
        ImDrawData* data = host_.end();
        batches_ = 0;
        for (int i = 0; i < data->CmdListsCount; ++i)
            for (const ImDrawCmd& command : data->CmdLists[i]->CmdBuffer)
                batches_ += command.UserCallback != nullptr && command.UserCallbackData != nullptr ? 1 : 0;
        target_.bind();
        host_.draw(data, kWide, kHigh, theme.fill(Token::bg));
        return target_.read();
    }

  private:
    window::HeadlessContext context_;
    window::FrameBuffer target_;
    window::GlHost host_;
    int batches_ = 0;
};

/// Pixels of two pictures: the largest difference of a channel, and how many differ by more than 8 and 40 of
/// 255.
struct Difference {
    int most = 0;
    double above_8 = 0, above_40 = 0;  // shares of the pixels that the picture changes at all
};

Difference difference(const window::Image& a, const window::Image& b, const window::Image& empty) {
    Difference found;
    int changed = 0, small = 0, large = 0;
    for (size_t i = 0; i < a.rgb.size(); i += 3) {
        int off = 0, from_empty = 0;
        for (size_t c = i; c < i + 3; ++c) {
            off = std::max(off, std::abs(a.rgb[c] - b.rgb[c]));
            from_empty = std::max(from_empty, std::abs(a.rgb[c] - empty.rgb[c]));
        }
        found.most = std::max(found.most, off);
        changed += from_empty > 0 ? 1 : 0;
        small += off > 8 ? 1 : 0;
        large += off > 40 ? 1 : 0;
    }
    found.above_8 = static_cast<double>(small) / std::max(1, changed);
    found.above_40 = static_cast<double>(large) / std::max(1, changed);
    return found;
}

Shape box(view::Rect at, Token fill, float radius = 0) {
    Shape s;
    s.box = at;
    s.fill = fill;
    s.radius = radius;
    return s;
}

Picture picture_of(std::vector<Shape> shapes) {
    Picture picture;
    picture.width = kWide;
    picture.height = picture.content_height = kHigh;
    picture.shapes = std::move(shapes);
    return picture;
}

Token hue(int i) {
    constexpr Token kHues[] = {Token::sky, Token::orange, Token::green, Token::pink, Token::compute};
    return kHues[i % 5];
}

/// Bars of a timeline: some translucent, some with an edge, some thinner than a pixel, over each other.
Picture bars() {
    std::vector<Shape> shapes;
    for (int i = 0; i < 400; ++i) {
        const auto n = static_cast<float>(i);
        Shape s = box({std::fmod(n * 17.3F, 520.F), std::floor(n / 40) * 27.F + std::fmod(n, 3.F) * 4,
                       i % 7 == 0 ? 0.6F : 9.4F + std::fmod(n, 23.F), 11.5F},
                      hue(i));
        s.fill_alpha = i % 2 == 0 ? 1 : 0.26F;
        if (i % 2 == 1) {
            s.stroke = hue(i);
            s.width = i % 4 == 1 ? 1.4F : 1;
        }
        shapes.push_back(s);
    }
    return picture_of(shapes);
}

/// Capsules, cards and discs, with and without an edge.
Picture chunks() {
    std::vector<Shape> shapes;
    for (int i = 0; i < 60; ++i) {
        const auto n = static_cast<float>(i);
        Shape s = box({std::fmod(n, 10.F) * 60.3F, std::floor(n / 10) * 54.2F, 50, i % 3 == 0 ? 26.F : 40.F},
                      hue(i), i % 3 == 0 ? 13.F : 4.F);
        if (i % 3 == 2) {
            s.kind = ShapeKind::circle;
            s.box = {s.box.x, s.box.y, 18.6F, 18.6F};
        }
        s.fill_alpha = i % 4 == 0 ? 0.4F : 1;
        if (i % 2 == 0) {
            s.stroke = Token::text;
            s.width = 2;
        }
        shapes.push_back(s);
    }
    return picture_of(shapes);
}

Picture hatches() {
    std::vector<Shape> shapes;
    for (int i = 0; i < 12; ++i) {
        const auto n = static_cast<float>(i);
        Shape s = box({std::fmod(n, 4.F) * 140.F + 2, std::floor(n / 4) * 90.F + 3, 120.5F, 70.3F}, hue(i));
        s.pattern = i % 3 == 0 ? Fill::hatch : i % 3 == 1 ? Fill::dense_hatch : Fill::cross_hatch;
        if (i % 4 != 0) s.hatch = Token::ink;
        s.fill_alpha = i % 2 == 0 ? 1 : 0.3F;
        if (i % 4 == 3) {
            s.stroke = Token::line2;
            s.width = 1.4F;
        }
        shapes.push_back(s);
    }
    return picture_of(shapes);
}

Picture dashes() {
    std::vector<Shape> shapes;
    for (int i = 0; i < 9; ++i) {
        const auto n = static_cast<float>(i);
        constexpr view::Stroke kStyles[] = {view::Stroke::dashed, view::Stroke::dotted,
                                            view::Stroke::dash_dot};
        Shape s = box({std::fmod(n, 3.F) * 190.F + 4, std::floor(n / 3) * 60.F + 4, 150, 44},
                      i % 2 == 0 ? Token::ghost : Token::none, i < 3 ? 0.F : 6.F);
        s.stroke = hue(i);
        s.stroke_style = kStyles[i % 3];
        s.width = i < 6 ? 1 : 1.8F;
        shapes.push_back(s);
        Shape curve;
        curve.kind = ShapeKind::bezier;
        curve.points = {{20 + n * 60, 200}, {60 + n * 60, 230}, {20 + n * 60, 260}, {80 + n * 60, 300}};
        curve.stroke = hue(i);
        curve.stroke_style = kStyles[i % 3];
        curve.width = 1.6F;
        shapes.push_back(curve);
    }
    return picture_of(shapes);
}

/// Two matrices, one with gaps and round corners, one without and with empty places.
Picture matrices() {
    std::vector<Shape> shapes{box({0, 0, 260, 260}, Token::ghost)};
    for (int i = 0; i < 20; ++i)
        for (int k = 0; k < 20; ++k)
            shapes.push_back(
                box({static_cast<float>(k) * 12.7F + 1, static_cast<float>(i) * 12.7F + 1, 11.2F, 11.2F},
                    view::heat((i * 7 + k * 3) % 20 / 20.0), 1.5F));
    for (int i = 0; i < 32; ++i)
        for (int k = 0; k < 32; ++k)
            if ((i + k) % 3 != 0)
                shapes.push_back(box({300.F + static_cast<float>(k) * 5, static_cast<float>(i) * 5, 5, 5},
                                     view::heat(i * k / 1024.0)));
    return picture_of(shapes);
}

struct LookCase {
    ShapeShader look;
    std::function<Picture()> picture;
    double above_8, above_40;  // of the pixels drawn, at most
};

/// Corners that ImGui makes of a few straight pieces, ends of dashes that it leaves hard, and pixels that a
/// line covers in part are not the same to the last level.
const std::vector<LookCase>& look_cases() {
    static const std::vector<LookCase> cases{{ShapeShader::bars, bars, 0.004, 0.002},
                                             {ShapeShader::chunks, chunks, 0.07, 0.015},
                                             {ShapeShader::hatch, hatches, 0.004, 0.002},
                                             {ShapeShader::dashes, dashes, 0.07, 0.03},
                                             {ShapeShader::heat, matrices, 0.03, 0.001}};
    return cases;
}

}  // namespace

TEST_CASE("what shaders draw differs from what is drawn plainly by less than can be seen") {
    LookStudio studio;
    REQUIRE(studio.host().looks()->take_messages().empty());
    const window::Image empty = studio.draw(picture_of({}), With::nothing);
    for (const LookCase& one : look_cases())
        for (const float scale : {1.F, 2.F}) {
            const Picture picture = one.picture();
            const window::Image plain = studio.draw(picture, With::nothing, scale);
            CHECK(studio.batches() == 0);
            const window::Image shaded = studio.draw(picture, With::shaders, scale);
            CHECK(studio.batches() > 0);
            const Difference off = difference(plain, shaded, empty);
            INFO(window::shader_name(one.look) << " at " << scale << ": most " << off.most << ", above 8 "
                                               << off.above_8 << ", above 40 " << off.above_40);
            CHECK(off.above_8 <= one.above_8);
            CHECK(off.above_40 <= one.above_40);
            CHECK(difference(plain, empty, empty).above_8 > 0.01);
        }
}

TEST_CASE("shaders draw inside the clipping that ImGui has there, and in its order") {
    LookStudio studio;
    const view::Rect clip{37, 21, 300, 170};
    for (const LookCase& one : look_cases()) {
        Picture picture = one.picture();
        // Over all of it, drawn with what ImGui has.
        Shape over;
        over.kind = ShapeKind::polygon;
        over.points = {{60, 40}, {200, 60}, {90, 150}};
        over.fill = Token::warn;
        picture.shapes.push_back(over);
        const window::Image empty = studio.draw(picture_of({}), With::nothing),
                            plain = studio.draw(picture, With::nothing, 1, clip),
                            shaded = studio.draw(picture, With::shaders, 1, clip);
        INFO(window::shader_name(one.look));
        const auto at = [&](const window::Image& image, int x, int y) {
            const size_t i = (static_cast<size_t>(y) * kWide + static_cast<size_t>(x)) * 3;
            return std::array<uint8_t, 3>{image.rgb[i], image.rgb[i + 1], image.rgb[i + 2]};
        };
        int outside = 0;
        for (int y = 0; y < kHigh; ++y)
            for (int x = 0; x < kWide; ++x)
                if (!clip.contains({static_cast<float>(x), static_cast<float>(y)}))
                    outside += at(shaded, x, y) != at(plain, x, y) ? 1 : 0;
        CHECK(outside == 0);
        CHECK(at(shaded, 120, 80) == at(plain, 120, 80));    // the polygon's inside
        CHECK(at(shaded, 615, 335) == at(plain, 615, 335));  // what came after
        CHECK(at(shaded, 615, 335) != at(empty, 10, 10));
        CHECK(difference(plain, shaded, empty).above_40 <= one.above_40);
    }
}

TEST_CASE("a few dashes are drawn plainly, many by the shader") {
    LookStudio studio;
    const auto lines = [](int count) {
        std::vector<Shape> shapes;
        for (int i = 0; i < count; ++i) {
            Shape line;
            line.kind = ShapeKind::polyline;
            line.points = {{10, 10 + static_cast<float>(i) * 8}, {100, 10 + static_cast<float>(i) * 8}};
            line.stroke = Token::accent;
            line.stroke_style = view::Stroke::dashed;
            line.width = 1;
            shapes.push_back(line);
        }
        return picture_of(shapes);
    };
    const window::Image plain = studio.draw(lines(1), With::nothing),
                        one = studio.draw(lines(1), With::shaders);
    CHECK(studio.batches() == 0);
    CHECK(one.rgb == plain.rgb);
    studio.draw(lines(12), With::shaders);
    CHECK(studio.batches() == 1);
}

TEST_CASE("a matrix of cells is one quad, and what is no matrix is none") {
    LookStudio studio;
    studio.draw(matrices(), With::shaders);
    CHECK(studio.batches() == 2);
    const auto item = [](float x, float y, float w, float h) {
        window::LookItem made;
        made.place = {x, y, x + w, y + h};
        made.shape[2] = 1;  // a box
        made.fill = 0xFF00FF00U + static_cast<uint32_t>(x);
        return made;
    };
    std::vector<window::LookItem> items;
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 3; ++k)
            items.push_back(item(10.F + static_cast<float>(k) * 6, 20.F + static_cast<float>(i) * 5, 5, 4));
    CHECK(panels::cells_from(items) == 12);
    const auto grid = panels::cell_grid(items);
    REQUIRE(grid);
    CHECK(grid->columns == 3);
    CHECK(grid->place == std::array<float, 4>{10, 20, 27, 39});
    // 17 + 19 pixels, then 12 cells.
    REQUIRE(grid->numbers.size() == 17 + 19 + 12);
    CHECK((grid->numbers[0] & 65535U) == 0);
    CHECK((grid->numbers[5] & 65535U) == 65535);  // the gap after the first column
    CHECK((grid->numbers[16] & 65535U) == 2);
    CHECK(grid->numbers.back() == items.back().fill);
    // Cells that lie over each other, or that stand in no columns.
    items[4].place = {17, 25, 22, 29};
    CHECK_FALSE(panels::cell_grid(items));
    items[4] = items[3];
    CHECK_FALSE(panels::cell_grid(items));
}

TEST_CASE("shaders that the driver refuses are told, and their look is drawn plainly") {
    const window::HeadlessContext context;
    for (const std::string broken : {"heat.frag", "bars.vert", "cover.glsl"}) {
        window::Looks looks(window::shader_version(), [&](const std::string& file) {
            return file == broken ? std::string_view("void main() { nonsense }\n")
                                  : window::Looks::embedded_sources(file);
        });
        const auto said = looks.take_messages();
        CHECK(said.size() == (broken == "cover.glsl" ? 5 : 1));
        REQUIRE_FALSE(said.empty());
        CHECK(said[0].id == "window.look_refused");
        CHECK(looks.draws(ShapeShader::heat) == (broken == "bars.vert"));
        CHECK(looks.draws(ShapeShader::bars) == (broken == "heat.frag"));
        CHECK(looks.take_messages().empty());  // once
    }
}

TEST_CASE("the page's version of the shaders compiles too") {
    const window::HeadlessContext context;
    window::Looks looks("#version 300 es");
    for (const Message& message : looks.take_messages())
        FAIL(test::catalogue().text(message, i18n::Language::en));
    CHECK(looks.draws(ShapeShader::heat));
}

TEST_CASE("drawing leaves OpenGL's state as it was") {
    LookStudio studio;
    const auto state = [] {
        std::vector<GLint> values;
        for (const GLenum name : {GL_CURRENT_PROGRAM, GL_VERTEX_ARRAY_BINDING, GL_ARRAY_BUFFER_BINDING,
                                  GL_TEXTURE_BINDING_2D, GL_ACTIVE_TEXTURE, GL_BLEND_SRC_RGB,
                                  GL_BLEND_DST_RGB, GL_BLEND_SRC_ALPHA, GL_BLEND_DST_ALPHA}) {
            GLint value = 0;
            glGetIntegerv(name, &value);
            values.push_back(value);
        }
        GLint scissor[4] = {};
        glGetIntegerv(GL_SCISSOR_BOX, scissor);
        values.insert(values.end(), std::begin(scissor), std::end(scissor));
        values.push_back(glIsEnabled(GL_BLEND));
        values.push_back(glIsEnabled(GL_SCISSOR_TEST));
        return values;
    };
    studio.draw(picture_of({}), With::nothing);
    const auto before = state();
    for (const LookCase& one : look_cases()) {
        studio.draw(one.picture(), With::shaders, 1, view::Rect{50, 50, 200, 100});
        CHECK(state() == before);
    }
    CHECK(glGetError() == GL_NO_ERROR);
}
