// The plan that is open: what was asked, the chart, the chosen layout, the list.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/panels/plan_chart.h"
#include "app/gui/view/fitting.h"
#include "app/gui/view/format.h"
#include "core/base/units.h"
#include "core/estimate/layout_figures.h"
#include "core/scenario/layout_scenario.h"

namespace meshscope::panels {
namespace {

using session::Planned;
using session::PlannedLayout;

constexpr float kTwoColumns = 900, kMargin = 20;

std::string bytes(double n) {
    return bytes_text(std::llround(std::min(n, 9e18)));
}

std::string share(double part) {
    return view::format_percent(part) + " %";
}

std::string part_name(const Ui& ui, const estimate::StageMemory::Part& part) {
    return ui.say("estimate.memory." + std::string(part.name));
}

/// What was asked, in sentences.
std::vector<std::string> asked(const Ui& ui, const Planned& plan) {
    const estimate::Question& q = plan.file.question;
    const auto fitting = static_cast<int64_t>(plan.plan.fitting.size());
    std::vector<std::string> lines{
        ui.say("ui.plan.asked", {{"gpus", q.gpus},
                                 {"gpu", q.profile.name},
                                 {"memory", bytes(q.memory_bytes)},
                                 {"batch", q.global_batch},
                                 {"seq", q.shape.seq},
                                 {"stack", std::string(estimate::traits(q.stack).word)}}),
        ui.say("ui.plan.tried", {{"tried", plan.plan.tried},
                                 {"fitting", fitting},
                                 {"shown", static_cast<int64_t>(plan.layouts.size())}})};
    if (fitting == 0)
        lines.push_back(
            ui.say("ui.plan.none_fits", {{"memory", bytes(plan.layouts.front().estimate->needed_bytes)}}));
    if (const std::string options = estimate::options_text(q); !options.empty())
        lines.push_back(ui.say("cli.plan.options", {{"options", options}}));
    return lines;
}

std::string batch_of(const estimate::Job& job) {
    return std::to_string(job.micro_batches) + " × " + std::to_string(job.micro_batch);
}

using Figures = std::vector<std::pair<std::string, std::string>>;

/// The chosen layout's figures, each with its name.
Figures figures_of(const Ui& ui, const Planned& plan, const estimate::Layouted& of) {
    const estimate::StepTime& t = of.time;
    Figures figures{{ui.say("ui.plan.step"), step_time_text(t.total_s())},
                    {ui.say("ui.plan.tokens"),
                     view::format_count(std::llround(std::min(estimate::tokens_per_s_per_gpu(of), 9e18)))}};
    if (const auto mfu = estimate::utilisation(plan.file.question, of))
        figures.push_back({"MFU", share(*mfu)});
    figures.push_back({ui.say("ui.plan.exposed"), share(t.exposed_s() / t.total_s())});
    if (of.job.layout.pp > 1) figures.push_back({ui.say("ui.plan.bubble"), share(t.bubble_s / t.total_s())});
    figures.push_back({ui.say("ui.plan.batch"), batch_of(of.job)});
    figures.push_back({ui.say("ui.plan.recompute"),
                       ui.say("cli.plan.recompute." + std::string(estimate::word(of.job.recompute)))});
    figures.push_back({ui.say("ui.plan.needed"), bytes(of.needed_bytes)});
    return figures;
}

/// Why it may not, or does not, fit; "" where it does.
std::string doubt(const Ui& ui, const Planned& plan, const PlannedLayout& layout) {
    const double has = plan.file.question.memory_bytes, needs = layout.estimate->needed_bytes;
    if (layout.fits)
        return needs > estimate::kTightShare * has
                   ? ui.say("ui.plan.tight", {{"share", view::format_percent(estimate::kTightShare)}})
                   : "";
    const auto largest = estimate::largest_part(layout.estimate->memory);
    return ui.say(
        "ui.plan.too_large",
        {{"memory", bytes(needs - has)}, {"part", part_name(ui, largest)}, {"bytes", bytes(largest.bytes)}});
}

float figure_rows(Ui& ui, const Figures& figures, Rect box) {
    const float row = ui.line(Face::body) + 4;
    float y = box.y;
    for (const auto& [name, value] : figures) {
        const float w = ui.width(value, Face::mono);
        ui.text({box.x + box.w - w, y, w, row}, value, Face::mono, Token::text);
        ui.text({box.x, y, box.w - w - 12, row}, view::elided(ui.measure, name, Face::body, box.w - w - 12),
                Face::body, Token::soft);
        y += row;
    }
    return y;
}

/// What fills the fullest GPU, the largest part first, each as a bar of all that it needs.
float memory_rows(Ui& ui, const estimate::Layouted& of, Rect box) {
    std::vector<estimate::StageMemory::Part> parts = of.memory.parts;
    const double own = of.needed_bytes - of.memory.total();
    std::ranges::stable_sort(parts, std::ranges::greater(), &estimate::StageMemory::Part::bytes);
    const float row = ui.line(Face::caption) + 10;
    float y = box.y;
    const auto bar = [&](const std::string& name, double n, Token hue) {
        const std::string value = bytes(n);
        const float w = ui.width(value, Face::mono_small);
        ui.text({box.x, y, box.w - w - 12, row - 8},
                view::elided(ui.measure, name, Face::caption, box.w - w - 12), Face::caption, Token::soft);
        ui.text({box.x + box.w - w, y, w, row - 8}, value, Face::mono_small, Token::text);
        ui.fill({box.x, y + row - 7, box.w, 3}, Token::ghost, 1.5F);
        const auto part = static_cast<float>(std::clamp(n / of.needed_bytes, 0.0, 1.0));
        ui.fill({box.x, y + row - 7, std::max(2.0F, box.w * part), 3}, hue, 1.5F);
        y += row;
    };
    for (const auto& part : parts)
        if (part.bytes > 0) bar(part_name(ui, part), part.bytes, Token::accent);
    if (own > 0) bar(ui.say("ui.plan.own"), own, Token::mute);
    return y;
}

float open_button(Ui& ui, Memory& memory, const PlannedLayout& layout, Rect box) {
    const auto refused = scenario::why_no_scenario(layout.estimate->job);
    const std::string label = ui.say("ui.plan.open");
    const float w = std::min(box.w, button_width(ui, label, true) + 16);
    if (button(ui, memory, "plan_open", {box.x, box.y, w, 40}, label, ButtonLook::primary,
               !refused && !ui.state.loading, Icon::play,
               refused ? ui.texts.text(*refused) : ui.say("ui.plan.open_about")))
        ui.act(session::OpenLayout{ui.state.layout});
    if (refused)
        return paragraph(ui, box.x, box.y + 44, box.w, ui.texts.text(*refused), Face::caption, Token::mute) +
               8;
    float y = box.y + 40 + 8;
    if (ui.state.layout == 0) return y;
    const std::string beside = ui.say("ui.plan.compare");
    if (button(ui, memory, "plan_compare", {box.x, y, std::min(box.w, button_width(ui, beside, false)), 36},
               beside, ButtonLook::plain, !ui.state.loading))
        ui.act(session::OpenLayout{ui.state.layout, true});
    return y + 36 + 8;
}

/// The layouts, one a row, those that fit first: a press chooses one.
float layout_rows(Ui& ui, Memory& memory, const Planned& plan, Rect box) {
    const float row = ui.line(Face::body) + 10;
    float y = box.y;
    for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
        const PlannedLayout& each = plan.layouts[i];
        if (i == 0 || each.fits != plan.layouts[i - 1].fits)
            y = section_head(ui, box.x, y, box.w, ui.say(each.fits ? "ui.plan.first" : "ui.plan.nearest"),
                             "") +
                6;
        const Rect at{box.x, y, box.w, row};
        const Touch t = touch(ui, memory, "plan_layout" + std::to_string(i), at, !ui.state.loading);
        if (i == ui.state.layout || t.hovered)
            ui.fill(at, i == ui.state.layout ? Token::accentbg : Token::raised, 6);
        const std::string figures = batch_of(each.estimate->job) + " · " +
                                    step_time_text(each.estimate->time.total_s()) + " · " +
                                    bytes(each.estimate->needed_bytes);
        const float w = ui.width(figures, Face::mono_small);
        const std::string words =
            view::elided(ui.measure, estimate::layout_word(each.estimate->job), Face::body, at.w - w - 28);
        ui.text({at.x + 8, y, at.w - w - 28, row}, words, Face::body, each.fits ? Token::text : Token::mute);
        ui.text({at.x + at.w - w - 8, y, w, row}, figures, Face::mono_small,
                each.fits ? Token::soft : Token::err);
        if (t.pressed) ui.act(session::ChooseLayout{i});
        y += row;
    }
    return y;
}

/// The right column, or the lower part of the one: the chosen layout, then all.
float chosen_column(Ui& ui, Memory& memory, const Planned& plan, Rect box) {
    const PlannedLayout& chosen = plan.layouts[ui.state.layout];
    float y = box.y;
    const float title = ui.line(Face::title);
    ui.text({box.x, y, box.w, title},
            view::elided(ui.measure, estimate::layout_word(chosen.estimate->job), Face::title, box.w),
            Face::title, Token::text);
    y += title + 6;
    if (const std::string words = doubt(ui, plan, chosen); !words.empty())
        y = paragraph(ui, box.x, y, box.w, words, Face::caption, chosen.fits ? Token::warn : Token::err) + 6;
    y = figure_rows(ui, figures_of(ui, plan, *chosen.estimate), {box.x, y, box.w, 0}) + 8;
    y = open_button(ui, memory, chosen, {box.x, y, box.w, 0});
    y = section_head(ui, box.x, y + 4, box.w, ui.say("ui.plan.memory"), "") + 8;
    y = memory_rows(ui, *chosen.estimate, {box.x, y, box.w, 0}) + 8;
    y = paragraph(ui, box.x, y, box.w, ui.say("ui.plan.estimates"), Face::caption, Token::mute) + 10;
    return layout_rows(ui, memory, plan, {box.x, y, box.w, 0});
}

/// The plan's name and what was asked, and the way back; returns the y below.
float head(Ui& ui, Memory& memory, const Planned& plan, Rect box) {
    const float title = ui.line(Face::lesson_title);
    const std::string close = ui.say("keys.welcome");
    const float close_w = button_width(ui, close, false);
    if (button(ui, memory, "plan_close", {box.x + box.w - close_w, box.y, close_w, 36}, close,
               ButtonLook::plain, !ui.state.loading))
        ui.act(session::CloseDocument{});
    const float room = box.w - close_w - 16;
    ui.text({box.x, box.y, room, title}, view::elided(ui.measure, plan.title, Face::lesson_title, room),
            Face::lesson_title, Token::text);
    float y = box.y + std::max(title, 36.0F) + 4;
    y = plan_question(ui, memory, plan, {box.x, y + 4, box.w, 0}) + 10;
    for (const std::string& line : asked(ui, plan))
        y = paragraph(ui, box.x, y, box.w, line, Face::body, Token::soft) + 2;
    return y + 6;
}

/// What the marks mean; returns the y below.
float legend(Ui& ui, Rect box) {
    const float line = ui.line(Face::caption);
    float x = box.x, y = box.y;
    const auto entry = [&](const char* id, Token hue, bool fits) {
        const std::string words = ui.say(id);
        const float w = 18 + ui.width(words, Face::caption);
        if (x > box.x && x + w > box.x + box.w) {
            x = box.x;
            y += line + 2;
        }
        const Point at{x + 6, y + line / 2};
        if (fits)
            ui.draw->AddCircleFilled(ui.px(at), ui.px(5), ui.colour(hue), 0);
        else
            ui.cross(at, hue);
        ui.text({x + 18, y, std::min(w - 18, box.w - 18), line},
                view::elided(ui.measure, words, Face::caption, box.w - 18), Face::caption, Token::mute);
        x += w + 18;
    };
    entry("ui.plan.legend.front", Token::ok, true);
    entry("ui.plan.legend.fits", Token::sky, true);
    entry("ui.plan.legend.too_large", Token::err, false);
    return y + line;
}

void point_told(Ui& ui, const Planned& plan, std::size_t i) {
    const estimate::Layouted& of = *plan.layouts[i].estimate;
    tooltip(ui, estimate::layout_word(of.job) + " · " + batch_of(of.job) + " · " +
                    step_time_text(of.time.total_s()) + " · " + bytes(of.needed_bytes));
}

}  // namespace

void plan_page(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "plan";
    const Planned& plan = *ui.state.plan;
    const bool two = box.w >= kTwoColumns;
    const float right = two ? std::clamp(box.w * 0.34F, 340.0F, 520.0F) : 0;
    {
        const Rect at{box.x, box.y, box.w - right, box.h};
        Region region(ui, "plan", at);
        const Rect inner{at.x + kMargin, region.top() + 16, at.w - 2 * kMargin, at.h};
        float y = head(ui, memory, plan, inner);
        const float below = 2 * ui.line(Face::caption) + 24;
        const float high = two ? std::max(220.0F, region.top() + at.h - y - below) : 320;
        const auto pointed = plan_chart(ui, memory, plan, {inner.x, y, inner.w, high});
        y = legend(ui, {inner.x, y + high + 8, inner.w, 0});
        if (!two) y = chosen_column(ui, memory, plan, {inner.x, y + 16, inner.w, 0});
        region.content_ends(y + 14);
        if (pointed) point_told(ui, plan, *pointed);
    }
    if (!two) return;
    const Rect at{box.x + box.w - right, box.y, right, box.h};
    Region region(ui, "plan_chosen", at);
    ui.fill({at.x, region.top(), at.w, std::max(at.h, 4000.0F)}, Token::panel);
    const float y =
        chosen_column(ui, memory, plan, {at.x + kMargin, region.top() + 16, at.w - 2 * kMargin, at.h});
    region.content_ends(y + 16);
}

float back_to_plan(Ui& ui, Memory& memory, float x, float y, float w) {
    const std::string words = ui.say("ui.plan.back");
    if (button(ui, memory, "back_to_plan", {x, y, std::min(w, button_width(ui, words, true)), 38}, words,
               ButtonLook::primary, true, Icon::previous))
        ui.act(session::CloseDocument{});
    return y + 38;
}

float beside_plan(Ui& ui, Memory& memory, float x, float y, float w) {
    const session::Document& document = *ui.state.document;
    if (!document.plan || document.plan != ui.state.plan) return y;
    y = back_to_plan(ui, memory, x, y, w) + 16;
    const estimate::Layouted& of = *document.plan->layouts[document.layout].estimate;
    return paragraph(ui, x, y, w,
                     ui.say(document.eager_kernels ? "ui.plan.estimated.eager" : "ui.plan.estimated",
                            {{"step", step_time_text(of.time.total_s())},
                             {"exposed", share(of.time.exposed_s() / of.time.total_s())},
                             {"memory", bytes(of.memory.total())}}),
                     Face::caption, Token::soft) +
           16;
}

std::string plan_told(const Ui& ui) {
    const Planned& plan = *ui.state.plan;
    std::string text = plan.title + '\n';
    for (const std::string& line : asked(ui, plan)) text += line + '\n';
    const PlannedLayout& chosen = plan.layouts[ui.state.layout];
    text += estimate::layout_word(chosen.estimate->job) + '\n';
    if (const std::string words = doubt(ui, plan, chosen); !words.empty()) text += words + '\n';
    for (const auto& [name, value] : figures_of(ui, plan, *chosen.estimate))
        text += name + ": " + value + '\n';
    return text;
}

}  // namespace meshscope::panels
