#include "app/gui/panels/block_drag.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "app/gui/panels/picture_renderer.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/view/paint.h"

namespace meshscope::panels {
namespace {

constexpr float kTaken = 4;  ///< pixels after which a press is no click

/// The block under a press, and where it is dragged.
struct BlockDrag {
    DocumentMark document;
    session::BlockMove move;
    bool pressed = false, taken = false;
    Point grab;                                 ///< where it was pressed, from the block's corner
    Point from;                                 ///< the same, in the picture
    std::optional<session::BlockMove> checked;  ///< the move of which `tried` is
    session::MoveTried tried;
};

using view::PipelineGrid;
using view::PipelineLane;

/// The rectangle of a block of the run in front.
std::optional<Rect> box_of(const view::Picture& picture, view::EventRef block) {
    const view::Id id{"event", block.rank, block.event};
    for (const view::Shape& shape : picture.shapes)
        if (shape.kind == view::ShapeKind::rect && shape.id == id) return shape.box;
    return std::nullopt;
}
std::optional<Rect> box_of(const view::Picture& picture, const PipelineLane& lane, std::size_t block) {
    return box_of(picture, {lane.rank, lane.blocks[block].first});
}

void press(const Ui& ui, BlockDrag& drag, const PipelineGrid& grid, const view::Picture& picture, Point at) {
    drag = {};
    const auto under = hit(picture, at);
    if (!under || under->kind != "event") return;
    for (std::size_t l = 0; l < grid.lanes.size(); ++l)
        for (std::size_t b = 0; b < grid.lanes[l].blocks.size(); ++b) {
            if (grid.lanes[l].rank != under->a || grid.lanes[l].blocks[b].first != under->b) continue;
            const auto box = box_of(picture, grid.lanes[l], b);
            if (!box) return;
            drag.document = DocumentMark(ui.state.document);
            drag.move = {l, b, b};
            drag.grab = {at.x - box->x, at.y - box->y};
            drag.from = at;
            drag.pressed = true;
            return;
        }
}

/// Where a block with its middle at `x` stands among the lane's others.
std::size_t place_at(const view::Picture& picture, const PipelineLane& lane, std::size_t from, float x) {
    std::size_t place = 0;
    for (std::size_t b = 0; b < lane.blocks.size(); ++b) {
        const auto box = b == from ? std::nullopt : box_of(picture, lane, b);
        if (box && box->x + box->w / 2 <= x) ++place;
    }
    return place;
}

/// The edge of a place among the lane's others.
float edge_of(const view::Picture& picture, const PipelineLane& lane, const session::BlockMove& move) {
    std::size_t place = 0;
    float edge = 0;
    for (std::size_t b = 0; b < lane.blocks.size(); ++b) {
        if (b == move.from) continue;
        const auto box = box_of(picture, lane, b);
        if (!box) continue;
        if (place++ == move.to) return box->x - 1;
        edge = box->x + box->w + 1;
    }
    return edge;
}

const session::MoveTried& tried(const Ui& ui, BlockDrag& drag, const PipelineGrid& grid,
                                const session::BlockMove& move) {
    if (drag.checked != move || drag.document != DocumentMark(ui.state.document)) {
        drag.tried = session::try_move(ui.state, grid, move);
        drag.checked = move;
        drag.document = DocumentMark(ui.state.document);
    }
    return drag.tried;
}

/// What stands over the grid: a picture of its own, as large as that.
class MoveMarks {
  public:
    MoveMarks(const Ui& ui, const PipelineGrid& grid, const view::Picture& picture)
        : ui_(ui),
          grid_(grid),
          picture_(picture),
          input_(view_input(ui, picture.width, picture.height)),
          p_(input_) {}

    /// The block's own place, and where it would stand; `left`: it is being dragged, its corner's x.
    void mark(const session::BlockMove& move, const Rect& box, std::optional<float> left, Token token) {
        p_.layer = 1;
        p_.outline(box, Token::text, 1.5F, 4);
        if (left) {
            auto& ghost = p_.rect({*left, box.y - 4, box.w, box.h + 8}, token, 5);
            ghost.fill_alpha = 0.35F;
            ghost.stroke = token;
            ghost.width = 2;
        }
        if (move.to == move.from) return;
        const float edge = edge_of(picture_, grid_.lanes[move.lane], move);
        p_.rect({edge - 1.5F, box.y - 6, 3, box.h + 12}, token, 1.5F);
    }

    /// From each block that waits to the one that it waits for.
    void waits(const std::vector<sandbox::OrderWait>& circle) {
        p_.layer = 2;
        for (const sandbox::OrderWait& wait : circle) {
            const auto from = block(wait.row, wait.action), to = block(wait.other, wait.waits_for);
            if (!from || !to) continue;
            const Point a{from->x + from->w / 2, from->y + from->h / 2},
                b{to->x + to->w / 2, to->y + to->h / 2};
            p_.outline(*from, Token::warn, 2, 4);
            auto& line = p_.line(a, b, Token::warn, 2.5F);
            line.stroke_style = view::Stroke::dotted;
            p_.circle(b, 6, Token::none).stroke = Token::warn;
        }
    }

    void note(const std::vector<std::string>& lines, const Rect& block, Token token) {
        constexpr float kWide = 460, kInside = 12;
        float widest = 0;
        std::vector<std::string> all;
        for (const std::string& line : lines)
            for (std::string& part : wrap(ui_.measure, line, Face::caption, kWide - 2 * kInside)) {
                widest = std::max(widest, ui_.width(part, Face::caption));
                all.push_back(std::move(part));
            }
        const float line = p_.line_height(Face::caption);
        const float high = line * static_cast<float>(all.size()) + kInside;
        Rect box{block.x, block.y + block.h + 12, widest + 2 * kInside, high};
        box.x = std::clamp(box.x, 8.0F, std::max(8.0F, picture_.width - box.w - 8));
        // Above the block where there is no room below it.
        if (box.y + high > std::max(picture_.height, input_.size.height) - 4)
            box.y = std::max(4.0F, block.y - 12 - high);
        p_.layer = 3;
        p_.rect(box, Token::raised, 8).stroke = token;
        p_.layer = 4;
        float y = box.y + kInside / 2;
        for (const std::string& words : all) {
            p_.text(words, {box.x + kInside, y}, Face::caption, Token::text);
            y += line;
        }
    }

    view::Picture take() { return p_.take(picture_.height); }

  private:
    std::optional<Rect> block(std::size_t lane, const std::string& action) const {
        const auto found = session::block_of(ui_.state, grid_, lane, action);
        return found ? box_of(picture_, *found) : std::nullopt;
    }

    const Ui& ui_;
    const PipelineGrid& grid_;
    const view::Picture& picture_;
    const view::Input input_;
    view::Painter p_;
};

/// Why ranks cannot work so, in lines.
std::vector<std::string> reasons(const Ui& ui, const PipelineGrid& grid,
                                 const sandbox::OrderRefusal& refusal) {
    const auto rank = [&](std::size_t lane) { return MessageArg{"rank", int64_t{grid.lanes[lane].rank}}; };
    std::vector<std::string> lines;
    if (refusal.circle.empty()) {
        lines.push_back(ui.say(refusal.message.id, refusal.message.args));
        if (!refusal.hint.id.empty()) lines.push_back(ui.say(refusal.hint.id, refusal.hint.args));
        return lines;
    }
    lines.push_back(ui.say("view.pipeline.circle"));
    for (const sandbox::OrderWait& wait : refusal.circle)
        lines.push_back(ui.say("view.pipeline.waits", {rank(wait.row),
                                                       {"action", wait.action},
                                                       {"waits_for", wait.waits_for},
                                                       {"other", int64_t{grid.lanes[wait.other].rank}}}));
    return lines;
}

void draw_over(Ui& ui, const PipelineGrid& grid, const view::Picture& picture, Point origin,
               const session::BlockMove& move, const session::MoveTried& tried, std::optional<float> left) {
    const auto box = box_of(picture, grid.lanes[move.lane], move.from);
    if (!box) return;
    const bool refused = tried.refusal.refused();
    const Token token = refused ? Token::err : tried.asks ? Token::ok : Token::soft;
    MoveMarks over(ui, grid, picture);
    over.mark(move, *box, left, token);
    if (refused) over.waits(tried.refusal.circle);
    const Rect beside{left.value_or(box->x), box->y, box->w, box->h};
    if (refused)
        over.note(reasons(ui, grid, tried.refusal), beside, token);
    else if (tried.asks)
        over.note({ui.say("view.pipeline.drop")}, beside, token);
    render(ui, over.take(), origin);
}

bool is_in(const PipelineGrid& grid, const session::BlockMove& move) {
    return move.lane < grid.lanes.size() && move.from < grid.lanes[move.lane].blocks.size();
}

}  // namespace

bool drags_block(Memory& memory) {
    return memory.memo.the<BlockDrag>().taken;
}

void drag_block(Ui& ui, Memory& memory, const view::Picture& picture, Point origin) {
    auto& drag = memory.memo.the<BlockDrag>();
    const auto grid = session::movable_grid(ui.state, &memory.memo);
    if (grid == nullptr || (drag.pressed && drag.document != DocumentMark(ui.state.document)) ||
        !is_in(*grid, drag.move)) {
        drag = {};
        if (grid == nullptr) return;
    }
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const Point at{mouse.x / ui.scale - origin.x, mouse.y / ui.scale - origin.y};
    if (ImGui::IsItemActivated() && !ui.state.running) press(ui, drag, *grid, picture, at);
    const auto& refused = ui.state.refused_move;
    if (!drag.pressed) {
        if (refused && is_in(*grid, *refused))
            draw_over(ui, *grid, picture, origin, *refused, tried(ui, drag, *grid, *refused), {});
        return;
    }
    const PipelineLane& lane = grid->lanes[drag.move.lane];
    const auto box = box_of(picture, lane, drag.move.from);
    if (std::hypot(at.x - drag.from.x, at.y - drag.from.y) > kTaken) drag.taken = true;
    if (!box || !ImGui::IsItemActive() || !drag.taken) {
        if (ImGui::IsItemActive()) return;
        const bool dropped = drag.taken && drag.move.to != drag.move.from;
        if (dropped) {
            ui.act(session::SelectEvent{{lane.rank, lane.blocks[drag.move.from].first}, false});
            ui.act(session::MoveBlock{drag.move});
        }
        drag.pressed = drag.taken = false;
        return;
    }
    const float left = at.x - drag.grab.x;
    drag.move.to = place_at(picture, lane, drag.move.from, left + box->w / 2);
    draw_over(ui, *grid, picture, origin, drag.move, tried(ui, drag, *grid, drag.move), left);
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
}

}  // namespace meshscope::panels
