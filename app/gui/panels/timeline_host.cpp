#include <algorithm>
#include <cmath>

#include "app/gui/panels/panels.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/view/timeline_view.h"

namespace meshscope::panels {
namespace {

constexpr float kZoomStep = 1.25F;

/// The range after `notches` of the wheel round the time under the pointer.
session::SetRange zoomed(const view::TimeAxis& axis, int64_t at_ns, float notches, int64_t whole_ns) {
    const double factor = std::pow(kZoomStep, -static_cast<double>(notches));
    const auto now = static_cast<double>(axis.end_ns - axis.begin_ns);
    // Not closer than 20 ns, not wider than the run.
    const double span = std::clamp(now * factor, 20.0, std::max(20.0, static_cast<double>(whole_ns)));
    const double left = static_cast<double>(at_ns - axis.begin_ns) / std::max(1.0, now);
    const int64_t begin = std::max<int64_t>(0, at_ns - std::llround(left * span));
    return {begin, std::min<int64_t>(whole_ns, begin + std::llround(span))};
}

}  // namespace

void timeline_host(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "timeline";
    ui.fill(box, Token::panel);
    const Region region(ui, "timeline", box, false);
    view::TimelineOptions options;
    options.begin_ns = ui.state.range_begin_ns;
    options.end_ns = ui.state.range_end_ns;
    options.end = told_end(ui);
    float& scroll = memory.scrolls["timeline"];
    const view::Input input = view_input(ui, box.w, box.h);
    options.scroll_y = scroll;
    // What was just chosen comes into view; after that the lanes stay where the reader puts them.
    const view::Selection& chosen = ui.state.selection;
    Memory::Seen seen{DocumentMark(ui.state.document), chosen.event_rank, chosen.event, chosen.rank, box.h};
    if (memory.timeline_seen != seen) {
        memory.timeline_seen = seen;
        if (const auto rank = chosen.event ? chosen.event_rank : chosen.rank)
            options.scroll_y = scroll = view::timeline_scroll_to(input, options, *rank);
    }
    const view::Picture picture = view::timeline_view(input, options);
    const view::TimeAxis axis = view::timeline_axis(input, options);
    render(ui, picture, {box.x, box.y});
    note_places(memory, picture, {box.x, box.y});

    const float most = std::max(0.0F, picture.content_height - box.h);
    if (most > 0) {
        const float room = box.h - axis.lanes_y, bar = std::max(24.0F, room * room / (room + most));
        const float at = axis.lanes_y + (room - bar) * std::min(1.0F, scroll / most);
        ui.fill({box.x + box.w - 7, box.y + at, 5, bar}, Token::line2, 2.5F);
    }
    scroll = std::clamp(scroll, 0.0F, most);

    ImGui::SetCursorScreenPos({ui.px(box.x), ui.px(box.y)});
    ImGui::InvisibleButton("##timeline", {ui.px(box.w), ui.px(box.h)});
    const ImGuiIO& io = ImGui::GetIO();
    const Point mouse{io.MousePos.x / ui.scale - box.x, io.MousePos.y / ui.scale - box.y};
    const bool hovered = ImGui::IsItemHovered(),
               on_ruler = mouse.y >= axis.ruler_y - 22 && mouse.y < axis.lanes_y;
    const auto under = hit(picture, mouse);
    const int64_t whole = session::shown_clock(ui.state)->end_ns;

    if (ImGui::IsItemActivated()) {
        const bool control = under && under->kind == "clock";
        memory.scrubbing = on_ruler && !control;
        memory.drag_x = mouse.x;
        memory.drag_y = mouse.y;
        memory.drag_scroll = scroll;
        memory.drag_begin_ns = axis.begin_ns;
        memory.drag_end_ns = axis.end_ns;
    }
    if (ImGui::IsItemActive()) {
        if (memory.scrubbing) {
            ui.act(session::SetCursor{axis.time(mouse.x)});
        } else if (ImGui::IsMouseDragging(0)) {
            scroll = std::clamp(memory.drag_scroll + memory.drag_y - mouse.y, 0.0F, most);
            const auto span = memory.drag_end_ns - memory.drag_begin_ns;
            if (span < whole && axis.x1 > axis.x0) {
                const double moved =
                    static_cast<double>(memory.drag_x - mouse.x) / static_cast<double>(axis.x1 - axis.x0);
                const int64_t begin = std::clamp<int64_t>(
                    memory.drag_begin_ns + std::llround(moved * static_cast<double>(span)), 0, whole - span);
                ui.act(session::SetRange{begin, begin + span});
            }
        }
    }
    const bool still = std::hypot(mouse.x - memory.drag_x, mouse.y - memory.drag_y) < 4;
    if (ImGui::IsItemDeactivated() && !memory.scrubbing && still && under) click(ui, *under, false);
    if (!hovered) return;
    if (ImGui::IsMouseDoubleClicked(0) && !on_ruler && under) click(ui, *under, true);
    if (under) ui.status = picture_status(ui, *under);
    if (on_ruler) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    } else if (!ui.status.empty()) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    }
    if (io.MouseWheel != 0 && !io.KeyCtrl) {
        if (io.KeyShift) {
            scroll = std::clamp(scroll - io.MouseWheel * 40, 0.0F, most);
        } else {
            ui.act(zoomed(axis, axis.time(mouse.x), io.MouseWheel, whole));
        }
    }
}

}  // namespace meshscope::panels
