#include <algorithm>
#include <utility>

#include "app/gui/panels/panels.h"
#include "app/gui/panels/views.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/session/sandbox_actions.h"

namespace meshscope::panels {
namespace {

constexpr std::string_view kTabStops[] = {"end_show", "end_rerun", "end_compare", "end_fold"};

/// `alone`: the facts do not stand beside it.
view::Picture banner(const Ui& ui, float width, bool alone) {
    return view::run_end_view(view_input(ui, width, 1), *told_end(ui),
                              {ui.state.end_folded, alone, session::without_faults(ui.state)});
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

float banner_height(const Ui& ui, float width, bool alone) {
    return banner(ui, width, alone).height;
}

void end_banner(Ui& ui, Memory& memory, Rect box, bool alone) {
    if (box.w < 40) return;
    ui.panel = "ended";
    Region region(ui, "ended", box);
    const view::Picture picture = banner(ui, box.w, alone);
    picture_panel(ui, memory, "ended", picture, {box.x, region.top()});
    tab_stops(ui, memory, picture, {box.x, region.top()}, kTabStops);
    if (picture.height > box.h + 1) region.content_ends(region.top() + picture.height);
}

namespace {

/// At the edge of the window, or of the drawer where it is open: shows and hides the facts.
void drawer_handle(Ui& ui, Memory& memory, float right, float middle) {
    ui.panel = "drawer";
    const Rect box{right - 24, middle - 32, 24, 64};
    const Region above(ui, "drawer_handle", box, false);  // the scene behind it does not take its clicks
    const Touch t = touch(ui, memory, "drawer", box);
    ui.fill(box, t.hovered ? Token::raised : Token::panel, 6);
    ui.outline(box, t.hovered ? Token::accent : Token::line2, 6);
    draw_icon(ui, ui.state.facts_drawer ? Icon::next : Icon::previous, {right - 12, middle},
              t.hovered ? Token::text : Token::soft);
    if (t.hovered) tooltip(ui, ui.say("keys.drawer"));
    if (t.pressed) ui.act(session::ToggleDrawer{});
}

void document(Ui& ui, Memory& memory, float width, float height) {
    const session::AppState& s = ui.state;
    const View& shown = view_of(s.view);
    LayoutWishes wishes;
    wishes.wide = std::ranges::find(shown.wide_forms, s.forms.of(s.view)) != shown.wide_forms.end();
    // A step that lays variants there tells of them: its words stay beside the picture.
    const auto at_step = static_cast<std::size_t>(s.lesson_step);
    const bool told_beside = at_step < s.document->steps.size() &&
                             s.document->steps[at_step].view == s.view &&
                             !s.document->steps[at_step].beside.empty();
    wishes.whole_left =
        (shown.breadth == Breadth::whole && !told_beside) ||
        ((wishes.wide || shown.breadth == Breadth::whole_without_lesson) && s.document->steps.empty());
    wishes.scene_only = wishes.wide || shown.below == nullptr || height < shown.least_height_shared;
    wishes.lesson_folded = s.lesson_folded;
    wishes.drawer_open = s.facts_drawer;
    wishes.split = s.split;
    wishes.sandbox = s.live || (s.sandbox && s.sandbox->open);
    Layout at = arrange(width, height, wishes);
    if (told_end(ui) != nullptr) {
        const bool alone = at.facts.w <= 0;
        wishes.banner = banner_height(ui, at.banner_width, alone);
        at = arrange(width, height, wishes);
        end_banner(ui, memory, at.banner, alone);
    }
    scene_host(ui, memory, at.scene, at.lower.w <= 0);
    if (at.lower.w > 0) {
        lower_host(ui, memory, at.lower);
        splitter(ui, memory, at.splitter, at.scene.y, at.scene.h + at.splitter.h + at.lower.h);
    }
    if (at.lesson.w > 0) {
        if (s.live)
            live_panel(ui, memory, at.lesson);
        else if (wishes.sandbox)
            sandbox_panel(ui, memory, at.lesson);
        else
            lesson_column(ui, memory, at.lesson);
        if (at.lesson.w < width)
            ui.draw->AddRectFilled(ui.px(Point{at.lesson.w - 1, kTopBar}), ui.px(Point{at.lesson.w, height}),
                                   ui.colour(Token::line));
        else
            ui.hairline(0, at.lesson.y, width);
    }
    if (at.facts.w > 0) facts_column(ui, memory, at.facts, at.facts_is_drawer);
    if (at.facts_is_drawer && at.facts.w < width)
        drawer_handle(ui, memory, width - at.facts.w, kTopBar + (height - kTopBar) / 2);
    // Drawn after the panels, so that it can tell what the pointer is over.
    if (at.transport.w > 0) transport(ui, memory, at.transport);
    if (at.foot.w > 0) foot_row(ui, memory, at.foot);
    // The tabs stay where they are when the lesson folds.
    top_bar(ui, memory, at.top_bar, arrange(width, height, {}).lesson.w);
}

/// In one column the sandbox stands over the picture: once a run of it has ended, the run is what to see.
void uncover_run(Ui& ui, Memory& memory, float width) {
    const DocumentMark front(ui.state.document);
    if (ui.state.running) {
        memory.run_from = front;
        memory.was_running = true;
    } else if (std::exchange(memory.was_running, false)) {
        const bool covered = width < kOneColumn && ui.state.sandbox && ui.state.sandbox->open;
        if (covered && !(memory.run_from == front)) ui.act(session::ToggleSandbox{});
    }
}

}  // namespace

void draw_frame(Ui& ui, Memory& memory, float width, float height) {
    ui.memo = &memory.memo;
    memory.order.clear();
    memory.boxes.clear();
    memory.shapes.clear();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({ui.px(width), ui.px(height)});
    ImGui::Begin("host", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse |
                     ImGuiWindowFlags_NoBackground);
    ui.draw = ImGui::GetWindowDrawList();
    const Rect whole{0, 0, width, height};
    if (ui.state.document && ui.state.film) {
        film_frame(ui, memory, whole);
        ImGui::End();
        return;
    }
    if (ui.state.document) {
        uncover_run(ui, memory, width);
        document(ui, memory, width, height);
    } else {
        const Rect page{0, kTopBar, width, height - kTopBar};
        if (ui.state.plan)
            plan_page(ui, memory, page);
        else
            welcome(ui, memory, page);
        top_bar(ui, memory, {0, 0, width, kTopBar}, 0);
        // Of a page that was left, its field for a path, Enter would press nothing.
        if (ui.state.plan && !memory.boxes.contains(memory.focus)) memory.focus.clear();
    }
    loading_card(ui, memory, whole);
    error_box(ui, memory, whole);
    key_sheet(ui, memory, whole);
    export_sheet(ui, memory, whole);
    views_menu(ui, memory, whole);
    palette(ui, memory, whole);
    toast(ui, whole);
    if (ui.state.copy_view && ui.state.document) {
        ui.act(session::CopyText{view_as_text(ui, memory)});
        ui.act(session::ShowToast{ui.say("ui.copied")});
    }
    memory.told = memory.tells ? told(ui, memory) : std::string();
    ImGui::End();
    memory.activate = false;
    memory.focus_moved = false;
}

}  // namespace meshscope::panels
