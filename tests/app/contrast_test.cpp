#include <string>

#include "app/gui/window/theme.h"
#include "tests/test.h"

using namespace meshscope;
using view::Token;
using window::contrast;
using window::Theme;
using window::ThemeKind;

namespace {

const ThemeKind kAll[] = {ThemeKind::dark, ThemeKind::light, ThemeKind::contrast};

}  // namespace

TEST_CASE("contrast follows WCAG's formula: 21 for black on white, 4.54 for #767676 on white") {
    CHECK(contrast({0, 0, 0}, {255, 255, 255}) == Approx(21.0));
    CHECK(contrast({0x76, 0x76, 0x76}, {255, 255, 255}) == Approx(4.54).margin(0.005));
}

TEST_CASE("every text colour reads on every surface it stands on, in every theme") {
    for (const ThemeKind kind : kAll) {
        const Theme& theme = window::theme(kind);
        for (const Token word : {Token::text, Token::soft, Token::mute}) {
            for (const Token under : {Token::bg, Token::panel, Token::raised, Token::inset}) {
                INFO("theme " << static_cast<int>(kind) << " word " << static_cast<int>(word) << " on "
                              << static_cast<int>(under));
                CHECK(contrast(theme.word(word), theme.fill(under)) >= 4.5);
            }
        }
        for (const Token word :
             {Token::accent, Token::ok, Token::warn, Token::err, Token::sky, Token::orange, Token::green,
              Token::pink, Token::yellow, Token::blue, Token::red, Token::grey}) {
            INFO("theme " << static_cast<int>(kind) << " word " << static_cast<int>(word));
            CHECK(contrast(theme.word(word), theme.fill(Token::panel)) >= 4.5);
            CHECK(contrast(theme.word(word), theme.fill(Token::bg)) >= 4.5);
        }
        CHECK(contrast(theme.fill(Token::onacc), theme.fill(Token::accent)) >= 4.5);
        CHECK(contrast(theme.on_compute, theme.fill(Token::compute)) >= 4.5);
    }
}

TEST_CASE("every mark stands out from scene and panel, in every theme") {
    for (const ThemeKind kind : kAll) {
        const Theme& theme = window::theme(kind);
        for (const Token mark :
             {Token::accent, Token::ok, Token::warn, Token::err, Token::sel, Token::sky, Token::orange,
              Token::green, Token::pink, Token::yellow, Token::blue, Token::red, Token::grey}) {
            INFO("theme " << static_cast<int>(kind) << " mark " << static_cast<int>(mark));
            CHECK(contrast(theme.fill(mark), theme.fill(Token::bg)) >= 3.0);
            CHECK(contrast(theme.fill(mark), theme.fill(Token::panel)) >= 3.0);
        }
    }
}

TEST_CASE("the ratios are those that the design gives by name") {
    struct Row {
        ThemeKind theme;
        Token token;
        double ratio;
    };
    // Contrast on panel as the design tables it, to one decimal.
    const Row rows[] = {
        {ThemeKind::dark, Token::text, 15.0},       {ThemeKind::light, Token::text, 16.4},
        {ThemeKind::contrast, Token::text, 21.0},   {ThemeKind::dark, Token::soft, 9.5},
        {ThemeKind::light, Token::soft, 8.8},       {ThemeKind::contrast, Token::soft, 18.9},
        {ThemeKind::dark, Token::mute, 5.6},        {ThemeKind::light, Token::mute, 5.8},
        {ThemeKind::contrast, Token::mute, 14.5},   {ThemeKind::dark, Token::accent, 8.6},
        {ThemeKind::light, Token::accent, 6.8},     {ThemeKind::contrast, Token::accent, 12.7},
        {ThemeKind::dark, Token::ok, 8.5},          {ThemeKind::dark, Token::warn, 9.7},
        {ThemeKind::dark, Token::err, 7.7},         {ThemeKind::light, Token::ok, 6.1},
        {ThemeKind::light, Token::warn, 5.9},       {ThemeKind::light, Token::err, 6.2},
        {ThemeKind::dark, Token::compute, 3.0},     {ThemeKind::light, Token::compute, 4.8},
        {ThemeKind::contrast, Token::compute, 3.6}, {ThemeKind::dark, Token::sky, 7.6},
        {ThemeKind::light, Token::sky, 4.0},        {ThemeKind::contrast, Token::sky, 11.8},
        {ThemeKind::dark, Token::orange, 7.8},      {ThemeKind::light, Token::orange, 3.6},
        {ThemeKind::contrast, Token::orange, 11.9}, {ThemeKind::dark, Token::green, 6.8},
        {ThemeKind::light, Token::green, 4.5},      {ThemeKind::contrast, Token::green, 12.6},
        {ThemeKind::dark, Token::pink, 7.0},        {ThemeKind::light, Token::pink, 4.3},
        {ThemeKind::contrast, Token::pink, 11.4},   {ThemeKind::dark, Token::yellow, 13.3},
        {ThemeKind::light, Token::yellow, 4.0},     {ThemeKind::contrast, Token::yellow, 18.3},
        {ThemeKind::dark, Token::blue, 5.2},        {ThemeKind::light, Token::blue, 6.4},
        {ThemeKind::contrast, Token::blue, 10.1},   {ThemeKind::dark, Token::red, 5.9},
        {ThemeKind::light, Token::red, 4.8},        {ThemeKind::contrast, Token::red, 10.1},
        {ThemeKind::dark, Token::grey, 7.1},        {ThemeKind::light, Token::grey, 4.6},
        {ThemeKind::contrast, Token::grey, 12.9}};
    for (const Row& row : rows) {
        const Theme& theme = window::theme(row.theme);
        INFO("theme " << static_cast<int>(row.theme) << " token " << static_cast<int>(row.token));
        CHECK(contrast(theme.fill(row.token), theme.fill(Token::panel)) == Approx(row.ratio).margin(0.06));
    }
    CHECK(contrast(window::theme(ThemeKind::light).word(Token::sky), {255, 255, 255}) ==
          Approx(5.9).margin(0.06));
    CHECK(contrast(window::theme(ThemeKind::dark).fill(Token::onacc),
                   window::theme(ThemeKind::dark).fill(Token::accent)) == Approx(9.4).margin(0.06));
}

TEST_CASE("ink on a hue is ink or white, whichever reads better") {
    for (const ThemeKind kind : kAll) {
        const Theme& theme = window::theme(kind);
        for (const Token hue :
             {Token::sky, Token::orange, Token::green, Token::pink, Token::yellow, Token::blue, Token::red}) {
            const window::Rgb under = theme.fill(hue);
            const double chosen = contrast(theme.ink_on(under), under);
            CHECK(chosen >= contrast(theme.fill(Token::ink), under));
            CHECK(chosen >= contrast({255, 255, 255}, under));
            CHECK(chosen >= 4.5);
        }
    }
}

TEST_CASE("mixing is linear in the two colours") {
    CHECK(window::mix({200, 100, 0}, {0, 100, 200}, 0.0F) == window::Rgb{0, 100, 200});
    CHECK(window::mix({200, 100, 0}, {0, 100, 200}, 1.0F) == window::Rgb{200, 100, 0});
    CHECK(window::mix({200, 100, 0}, {0, 100, 200}, 0.5F) == window::Rgb{100, 100, 100});
}
