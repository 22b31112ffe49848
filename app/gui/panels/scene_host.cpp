#include <algorithm>
#include <set>

#include "app/gui/panels/panels.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/views.h"

namespace meshscope::panels {

view::Input view_input(const Ui& ui, float width, float height) {
    const session::AppState& s = ui.state;
    return {*s.document->trace,
            *session::shown_clock(s),
            s.cursor,
            s.selection,
            {width, height},
            s.language,
            ui.measure,
            ui.texts,
            ui.memo,
            s.film.has_value()};
}

std::string picture_status(const Ui& ui, Memory& memory, const view::Id& id) {
    const Target* target = find_target(view_of(ui.state.view), id.kind);
    return target != nullptr && target->status != nullptr ? target->status(ui, memory, id) : "";
}

void click(Ui& ui, const view::Id& id, bool twice) {
    const Target* target = find_target(view_of(ui.state.view), id.kind);
    if (target == nullptr || target->click == nullptr) return;
    for (session::Action& action : target->click(ui, id, twice)) ui.act(std::move(action));
}

void note_shapes(Memory& memory, const view::Picture& picture, Point origin) {
    for (const view::Shape& shape : picture.shapes) {
        if (shape.id.kind.empty()) continue;
        const Rect box = bounds(shape);
        memory.shapes.push_back({shape.id, {box.x + origin.x, box.y + origin.y, box.w, box.h}});
    }
}

void tab_stops(Ui& ui, Memory& memory, const view::Picture& picture, Point origin,
               std::span<const std::string_view> kinds) {
    std::set<std::string> seen;  // a box and its words are one stop
    for (const view::Shape& shape : picture.shapes) {
        if (std::find(kinds.begin(), kinds.end(), shape.id.kind) == kinds.end()) continue;
        const std::string name =
            shape.id.kind + "." + std::to_string(shape.id.a) + "." + std::to_string(shape.id.b);
        if (!seen.insert(name).second) continue;
        const Rect box = bounds(shape);
        if (touch(ui, memory, name, {box.x + origin.x, box.y + origin.y, box.w, box.h}).pressed)
            click(ui, shape.id, false);
    }
}

void picture_panel(Ui& ui, Memory& memory, const std::string& id, const view::Picture& picture, Point origin,
                   bool clicks) {
    render(ui, picture, origin);
    note_shapes(memory, picture, origin);
    ImGui::SetCursorScreenPos(ui.px(origin));
    ImGui::PushID(id.c_str());
    const bool pressed = ImGui::InvisibleButton(
        "##picture", {std::max(1.0F, ui.px(picture.width)), std::max(1.0F, ui.px(picture.height))});
    ImGui::PopID();
    if (!clicks || !ImGui::IsItemHovered()) return;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto under = hit(picture, {mouse.x / ui.scale - origin.x, mouse.y / ui.scale - origin.y});
    if (under) {
        const std::string words = picture_status(ui, memory, *under);
        if (!words.empty()) {
            ui.status = words;
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        }
        if (pressed) click(ui, *under, false);  // of each press of a double click, too
        if (ImGui::IsMouseDoubleClicked(0)) click(ui, *under, true);
    }
}

void fixed_scene(Ui& ui, Memory& memory, Rect box, bool /*alone*/) {
    const std::string name(view::view_name(ui.state.view));
    ui.panel = name;
    const Region region(ui, "scene", box, false);
    picture_panel(ui, memory, name, view_of(ui.state.view).picture(ui, memory, {box.w, box.h}),
                  {box.x, box.y});
}

void scrolling_scene(Ui& ui, Memory& memory, Rect box, bool /*alone*/) {
    const std::string name(view::view_name(ui.state.view));
    ui.panel = name;
    Region region(ui, "scene", box);
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    if (ImGui::IsWindowHovered())
        ui.pointer = {mouse.x / ui.scale - box.x, mouse.y / ui.scale - region.top()};
    const view::Picture picture = view_of(ui.state.view).picture(ui, memory, {box.w, box.h});
    ui.pointer.reset();
    picture_panel(ui, memory, name, picture, {box.x, region.top()});
    if (picture.height > box.h + 1) region.content_ends(region.top() + picture.height);
}

void scene_host(Ui& ui, Memory& memory, Rect box, bool alone) {
    // The frame was cleared with the scene's colour: no need to fill it once more.
    if (box.w < 40 || box.h < 40) return;
    view_of(ui.state.view).scene(ui, memory, box, alone);
}

void lower_host(Ui& ui, Memory& memory, Rect box) {
    if (box.h < 40 || box.w < 40) return;
    view_of(ui.state.view).below(ui, memory, box);
}

void splitter(Ui& ui, Memory& memory, Rect box, float top, float height) {
    ui.fill(box, Token::panel);
    ui.hairline(box.x, box.y, box.w);
    const Touch t = touch(ui, memory, "splitter", box);
    const bool live = t.hovered || t.held;
    ui.fill({box.x + box.w / 2 - 20, box.y + 2, 40, 4}, live ? Token::accent : Token::line2, 2);
    if (live) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeNS);
    if (t.held) {
        const float y = ImGui::GetIO().MousePos.y / ui.scale - top - kSplitter / 2;
        ui.act(session::SetSplit{y / std::max(1.0F, height - kSplitter)});
    }
}

}  // namespace meshscope::panels
