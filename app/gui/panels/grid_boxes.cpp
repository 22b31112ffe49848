#include "app/gui/panels/grid_boxes.h"

#include <algorithm>

namespace meshscope::panels {

using view::PipelineBlock;
using view::PipelineLane;
using view::Rect;

GridBoxes::GridBoxes(const session::MovableGrid& grid, const view::Picture& picture) : grid_(grid) {
    const std::vector<PipelineLane>& lanes = grid.grid->lanes;
    for (const PipelineLane& lane : lanes) boxes_.emplace_back(lane.blocks.size());
    for (const view::Shape& shape : picture.shapes) {
        if (shape.kind != view::ShapeKind::rect || shape.id.kind != "event") continue;
        const auto lane = std::ranges::find(lanes, shape.id.a, &PipelineLane::rank);
        if (lane == lanes.end()) continue;
        // A rank's blocks stand in the order of its events.
        const auto block = std::ranges::lower_bound(lane->blocks, shape.id.b, {}, &PipelineBlock::first);
        if (block == lane->blocks.end() || block->first != shape.id.b) continue;
        auto& box = boxes_[static_cast<std::size_t>(lane - lanes.begin())]
                          [static_cast<std::size_t>(block - lane->blocks.begin())];
        if (!box) box = shape.box;  // what follows is drawn on it
    }
}

std::optional<Rect> GridBoxes::round(std::size_t lane, std::size_t block) const {
    std::optional<Rect> all = boxes_[lane][block];
    if (!all) return all;
    const auto add = [&](std::size_t b) {
        const auto& box = boxes_[lane][b];
        if (!box || !grid_.are_one(lane, b, block)) return false;
        const float right = std::max(all->x + all->w, box->x + box->w);
        all->x = std::min(all->x, box->x);
        all->w = right - all->x;
        return true;
    };
    for (std::size_t b = block; b > 0 && add(b - 1);) --b;
    for (std::size_t b = block + 1; b < boxes_[lane].size() && add(b);) ++b;
    return all;
}

std::optional<std::pair<std::size_t, std::size_t>> GridBoxes::at(view::Point point) const {
    for (std::size_t l = 0; l < boxes_.size(); ++l)
        for (std::size_t b = 0; b < boxes_[l].size(); ++b)
            if (boxes_[l][b] && boxes_[l][b]->contains(point)) return std::pair(l, b);
    return {};
}

std::size_t GridBoxes::place_at(std::size_t lane, std::size_t from, float x) const {
    std::size_t place = 0;
    for (std::size_t b = 0; b < boxes_[lane].size(); ++b) {
        const auto& box = boxes_[lane][b];
        if (box && !grid_.are_one(lane, b, from) && box->x + box->w / 2 <= x) ++place;
    }
    return place;
}

float GridBoxes::edge_of(const session::BlockMove& move) const {
    std::size_t place = 0;
    float edge = 0;
    for (std::size_t b = 0; b < boxes_[move.lane].size(); ++b) {
        const auto& box = boxes_[move.lane][b];
        if (!box || grid_.are_one(move.lane, b, move.from)) continue;
        if (place++ == move.to) return box->x - 1;
        edge = box->x + box->w + 1;
    }
    return edge;
}

}  // namespace meshscope::panels
