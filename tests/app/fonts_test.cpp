#include <imgui.h>

#include <set>

#include "app/gui/window/fonts.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("every character of both catalogues and of the lessons has a glyph in every face") {
    ImFontAtlas atlas;
    window::FontSet fonts;
    std::string text = test::catalogue().all_text();
    for (const char* name : {"12_device_mesh", "63_hsdp"}) {
        for (const auto& step : test::lesson(name)->steps)
            text += step.title.en + step.title.zh + step.body.en + step.body.zh;
    }
    REQUIRE(fonts.build(atlas, window::find_fonts(), text, 1.0F).empty());
    const auto all = window::code_points(text);
    const std::set<char32_t> used(all.begin(), all.end());
    CHECK(used.size() > 300);
    for (const char32_t c : used) {
        if (c < 0x20) continue;
        for (const view::Face face : {view::Face::body, view::Face::mono}) {
            INFO("U+" << std::hex << static_cast<uint32_t>(c));
            CHECK(fonts.has(face, c));
        }
    }
}

TEST_CASE("faces have the design's sizes, times the scale") {
    ImFontAtlas atlas;
    window::FontSet fonts;
    fonts.build(atlas, window::find_fonts(), "", 1.5F);
    CHECK(fonts.pixels(view::Face::caption) == 21);
    CHECK(fonts.pixels(view::Face::body) == 24);
    CHECK(fonts.pixels(view::Face::display) == 42);
    CHECK(fonts.font(view::Face::mono_title)->FontSize == 30);
}

TEST_CASE("a text with U+0000, or with bytes that are no UTF-8, takes no letter from a face") {
    for (const std::string& text :
         {std::string("a\0b", 3), std::string("\0", 1), std::string("\xff\xfe\0é", 5)}) {
        ImFontAtlas atlas;
        window::FontSet fonts;
        fonts.build(atlas, window::find_fonts(), text + "分", 1.0F);
        for (const view::Face face : {view::Face::body, view::Face::mono}) {
            CHECK(fonts.font(face)->IsLoaded());
            for (const char32_t c : {U'a', U'\\', U'分'}) CHECK(fonts.has(face, c));
        }
        const window::FontMeasure measure(fonts);
        CHECK(measure.width(text, view::Face::body) > measure.width("u", view::Face::body));
    }
}

TEST_CASE("without font files the built-in face is used, and it is said") {
    ImFontAtlas atlas;
    window::FontSet fonts;
    const auto said = fonts.build(atlas, {}, "abc", 1.0F);
    REQUIRE(said.size() == 2);
    CHECK(said[0].id == "window.font_words_missing");
    CHECK(said[1].id == "window.font_mono_missing");
    CHECK(fonts.has(view::Face::body, U'a'));
    const window::FontMeasure measure(fonts);
    CHECK(measure.width("abc", view::Face::body) > 0);
}

TEST_CASE("digits of the mono face are equally wide, so decimals stand below each other") {
    ImFontAtlas atlas;
    window::FontSet fonts;
    fonts.build(atlas, window::find_fonts(), "", 1.0F);
    const window::FontMeasure measure(fonts);
    CHECK(measure.width("1111", view::Face::mono) == measure.width("0,08", view::Face::mono));
}

TEST_CASE("code points are read from UTF-8, damaged bytes become U+FFFD") {
    CHECK(window::code_points("aµ中") == std::vector<char32_t>{U'a', U'µ', U'中'});
    CHECK(window::code_points("\xff"
                              "a") == std::vector<char32_t>{0xFFFD, U'a'});
    CHECK(window::code_points("\xe4\xb8") == std::vector<char32_t>{0xFFFD, 0xFFFD});
}
