#include "app/gui/view/pipeline_view.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/pipeline_marks.h"
#include "app/gui/view/pipeline_picture.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/timeline_layout.h"

namespace meshscope::view {
namespace {

constexpr float kMostLane = 46, kLeastLane = 22;

/// "2.5", "14": a number of slots.
std::string slot_words(double slots) {
    return format_number(static_cast<float>(slots), 4);
}

/// The share in tenths of a percent: "27.3".
std::string share_words(double share) {
    return format_number(static_cast<float>(std::round(share * 1000) / 10), 4);
}

}  // namespace

PipelinePicture::PipelinePicture(const Input& input, const PipelineOptions& options)
    : in_(input), options_(options), p_(input) {
    const int32_t step = step_at(input.trace, input.clock, input.cursor.t_ns, input.memo);
    add(options.name, input.trace, input.clock, focus_rank(input), step, true);
    for (const RunBeside& run : options.beside) add(run.name, run.trace, run.clock, 0, step, false);
}

Picture PipelinePicture::draw() {
    p_.grow();
    float y = moves(legend(header()));
    if (shown_.empty()) y = p_.nothing(p_.say("view.pipeline.empty"), {kPad, y});
    widest_ = 0;
    for (const Shown& run : shown_) widest_ = std::max(widest_, length(*run.grid));
    lane_ = lane_height(y);
    for (const Shown& run : shown_) gutter_ = std::max(gutter_, gutter(run));
    for (const Shown& run : shown_) y = panel(run, y) + 12;
    return p_.take(y);
}

void PipelinePicture::add(const std::string& name, const trace::Trace& trace, const time::Clock& clock,
                          int32_t rank, int32_t step, bool front) {
    // Set-up has no micro-batches: the first step stands for it.
    auto grid = pipeline_grid(trace, clock, rank, std::max(0, step), in_.memo);
    if (grid == nullptr) return;
    microbatches_ = std::max(microbatches_, grid->microbatches);  // one ramp for all
    shown_.push_back({name, std::move(grid), front});
}

std::string PipelinePicture::words(double amount) const {
    return options_.slots ? slot_words(amount) : format_time(std::llround(amount));
}

float PipelinePicture::header() {
    p_.layer = 5;
    const std::string title = p_.say("view.timeline.title");
    const float high = p_.line_height(Face::title), right = in_.size.width - kPad;
    p_.text(title, {kPad, 8}, Face::title, Token::text);
    std::vector<Chip> chips = form_chips(p_, Form::grid);
    chips.push_back(
        {p_.say("view.pipeline.slots"), {"form", static_cast<int64_t>(Form::grid)}, options_.slots});
    for (const auto kind : {time::ClockKind::modelled, time::ClockKind::measured})
        if (kind == in_.clock.kind || (options_.both_clocks && !simulated_))
            chips.push_back({p_.say(simulated_                          ? "view.clock.simulated"
                                    : kind == time::ClockKind::modelled ? "view.clock.modelled"
                                                                        : "view.clock.measured"),
                             {"grid_clock", static_cast<int64_t>(kind)},
                             !options_.slots && kind == in_.clock.kind});
    const float left = kPad + p_.width(title, Face::title) + 20;
    return std::max(8 + high, draw_chips(p_, chips, {left, 8 + (high - kChip) / 2}, right)) + 8;
}

float PipelinePicture::legend(float y) {
    if (shown_.empty()) return y;
    LegendOf of;
    of.microbatches = microbatches_;
    of.slots = options_.slots;
    for (const Shown& run : shown_) note_kinds(*run.grid, of);
    y = pipeline_legend(p_, {kPad, y, in_.size.width - 2 * kPad, 0}, of);
    if (!simulated_) return y;
    const float room = in_.size.width - 2 * kPad;
    const std::string words = p_.fit(
        {p_.say("view.pipeline.simulated"), p_.say("view.pipeline.simulated.short")}, Face::caption, room);
    if (!words.empty()) p_.text(words, {kPad, y}, Face::caption, Token::warn);
    return y + p_.line_height(Face::caption) + 8;
}

float PipelinePicture::moves(float y) {
    if (p_.watched() || shown_.empty()) return y;
    std::vector<Chip> chips;
    if (options_.moving) chips.push_back({p_.say("sandbox.stop"), {"stop_move"}});
    if (options_.can_undo) chips.push_back({p_.say("view.pipeline.undo"), {"undo_move"}});
    if (options_.can_redo) chips.push_back({p_.say("view.pipeline.redo"), {"redo_move"}});
    if (!options_.usual.empty())
        chips.push_back({p_.say("view.pipeline.usual", {arg("schedule", options_.usual)}), {"usual_order"}});
    const float right = in_.size.width - kPad, wide = chips_width(p_, chips);
    const float left = kPad + (chips.empty() ? 0 : wide + 12), line = p_.line_height(Face::caption);
    std::vector<std::string> words;
    if (options_.moving) words = {p_.say("view.pipeline.moving")};
    if (options_.movable && !options_.moving)
        words = {p_.say("view.pipeline.drag"), p_.say("view.pipeline.drag.short")};
    const std::string said = words.empty() ? "" : p_.fit(words, Face::caption, right - left);
    if (chips.empty() && said.empty()) return y;
    const float below = chips.empty() ? y + line : draw_chips(p_, chips, {kPad, y}, right);
    p_.layer = 5;
    if (!said.empty())
        p_.text(said, {left, y + (chips.empty() ? 0 : (kChip - line) / 2)}, Face::caption, Token::soft);
    return below + 8;
}

float PipelinePicture::lane_height(float y) const {
    std::size_t lanes = 0;
    for (const Shown& run : shown_) lanes += run.grid->lanes.size();
    if (lanes == 0) return kMostLane;
    const float room = in_.size.height - y - static_cast<float>(shown_.size()) * (above_lanes() + 22);
    return std::clamp(std::floor(room / static_cast<float>(lanes)), kLeastLane, kMostLane);
}

double PipelinePicture::idle_share(const PipelineGrid& grid) const {
    if (options_.slots) return grid.bubble();
    double busy = 0;
    for (const PipelineLane& lane : grid.lanes)
        for (const PipelineBlock& block : lane.blocks)
            busy += static_cast<double>(block.at.end_ns - block.at.begin_ns);
    const double whole = length(grid) * static_cast<double>(grid.lanes.size());
    return whole > 0 ? 1 - busy / whole : 0;
}

std::string PipelinePicture::short_summary(const PipelineGrid& grid) const {
    if (!grid.complete) return p_.say("view.pipeline.cut_off.short");
    return p_.say("view.pipeline.summary_short", {arg("percent", share_words(idle_share(grid)))});
}

std::string PipelinePicture::summary(const PipelineGrid& grid) const {
    if (!grid.complete) return p_.say("view.pipeline.cut_off");
    const auto lanes = static_cast<double>(grid.lanes.size());
    if (options_.slots) {
        double work = 0;
        for (const PipelineLane& lane : grid.lanes) work += lane.work;
        return p_.say(
            "view.pipeline.summary",
            {arg("slots", slot_words(grid.slots)), arg("work", slot_words(work / lanes)),
             arg("idle", slot_words(grid.slots - work / lanes)), arg("percent", share_words(grid.bubble()))});
    }
    return p_.say("view.pipeline.summary_time", {arg("time", format_time(std::llround(length(grid)))),
                                                 arg("percent", share_words(idle_share(grid)))});
}

float PipelinePicture::panel(const Shown& run, float y) {
    const PipelineGrid& grid = *run.grid;
    const auto lanes = static_cast<float>(grid.lanes.size());
    const Rect box{kPad / 2, y, in_.size.width - kPad, above_lanes() + lanes * lane_ + 12};
    p_.layer = 0;
    p_.rect(box, Token::panel, 10).stroke = Token::line;
    x0_ = box.x + 12 + gutter_;
    x1_ = box.x + box.w - 14;
    title(run, box);
    const float top = box.y + above_lanes();
    ruler(grid, top, top + lanes * lane_);
    for (std::size_t l = 0; l < grid.lanes.size(); ++l)
        lane(run, grid.lanes[l], top + static_cast<float>(l) * lane_);
    end_line(grid, top, top + lanes * lane_);
    if (run.front) cursor(grid, top);
    return box.y + box.h;
}

void PipelinePicture::title(const Shown& run, const Rect& box) {
    p_.layer = 5;
    const float right = box.x + box.w - 14, y = box.y + 6;
    const std::string all = summary(*run.grid);
    const std::string name = run.name, shorter = short_summary(*run.grid);
    if (options_.sums) p_.tell((name.empty() ? "" : name + ": ") + all);
    float left = box.x + 14;
    const std::string fits = p_.fit({name}, Face::title, right - left);
    if (!fits.empty()) p_.text(fits, {left, y}, Face::title, Token::text);
    if (!fits.empty()) left += p_.width(fits, Face::title) + 20;
    const std::string said = options_.sums ? p_.fit({all, shorter}, Face::body, right - left) : std::string();
    // On the name's line: smaller letters stand lower in their own.
    const float lower = (p_.line_height(Face::title) - p_.line_height(Face::body)) / 2 + 1;
    if (!said.empty()) p_.text(said, {right, y + lower}, Face::body, Token::soft, Align::right);
}

void PipelinePicture::ruler(const PipelineGrid& grid, float top, float bottom) {
    RulerTicks ticks;
    ticks.last = length(grid) * 1.0001;
    ticks.step = round_step(widest_ * 64 / std::max(1.F, x1_ - x0_));
    ticks.y = top - p_.line_height(Face::mono_small) - 4;
    ticks.numbers = options_.sums;
    if (options_.slots) ticks.words = slot_words;
    draw_ticks(p_, ticks, [&](double t) {
        const float at = std::floor(x(t)) + 0.5F;
        p_.layer = 0;
        p_.line({at, top}, {at, bottom}, Token::line);
        return at;
    });
}

bool PipelinePicture::same_work(const PipelineGrid& grid) const {
    if (!options_.slots && in_.clock.kind == time::ClockKind::measured) return false;
    return std::ranges::all_of(shown_, [&](const Shown& run) {
        return run.grid->complete && run.grid->microbatches == grid.microbatches &&
               run.grid->lanes.size() == grid.lanes.size();
    });
}

void PipelinePicture::end_line(const PipelineGrid& grid, float top, float bottom) {
    p_.layer = 4;
    const float at = x(length(grid));
    p_.line({at, top - 4}, {at, bottom}, Token::soft, 1.5F);
    const double sooner = widest_ - length(grid);
    if (sooner <= widest_ * 1e-3 || !same_work(grid)) return;
    const float middle = (top + bottom) / 2;
    p_.line({at, middle}, {x1_, middle}, Token::ok, 2.5F);
    const std::string text =
        p_.fit({p_.say(options_.slots ? "view.pipeline.sooner_slots" : "view.pipeline.sooner",
                       {arg("time", words(sooner))}),
                words(sooner)},
               Face::caption, x1_ - at - 8);
    if (!text.empty())
        p_.text(text, {(at + x1_) / 2, middle - p_.line_height(Face::caption) - 4}, Face::caption, Token::ok,
                Align::centre);
}

float PipelinePicture::cursor_x(const PipelineGrid& grid, const PipelineLane& lane) const {
    const double at = options_.slots ? slot_at(lane, in_.cursor.t_ns)
                                     : static_cast<double>(in_.cursor.t_ns - grid.span.begin_ns);
    return std::clamp(x(at), x0_ - 1, x(length(grid)) + 1);
}

void PipelinePicture::cursor(const PipelineGrid& grid, float top) {
    p_.layer = 6;
    std::vector<Point> points;
    for (std::size_t l = 0; l < grid.lanes.size(); ++l) {
        const float px = cursor_x(grid, grid.lanes[l]);
        const float y = top + static_cast<float>(l) * lane_;
        points.push_back({px, y + 2});
        points.push_back({px, y + lane_ - 2});
    }
    if (points.empty()) return;
    auto& line = p_.polyline(points, Token::accent, 2);
    line.id = {"cursor"};
    p_.circle(points.front(), 4, Token::accent, {"cursor"});
}

Picture pipeline_view(const Input& input, const PipelineOptions& options) {
    return PipelinePicture(input, options).draw();
}

}  // namespace meshscope::view
