#include "app/gui/panels/layout.h"

#include <algorithm>
#include <cmath>

namespace meshscope::panels {
namespace {

/// The lesson's part of the column that it shares with the scene.
constexpr float kStackedLesson = 0.42F;

/// Between the widths that the look gives by hand, straight lines.
float column(float width, float at_1280, float at_1600, float at_1920, float most) {
    const auto between = [width](float x0, float y0, float x1, float y1) {
        return std::round(y0 + (y1 - y0) * (width - x0) / (x1 - x0));
    };
    if (width <= 1280) return at_1280;
    if (width <= 1600) return between(1280, at_1280, 1600, at_1600);
    if (width <= 1920) return between(1600, at_1600, 1920, at_1920);
    return std::min(most, between(1920, at_1920, 3840, most));
}

}  // namespace

Layout arrange(float width, float height, const LayoutWishes& wishes) {
    Layout at;
    at.top_bar = {0, 0, width, kTopBar};
    const float body = height - kTopBar;
    at.facts_is_drawer = width < 1180;
    const float facts = std::min(width, column(width, 324, 424, 468, 520));
    const bool narrow = width < kOneColumn;
    const bool folded =
        !wishes.sandbox && (wishes.lesson_folded || wishes.whole_left || (narrow && body < kLeastColumn));
    const bool stacked = narrow && !folded && !wishes.sandbox;
    float lesson = folded || stacked ? 0 : column(width, 300, 372, 420, 460);
    if (wishes.sandbox) lesson = narrow ? width : column(width, 380, 420, 460, 520);
    if (wishes.wide && width - lesson - facts < kWideScene) at.facts_is_drawer = true;
    const float right = at.facts_is_drawer ? 0 : facts;
    if (!at.facts_is_drawer || wishes.drawer_open) at.facts = {width - facts, kTopBar, facts, body};

    float centre = body;
    if (folded) {
        // The controls stand at the foot, beside the step's one line.
        const float foot = std::min(kFoot, body / 3);
        centre -= foot;
        at.foot = {0, height - foot, width - right, foot};
    } else if (stacked) {
        const float below = std::round((body - kLowTransport) * kStackedLesson);
        at.transport = {0, height - kLowTransport, width, kLowTransport};
        at.lesson = {0, height - kLowTransport - below, width, below};
        centre -= kLowTransport + below;
    } else {
        const float transport = body < 560 ? kLowTransport : kTransport;
        at.lesson = {0, kTopBar, lesson, body - transport};
        at.transport = {0, height - transport, lesson, transport};
    }
    const float middle = std::max(0.0F, width - lesson - right);
    const float banner = std::min(std::round(wishes.banner), std::round(centre * kMostBanner));
    const float top = kTopBar + banner;
    // An open drawer lies over the scene; where the banner has room beside it, it stands beside it.
    const float covered = at.facts_is_drawer && middle - at.facts.w >= kLeastBanner ? at.facts.w : 0;
    at.banner_width = middle - covered;
    if (banner > 0) at.banner = {lesson, kTopBar, at.banner_width, banner};
    centre -= banner;
    // Two squeezed pictures show less than one whole: the lower one has its own tab.
    const bool low = stacked || centre < kLeastCentre;
    if (wishes.whole_left || wishes.scene_only || low) {
        at.scene = {lesson, top, middle, centre};
        return at;
    }
    const float upper = std::round((centre - kSplitter) * wishes.split);
    at.scene = {lesson, top, middle, upper};
    at.splitter = {lesson, top + upper, middle, kSplitter};
    at.lower = {lesson, top + upper + kSplitter, middle, centre - upper - kSplitter};
    return at;
}

}  // namespace meshscope::panels
