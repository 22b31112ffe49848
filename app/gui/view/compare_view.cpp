#include "app/gui/view/compare_view.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/gui/view/common.h"
#include "app/gui/view/compare_blocks.h"
#include "app/gui/view/compare_table.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/timeline_layout.h"

namespace meshscope::view {
namespace {

constexpr float kPad = kComparePad, kCard = kCompareCard, kRadius = kCompareRadius;

class Comparison {
  public:
    Comparison(const Input& input, const std::vector<ComparedRun>& runs, const CompareOptions& options)
        : in_(input), runs_(runs), options_(options), p_(input), scene_{.input = input, .runs = runs} {
        const ComparedRun* front = &runs.front();
        for (const ComparedRun& run : runs)
            if (run.front) front = &run;
        const int32_t step = std::max(0, step_at(front->trace, front->clock, input.cursor.t_ns, input.memo));
        for (const ComparedRun& run : runs) {
            const RunFigures& own =
                scene_.figures.emplace_back(run_figures(run, compared_step(run.trace, step), input.memo));
            longest_ = std::max(longest_, own.step_ns);
            lead_ns_ = std::max(lead_ns_, own.lead_ns());
            scene_.unlike.push_back(unlike(runs.front(), scene_.figures.front(), run, own));
            if (&run == front) scene_.cursor_ns = input.cursor.t_ns - own.zero_ns();
        }
        p_.grow();
    }

    Picture draw() {
        float y = compare_title(p_, in_, runs_, scene_.unlike, options_.both_clocks);
        y = lanes_card(y);
        y = compare_table(p_, in_.size.width, runs_, scene_.figures, scene_.unlike, y + 16);
        return p_.take(y + 12);
    }

  private:
    float caption() const { return p_.line_height(Face::caption); }
    float right() const { return in_.size.width - kPad; }
    float x(int64_t t) const { return scene_.axis.x(t); }

    void find_axis() {
        float gutter = 0;
        for (std::size_t i = 0; i < runs_.size(); ++i)
            gutter = std::max(gutter, block_head_width(p_, scene_, i));
        TimeAxis& axis = scene_.axis;
        axis.x0 = kPad + kCard + std::min(gutter, in_.size.width * 0.3F) + 20;
        // The words of the largest difference stand right of the longest step.
        axis.x1 = right() - kCard;
        const float words = p_.width("+99.9 ms, +999 %", Face::mono_small) + 16;
        const float part = std::max(0.4F, 1 - words / std::max(1.F, axis.x1 - axis.x0));
        const auto shown = static_cast<double>(longest_ + lead_ns_);
        axis.begin_ns = -lead_ns_;
        axis.end_ns = std::max<int64_t>(1, std::llround(shown / static_cast<double>(part)) - lead_ns_);
    }

    float lanes_card(float top) {
        find_axis();
        const std::size_t card = p_.picture().shapes.size();
        p_.layer = 0;
        p_.rect({kPad, top, right() - kPad, 0}, Token::panel, kRadius).stroke = Token::line;
        p_.layer = 5;
        float y = top + 12;
        const std::string words_of_step =
            same_steps(scene_.figures) ? p_.say("view.step", {arg("step", int64_t{scene_.figures[0].step})})
                                       : p_.say("view.compare.steps");
        p_.text(words_of_step, {kPad + kCard, y}, Face::body, Token::text);
        y = legend(kPad + kCard + p_.width(words_of_step, Face::body) + 24, y);
        const float ruler_y = y + 4;
        y = ruler_y + p_.line_height(Face::mono_small) + 8;
        const float first = y;
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            draw_block(p_, scene_, i, y);
            y += block_height(p_, scene_, i);
        }
        ruler(ruler_y, first, y);
        cursor(ruler_y, y);
        p_.picture().shapes[card].box.h = y + 4 - top;
        return y + 4;
    }

    float legend(float left, float y) {
        std::set<CollectiveOp> ops;
        for (std::size_t i = 0; i < runs_.size(); ++i)
            for (const trace::Event* e : events_of(runs_[i], scene_.figures[i]))
                if (e->kind == trace::EventKind::collective) ops.insert(e->op);
        const float line = std::max(p_.line_height(Face::body), caption());
        float at = left;
        const auto entry = [&](const std::string& words, const auto& swatch) {
            const float w = 30 + p_.width(words, Face::caption);
            if (at + w > right() - kCard) {
                at = kPad + kCard;
                y += line + 2;
            }
            swatch(Rect{at, y + line / 2 - 7, 22, 14});
            p_.label({at + 30, y, w - 30, line}, words, Face::caption, Token::soft, Token::none, {},
                     Align::left);
            at += w + 18;
        };
        entry("compute", [&](Rect box) { p_.rect(box, Token::compute, 3); });
        for (const CollectiveOp op : ops)
            entry(std::string(name(op)), [&](Rect box) {
                trace::Event sample;
                sample.kind = trace::EventKind::collective;
                sample.op = op;
                event_bar(p_, sample, box, {});
            });
        entry(p_.say("view.compare.not_hidden"), [&](Rect box) {
            p_.rect(box, Token::warn).fill_alpha = 0.075F;
            p_.rect({box.x, box.y, box.w, 4}, Token::warn);
        });
        if (lead_ns_ > 0)
            entry(p_.say("view.compare.lead"), [&](Rect box) {
                p_.line({box.x + box.w / 2, box.y}, {box.x + box.w / 2, box.y + box.h}, Token::soft);
            });
        return y + line;
    }

    void ruler(float y, float top, float bottom) {
        RulerTicks ticks = time_ticks(scene_.axis, 72, y);
        ticks.first = 0;  // none left of it
        draw_ticks(p_, ticks, [&](double t) {
            const float tx = std::floor(x(std::llround(t))) + 0.5F;
            p_.layer = 1;
            // What stands left of 0 was begun while others were still in the step before.
            if (t == 0 && lead_ns_ > 0)
                p_.line({tx, top}, {tx, bottom}, Token::soft).id = {"zero"};
            else
                p_.line({tx, top}, {tx, bottom}, Token::line).stroke_alpha = 0.5F;
            return tx;
        });
    }

    void cursor(float y, float bottom) {
        if (!scene_.sees(scene_.cursor_ns)) return;
        p_.layer = 7;
        p_.line({x(scene_.cursor_ns), y + p_.line_height(Face::mono_small)}, {x(scene_.cursor_ns), bottom},
                Token::accent, 2)
            .id = {"cursor"};
    }

    const Input& in_;
    const std::vector<ComparedRun>& runs_;
    const CompareOptions& options_;
    Painter p_;
    CompareScene scene_;
    int64_t longest_ = 0;  // of the steps
    int64_t lead_ns_ = 0;  // how much before its 0 a step begins at most
};

}  // namespace

Picture compare_view(const Input& input, const std::vector<ComparedRun>& runs,
                     const CompareOptions& options) {
    if (runs.size() < 2) {
        Painter p(input);
        const std::string words = p.say(options.choices ? "view.compare.alone" : "view.compare.alone.drop");
        p.tell(words);
        p.paragraph(words, {kPad + 8, 20}, Face::body, Token::mute,
                    std::min(720.F, input.size.width - 2 * kPad - 16));
        return p.take();
    }
    return Comparison(input, runs, options).draw();
}

}  // namespace meshscope::view
