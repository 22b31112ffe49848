// A lesson's picture: what its run shows, drawn small.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>

#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/views.h"
#include "app/gui/panels/welcome.h"
#include "app/gui/session/open_runs.h"

namespace meshscope::panels {
namespace {

/// How much larger the view is laid out than it is shown, and what its head and foot take beside.
constexpr float kLaidOut = 3.4F, kHeadAndFoot = 96;
constexpr float kMostShrunk = 0.9F;
/// Controls and heads, which are no part of what a view shows.
constexpr std::array<std::string_view, 10> kControls{
    "form",           "clock",          "attention_offer", "algorithm_run", "order",
    "parameter_unit", "parameter_next", "bytes",           "title",         "cursor"};

/// Names of lanes and charts, and the flag that tells a peak's bytes.
constexpr std::array<std::string_view, 7> kMargins{"rank", "lane", "lanes", "category",
                                                   "axis", "peak", "step"};

bool is_shown(const view::Shape& shape, bool margins) {
    if (!margins && std::ranges::find(kMargins, shape.id.kind) != kMargins.end()) return false;
    const bool seen = shape.fill != Token::none || shape.stroke != Token::none;
    return seen && shape.kind != view::ShapeKind::text &&
           std::ranges::find(kControls, shape.id.kind) == kControls.end();
}

/// The shapes without words and controls (`margins`: with the names of lanes), moved and made as large as
/// `box` takes, its origin at 0.
view::Picture shrunk(const view::Picture& picture, Rect box, bool margins) {
    view::Picture out;
    out.width = box.w;
    out.height = box.h;
    // Round all that stands for something; what does not, legends too, counts where it lies among that.
    Point low{1e9F, 1e9F}, high{-1e9F, -1e9F};
    for (const view::Shape& shape : picture.shapes) {
        if (!is_shown(shape, margins) || shape.id.kind.empty()) continue;
        const Rect at = bounds(shape);
        low = {std::min(low.x, std::max(0.F, at.x)), std::min(low.y, std::max(0.F, at.y))};
        high = {std::max(high.x, std::min(picture.width, at.x + at.w)),
                std::max(high.y, std::min(picture.height, at.y + at.h))};
    }
    for (const view::Shape& shape : picture.shapes) {
        const Rect at = bounds(shape);
        if (is_shown(shape, margins) && at.x > low.x - 12 && at.y > low.y - 12 && at.x + at.w < high.x + 12 &&
            at.y + at.h < high.y + 12)
            out.shapes.push_back(shape);
    }
    if (out.shapes.empty()) return out;
    const float w = std::max(1.F, high.x - low.x), h = std::max(1.F, high.y - low.y);
    const float by = std::min({kMostShrunk, box.w / w, box.h / h});
    const float dx = (box.w - w * by) / 2, dy = (box.h - h * by) / 2;
    const auto moved = [&](Point p) { return Point{dx + (p.x - low.x) * by, dy + (p.y - low.y) * by}; };
    for (view::Shape& shape : out.shapes) {
        const Point at = moved({shape.box.x, shape.box.y});
        shape.box = {at.x, at.y, shape.box.w * by, shape.box.h * by};
        for (Point& p : shape.points) p = moved(p);
        shape.radius *= by;
        shape.width = std::max(1.F, shape.width * by);
        shape.id = {};
    }
    return out;
}

/// The view of the picture's step at a moment of its tour.
view::Picture view_of_step(const Ui& ui, const session::LessonPicture& from, Rect box, float tour) {
    session::AppState s;
    s.language = ui.state.language;
    s.theme = ui.state.theme;
    s.document = from.run;
    s.runs = {from.run};
    s.lane_ranks.resize(1);
    session::enter_lesson_step(s, from.step);
    const View& shown = view_of(s.view);
    if (tour >= 0 && shown.film != nullptr && s.selection.event && s.selection.event_rank) {
        const time::Interval span =
            shown.film(*from.run, *session::shown_clock(s), {*s.selection.event_rank, *s.selection.event});
        s.cursor.t_ns =
            span.begin_ns + static_cast<int64_t>(static_cast<double>(span.end_ns - span.begin_ns) *
                                                 static_cast<double>(tour));
    }
    Ui inner(s, ui.theme, ui.fonts, ui.measure, ui.texts, ui.scale);
    Memory scratch;
    inner.memo = &scratch.memo;
    const bool margins = s.view != view::ViewKind::timeline && s.view != view::ViewKind::memory;
    return shrunk(shown.picture(inner, scratch, {box.w * kLaidOut, box.h * kLaidOut + kHeadAndFoot}), box,
                  margins);
}

/// Pictures that stand: each is made once for its run, size and language.
struct Still {
    std::weak_ptr<const session::LessonPicture> of;
    float w = 0, h = 0;
    view::Language language = view::Language::en;
    view::Picture picture;
};
struct Stills {
    std::map<std::string, Still> by_id;
};

const view::Picture& still(Ui& ui, Memory& memory, const std::string& id,
                           const std::shared_ptr<const session::LessonPicture>& from, Rect box) {
    Still& kept = memory.memo.the<Stills>().by_id[id];
    if (kept.of.lock() != from || kept.w != box.w || kept.h != box.h || kept.language != ui.state.language)
        kept = {from, box.w, box.h, ui.state.language, view_of_step(ui, *from, box, -1)};
    return kept.picture;
}

}  // namespace

void lesson_thumbnail(Ui& ui, Memory& memory, const session::LessonCard& card, Rect box, float tour) {
    const auto found = ui.state.lesson_pictures.find(card.id);
    const ImVec2 from_top = ui.draw->GetClipRectMin(), to_bottom = ui.draw->GetClipRectMax();
    const bool in_sight = ui.px(box.y) < to_bottom.y && ui.px(box.y + box.h) > from_top.y;
    if (!in_sight) return;
    if (found == ui.state.lesson_pictures.end() &&
        std::ranges::find(memory.pictures_shown, card.id) == memory.pictures_shown.end())
        memory.pictures_shown.push_back(card.id);
    const auto from = found == ui.state.lesson_pictures.end() ? nullptr : found->second;
    if (from && !from->run->steps.empty() &&
        view_of(from->run->steps[static_cast<std::size_t>(from->step)].view).film != nullptr) {
        const Rect inside{box.x + 10, box.y + 8, box.w - 20, box.h - 16};
        view::Picture moving;
        const view::Picture& picture = tour >= 0 ? moving = view_of_step(ui, *from, inside, tour)
                                                 : still(ui, memory, card.id, from, inside);
        if (!picture.shapes.empty()) {
            ui.draw->PushClipRect(ui.px(Point{box.x, box.y}), ui.px(Point{box.x + box.w, box.y + box.h}),
                                  true);
            render(ui, picture, {inside.x, inside.y});
            ui.draw->PopClipRect();
            return;
        }
    }
    mesh_thumbnail(ui, card.mesh, box, tour);
}

float tour_of(Ui& ui, Memory& memory, int card, const Touch& touched) {
    constexpr double kSeconds = 2.5;
    // Of the card under the pointer and the one with the keyboard the first alone moves.
    const bool another =
        !touched.hovered && memory.toured >= 0 && memory.toured != card && memory.tour_hovered;
    if (ui.state.reduced_motion || !(touched.hovered || touched.focused) || another) {
        if (memory.toured == card) memory.toured = -1;
        return -1;
    }
    if (memory.toured != card) memory.tour_s = 0;
    memory.toured = card;
    memory.tour_hovered = touched.hovered;
    memory.tour_s += static_cast<double>(ImGui::GetIO().DeltaTime);
    if (memory.tour_s >= kSeconds) return -1;
    ui.moving = true;
    return static_cast<float>(memory.tour_s / kSeconds);
}

}  // namespace meshscope::panels
