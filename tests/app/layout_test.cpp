#include "app/gui/panels/layout.h"
#include "tests/test.h"

using namespace meshscope::panels;

TEST_CASE("columns are as wide as the design gives them") {
    struct Row {
        float width, height, lesson, centre, facts;
    };
    for (const Row row : {Row{1280, 720, 300, 656, 324}, Row{1600, 1000, 372, 804, 424},
                          Row{1920, 1080, 420, 1032, 468}, Row{3840, 2160, 460, 2860, 520}}) {
        const Layout at = arrange(row.width, row.height, {});
        INFO(row.width);
        CHECK(at.lesson.w == row.lesson);
        CHECK(at.scene.w == row.centre);
        CHECK(at.facts.w == row.facts);
        CHECK_FALSE(at.facts_is_drawer);
    }
}

TEST_CASE("at 1280x720 the scene is 344 high, within the splitter's half") {
    const Layout at = arrange(1280, 720, {});
    CHECK(at.scene.h == Approx(344).margin(5));
    CHECK(at.scene.y == 52);
    CHECK(at.lower.y + at.lower.h == 720);
}

TEST_CASE("parts never overlap and fill the window") {
    for (float width = 480; width <= 3840; width += 37) {
        for (const bool memory : {false, true}) {
            LayoutWishes wishes;
            wishes.whole_left = memory;
            const Layout at = arrange(width, 700, wishes);
            INFO(width);
            const bool stacked = at.lesson.w > 0 && at.lesson.w == width;
            const float beside = stacked ? 0 : at.lesson.w;
            CHECK(beside + at.scene.w + (at.facts_is_drawer ? 0 : at.facts.w) == Approx(width));
            const float foot = stacked ? at.lesson.h + at.transport.h : at.foot.h;
            CHECK(at.scene.y + at.scene.h + at.splitter.h + at.lower.h + foot == Approx(700));
        }
    }
}

TEST_CASE(
    "in a narrow window the facts are a drawer that opens when asked, and the lesson stands below the "
    "scene") {
    CHECK(arrange(1179, 700, {}).facts_is_drawer);
    CHECK(arrange(1179, 700, {}).facts.w == 0);
    LayoutWishes open;
    open.drawer_open = true;
    CHECK(arrange(1179, 700, open).facts.w == 324);
    for (const float width : {360.0F, 819.0F}) {
        const Layout at = arrange(width, 700, {});
        INFO(width);
        CHECK(at.foot.h == 0);
        CHECK(at.lower.h == 0);
        CHECK(at.scene.w == width);
        CHECK(at.lesson.w == width);
        CHECK(at.transport.w == width);
        CHECK(at.lesson.y == at.scene.y + at.scene.h);
        CHECK(at.transport.y == at.lesson.y + at.lesson.h);
        CHECK(at.transport.y + at.transport.h == 700);
    }
    // Too low for both: the lesson folds, as where the reader folds it.
    CHECK(arrange(819, 500, {}).lesson.w == 0);
    CHECK(arrange(819, 500, {}).foot.h > 0);
    LayoutWishes folded;
    folded.lesson_folded = true;
    CHECK(arrange(819, 700, folded).lesson.w == 0);
}

TEST_CASE("an open drawer lies over the scene, and not over the banner") {
    LayoutWishes wishes;
    wishes.wide = wishes.drawer_open = true;
    wishes.banner = 160;
    const Layout at = arrange(1280, 720, wishes);
    REQUIRE(at.facts_is_drawer);
    REQUIRE(at.facts.w > 0);
    CHECK(at.banner.w == at.banner_width);
    CHECK(at.banner.x + at.banner.w <= at.facts.x);
    CHECK(at.scene.x + at.scene.w > at.facts.x);
    // Where little is left beside it, it keeps its width.
    CHECK(arrange(640, 720, wishes).banner.w == arrange(640, 720, wishes).scene.w);
}

TEST_CASE("where little height is left, one picture stands whole instead of two squeezed") {
    const Layout at = arrange(640, 360, {});  // 1280x720 at 200 %
    CHECK(at.lower.h == 0);
    CHECK(at.scene.h == 360 - 52 - at.foot.h);
}
