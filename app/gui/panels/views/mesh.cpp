#include <algorithm>

#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/slice_text.h"
#include "app/gui/panels/views.h"
#include "app/gui/view/mesh_view.h"

namespace meshscope::panels {
namespace {

/// Of the mesh that the lesson's step brings, where it brings one; without a slice that would answer its
/// question.
view::Input mesh_input(const Ui& ui, view::Size size) {
    const session::AppState& s = ui.state;
    const trace::Trace* trace = s.document->trace.get();
    if (!s.document->steps.empty()) {
        const session::LessonStep& step = s.document->steps[static_cast<size_t>(s.lesson_step)];
        if (step.mesh) trace = step.mesh.get();
    }
    return {*trace,     *session::shown_clock(s),
            s.cursor,   ui.quiz_mask.mesh_selection(),
            size,       s.language,
            ui.measure, ui.texts,
            ui.memo,    s.film.has_value()};
}

/// The run's end, where the mesh is the run's own and there is something to mark on it.
const view::RunEnd* marked_end(const Ui& ui) {
    const view::RunEnd* end = told_end(ui);
    const bool own = &mesh_input(ui, {}).trace == ui.state.document->trace.get();
    return end != nullptr && own && view::is_marked(*end) ? end : nullptr;
}

view::Picture picture(const Ui& ui, Memory&, view::Size size) {
    view::MeshOptions options = ui.quiz_mask.mesh_options();
    options.end = marked_end(ui);
    // Sheets slide apart for 480 ms after the slice changed.
    options.slice_progress =
        ui.state.reduced_motion ? 1.0F : static_cast<float>(std::min(1.0, ui.state.slice_age_s / 0.48));
    return view::mesh_view(mesh_input(ui, size), options);
}

view::Picture table(const Ui& ui, view::Size size) {
    return view::mesh_table(mesh_input(ui, size), ui.quiz_mask.mesh_options());
}

std::optional<view::Picture> facts(const Ui& ui, Memory&, view::Size size) {
    return view::mesh_facts(mesh_input(ui, size), ui.quiz_mask.mesh_options());
}

Actions set_slice(const Ui& ui, const std::string& slice) {
    Actions actions{session::SetSlice{slice}};
    if (ui.quiz_mask.hides(slice)) actions.emplace_back(session::ShowToast{ui.say("ui.slice.covered")});
    return actions;
}

/// What a press on the name or the arrow of a mesh dim asks for.
std::string pressed_slice(const Ui& ui, const view::Id& id) {
    return toggled_slice(ui.state.selection.slice, mesh_input(ui, {}).trace.info.mesh_names, id.a);
}

Actions toggle_dim(const Ui& ui, const view::Id& id, bool twice) {
    return twice ? Actions{} : set_slice(ui, pressed_slice(ui, id));
}
std::string dim_status(const Ui& ui, Memory&, const view::Id& id) {
    const std::string slice = pressed_slice(ui, id);
    return slice.empty() ? "mesh" : slice_text(slice);
}

/// A group's line selects its first rank.
Actions select_first(const Ui&, const view::Id& id, bool) {
    return {session::SelectRank{static_cast<int32_t>(id.b)}};
}

/// The box that takes a slice, and what was typed wrong; returns its height.
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
            for (session::Action& action : set_slice(ui, read.slice)) ui.act(std::move(action));
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

/// The slice box and the mesh; where nothing stands below, the table of all ranks follows, a line of which
/// shows.
void scene(Ui& ui, Memory& memory, Rect box, bool alone) {
    ui.panel = "mesh";
    Region region(ui, "scene", box, alone);
    const float top = alone ? region.top() : box.y;
    // Unfolded, how a run broke off has the room for itself.
    const bool asks = marked_end(ui) == nullptr || ui.state.end_folded || !ui.state.selection.slice.empty();
    const float used = asks ? slice_box(ui, memory, {box.x, top, box.w, box.h}) : 0;
    const float peek = alone ? ui.line(Face::body) + 6 : 0;
    const float high = std::max(1.0F, box.h - used - peek);
    picture_panel(ui, memory, "mesh", picture(ui, memory, {box.w, high}), {box.x, top + used});
    if (!alone) return;
    ui.panel = "mesh_table";
    const float y = top + used + high;
    const view::Picture rows = table(ui, {box.w, 1});
    ui.fill({box.x, y, box.w, rows.height}, Token::panel);
    ui.hairline(box.x, y, box.w);
    picture_panel(ui, memory, "mesh_table", rows, {box.x, y});
    region.content_ends(y + rows.height);
}

/// The table of all ranks; of a run that broke off the timeline, which shows when each rank came to stand.
void below(Ui& ui, Memory& memory, Rect box) {
    if (marked_end(ui) != nullptr) return timeline_below(ui, memory, box);
    ui.panel = "mesh_table";
    ui.fill(box, Token::panel);
    Region region(ui, "lower", box);
    const view::Picture rows = table(ui, {box.w, box.h});
    picture_panel(ui, memory, "mesh_table", rows, {box.x, region.top()});
    if (rows.height > box.h + 1) region.content_ends(region.top() + rows.height);
}

constexpr Target kTargets[] = {
    {"cell", select_rank, rank_status},
    {"group", select_first},
    {"axis", toggle_dim, dim_status},
};

}  // namespace

namespace views {

/// The mesh of ranks, its groups and slices.
extern const View mesh;
const View mesh{
    .picture = picture, .facts = facts, .targets = kTargets, .scene = scene, .below = below, .film = nullptr};

}  // namespace views
}  // namespace meshscope::panels
