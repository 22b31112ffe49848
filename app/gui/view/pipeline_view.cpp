#include "app/gui/view/pipeline_view.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/pipeline_blocks.h"
#include "app/gui/view/pipeline_marks.h"
#include "app/gui/view/timeline_bars.h"
#include "core/trace/simulated.h"

namespace meshscope::view {
namespace {

constexpr float kPad = 16;
constexpr float kMostLane = 46, kLeastLane = 22;
constexpr float kLettersFrom = 14;   // look2.md section 2: under it a block has its colour alone
constexpr int32_t kMostSquares = 8;  // of held activations; more are a number

/// "2.5", "14": a number of slots.
std::string slot_words(double slots) {
    return format_number(static_cast<float>(slots), 4);
}

/// The share in tenths of a percent: "27.3".
std::string share_words(double share) {
    return format_number(static_cast<float>(std::round(share * 1000) / 10), 4);
}

/// One run's grid, ready to be drawn.
struct Shown {
    std::string name;
    std::shared_ptr<const PipelineGrid> grid;
    bool front = false;
};

class PipelinePicture {
  public:
    PipelinePicture(const Input& input, const PipelineOptions& options)
        : in_(input), options_(options), p_(input) {
        const int32_t step = step_at(input.trace, input.clock, input.cursor.t_ns, input.memo);
        add(options.name, input.trace, input.clock, focus_rank(input), step, true);
        for (const RunBeside& run : options.beside) add(run.name, run.trace, run.clock, 0, step, false);
    }

    Picture draw() {
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

  private:
    void add(const std::string& name, const trace::Trace& trace, const time::Clock& clock, int32_t rank,
             int32_t step, bool front) {
        // Set-up has no micro-batches: the first step stands for it.
        auto grid = pipeline_grid(trace, clock, rank, std::max(0, step), in_.memo);
        if (grid == nullptr) return;
        microbatches_ = std::max(microbatches_, grid->microbatches);  // one ramp for all
        shown_.push_back({name, std::move(grid), front});
    }

    double length(const PipelineGrid& grid) const {
        return options_.slots ? grid.slots : static_cast<double>(grid.span.end_ns - grid.span.begin_ns);
    }
    float x(double at) const { return x0_ + static_cast<float>(at / std::max(widest_, 1e-9)) * (x1_ - x0_); }
    std::pair<double, double> ends(const PipelineGrid& grid, const PipelineBlock& block) const {
        if (options_.slots) return {block.begin, block.end};
        return {static_cast<double>(block.at.begin_ns - grid.span.begin_ns),
                static_cast<double>(block.at.end_ns - grid.span.begin_ns)};
    }
    std::string words(double amount) const {
        return options_.slots ? slot_words(amount) : format_time(std::llround(amount));
    }

    float header() {
        p_.layer = 5;
        const std::string title = p_.say("view.timeline.title");
        const float high = p_.line_height(Face::title), right = in_.size.width - kPad;
        p_.text(title, {kPad, 8}, Face::title, Token::text);
        std::vector<Chip> chips = form_chips(p_, Form::grid);
        chips.push_back({p_.say("view.pipeline.slots"),
                         {"form", static_cast<int64_t>(Form::grid)},
                         options_.slots});
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

    float legend(float y) {
        if (shown_.empty()) return y;
        LegendOf of;
        of.microbatches = microbatches_;
        of.slots = options_.slots;
        for (const Shown& run : shown_) note_kinds(*run.grid, of);
        y = pipeline_legend(p_, {kPad, y, in_.size.width - 2 * kPad, 0}, of);
        if (!simulated_) return y;
        const float room = in_.size.width - 2 * kPad;
        const std::string words =
            p_.fit({p_.say("view.pipeline.simulated"), p_.say("view.pipeline.simulated.short")},
                   Face::caption, room);
        if (!words.empty()) p_.text(words, {kPad, y}, Face::caption, Token::warn);
        return y + p_.line_height(Face::caption) + 8;
    }

    /// What can be done with blocks, and undone.
    float moves(float y) {
        if (p_.watched() || shown_.empty()) return y;
        std::vector<Chip> chips;
        if (options_.moving) chips.push_back({p_.say("sandbox.stop"), {"stop_move"}});
        if (options_.can_undo) chips.push_back({p_.say("view.pipeline.undo"), {"undo_move"}});
        if (options_.can_redo) chips.push_back({p_.say("view.pipeline.redo"), {"redo_move"}});
        if (!options_.usual.empty())
            chips.push_back(
                {p_.say("view.pipeline.usual", {arg("schedule", options_.usual)}), {"usual_order"}});
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

    float lane_height(float y) const {
        std::size_t lanes = 0;
        for (const Shown& run : shown_) lanes += run.grid->lanes.size();
        if (lanes == 0) return kMostLane;
        const float room = in_.size.height - y - static_cast<float>(shown_.size()) * (above_lanes() + 22);
        return std::clamp(std::floor(room / static_cast<float>(lanes)), kLeastLane, kMostLane);
    }
    float above_lanes() const {
        return p_.line_height(Face::title) + 10 + p_.line_height(Face::mono_small) + 6;
    }

    /// The share of the ranks' time, on the clock, in which they compute nothing.
    double idle_share(const PipelineGrid& grid) const {
        if (options_.slots) return grid.bubble();
        double busy = 0;
        for (const PipelineLane& lane : grid.lanes)
            for (const PipelineBlock& block : lane.blocks)
                busy += static_cast<double>(block.at.end_ns - block.at.begin_ns);
        const double whole = length(grid) * static_cast<double>(grid.lanes.size());
        return whole > 0 ? 1 - busy / whole : 0;
    }
    std::string short_summary(const PipelineGrid& grid) const {
        if (!grid.complete) return p_.say("view.pipeline.cut_off.short");
        return p_.say("view.pipeline.summary_short", {arg("percent", share_words(idle_share(grid)))});
    }
    std::string summary(const PipelineGrid& grid) const {
        if (!grid.complete) return p_.say("view.pipeline.cut_off");
        const auto lanes = static_cast<double>(grid.lanes.size());
        if (options_.slots) {
            double work = 0;
            for (const PipelineLane& lane : grid.lanes) work += lane.work;
            return p_.say("view.pipeline.summary",
                          {arg("slots", slot_words(grid.slots)), arg("work", slot_words(work / lanes)),
                           arg("idle", slot_words(grid.slots - work / lanes)),
                           arg("percent", share_words(grid.bubble()))});
        }
        return p_.say("view.pipeline.summary_time", {arg("time", format_time(std::llround(length(grid)))),
                                                     arg("percent", share_words(idle_share(grid)))});
    }

    float panel(const Shown& run, float y) {
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

    void title(const Shown& run, const Rect& box) {
        p_.layer = 5;
        const float right = box.x + box.w - 14, y = box.y + 6;
        const std::string all = summary(*run.grid);
        const std::string name = run.name, shorter = short_summary(*run.grid);
        if (options_.sums) p_.tell((name.empty() ? "" : name + ": ") + all);
        float left = box.x + 14;
        const std::string fits = p_.fit({name}, Face::title, right - left);
        if (!fits.empty()) p_.text(fits, {left, y}, Face::title, Token::text);
        if (!fits.empty()) left += p_.width(fits, Face::title) + 20;
        const std::string said =
            options_.sums ? p_.fit({all, shorter}, Face::body, right - left) : std::string();
        if (!said.empty()) p_.text(said, {right, y}, Face::body, Token::soft, Align::right);
    }

    std::string lane_name(const PipelineLane& lane) const {
        std::string stages;
        for (const int32_t stage : lane.stages)
            stages += (stages.empty() ? "" : ", ") + std::to_string(stage);
        return p_.say(lane.stages.size() > 1 ? "view.pipeline.stages" : "view.pipeline.stage",
                      {arg("stage", stages)});
    }

    float gutter(const Shown& run) const {
        float names = 0;
        int32_t most = 0;
        for (const PipelineLane& lane : run.grid->lanes) {
            names = std::max(names, p_.width(lane_name(lane), Face::caption));
            most = std::max(most, most_held(lane));
        }
        const float squares = static_cast<float>(std::min(most, kMostSquares)) * 12 + 12;
        return std::min(names + 14 + std::max(squares, 60.F), in_.size.width * 0.34F);
    }

    void ruler(const PipelineGrid& grid, float top, float bottom) {
        const double step = round_step(widest_ * 64 / std::max(1.F, x1_ - x0_));
        const float y = top - p_.line_height(Face::mono_small) - 4;
        for (double t = 0; t <= length(grid) * 1.0001; t += step) {
            const float at = std::floor(x(t)) + 0.5F;
            p_.layer = 0;
            p_.line({at, top}, {at, bottom}, Token::line);
            p_.layer = 5;
            if (options_.sums) p_.try_text(words(t), {at, y}, Face::mono_small, Token::mute, Align::centre);
        }
    }

    void lane(const Shown& run, const PipelineLane& lane, float top) {
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

    void lane_head(const Shown& run, const PipelineLane& lane, const Rect& bars) {
        p_.layer = 3;
        const bool chosen = run.front && in_.selection.rank && *in_.selection.rank == lane.rank;
        const float left = kPad / 2 + 12, line = p_.line_height(Face::caption);
        const Id id = run.front ? Id{"rank", lane.rank} : Id{};
        auto& frame =
            p_.rect({left - 6, bars.y - lane_ * 0.1F, gutter_ - 4, lane_ * 0.96F}, Token::none, 6, id);
        frame.stroke = chosen ? Token::sel : Token::none;
        frame.width = 2;
        const std::string name = lane_name(lane), rank = "rank " + std::to_string(lane.rank);
        const bool two = lane_ >= 2 * line;
        const float middle = bars.y + bars.h / 2;
        p_.text(name, {left, two ? middle - line : middle - line / 2}, Face::caption, Token::text,
                Align::left, id);
        if (two) p_.text(rank, {left, middle}, Face::caption, Token::mute, Align::left, id);
        const float at = left + std::max(p_.width(name, Face::caption), p_.width(rank, Face::caption)) + 12;
        held(run, lane, {at, bars.y, left + gutter_ - 12 - at, bars.h}, two);
    }

    void held(const Shown& run, const PipelineLane& lane, const Rect& box, bool two) {
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

    void gap(const Shown& run, const PipelineLane& lane, int32_t waited, const Rect& bars, double from,
             double to) {
        p_.layer = 1;
        const Rect box{x(from) + 1, bars.y, x(to) - x(from) - 2, bars.h};
        if (box.w < 1) return;
        draw_idle(p_, box, options_.sums ? words(to - from) : "",
                  run.front && waited >= 0 ? Id{"event", lane.rank, waited} : Id{});
    }

    void one(const Shown& run, const PipelineLane& lane, const PipelineBlock& block, const Rect& bars) {
        const auto [begin, end] = ends(*run.grid, block);
        const Rect box{x(begin) + 0.5F, bars.y, std::max(1.F, x(end) - x(begin) - 1), bars.h};
        const Id id = run.front ? Id{"event", lane.rank, block.first} : Id{"block", lane.rank, block.first};
        p_.layer = 2;
        const BlockLook look{block.kind, block.microbatch, microbatches_};
        draw_block(p_, box, look, id);
        const std::string number = std::to_string(block.microbatch);
        const std::string text = box.w < kLettersFrom ? std::string()
                                                      : p_.fit({block_letter(block.kind) + number, number},
                                                               Face::mono_small, box.w - 2);
        p_.layer = 3;
        if (!text.empty() && p_.line_height(Face::mono_small) <= box.h + 4)
            label_block(p_, box, text, look, id);
        const auto& selected = in_.selection.event;
        if (run.front && selected && in_.selection.event_rank == lane.rank && *selected >= block.first &&
            *selected <= block.last) {
            p_.layer = 4;
            p_.outline({box.x - 2, box.y - 2, box.w + 4, box.h + 4}, Token::sel, 2, 5);
        }
    }

    /// Only of runs of as much work, which came to the step's end, one is sooner; on the measured clock what
    /// else the machine did may be the reason.
    bool same_work(const PipelineGrid& grid) const {
        if (!options_.slots && in_.clock.kind == time::ClockKind::measured) return false;
        return std::ranges::all_of(shown_, [&](const Shown& run) {
            return run.grid->complete && run.grid->microbatches == grid.microbatches &&
                   run.grid->lanes.size() == grid.lanes.size();
        });
    }

    /// Where a run's last block ends; of a shorter run also how much sooner.
    void end_line(const PipelineGrid& grid, float top, float bottom) {
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
            p_.text(text, {(at + x1_) / 2, middle - p_.line_height(Face::caption) - 4}, Face::caption,
                    Token::ok, Align::centre);
    }

    void cursor(const PipelineGrid& grid, float top) {
        p_.layer = 6;
        std::vector<Point> points;
        for (std::size_t l = 0; l < grid.lanes.size(); ++l) {
            const double at = options_.slots ? slot_at(grid.lanes[l], in_.cursor.t_ns)
                                             : static_cast<double>(in_.cursor.t_ns - grid.span.begin_ns);
            const float px = std::clamp(x(at), x0_ - 1, x(length(grid)) + 1);
            const float y = top + static_cast<float>(l) * lane_;
            points.push_back({px, y + 2});
            points.push_back({px, y + lane_ - 2});
        }
        if (points.empty()) return;
        auto& line = p_.polyline(points, Token::accent, 2);
        line.id = {"cursor"};
        p_.circle(points.front(), 4, Token::accent, {"cursor"});
    }

    const Input& in_;
    const PipelineOptions& options_;
    const bool simulated_ = trace::is_simulated(in_.trace.info);  ///< the record in front
    Painter p_;
    std::vector<Shown> shown_;
    int32_t microbatches_ = 1;
    double widest_ = 1;
    float lane_ = kMostLane, gutter_ = 0, x0_ = 0, x1_ = 1;
};

}  // namespace

Picture pipeline_view(const Input& input, const PipelineOptions& options) {
    return PipelinePicture(input, options).draw();
}

}  // namespace meshscope::view
