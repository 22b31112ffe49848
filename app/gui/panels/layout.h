#pragma once

#include "app/gui/view/picture.h"

namespace meshscope::panels {

using view::Rect;

/// Where the parts of the window stand, in logical pixels. Parts that are not shown have no width.
struct Layout {
    Rect top_bar, lesson, transport, foot, banner, scene, splitter, lower, facts;
    bool facts_is_drawer = false;
    float banner_width = 0;  ///< what a banner has: the scene's, but for an open drawer that lies over it
};

struct LayoutWishes {
    bool whole_left =
        false;  ///< memory: the scene takes the left side, the lesson becomes a line at the foot
    bool scene_only = false;  ///< timeline: no lower part
    bool wide = false;  ///< the facts are a drawer where they would leave the scene less than kWideScene
    bool lesson_folded = false;
    bool drawer_open = false;
    bool sandbox = false;  ///< stands in the lesson's place, a little wider, whatever is folded
    float split = 0.515F;
    float banner = 0;  ///< above the scene, at most kMostBanner of the centre's height; 0: none
};

/// Columns 300 | 656 | 324 at 1280, 372 | 804 | 424 at 1600, 420 | 1032 | 468 at 1920, 460 | … | 520 at most;
/// under 1180 the facts are a drawer; where less than 400 are left in height there is no lower part. Under
/// 900 there is one column: the scene, the lesson below it, then the controls, or, where it is too low for
/// that, the lesson folds.
Layout arrange(float width, float height, const LayoutWishes& wishes);

inline constexpr float kTopBar = 52, kTransport = 120, kLowTransport = 72, kSplitter = 8, kFoot = 72,
                       kLeastCentre = 400, kOneColumn = 900, kLeastColumn = 520, kWideScene = 1200,
                       kMostBanner = 0.45F, kLeastBanner = 320;

}  // namespace meshscope::panels
