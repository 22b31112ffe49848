#pragma once

#include <array>
#include <cstdint>

#include "app/gui/view/picture.h"

namespace meshscope::window {

struct Rgb {
    uint8_t r = 0, g = 0, b = 0;
    friend bool operator==(const Rgb&, const Rgb&) = default;
};

enum class ThemeKind : uint8_t { dark, light, contrast };

inline constexpr int kTokens = static_cast<int>(view::Token::heat_last) + 1;

/// The colours and the few shape rules that differ between themes. Every colour on screen comes from here.
struct Theme {
    ThemeKind kind = ThemeKind::dark;
    std::array<Rgb, kTokens> fills;  ///< by Token; `none` is unused
    std::array<Rgb, kTokens> words;  ///< the same for text: hues that are too pale to read are darker here
    Rgb on_compute;                  ///< text on a compute bar
    float hairline = 1;              ///< logical pixels
    float hatch_step = 6;            ///< logical pixels from one hatch line to the next
    float hatch_width = 1;           ///< of a hatch line
    bool solid_tints = false;        ///< tints are mixed to solid colours instead of drawn with alpha

    Rgb fill(view::Token token) const { return fills[static_cast<size_t>(token)]; }
    Rgb word(view::Token token) const { return words[static_cast<size_t>(token)]; }
    /// What to write with on a filled `under`: `ink`, or white where that reads better (WCAG's formula).
    Rgb ink_on(Rgb under) const;
};

/// The three themes: constants, made once.
const Theme& theme(ThemeKind kind);

/// `over` at `alpha` in front of `under`, as one solid colour. alpha 0 … 1.
Rgb mix(Rgb over, Rgb under, float alpha);

/// WCAG 2 relative luminance (0 … 1) and contrast ratio (1 … 21).
double luminance(Rgb colour);
double contrast(Rgb a, Rgb b);

}  // namespace meshscope::window
