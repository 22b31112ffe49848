#include <memory>
#include <optional>

#include "app/gui/main/stage.h"
#include "app/gui/window/frame_buffer.h"
#include "app/gui/window/headless_context.h"
#include "harness.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("a context that is lost and made anew draws the same pictures, and new text sizes too") {
    constexpr int kWidth = 640, kHeight = 360;
    auto context = std::make_unique<window::HeadlessContext>();
    std::optional<window::GlHost> host(std::in_place, nullptr);
    gui::Stage stage(*host, test::catalogue());
    stage.act(session::ShowDocument{test::lesson()});
    stage.act(session::SetReducedMotion{true});
    const auto picture = [&] {
        const window::FrameBuffer target(kWidth, kHeight);
        ImDrawData* data = nullptr;
        for (int i = 0; i < 4; ++i) data = stage.frame(kWidth, kHeight, 1.0);
        target.bind();
        host->draw(data, kWidth, kHeight, window::theme(stage.state().theme).fill(view::Token::bg));
        return target.read().rgb;
    };
    const auto lose = [&] {
        host->detach();
        context.reset();
        context = std::make_unique<window::HeadlessContext>();
        host->attach(nullptr);
    };
    const auto before = picture();
    stage.act(session::SetScale{1.5F});
    const auto large = picture();
    REQUIRE(before != large);

    lose();
    CHECK(picture() == large);
    // The fonts are built anew for another size before anything was drawn in the new context.
    lose();
    stage.act(session::SetScale{1});
    CHECK(picture() == before);
    lose();
    lose();
    CHECK(picture() == before);
    host.reset();  // before its context
}
