#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/panels/compare_host.h"
#include "app/gui/panels/panels.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/slice_text.h"
#include "app/gui/view/code_view.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/format.h"
#include "app/gui/view/memory_view.h"
#include "app/gui/view/mesh_view.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/parameters_view.h"
#include "core/base/kinds.h"

namespace meshscope::panels {
namespace {

using view::ViewKind;

void set_slice(Ui& ui, const std::string& slice) {
    ui.act(session::SetSlice{slice});
    if (ui.quiz_mask.hides(slice)) ui.act(session::ShowToast{ui.say("ui.slice.covered")});
}

/// The box that takes a slice, and what was typed wrong.
float slice_box(Ui& ui, Memory& memory, Rect box) {
    const std::string id = "slice";
    const std::string shown = slice_text(ui.state.selection.slice);
    // The field follows the state until someone types in it.
    std::string& last = memory.fields["slice.shown"];
    if (last != shown) {
        memory.fields[id] = shown;
        last = shown;
    }
    const std::string enter = ui.say("ui.slice.enter");
    const float enter_w = ui.width(enter, Face::body) + 28;
    const float w = std::min(box.w - 48 - enter_w - 8, 460.0F);
    const bool entered = text_field(ui, memory, id, {box.x + 24, box.y + 12, w, 42}, ui.say("ui.slice.hint"));
    const bool pressed =
        button(ui, memory, "slice_enter", {box.x + 24 + w + 8, box.y + 12, enter_w, 42}, enter);
    std::string& wrong = memory.fields["slice_wrong"];  // the text that cannot be read; it stays in the field
    if (entered || pressed) {
        const TypedSlice read = read_slice(memory.fields[id]);
        wrong = read.error ? memory.fields[id] : "";
        if (!read.error) {
            memory.fields[id] = last = slice_text(read.slice);
            set_slice(ui, read.slice);
        }
    }
    if (wrong.empty() || wrong != memory.fields[id]) return 58;
    const std::optional<Message> error = read_slice(wrong).error;
    if (!error) return 58;
    ui.outline({box.x + 20, box.y + 8, w + 8, 50}, Token::err, 8, 1.5F);
    const float below = paragraph(ui, box.x + 24, box.y + 62, box.w - 48, ui.say(error->id, error->args),
                                  Face::caption, Token::err);
    return below - box.y + 4;
}

/// The end of a round of the collective on show.
void jump_to_round(Ui& ui, int64_t round) {
    const auto shown = view::shown_collective(view_input(ui, 100, 100));
    if (!shown) return;
    const auto rank = static_cast<size_t>(shown->rank);
    const trace::RankTrace& record = ui.state.document->trace->ranks[rank];
    for (size_t i = 0; i < record.hops.size(); ++i) {
        if (record.hops[i].event == shown->event && record.hops[i].round == round) {
            ui.act(session::SetCursor{session::shown_clock(ui.state)->hops[rank][i].end_ns});
            return;
        }
    }
}

/// What a press on the name or the arrow of a mesh dim asks for.
std::string pressed_slice(const Ui& ui, const view::Id& id) {
    return toggled_slice(ui.state.selection.slice, view_input(ui, 100, 100).trace.info.mesh_names, id.a);
}

/// A parameter, a row of it on a rank, or a unit (its first parameter).
void select_parameter(Ui& ui, const view::Id& id) {
    const trace::Trace& trace = *ui.state.document->trace;
    const auto units = view::parameter_units(trace);
    const int32_t shown = view::shown_unit(trace, units, ui.state.selection);
    if (shown < 0) return;
    int64_t unit = shown, place = id.a;
    if (id.kind == "parameter_unit") unit = id.a;
    if (id.kind == "parameter_next") unit = shown + id.a;
    if (id.kind == "parameter_unit" || id.kind == "parameter_next") place = 0;
    if (id.kind == "weight") place = id.a >> 32;
    if (unit < 0 || unit >= static_cast<int64_t>(units.size())) return;
    const auto& parameters = units[static_cast<size_t>(unit)].parameters;
    if (place < 0 || place >= static_cast<int64_t>(parameters.size())) return;
    if (id.kind == "weight") ui.act(session::SelectRank{static_cast<int32_t>(id.a & 0x7FFFFFFF)});
    ui.act(session::SelectParameter{parameters[static_cast<size_t>(place)].name,
                                    id.kind == "weight" ? id.b : -1});
}

}  // namespace

std::string picture_status(const Ui& ui, const view::Id& id) {
    if (id.kind == "rank" || id.kind == "row" || id.kind == "cell" || id.kind == "lane" ||
        id.kind == "live_rank") {
        return "rank " + std::to_string(id.a);
    }
    if (id.kind == "event" || id.kind == "column" || id.kind == "merged" || id.kind == "life") {
        const trace::Trace& trace = *ui.state.document->trace;
        const auto rank = static_cast<size_t>(id.a), index = static_cast<size_t>(id.b);
        if (rank >= trace.ranks.size() || index >= trace.ranks[rank].events.size()) return {};
        const trace::Event& event = trace.ranks[rank].events[index];
        const time::Interval at = session::shown_clock(ui.state)->events[rank][index];
        const std::string op = event.kind == trace::EventKind::compute ? std::string(trace.text(event.name))
                                                                       : std::string(name(event.op));
        return "rank " + std::to_string(id.a) + " · " + op + " " + std::string(trace.text(event.unit)) +
               " · " + view::format_time(at.end_ns - at.begin_ns);
    }
    if (id.kind == "source") return ui.say("ui.copy_hint");
    if (id.kind == "axis" && ui.state.view == ViewKind::mesh) {
        const std::string slice = pressed_slice(ui, id);
        return slice.empty() ? "mesh" : slice_text(slice);
    }
    if (ui.state.view == ViewKind::compare) return compare_status(ui, id);
    if (id.kind == "weight")
        return "rank " + std::to_string(id.a & 0x7FFFFFFF) + " · " +
               ui.say("view.parameters.row.n", {{"row", id.b}});
    if (id.kind == "link")
        return view::name_of(view::unpack(id.a)) + " → " + view::name_of(view::unpack(id.b));
    if (id.kind == "chunk") return "rank " + std::to_string(id.a) + " · chunk " + std::to_string(id.b);
    return {};
}

view::Input view_input(const Ui& ui, float width, float height) {
    const session::AppState& s = ui.state;
    const trace::Trace* trace = s.document->trace.get();
    if (s.view == ViewKind::mesh && !s.document->steps.empty()) {
        const session::LessonStep& step = s.document->steps[static_cast<size_t>(s.lesson_step)];
        if (step.mesh) trace = step.mesh.get();
    }
    const bool mesh = s.view == ViewKind::mesh;
    return {*trace,          *session::shown_clock(s),
            s.cursor,        mesh ? ui.quiz_mask.mesh_selection() : s.selection,
            {width, height}, s.language,
            ui.measure,      ui.texts};
}

view::Picture collective_picture(const Ui& ui, float width, float height) {
    const view::Input input = view_input(ui, width, height);
    view::CollectiveOptions options;
    options.reduced_motion = ui.state.reduced_motion;
    if (const auto shown = view::shown_collective(input)) {
        const trace::Trace& trace = *ui.state.document->trace;
        const trace::Event& event = trace.event(shown->rank, shown->event);
        const bool members =
            event.group >= 0 && ui.quiz_mask.asks(trace.groups[static_cast<size_t>(event.group)].ranks);
        if (members || ui.quiz_mask.asks_peer()) {
            view::Painter painter(input);
            const std::string why = ui.say(members ? "ui.covered.members" : "ui.covered.peer");
            painter.tell(why);
            painter.paragraph(why, {24, 20}, Face::body, Token::soft, width - 48);
            return painter.take();
        }
        options.covered = ui.quiz_mask.asks_bytes(event.sent_bytes);
    }
    return view::collective_view(input, options);
}

void click(Ui& ui, const view::Id& id, bool twice) {
    const auto a = static_cast<int32_t>(id.a), b = static_cast<int32_t>(id.b);
    // Other views have runs too: a rank's in the lives of a parameter.
    if (ui.state.view == ViewKind::compare && click_compare(ui, id, twice)) return;
    if (id.kind == "rank" || id.kind == "row" || id.kind == "cell" || id.kind == "lane" ||
        id.kind == "flight") {
        ui.act(session::SelectRank{a});
    } else if (id.kind == "live_rank") {
        ui.act(session::SelectRank{a});
    } else if (id.kind == "event" || id.kind == "merged" || id.kind == "column") {
        ui.act(session::SelectEvent{{a, b}, twice});
    } else if (id.kind == "peak") {
        ui.act(session::SelectEvent{{a, b}, true});
    } else if (id.kind == "chunk") {
        ui.act(session::SelectChunk{a, b});
    } else if (id.kind == "group") {
        if (ui.state.view == ViewKind::mesh) {
            ui.act(session::SelectRank{b});
        } else {
            ui.act(session::SelectGroup{a});
        }
    } else if (id.kind == "axis" && ui.state.view == ViewKind::mesh) {
        if (!twice) set_slice(ui, pressed_slice(ui, id));
    } else if (id.kind == "source") {
        ui.act(session::CopyText{view::code_place(view_input(ui, 100, 100))});
        ui.act(session::ShowToast{ui.say("ui.copied")});
    } else if (id.kind == "link") {
        const view::Link link{view::unpack(id.a), view::unpack(id.b)};
        const bool block = link.from.count > 1 || link.to.count > 1;
        view::TrafficFilter filter = ui.state.traffic;
        filter.window = link;
        if (twice && block) ui.act(session::SetTraffic{filter});
        ui.act(session::SelectLink{link});
    } else if (id.kind == "cause") {
        ui.act(session::SelectEvent{{a, b}, twice});
    } else if (id.kind == "traffic_span" || id.kind == "traffic_op" || id.kind == "traffic_all") {
        view::TrafficFilter filter = ui.state.traffic;
        if (id.kind == "traffic_all") filter.window.reset();
        if (id.kind == "traffic_span") filter.span = static_cast<view::TrafficSpan>(id.a);
        if (id.kind == "traffic_op") filter.op.reset();
        if (id.kind == "traffic_op" && a >= 0) filter.op = static_cast<uint8_t>(a);
        ui.act(session::SetTraffic{filter});
    } else if (id.kind == "life") {
        ui.act(session::SelectEvent{{a, b}, true});
    } else if (id.kind == "run") {
        ui.act(session::SelectRank{a});
    } else if (id.kind.starts_with("parameter") || id.kind == "weight") {
        select_parameter(ui, id);
    } else if (id.kind == "end_show") {
        if (!twice) ui.act(session::GoToEnd{});
    } else if (id.kind == "end_fold") {
        if (!twice) ui.act(session::ToggleEnd{});
    } else if (id.kind == "clock") {
        ui.act(session::SetClock{static_cast<time::ClockKind>(id.a)});
    } else if (id.kind == "hop") {
        jump_to_round(ui, id.a);
    } else if (id.kind == "step" && twice) {
        const time::Interval at =
            time::span_of_step(*ui.state.document->trace, *session::shown_clock(ui.state), a);
        ui.act(session::SetRange{at.begin_ns, at.end_ns});
    }
}

void note_places(Memory& memory, const view::Picture& picture, Point origin) {
    for (const view::Shape& shape : picture.shapes) {
        if (shape.id.kind.empty()) continue;
        const Rect box = bounds(shape);
        memory.places.push_back({shape.id, {box.x + origin.x, box.y + origin.y, box.w, box.h}});
    }
}

void tab_stops(Ui& ui, Memory& memory, const view::Picture& picture, Point origin,
               std::initializer_list<std::string_view> kinds) {
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

void picture_panel(Ui& ui, Memory& memory, const std::string& id, const view::Picture& picture,
                   Point origin) {
    render(ui, picture, origin);
    note_places(memory, picture, origin);
    ImGui::SetCursorScreenPos(ui.px(origin));
    ImGui::PushID(id.c_str());
    const bool pressed = ImGui::InvisibleButton(
        "##picture", {std::max(1.0F, ui.px(picture.width)), std::max(1.0F, ui.px(picture.height))});
    ImGui::PopID();
    if (!ImGui::IsItemHovered()) return;
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const auto under = hit(picture, {mouse.x / ui.scale - origin.x, mouse.y / ui.scale - origin.y});
    if (under) {
        const std::string words = picture_status(ui, *under);
        if (!words.empty()) {
            ui.status = words;
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        }
        if (pressed) click(ui, *under, false);  // of each press of a double click, too
        if (ImGui::IsMouseDoubleClicked(0)) click(ui, *under, true);
    }
}

namespace {

/// A picture that may be higher than its place: it scrolls.
template <class Draw>
void scrolling_host(Ui& ui, Memory& memory, const std::string& name, Rect box, const Draw& draw) {
    ui.panel = name;
    Region region(ui, "scene", box);
    const view::Picture picture = draw(view_input(ui, box.w, box.h));
    picture_panel(ui, memory, name, picture, {box.x, region.top()});
    if (picture.height > box.h + 1) region.content_ends(region.top() + picture.height);
}

/// The slice box and the mesh; where the lower part is missing, the table of all ranks below, a line of which
/// shows.
void mesh_host(Ui& ui, Memory& memory, Rect box, bool alone) {
    Region region(ui, "scene", box, alone);
    const float top = alone ? region.top() : box.y;
    const float used = slice_box(ui, memory, {box.x, top, box.w, box.h});
    view::MeshOptions options = ui.quiz_mask.mesh_options();
    // Sheets slide apart for 480 ms after the slice changed.
    options.slice_progress =
        ui.state.reduced_motion ? 1.0F : static_cast<float>(std::min(1.0, ui.state.slice_age_s / 0.48));
    const float peek = alone ? ui.line(Face::body) + 6 : 0;
    const float high = std::max(1.0F, box.h - used - peek);
    picture_panel(ui, memory, "mesh", view::mesh_view(view_input(ui, box.w, high), options),
                  {box.x, top + used});
    if (!alone) return;
    ui.panel = "mesh_table";
    const float y = top + used + high;
    const view::Picture table = view::mesh_table(view_input(ui, box.w, 1), options);
    ui.fill({box.x, y, box.w, table.height}, Token::panel);
    ui.hairline(box.x, y, box.w);
    picture_panel(ui, memory, "mesh_table", table, {box.x, y});
    region.content_ends(y + table.height);
}

}  // namespace

void scene_host(Ui& ui, Memory& memory, Rect box, bool alone) {
    // The frame was cleared with the scene's colour: no need to fill it once more.
    if (box.w < 40 || box.h < 40) return;
    switch (ui.state.view) {
        case ViewKind::mesh: {
            ui.panel = "mesh";
            mesh_host(ui, memory, box, alone);
            return;
        }
        case ViewKind::collective: {
            ui.panel = "collective";
            const Region region(ui, "scene", box, false);
            picture_panel(ui, memory, "collective", collective_picture(ui, box.w, box.h), {box.x, box.y});
            return;
        }
        case ViewKind::timeline:
            timeline_host(ui, memory, box);
            return;
        case ViewKind::memory:
            return scrolling_host(ui, memory, "memory", box,
                                  [](const view::Input& in) { return view::memory_view(in); });
        case ViewKind::parameters:
            return scrolling_host(ui, memory, "parameters", box,
                                  [](const view::Input& in) { return view::parameters_view(in); });
        case ViewKind::traffic:
            return traffic_host(ui, memory, box);
        case ViewKind::compare:
            return compare_host(ui, memory, box);
        case ViewKind::code:
            return scrolling_host(ui, memory, "code", box,
                                  [](const view::Input& in) { return view::code_view(in); });
    }
}

void lower_host(Ui& ui, Memory& memory, Rect box) {
    if (box.h < 40 || box.w < 40) return;
    if (ui.state.view != ViewKind::mesh) return timeline_host(ui, memory, box);
    ui.panel = "mesh_table";
    ui.fill(box, Token::panel);
    Region region(ui, "lower", box);
    const view::MeshOptions options = ui.quiz_mask.mesh_options();
    const view::Picture picture = view::mesh_table(view_input(ui, box.w, box.h), options);
    picture_panel(ui, memory, "mesh_table", picture, {box.x, region.top()});
    if (picture.height > box.h + 1) region.content_ends(region.top() + picture.height);
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
