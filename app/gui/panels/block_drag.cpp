#include "app/gui/panels/block_drag.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "app/gui/panels/grid_boxes.h"
#include "app/gui/panels/picture_renderer.h"
#include "app/gui/view/paint.h"

namespace meshscope::panels {
namespace {

using session::BlockMove;
using session::MovableGrid;

constexpr float kTaken = 4;  ///< pixels after which a press is no click

/// The block under a press, and where it is dragged.
struct BlockDrag {
    DocumentMark document;
    BlockMove move;
    enum class Held : uint8_t { no, pressed, taken, given_up } held = Held::no;
    Point grab;                        ///< where it was pressed, from the block's corner
    Point from;                        ///< the same, in the picture
    std::optional<BlockMove> checked;  ///< the move of which `tried` is
    session::MoveTried tried;
};
using Held = BlockDrag::Held;

void press(const Ui& ui, BlockDrag& drag, const MovableGrid& grid, const GridBoxes& boxes, Point at) {
    drag = {};
    const auto under = boxes.at(at);
    if (!under) return;
    const auto [lane, block] = *under;
    const Rect box = *boxes.round(lane, block);
    drag.document = DocumentMark(ui.state.document);
    drag.move = {lane, block, grid.own_place(lane, block)};
    drag.grab = {at.x - box.x, at.y - box.y};
    drag.from = at;
    drag.held = Held::pressed;
}

const session::MoveTried& tried(const Ui& ui, BlockDrag& drag, const MovableGrid& grid,
                                const BlockMove& move) {
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
    MoveMarks(const Ui& ui, const MovableGrid& grid, const GridBoxes& boxes, const view::Picture& picture)
        : ui_(ui),
          grid_(grid),
          boxes_(boxes),
          picture_(picture),
          input_(view_input(ui, picture.width, picture.height)),
          p_(input_) {}

    /// The block's own place, and where it would stand; `left`: it is being dragged, its corner's x.
    void mark(const BlockMove& move, const Rect& box, std::optional<float> left, Token token) {
        p_.layer = 1;
        p_.outline(box, Token::text, 1.5F, 4);
        if (left) {
            auto& ghost = p_.rect({*left, box.y - 4, box.w, box.h + 8}, token, 5);
            ghost.fill_alpha = 0.35F;
            ghost.stroke = token;
            ghost.width = 2;
        }
        if (move.to == grid_.own_place(move.lane, move.from)) return;
        const float edge = boxes_.edge_of(move);
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
        return found ? boxes_.round(lane, *found) : std::nullopt;
    }

    const Ui& ui_;
    const MovableGrid& grid_;
    const GridBoxes& boxes_;
    const view::Picture& picture_;
    const view::Input input_;
    view::Painter p_;
};

/// Why ranks cannot work so, in lines.
std::vector<std::string> reasons(const Ui& ui, const MovableGrid& grid,
                                 const sandbox::OrderRefusal& refusal) {
    const auto& lanes = grid.grid->lanes;
    std::vector<std::string> lines;
    if (refusal.circle.empty()) {
        lines.push_back(ui.say(refusal.message.id, refusal.message.args));
        if (!refusal.hint.id.empty()) lines.push_back(ui.say(refusal.hint.id, refusal.hint.args));
        return lines;
    }
    lines.push_back(ui.say("view.pipeline.circle"));
    for (const sandbox::OrderWait& wait : refusal.circle)
        lines.push_back(ui.say("view.pipeline.waits", {{"rank", int64_t{lanes[wait.row].rank}},
                                                       {"action", wait.action},
                                                       {"waits_for", wait.waits_for},
                                                       {"other", int64_t{lanes[wait.other].rank}}}));
    return lines;
}

/// The grid of this frame as it is drawn.
struct DrawnGrid {
    const MovableGrid& grid;
    const view::Picture& picture;
    Point origin;
    GridBoxes boxes{grid, picture};
};

void draw_over(Ui& ui, const DrawnGrid& drawn, const BlockMove& move, const session::MoveTried& tried,
               std::optional<float> left) {
    const auto box = drawn.boxes.round(move.lane, move.from);
    if (!box) return;
    const bool refused = tried.refusal.refused();
    const Token token = refused ? Token::err : tried.asks ? Token::ok : Token::soft;
    MoveMarks over(ui, drawn.grid, drawn.boxes, drawn.picture);
    over.mark(move, *box, left, token);
    if (refused) over.waits(tried.refusal.circle);
    const Rect beside{left.value_or(box->x), box->y, box->w, box->h};
    if (refused)
        over.note(reasons(ui, drawn.grid, tried.refusal), beside, token);
    else if (tried.asks)
        over.note({ui.say("view.pipeline.drop")}, beside, token);
    render(ui, over.take(), drawn.origin);
}

/// Further above or below its row than that is high.
bool is_far(const Rect& box, Point at) {
    return at.y < box.y - box.h || at.y > box.y + 2 * box.h;
}

/// The button was let go, with the pointer there.
void drop(Ui& ui, const DrawnGrid& drawn, const BlockMove& move, const Rect& box, Point at) {
    if (is_far(box, at)) return;
    const view::PipelineLane& lane = drawn.grid.grid->lanes[move.lane];
    ui.act(session::SelectEvent{{lane.rank, lane.blocks[move.from].first}, false});
    if (move.to != drawn.grid.own_place(move.lane, move.from)) ui.act(session::MoveBlock{move});
}

/// A block is held: it goes with the pointer, or is let go.
void go_along(Ui& ui, BlockDrag& drag, const DrawnGrid& drawn, Point at) {
    const auto box = drawn.boxes.round(drag.move.lane, drag.move.from);
    if (drag.held == Held::pressed && std::hypot(at.x - drag.from.x, at.y - drag.from.y) > kTaken)
        drag.held = Held::taken;
    if (!ImGui::IsItemActive()) {
        if (drag.held == Held::taken && box) drop(ui, drawn, drag.move, *box, at);
        drag.held = Held::no;
        return;
    }
    if (drag.held != Held::taken || !box) return;
    const float left = at.x - drag.grab.x;
    drag.move.to = is_far(*box, at) ? drawn.grid.own_place(drag.move.lane, drag.move.from)
                                    : drawn.boxes.place_at(drag.move.lane, drag.move.from, left + box->w / 2);
    draw_over(ui, drawn, drag.move, tried(ui, drag, drawn.grid, drag.move), left);
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
}

}  // namespace

bool drags_block(Memory& memory) {
    const Held held = memory.memo.the<BlockDrag>().held;
    return held == Held::taken || held == Held::given_up;
}

bool give_up_drag(Memory& memory) {
    Held& held = memory.memo.the<BlockDrag>().held;
    if (held != Held::taken) return false;
    held = Held::given_up;
    return true;
}

std::vector<std::string> refused_move(const Ui& ui, Memory& memory) {
    if (!ui.state.refused_move) return {};
    const auto grid = session::movable_grid(ui.state, &memory.memo);
    if (!grid || !grid->has(*ui.state.refused_move)) return {};
    auto& drag = memory.memo.the<BlockDrag>();
    return reasons(ui, *grid, tried(ui, drag, *grid, *ui.state.refused_move).refusal);
}

void drag_block(Ui& ui, Memory& memory, const std::optional<MovableGrid>& movable,
                const view::Picture& picture, Point origin) {
    auto& drag = memory.memo.the<BlockDrag>();
    const bool same = drag.document == DocumentMark(ui.state.document);
    // The release of what is held no more is no click.
    if (drag.held != Held::no && !(same && movable && movable->has(drag.move))) drag.held = Held::given_up;
    if (drag.held == Held::given_up && !ImGui::IsItemActive()) drag.held = Held::no;
    if (!movable) return;
    const auto& refused = ui.state.refused_move;
    const bool activated = ImGui::IsItemActivated() && !ui.state.running;
    const bool held = drag.held == Held::pressed || drag.held == Held::taken;
    const bool hovered = ImGui::IsItemHovered() && !ui.state.running;
    if (!activated && !held && !hovered && !refused) return;

    const DrawnGrid drawn{*movable, picture, origin};
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const Point at{mouse.x / ui.scale - origin.x, mouse.y / ui.scale - origin.y};
    if (activated) press(ui, drag, *movable, drawn.boxes, at);
    if (drag.held == Held::pressed || drag.held == Held::taken) return go_along(ui, drag, drawn, at);
    if (hovered && drawn.boxes.at(at)) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    if (refused && movable->has(*refused))
        draw_over(ui, drawn, *refused, tried(ui, drag, *movable, *refused), {});
}

}  // namespace meshscope::panels
