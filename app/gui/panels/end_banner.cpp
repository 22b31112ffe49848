#include "app/gui/panels/panels.h"

namespace meshscope::panels {
namespace {

constexpr std::string_view kTabStops[] = {"end_show", "end_fold"};

view::Picture banner(const Ui& ui, float width) {
    return view::run_end_view(view_input(ui, width, 1), *told_end(ui), ui.state.end_folded);
}

}  // namespace

const view::RunEnd* told_end(const Ui& ui) {
    const session::Document* document = ui.state.document.get();
    if (document == nullptr || !document->end) return nullptr;
    // How a lesson's run ends answers what its first step asks: it is told behind that, and behind each open
    // question.
    const bool answers = document->end_is_taught && (ui.state.lesson_step == 0 || ui.quiz_mask.open());
    return answers ? nullptr : &*document->end;
}

float banner_height(const Ui& ui, float width) {
    return banner(ui, width).height;
}

void end_banner(Ui& ui, Memory& memory, Rect box) {
    if (box.w < 40) return;
    ui.panel = "ended";
    Region region(ui, "ended", box);
    const view::Picture picture = banner(ui, box.w);
    picture_panel(ui, memory, "ended", picture, {box.x, region.top()});
    tab_stops(ui, memory, picture, {box.x, region.top()}, kTabStops);
    if (picture.height > box.h + 1) region.content_ends(region.top() + picture.height);
}

}  // namespace meshscope::panels
