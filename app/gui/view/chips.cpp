#include "app/gui/view/chips.h"

#include <algorithm>

namespace meshscope::view {
namespace {

constexpr float kSide = 10, kGap = 6;

}  // namespace

float draw_chips(Painter& p, const std::vector<Chip>& chips, Point at, float right) {
    const float left = at.x, height = std::max(kChip, p.line_height(Face::caption) + 4);
    bool drawn = false;
    for (const Chip& chip : chips) {
        const float w = p.width(chip.words, Face::caption) + 2 * kSide;
        if (left + w > right) continue;
        if (at.x + w > right) at = {left, at.y + height + kGap};
        const Rect box{at.x, at.y, w, height};
        p.rect(box, chip.on ? Token::accentbg : Token::raised, 8, chip.id).stroke =
            chip.on ? Token::accent : Token::line2;
        p.label({box.x + kSide, box.y, w - 2 * kSide, height}, chip.words, Face::caption,
                chip.on ? Token::text : Token::soft, Token::none, chip.id);
        at.x += w + kGap;
        drawn = true;
    }
    return drawn ? at.y + height : at.y;
}

float chips_width(const Painter& p, const std::vector<Chip>& chips) {
    float w = 0;
    for (const Chip& chip : chips) w += (w > 0 ? kGap : 0.F) + p.width(chip.words, Face::caption) + 2 * kSide;
    return w;
}

}  // namespace meshscope::view
