#include "app/gui/panels/batches.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "app/gui/panels/cell_grid.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/panels/strokes.h"

namespace meshscope::panels {
namespace {

using view::Fill;
using view::Shape;
using view::ShapeKind;
using window::LookItem;
using window::ShapeShader;

constexpr float kRound = 0.5F;      ///< pixels; a smaller radius is none
constexpr size_t kApart = 48;       ///< items of one look that get a call of their own
constexpr size_t kWorth = 160;      ///< vertices that ImGui would take, from which on a call is less work
constexpr float kOfDash = 8;        ///< vertices that ImGui takes for one
constexpr size_t kLeastCells = 64;  ///< of a heat matrix

/// About how many vertices ImGui makes of an item. A hatch also costs two changes of the clipping.
size_t vertices_of(const LookItem& item, ShapeShader look) {
    const bool round = item.shape[0] >= kRound;
    size_t n = (item.fill >> IM_COL32_A_SHIFT) == 0 ? 0 : round ? 24 : 4;
    if (item.shape[1] > 0) n += round ? 64 : 16;
    if (look == ShapeShader::hatch && item.hatch != 0) n += kWorth;
    return n;
}

}  // namespace

Batches::Batches(Ui& ui, Point origin, Plain plain) : ui_(ui), on_(ui, origin), plain_(std::move(plain)) {}

ShapeShader Batches::look_of(const Part& part) const {
    const Shape& s = *part.shape;
    if (part.fill && s.pattern != Fill::solid) return ShapeShader::hatch;
    return s.kind == ShapeKind::circle || ui_.px(s.radius) >= kRound ? ShapeShader::chunks
                                                                     : ShapeShader::bars;
}

bool Batches::take(const Part& part) {
    if (ui_.looks == nullptr) return false;
    const Shape& s = *part.shape;
    const bool dashed = part.stroke && s.stroke_style != view::Stroke::solid;
    if (dashed) {
        if (s.stroke_style == view::Stroke::double_line || (s.arrow && !is_closed(s)) ||
            !ui_.looks->draws(ShapeShader::dashes))
            return false;
        if (part.fill && !take({&s, true, false})) return false;
        gather(Kind::dashes, {&s, false, true});
        return true;
    }
    if ((s.kind != ShapeKind::rect && s.kind != ShapeKind::circle) || !ui_.looks->draws(look_of(part)))
        return false;
    gather(Kind::boxes, part);
    return true;
}

void Batches::gather(Kind kind, const Part& part) {
    if (kind != kind_) flush();
    kind_ = kind;
    parts_.push_back(part);
}

void Batches::flush() {
    if (kind_ == Kind::boxes) boxes();
    if (kind_ == Kind::dashes) dashes();
    kind_ = Kind::none;
    parts_.clear();
}

LookItem Batches::box_item(const Part& part) const {
    const Shape& s = *part.shape;
    LookItem item;
    if (s.kind == ShapeKind::circle) {
        const ImVec2 middle = on_.middle(s.box);
        const float r = ui_.px(s.box.w / 2);
        item.place = {middle.x - r, middle.y - r, middle.x + r, middle.y + r};
        item.shape[0] = r;
    } else {
        const ImVec2 a = on_.snapped({s.box.x, s.box.y}),
                     b = on_.snapped({s.box.x + s.box.w, s.box.y + s.box.h});
        item.place = {a.x, a.y, b.x, b.y};
        item.shape[0] = ui_.px(s.radius);
        item.shape[2] = 0.5F;  // as rounded_rect(): the middle of the edge's pixels
    }
    if (part.fill) item.fill = ui_.colour(s.fill, s.fill_alpha);
    if (part.stroke) {
        item.stroke = ui_.colour(s.stroke, s.stroke_alpha);
        item.shape[1] = on_.stroke_width(s);
    }
    if (part.fill && s.pattern != Fill::solid) {
        const HatchLook look = hatch_look(ui_.theme, s);
        item.hatch = Ui::pack(look.line, look.alpha);
        item.more = {hatch_step(ui_.px(look.step)), ui_.px(look.width),
                     s.pattern == Fill::cross_hatch ? 1.0F : 0.0F, 0};
    }
    return item;
}

void Batches::boxes() {
    items_.clear();
    for (const Part& part : parts_) items_.push_back(box_item(part));
    // Pieces of one look, or of the one that can draw all of it where such pieces are small.
    size_t begin = 0;
    ShapeShader look = look_of(parts_[0]);
    for (size_t i = 1; i < parts_.size(); ++i) {
        const ShapeShader next = look_of(parts_[i]);
        if (next != look && i - begin >= kApart) {
            draw_boxes(begin, i, look);
            begin = i;
            look = next;
        }
        look = std::max(look, next);
    }
    draw_boxes(begin, parts_.size(), look);
}

void Batches::draw_boxes(size_t begin, size_t end, ShapeShader look) {
    if (look != ShapeShader::hatch && ui_.looks->draws(ShapeShader::heat))
        for (size_t i = begin; i < end;) {
            const size_t cells = cells_from({items_.data() + i, end - i});
            if (cells >= kLeastCells && heat(i, i + cells)) {
                some_boxes(begin, i, look);
                draw_heat();
                begin = i + cells;
            }
            i += cells;
        }
    some_boxes(begin, end, look);
}

void Batches::some_boxes(size_t begin, size_t end, ShapeShader look) {
    size_t vertices = 0;
    for (size_t i = begin; i < end; ++i) vertices += vertices_of(items_[i], look);
    if (vertices >= kWorth) return ui_.looks->add(*ui_.draw, look, {items_.data() + begin, end - begin});
    for (size_t i = begin; i < end; ++i) plain_(parts_[i]);
}

bool Batches::heat(size_t begin, size_t end) {
    const auto grid = cell_grid({items_.data() + begin, end - begin});
    if (!grid) return false;
    const auto first = ui_.looks->table(grid->numbers);
    if (!first) return false;
    heat_ = LookItem{};
    heat_.place = grid->place;
    heat_.shape = {grid->radius, static_cast<float>(grid->columns), 0, 0};
    heat_.first = *first;
    return true;
}

void Batches::draw_heat() {
    ui_.looks->add(*ui_.draw, ShapeShader::heat, {&heat_, 1});
}

void Batches::dashes() {
    items_.clear();
    float vertices = 0;
    for (const Part& part : parts_) {
        const Shape& s = *part.shape;
        LookItem item;
        item.fill = ui_.colour(s.stroke, s.stroke_alpha);
        item.shape[1] = on_.stroke_width(s);
        const std::vector<float> pattern = dash_pattern(s.stroke_style, ui_.scale);
        for (size_t i = 0; i < item.more.size(); ++i) item.more[i] = pattern[i % pattern.size()];
        const std::vector<ImVec2> path = on_.outline_of(s);
        const size_t pieces =
            is_closed(s) && path.size() > 2 ? path.size() : path.size() - std::min<size_t>(1, path.size());
        for (size_t i = 0; i < pieces; ++i) {
            const ImVec2 a = path[i], b = path[(i + 1) % path.size()];
            item.place = {a.x, a.y, b.x, b.y};
            items_.push_back(item);
            item.shape[0] += std::hypot(b.x - a.x, b.y - a.y);
        }
        const float period = std::accumulate(pattern.begin(), pattern.end(), 0.0F);
        vertices += kOfDash * std::ceil(item.shape[0] / period) * static_cast<float>(pattern.size() / 2);
    }
    if (vertices < static_cast<float>(kWorth)) {
        for (const Part& part : parts_) plain_(part);
        return;
    }
    ui_.looks->add(*ui_.draw, ShapeShader::dashes, items_);
}

}  // namespace meshscope::panels
