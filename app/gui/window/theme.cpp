#include "app/gui/window/theme.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace meshscope::window {
namespace {

using view::Token;

constexpr Rgb hex(uint32_t value) {
    return {static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8 & 0xFF),
            static_cast<uint8_t>(value & 0xFF)};
}

struct Entry {
    Token token;
    uint32_t fill;
    uint32_t word;  // 0: as the fill
};

/// Cividis (Nuñez, Anderton and Renslow 2018, as matplotlib has it) in equal steps. Ink or white reads on
/// each at 4.5 or more.
constexpr uint32_t kCividis[] = {0x00224E, 0x0B2D62, 0x1A396F, 0x33456D, 0x46516C, 0x575D6D,
                                 0x666971, 0x757574, 0x858277, 0x958F76, 0xA59C74, 0xB7AA6D,
                                 0xC9B865, 0xDBC759, 0xEDD749, 0xFEE838};
static_assert(std::size(kCividis) == view::kHeats);

template <size_t N>
void set(Theme& theme, const Entry (&entries)[N]) {
    static_assert(N + view::kHeats == kTokens - 1, "every token but `none` has a value in every theme");
    for (const Entry& e : entries) {
        theme.fills[static_cast<size_t>(e.token)] = hex(e.fill);
        theme.words[static_cast<size_t>(e.token)] = hex(e.word != 0 ? e.word : e.fill);
    }
    for (size_t i = 0; i < std::size(kCividis); ++i) {
        const size_t token = static_cast<size_t>(Token::heat0) + i;
        theme.fills[token] = theme.words[token] = hex(kCividis[i]);
    }
}

Theme make_dark() {
    Theme t;
    t.kind = ThemeKind::dark;
    set(t, {{Token::bg, 0x0D1117, 0},     {Token::panel, 0x131922, 0},    {Token::raised, 0x1A222D, 0},
            {Token::inset, 0x0A0E14, 0},  {Token::line, 0x263140, 0},     {Token::line2, 0x3A4859, 0},
            {Token::text, 0xE8EDF3, 0},   {Token::soft, 0xB4BFCC, 0},     {Token::mute, 0x8593A3, 0},
            {Token::accent, 0x9DB2FF, 0}, {Token::accentbg, 0x1D2740, 0}, {Token::onacc, 0x0B0F15, 0},
            {Token::ok, 0x5CC79B, 0},     {Token::warn, 0xF0B64B, 0},     {Token::err, 0xFF8A75, 0},
            {Token::sel, 0xFFFFFF, 0},    {Token::compute, 0x586778, 0},  {Token::ghost, 0x202A36, 0},
            {Token::sky, 0x56B4E9, 0},    {Token::orange, 0xE69F00, 0},   {Token::green, 0x2DB58C, 0},
            {Token::pink, 0xD98BB8, 0},   {Token::yellow, 0xF0E442, 0},   {Token::blue, 0x4A90D0, 0},
            {Token::red, 0xE8743B, 0},    {Token::grey, 0x9AA5B1, 0},     {Token::ink, 0x0B0F15, 0}});
    t.on_compute = hex(0xE8EDF3);
    return t;
}

Theme make_light() {
    Theme t;
    t.kind = ThemeKind::light;
    set(t, {{Token::bg, 0xEEF1F5, 0},
            {Token::panel, 0xFFFFFF, 0},
            {Token::raised, 0xF5F7FA, 0},
            {Token::inset, 0xE6EAF0, 0},
            {Token::line, 0xD5DBE3, 0},
            {Token::line2, 0xA9B4C2, 0},
            {Token::text, 0x18202A, 0},
            {Token::soft, 0x3F4C5B, 0},
            {Token::mute, 0x5A6776, 0},
            {Token::accent, 0x3B4FC4, 0},
            {Token::accentbg, 0xE4E8FB, 0},
            {Token::onacc, 0xFFFFFF, 0},
            {Token::ok, 0x08704B, 0},
            {Token::warn, 0x8A5A00, 0},
            {Token::err, 0xB3311A, 0},
            {Token::sel, 0x0B0F15, 0},
            {Token::compute, 0x667485, 0},
            {Token::ghost, 0xE3E8EE, 0},
            {Token::sky, 0x2E86BE, 0x1B6A9C},
            {Token::orange, 0xB87A00, 0x8A5C00},
            {Token::green, 0x00875F, 0x007350},
            {Token::pink, 0xB1608F, 0x954873},
            {Token::yellow, 0x8C8200, 0x6E6600},
            {Token::blue, 0x0062A3, 0},
            {Token::red, 0xC04E00, 0xA84400},
            {Token::grey, 0x6B7785, 0x56616D},
            {Token::ink, 0x0B0F15, 0}});
    t.on_compute = hex(0xFFFFFF);
    return t;
}

Theme make_contrast() {
    Theme t;
    t.kind = ThemeKind::contrast;
    set(t, {{Token::bg, 0x000000, 0},     {Token::panel, 0x000000, 0},    {Token::raised, 0x0E0E0E, 0},
            {Token::inset, 0x000000, 0},  {Token::line, 0x8A96A5, 0},     {Token::line2, 0xC3CCD6, 0},
            {Token::text, 0xFFFFFF, 0},   {Token::soft, 0xF0F3F6, 0},     {Token::mute, 0xD0D7DE, 0},
            {Token::accent, 0xB9C7FF, 0}, {Token::accentbg, 0x16224A, 0}, {Token::onacc, 0x0B0F15, 0},
            {Token::ok, 0x5CC79B, 0},     {Token::warn, 0xF0B64B, 0},     {Token::err, 0xFF8A75, 0},
            {Token::sel, 0xFFFFFF, 0},    {Token::compute, 0x5B6774, 0},  {Token::ghost, 0x1C1C1C, 0},
            {Token::sky, 0x7CCBFF, 0},    {Token::orange, 0xFFB52E, 0},   {Token::green, 0x4FE0B0, 0},
            {Token::pink, 0xF5A8D4, 0},   {Token::yellow, 0xFFF36B, 0},   {Token::blue, 0x7FB8F5, 0},
            {Token::red, 0xFF9A66, 0},    {Token::grey, 0xC3CCD6, 0},     {Token::ink, 0x0B0F15, 0}});
    t.on_compute = hex(0xFFFFFF);
    t.hairline = 2;
    // Twice as dense by ink, not by count: one-pixel lines three pixels apart melt into a flat tint.
    t.hatch_step = 4.5F;
    t.hatch_width = 1.6F;
    t.solid_tints = true;
    return t;
}

double linear(uint8_t channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

}  // namespace

const Theme& theme(ThemeKind kind) {
    static const Theme dark = make_dark(), light = make_light(), high = make_contrast();
    return kind == ThemeKind::dark ? dark : kind == ThemeKind::light ? light : high;
}

Rgb Theme::ink_on(Rgb under) const {
    const Rgb ink = fill(view::Token::ink), white{255, 255, 255};
    return contrast(ink, under) >= contrast(white, under) ? ink : white;
}

Rgb mix(Rgb over, Rgb under, float alpha) {
    const auto channel = [alpha](uint8_t a, uint8_t b) {
        return static_cast<uint8_t>(
            std::lround(static_cast<float>(a) * alpha + static_cast<float>(b) * (1 - alpha)));
    };
    return {channel(over.r, under.r), channel(over.g, under.g), channel(over.b, under.b)};
}

double luminance(Rgb c) {
    return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

double contrast(Rgb a, Rgb b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace meshscope::window
