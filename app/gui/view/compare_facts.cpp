#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/gui/view/common.h"
#include "app/gui/view/compare_view.h"
#include "app/gui/view/sheet.h"

namespace meshscope::view {
namespace {

using State = trace::WeightAgreement::State;

constexpr float kPad = 24;
constexpr std::size_t kMostCells = 1200;  ///< more numbers are shown a parameter a row
constexpr std::size_t kMostSteps = 12;

/// "1.5e-08", "0".
std::string small_number(double value) {
    if (value == 0) return "0";
    if (std::isinf(value)) return "∞";
    char text[32];
    std::snprintf(text, sizeof(text), "%.2g", value);
    return text;
}

/// A loss with the digits that float32 has.
std::string loss_text(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%#.7g", value);
    return text;
}

class Proof {
  public:
    Proof(const Input& input, const std::vector<ComparedRun>& runs)
        : runs_(runs), p_(input), s_(p_, kPad, input.size.width - kPad, 14), height_(input.size.height) {
        p_.grow();
        for (std::size_t i = 1; i < runs.size(); ++i) {
            weights_.push_back(trace::compare_weights(runs[0].trace.info, runs[i].trace.info));
            losses_.push_back(trace::compare_losses(runs[0].trace.info, runs[i].trace.info));
        }
    }

    Picture draw() {
        verdict();
        pairs();
        reasons();
        which();
        losses();
        Picture picture = p_.take();
        picture.height = picture.content_height = std::max(height_, s_.y + 12);
        return picture;
    }

  private:
    bool any(State state) const {
        return std::any_of(weights_.begin(), weights_.end(), [&](const auto& w) { return w.state == state; });
    }
    std::string pair_name(std::size_t i) const {
        return p_.say("view.compare.pair", {arg("a", runs_[0].name), arg("b", runs_[i + 1].name)});
    }

    /// One line for all pairs: the worst of them decides.
    void verdict() {
        int64_t numbers = 0;
        bool bits = true, agree = true, compared = true;
        for (const auto& w : weights_) {
            compared = compared && (w.state == State::compared || w.state == State::other_lengths);
            bits = bits && w.all.same_bits();
            agree = agree && w.all.agrees();
            numbers = std::max(numbers, w.all.compared);
        }
        s_.head(p_.say("view.compare.agree"),
                compared ? p_.say("view.compare.numbers", {arg("n", format_count(numbers))}) : "");
        const bool ended = std::any_of(runs_.begin(), runs_.end(), [](const ComparedRun& run) {
            return run.end != nullptr && run.end->kind != RunEnd::Kind::not_finite &&
                   run.trace.info.parameters.empty();
        });
        const char* id = !compared && ended ? "view.compare.verdict.ended"
                         : !compared        ? "view.compare.verdict.unknown"
                         : bits             ? "view.compare.verdict.bits"
                         : agree            ? "view.compare.verdict.close"
                                            : "view.compare.verdict.differ";
        const Token colour = !compared ? Token::mute : agree ? Token::ok : Token::err;
        const float line = p_.line_height(Face::title);
        const Point c{s_.x + 15, s_.y + line / 2};
        auto& ring = p_.circle(c, 15, Token::none);
        ring.stroke = colour;
        ring.width = 2;
        if (compared && agree) {
            p_.tick(c, 14, colour, 2);
        } else if (compared) {
            p_.line({c.x - 5, c.y - 5}, {c.x + 5, c.y + 5}, colour, 2);
            p_.line({c.x - 5, c.y + 5}, {c.x + 5, c.y - 5}, colour, 2);
        } else {
            p_.line({c.x - 6, c.y}, {c.x + 6, c.y}, colour, 2);
        }
        const float left = s_.x;
        s_.x += 44;
        s_.paragraph(p_.say(id), Face::title, colour);
        s_.x = left;
        s_.y = std::max(s_.y, c.y + 15) + 6;
        if (compared && !bits)
            s_.paragraph(p_.say("view.compare.tolerance", {arg("within", small_number(trace::kAgreeWithin))}),
                         Face::caption, Token::mute);
        s_.space(12);
    }

    /// Against the first run: how many have the same bits, and the largest difference.
    void pairs() {
        s_.head(p_.say("view.compare.pairs"), p_.say("view.compare.largest"));
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const auto& w = weights_[i];
            if (w.all.compared == 0) {
                s_.row(pair_name(i), "—", Face::mono_small, Token::mute);
                continue;
            }
            s_.row(pair_name(i), small_number(w.all.largest), Face::mono_small,
                   w.all.same_bits() ? Token::ok
                   : w.all.agrees()  ? Token::text
                                     : Token::err);
            s_.paragraph(w.all.same_bits()
                             ? p_.say("view.compare.all_bits", {arg("n", format_count(w.all.compared))})
                             : p_.say("view.compare.some_bits", {arg("same", format_count(w.all.equal_bits)),
                                                                 arg("n", format_count(w.all.compared))}),
                         Face::caption, Token::soft);
            s_.space(6);
        }
        s_.space(6);
    }

    std::string not_kept(const ComparedRun& run) const {
        const trace::RunInfo& info = run.trace.info;
        if (info.losses.empty() && info.failure.empty())
            return p_.say("view.compare.nothing_trained", {arg("name", run.name)});
        if (run.end != nullptr)
            return p_.say(run.end->kind == RunEnd::Kind::not_finite ? "view.compare.not_finite"
                                                                    : "view.compare.ended_early",
                          {arg("name", run.name)});
        if (info.level == trace::Level::off) return p_.say("view.compare.level_off", {arg("name", run.name)});
        return p_.say("view.compare.not_kept",
                      {arg("name", run.name), arg("most", format_count(trace::kMostFinalNumbers))});
    }

    /// Why something could not be compared, or why bits may differ without anything being wrong.
    void reasons() {
        bool order = false;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const auto& w = weights_[i];
            const auto& other = runs_[i + 1];
            if (w.state == State::not_kept) {
                const bool first = runs_[0].trace.info.parameters.empty();
                s_.paragraph(not_kept(first ? runs_[0] : other), Face::body, Token::soft);
                s_.space(6);
                if (first) break;
            } else if (w.state == State::other_models) {
                s_.paragraph(
                    p_.say("view.compare.other_models", {arg("name", other.name), arg("culprit", w.culprit)}),
                    Face::body, Token::soft);
                s_.space(6);
            } else if (w.state == State::other_lengths) {
                s_.paragraph(p_.say("view.compare.other_lengths",
                                    {arg("a", runs_[0].name), arg("steps_a", runs_[0].trace.info.steps),
                                     arg("b", other.name), arg("steps_b", other.trace.info.steps)}),
                             Face::body, Token::warn);
                s_.space(6);
            } else {
                order = order || (!w.all.same_bits() && w.all.agrees());
            }
        }
        if (order) s_.paragraph(p_.say("view.compare.order"), Face::body, Token::soft);
        s_.space(12);
    }

    /// The pair with the most differences, number by number; of large models parameter by parameter.
    void which() {
        const trace::WeightAgreement* worst = nullptr;
        std::size_t pair = 0;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const auto& w = weights_[i];
            if (w.all.compared == 0) continue;
            if (worst == nullptr || w.all.equal_bits < worst->all.equal_bits) {
                worst = &w;
                pair = i;
            }
        }
        if (worst == nullptr) return;
        s_.head(p_.say("view.compare.each"), pair_name(pair));
        if (worst->same.size() <= kMostCells)
            cells(*worst);
        else
            by_parameter(*worst);
        s_.space(16);
    }

    static void style(Shape& cell, bool same) {
        cell.fill = same ? Token::ok : Token::soft;
        cell.fill_alpha = same ? 0.32F : 1.F;
    }

    void cells(const trace::WeightAgreement& w) {
        const float step = 13, size = 10;
        const auto across =
            std::max<std::size_t>(1, static_cast<std::size_t>((s_.width() + step - size) / step));
        for (std::size_t k = 0; k < w.same.size(); ++k) {
            const Rect box{s_.x + step * static_cast<float>(k % across),
                           s_.y + step * static_cast<float>(k / across), size, size};
            style(p_.rect(box, Token::ok, 2, {"number", static_cast<int64_t>(k)}), w.same[k] != 0);
        }
        s_.y += step * static_cast<float>((w.same.size() + across - 1) / across) + 8;
        const int64_t differ = w.all.compared - w.all.equal_bits;
        legend(p_.say("view.compare.same", {arg("n", format_count(w.all.equal_bits))}), true);
        if (differ > 0) legend(p_.say("view.compare.differs", {arg("n", format_count(differ))}), false);
        for (const auto& one : w.parameters) tell_parameter(one);
    }

    void legend(const std::string& words, bool same) {
        const float line = std::max(20.F, p_.line_height(Face::caption));
        style(p_.rect({s_.x, s_.y + line / 2 - 5, 10, 10}, Token::ok, 2), same);
        p_.label({s_.x + 18, s_.y, s_.width() - 18, line}, words, Face::caption, Token::soft, Token::none, {},
                 Align::left);
        p_.tell(words);
        s_.y += line;
    }

    std::string parameter_words(const trace::WeightAgreement::One& one) const {
        return one.numbers.same_bits()
                   ? p_.say("view.compare.equal")
                   : format_count(one.numbers.compared - one.numbers.equal_bits) + " / " +
                         format_count(one.numbers.compared) + ", " + small_number(one.numbers.largest);
    }
    void tell_parameter(const trace::WeightAgreement::One& one) {
        p_.tell(one.name + ": " + parameter_words(one));
    }
    void by_parameter(const trace::WeightAgreement& w) {
        for (const auto& one : w.parameters)
            s_.row(one.name, parameter_words(one), Face::mono_small,
                   one.numbers.same_bits() ? Token::ok
                   : one.numbers.agrees()  ? Token::text
                                           : Token::err);
    }

    /// A row a step, a column a run where there is room; else a block a run.
    void losses() {
        std::size_t steps = 0;
        for (const auto& run : runs_) steps = std::max(steps, run.trace.info.losses.size());
        if (steps == 0) return;
        trace::Agreement all;
        bool bits = true;
        for (const auto& l : losses_) {
            all.compared = std::max(all.compared, l.compared);
            all.largest = std::max(all.largest, l.largest);
            bits = bits && l.same_bits();
        }
        s_.head(p_.say("view.compare.losses"), p_.say("view.compare.each_step"));
        if (all.compared > 0)
            s_.paragraph(bits ? p_.say("view.compare.losses.bits", {arg("n", all.compared)})
                              : p_.say("view.compare.losses.largest",
                                       {arg("n", all.compared), arg("largest", small_number(all.largest))}),
                         Face::caption, bits ? Token::ok : Token::soft);
        s_.space(6);
        const float line = std::max(22.F, p_.line_height(Face::mono_small));
        float step_w =
            p_.width(p_.say("view.step", {arg("step", static_cast<int64_t>(steps))}), Face::caption);
        const float column = (s_.width() - step_w - 8) / static_cast<float>(runs_.size());
        bool fits = true;
        for (const auto& run : runs_) {
            fits = fits && p_.width(run.name, Face::caption) + 8 <= column;
            for (const double l : run.trace.info.losses)
                fits = fits && p_.width(loss_text(l), Face::mono_small) + 8 <= column;
        }
        if (!fits) return blocks(steps);
        const auto right = [&](std::size_t i) {
            return s_.x + step_w + 8 + column * static_cast<float>(i + 1);
        };
        for (std::size_t i = 0; i < runs_.size(); ++i)
            p_.text(runs_[i].name, {right(i), s_.y}, Face::caption, Token::mute, Align::right);
        s_.y += line;
        for (std::size_t s = first_step(steps); s < steps; ++s) {
            p_.text(p_.say("view.step", {arg("step", static_cast<int64_t>(s))}), {s_.x, s_.y}, Face::caption,
                    Token::mute);
            std::string told = p_.say("view.step", {arg("step", static_cast<int64_t>(s))}) + ":";
            for (std::size_t i = 0; i < runs_.size(); ++i) {
                const auto& list = runs_[i].trace.info.losses;
                if (s >= list.size()) continue;
                told += " " + runs_[i].name + " " + loss_text(list[s]);
                p_.text(loss_text(list[s]), {right(i), s_.y}, Face::mono_small, Token::text, Align::right);
            }
            p_.tell(told);
            s_.y += line;
        }
    }

    /// Of long runs the last steps, where differences have grown.
    static std::size_t first_step(std::size_t steps) { return steps > kMostSteps ? steps - kMostSteps : 0; }

    void blocks(std::size_t steps) {
        for (std::size_t s = first_step(steps); s < steps; ++s) {
            s_.paragraph(p_.say("view.step", {arg("step", static_cast<int64_t>(s))}), Face::caption,
                         Token::mute);
            for (const auto& run : runs_)
                if (s < run.trace.info.losses.size()) s_.row(run.name, loss_text(run.trace.info.losses[s]));
        }
    }

    const std::vector<ComparedRun>& runs_;
    Painter p_;
    Sheet s_;
    float height_;
    std::vector<trace::WeightAgreement> weights_;
    std::vector<trace::Agreement> losses_;
};

}  // namespace

Picture compare_facts(const Input& input, const std::vector<ComparedRun>& runs) {
    if (runs.size() < 2) {
        Painter p(input);
        const std::string words = p.say("view.compare.alone.facts");
        p.tell(words);
        p.paragraph(words, {kPad, 14}, Face::body, Token::mute, input.size.width - 2 * kPad);
        return p.take();
    }
    return Proof(input, runs).draw();
}

}  // namespace meshscope::view
