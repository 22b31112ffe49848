#include <algorithm>
#include <cmath>

#include "app/gui/panels/block_drag.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/views.h"
#include "app/gui/view/pipeline_blocks.h"
#include "app/gui/view/pipeline_view.h"
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

/// `alone`: the timeline is the view itself, where its form can be chosen.
view::TimelineOptions shown_range(const Ui& ui, Memory& memory, bool alone) {
    const view::RunEnd* const told = told_end(ui);
    const auto& end = ui.state.document->end;
    return {.begin_ns = ui.state.range_begin_ns,
            .end_ns = ui.state.range_end_ns,
            .end = told,
            .untold = told == nullptr && end ? &*end : nullptr,
            .has_grid = alone && view::has_pipeline(*ui.state.document->trace, &memory.memo)};
}

/// The grid of micro-batches is asked for, and the run has them.
bool shows_grid(const Ui& ui, Memory& memory) {
    return !ui.state.forms.in(view::Form::lanes) &&
           view::has_pipeline(*ui.state.document->trace, &memory.memo);
}

/// What a run is called there: its schedule, and which of the runs with it.
std::string grid_name(const Ui& ui, const session::Document& run) {
    if (run.schedule.empty()) return run.name;
    const std::string own = run.order->own() ? " · " + ui.say("view.pipeline.own_order") : std::string();
    return run.schedule + own + (ui.state.runs.size() > 1 ? " · " + run.name : std::string());
}

/// Below lie the variants that the lesson's step shows, then the other runs that are open and have a
/// pipeline.
view::Picture grid(const Ui& ui, view::Size size, bool movable) {
    const session::AppState& s = ui.state;
    view::PipelineOptions options;
    options.slots = s.forms.in(view::Form::grid);
    options.sums = !ui.quiz_mask.open();
    options.name = grid_name(ui, *s.document);
    options.movable = movable;
    options.moving = s.running && s.running->what_if == session::kMovedBlock;
    options.can_undo = session::can_undo_move(s);
    options.can_redo = session::can_redo_move(s);
    if (session::can_ask_usual_order(s)) options.usual = s.document->schedule;
    for (const auto& run : runs_beside(ui))
        if (view::has_pipeline(*run->trace, ui.memo))
            options.beside.push_back(
                {grid_name(ui, *run), *run->trace, session::clock_of(*run, ui.state.clock)});
    return view::pipeline_view(view_input(ui, size.width, size.height), options);
}

view::Picture picture(const Ui& ui, Memory& memory, view::Size size) {
    if (shows_grid(ui, memory))
        return grid(ui, size, session::movable_grid(ui.state, &memory.memo).has_value());
    return view::timeline_view(view_input(ui, size.width, size.height), shown_range(ui, memory, true));
}

Actions grid_on_clock(const Ui&, const view::Id& id, bool) {
    return {session::SetForm{view::Form::timed_grid},
            session::SetClock{static_cast<time::ClockKind>(id.a)}};
}

constexpr Target kTargets[] = {{"grid_clock", grid_on_clock},
                               {"undo_move", once<session::UndoEdit>},
                               {"redo_move", once<session::RedoEdit>},
                               {"usual_order", once<session::UsualOrder>},
                               {"stop_move", once<session::StopRun>}};

/// What was just chosen comes into view; after that the lanes stay where the reader puts them.
void follow_selection(const Ui& ui, Memory& memory, const view::Input& input,
                      view::TimelineOptions& options) {
    const view::Selection& chosen = ui.state.selection;
    Memory::Seen seen{DocumentMark(ui.state.document), chosen.event_rank, chosen.event, chosen.rank,
                      input.size.height};
    if (memory.timeline_seen == seen) return;
    memory.timeline_seen = seen;
    if (const auto rank = chosen.event ? chosen.event_rank : chosen.rank)
        options.scroll_y = view::timeline_scroll_to(input, options, *rank);
}

/// The picture as it was drawn, and the pointer in it.
struct Drawing {
    const view::Picture& picture;
    const view::TimeAxis& axis;
    Rect box;
    Point mouse;  ///< in the picture
    bool on_ruler = false;
    float most = 0;        ///< that the lanes can be scrolled
    int64_t whole_ns = 0;  ///< the clock's end
};

void scroll_bar(Ui& ui, const Drawing& drawing, float scroll) {
    if (drawing.most <= 0) return;
    const float room = drawing.box.h - drawing.axis.lanes_y;
    const float bar = std::max(24.0F, room * room / (room + drawing.most));
    const float at = drawing.axis.lanes_y + (room - bar) * std::min(1.0F, scroll / drawing.most);
    ui.fill({drawing.box.x + drawing.box.w - 7, drawing.box.y + at, 5, bar}, Token::line2, 2.5F);
}

/// On the ruler the cursor follows the pointer; elsewhere the lanes and the range do.
void drag(Ui& ui, Memory& memory, const Drawing& drawing, bool on_control, float& scroll) {
    const view::TimeAxis& axis = drawing.axis;
    if (ImGui::IsItemActivated()) {
        memory.scrubbing = drawing.on_ruler && !on_control;
        memory.drag_x = drawing.mouse.x;
        memory.drag_y = drawing.mouse.y;
        memory.drag_scroll = scroll;
        memory.drag_begin_ns = axis.begin_ns;
        memory.drag_end_ns = axis.end_ns;
    }
    if (!ImGui::IsItemActive()) return;
    if (memory.scrubbing) return ui.act(session::SetCursor{axis.time(drawing.mouse.x)});
    if (!ImGui::IsMouseDragging(0)) return;
    scroll = std::clamp(memory.drag_scroll + memory.drag_y - drawing.mouse.y, 0.0F, drawing.most);
    const auto span = memory.drag_end_ns - memory.drag_begin_ns;
    if (span >= drawing.whole_ns || axis.x1 <= axis.x0) return;
    const double moved =
        static_cast<double>(memory.drag_x - drawing.mouse.x) / static_cast<double>(axis.x1 - axis.x0);
    const int64_t begin = std::clamp<int64_t>(
        memory.drag_begin_ns + std::llround(moved * static_cast<double>(span)), 0, drawing.whole_ns - span);
    ui.act(session::SetRange{begin, begin + span});
}

/// The wheel zooms round the time under the pointer; with Shift it scrolls the lanes.
void turn_wheel(Ui& ui, const Drawing& drawing, float& scroll) {
    const ImGuiIO& io = ImGui::GetIO();
    if (io.MouseWheel == 0 || io.KeyCtrl) return;
    if (io.KeyShift)
        scroll = std::clamp(scroll - io.MouseWheel * 40, 0.0F, drawing.most);
    else
        ui.act(zoomed(drawing.axis, drawing.axis.time(drawing.mouse.x), io.MouseWheel, drawing.whole_ns));
}

}  // namespace

namespace {

void lanes(Ui& ui, Memory& memory, Rect box, bool alone) {
    ui.panel = "timeline";
    ui.fill(box, Token::panel);
    const Region region(ui, "timeline", box, false);
    float& scroll = memory.scrolls["timeline"];
    view::TimelineOptions options = shown_range(ui, memory, alone);
    options.scroll_y = scroll;
    const view::Input input = view_input(ui, box.w, box.h);
    follow_selection(ui, memory, input, options);
    scroll = options.scroll_y;
    const view::Picture drawn = view::timeline_view(input, options);
    const view::TimeAxis axis = view::timeline_axis(input, options);
    render(ui, drawn, {box.x, box.y});
    note_shapes(memory, drawn, {box.x, box.y});

    const ImGuiIO& io = ImGui::GetIO();
    const Point mouse{io.MousePos.x / ui.scale - box.x, io.MousePos.y / ui.scale - box.y};
    const bool on_ruler = mouse.y >= axis.ruler_y - 22 && mouse.y < axis.lanes_y;
    const Drawing drawing{drawn,
                          axis,
                          box,
                          mouse,
                          on_ruler,
                          std::max(0.0F, drawn.content_height - box.h),
                          session::shown_clock(ui.state)->end_ns};
    scroll_bar(ui, drawing, scroll);
    scroll = std::clamp(scroll, 0.0F, drawing.most);

    ImGui::SetCursorScreenPos({ui.px(box.x), ui.px(box.y)});
    ImGui::InvisibleButton("##timeline", {ui.px(box.w), ui.px(box.h)});
    const bool hovered = ImGui::IsItemHovered();
    const auto under = hit(drawn, mouse);
    drag(ui, memory, drawing, under && under->kind == "clock", scroll);
    const bool still = std::hypot(mouse.x - memory.drag_x, mouse.y - memory.drag_y) < 4;
    if (ImGui::IsItemDeactivated() && !memory.scrubbing && still && under) click(ui, *under, false);
    if (!hovered) return;
    if (ImGui::IsMouseDoubleClicked(0) && !on_ruler && under) click(ui, *under, true);
    if (under) ui.status = picture_status(ui, memory, *under);
    if (on_ruler)
        ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    else if (!ui.status.empty())
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    turn_wheel(ui, drawing, scroll);
}

/// The grid, whose blocks can be taken to other places.
void grid_scene(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "timeline";
    Region region(ui, "scene", box);
    const auto movable = session::movable_grid(ui.state, &memory.memo);
    const view::Picture drawn = grid(ui, {box.w, box.h}, movable.has_value());
    const Point origin{box.x, region.top()};
    picture_panel(ui, memory, "timeline", drawn, origin, !drags_block(memory));
    drag_block(ui, memory, movable, drawn, origin);
    if (drawn.height > box.h + 1) region.content_ends(region.top() + drawn.height);
}

void scene(Ui& ui, Memory& memory, Rect box, bool /*alone*/) {
    if (shows_grid(ui, memory)) return grid_scene(ui, memory, box);
    lanes(ui, memory, box, true);
}

}  // namespace

void timeline_below(Ui& ui, Memory& memory, Rect box) {
    lanes(ui, memory, box, false);
}

namespace views {

/// Lanes of ranks and streams on the shown clock, or a pipeline's micro-batches as a grid.
extern const View timeline;
const View timeline{.picture = picture, .targets = kTargets, .scene = scene};

}  // namespace views
}  // namespace meshscope::panels
