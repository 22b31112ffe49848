// A rank's lane of a pipeline's grid: its head with what it holds, its blocks, its idle time.
#include <algorithm>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/pipeline_marks.h"
#include "app/gui/view/pipeline_picture.h"

namespace meshscope::view {
namespace {

constexpr float kLettersFrom = 14;   // look2.md section 2: under it a block has its colour alone
constexpr int32_t kMostSquares = 8;  // of held activations; more are a number

}  // namespace

std::string PipelinePicture::lane_name(const PipelineLane& lane) const {
    std::string stages;
    for (const int32_t stage : lane.stages) stages += (stages.empty() ? "" : ", ") + std::to_string(stage);
    return p_.say(lane.stages.size() > 1 ? "view.pipeline.stages" : "view.pipeline.stage",
                  {arg("stage", stages)});
}

float PipelinePicture::gutter(const Shown& run) const {
    float names = 0;
    int32_t most = 0;
    for (const PipelineLane& lane : run.grid->lanes) {
        names = std::max(names, p_.width(lane_name(lane), Face::caption));
        most = std::max(most, most_held(lane));
    }
    const float squares = static_cast<float>(std::min(most, kMostSquares)) * 12 + 12;
    return std::min(names + 14 + std::max(squares, 60.F), in_.size.width * 0.34F);
}

void PipelinePicture::lane(const Shown& run, const PipelineLane& lane, float top) {
    const PipelineGrid& grid = *run.grid;
    const Rect bars{x0_, top + lane_ * 0.12F, x1_ - x0_, lane_ * 0.76F};
    lane_head(run, lane, bars);
    std::string told = lane_name(lane) + " (rank " + std::to_string(lane.rank) + "):";
    double until = 0;
    for (const PipelineBlock& block : lane.blocks) {
        const auto [begin, end] = ends(grid, block);
        if (begin > until + widest_ * 1e-6) {
            gap(run, lane, block.waited, bars, until, begin);
            if (options_.sums) told += " (" + words(begin - until) + ")";
        }
        one(run, lane, block, bars);
        told += std::string(" ") + block_letter(block.kind) + std::to_string(block.microbatch);
        until = std::max(until, end);
    }
    // What a rank would have done after a run broke off nobody knows: that is no idle time.
    if (grid.complete && length(grid) > until + widest_ * 1e-6) {
        gap(run, lane, -1, bars, until, length(grid));
        if (options_.sums) told += " (" + words(length(grid) - until) + ")";
    }
    p_.tell(told);
}

void PipelinePicture::lane_head(const Shown& run, const PipelineLane& lane, const Rect& bars) {
    p_.layer = 3;
    const bool chosen = run.front && in_.selection.rank && *in_.selection.rank == lane.rank;
    const float left = kPad / 2 + 12, line = p_.line_height(Face::caption);
    const Id id = run.front ? Id{"rank", lane.rank} : Id{};
    auto& frame = p_.rect({left - 6, bars.y - lane_ * 0.1F, gutter_ - 4, lane_ * 0.96F}, Token::none, 6, id);
    frame.stroke = chosen ? Token::sel : Token::none;
    frame.width = 2;
    const std::string name = lane_name(lane), rank = "rank " + std::to_string(lane.rank);
    const bool two = lane_ >= 2 * line;
    const float middle = bars.y + bars.h / 2;
    p_.text(name, {left, two ? middle - line : middle - line / 2}, Face::caption, Token::text, Align::left,
            id);
    if (two) p_.text(rank, {left, middle}, Face::caption, Token::mute, Align::left, id);
    const float at = left + std::max(p_.width(name, Face::caption), p_.width(rank, Face::caption)) + 12;
    held(run, lane, {at, bars.y, left + gutter_ - 12 - at, bars.h}, two);
}

void PipelinePicture::held(const Shown& run, const PipelineLane& lane, const Rect& box, bool two) {
    if (!options_.sums) return;  // what is held now may be the most
    // Another run has no moment of its own here: what it holds at most is told.
    const std::vector<int32_t> now = run.front ? held_at(lane, in_.cursor.t_ns) : std::vector<int32_t>{};
    const int32_t n = microbatches_, most = most_held(lane);
    // Of a rank with several stages each is a part of what another run's rank holds.
    const std::size_t parts = static_cast<std::size_t>(run.grid->stages) / run.grid->lanes.size();
    const std::string all = std::to_string(most) + (parts > 1 ? " × 1/" + std::to_string(parts) : "");
    const std::string words = run.front ? std::to_string(now.size()) + " / " + all
                                        : p_.say("view.pipeline.most", {arg("most", all)});
    const float line = p_.line_height(Face::mono_small), middle = box.y + box.h / 2;
    const bool drawn = most <= kMostSquares && static_cast<float>(most) * 12 <= box.w && two;
    if (p_.width(words, Face::mono_small) <= box.w)
        p_.text(words, {box.x, drawn ? middle : middle - line / 2}, Face::mono_small, Token::soft);
    if (!drawn) return;
    for (int32_t i = 0; i < most; ++i) {
        const bool full = std::cmp_less(i, now.size());
        p_.rect({box.x + static_cast<float>(i) * 12, middle - 13, 10, 10},
                full ? microbatch_hue(now[static_cast<std::size_t>(i)], n) : Token::none, 2)
            .stroke = full ? Token::none : Token::line2;
    }
}

void PipelinePicture::gap(const Shown& run, const PipelineLane& lane, int32_t waited, const Rect& bars,
                          double from, double to) {
    p_.layer = 1;
    const Rect box{x(from) + 1, bars.y, x(to) - x(from) - 2, bars.h};
    if (box.w < 1) return;
    draw_idle(p_, box, options_.sums ? words(to - from) : "",
              run.front && waited >= 0 ? Id{"event", lane.rank, waited} : Id{},
              beside_cursor(run, lane, box));
}

Rect PipelinePicture::beside_cursor(const Shown& run, const PipelineLane& lane, const Rect& box) const {
    return run.front ? aside(box, cursor_x(*run.grid, lane)) : box;
}

void PipelinePicture::one(const Shown& run, const PipelineLane& lane, const PipelineBlock& block,
                          const Rect& bars) {
    const auto [begin, end] = ends(*run.grid, block);
    const Rect box{x(begin) + 0.5F, bars.y, std::max(1.F, x(end) - x(begin) - 1), bars.h};
    const Id id = run.front ? Id{"event", lane.rank, block.first} : Id{"block", lane.rank, block.first};
    p_.layer = 2;
    const BlockLook look{block.kind, block.microbatch, microbatches_};
    draw_block(p_, box, look, id);
    const std::string number = std::to_string(block.microbatch);
    const Rect room = beside_cursor(run, lane, box);
    const std::string text = box.w < kLettersFrom ? std::string()
                                                  : p_.fit({block_letter(block.kind) + number, number},
                                                           Face::mono_small, room.w - 2);
    p_.layer = 3;
    if (!text.empty() && p_.line_height(Face::mono_small) <= box.h + 4) label_block(p_, room, text, look, id);
    const auto& selected = in_.selection.event;
    if (run.front && selected && in_.selection.event_rank == lane.rank && *selected >= block.first &&
        *selected <= block.last) {
        p_.layer = 4;
        p_.outline({box.x - 2, box.y - 2, box.w + 4, box.h + 4}, Token::sel, 2, 5);
    }
}

}  // namespace meshscope::view
