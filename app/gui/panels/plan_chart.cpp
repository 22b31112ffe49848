#include "app/gui/panels/plan_chart.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/gui/panels/strokes.h"
#include "app/gui/view/fitting.h"
#include "app/gui/view/format.h"
#include "core/base/units.h"
#include "core/estimate/layout_figures.h"

namespace meshscope::panels {
namespace {

using session::Planned;
using session::PlannedLayout;

constexpr float kPoint = 5, kReach = 14;
/// How many times a GPU's memory the chart reaches; what needs more stands at its upper edge.
constexpr double kAbove = 16;

double seconds_of(const PlannedLayout& layout) {
    return layout.estimate->time.total_s();
}

/// Where figures stand in the plot.
class Axes {
  public:
    Axes(const Planned& plan, Rect plot) : plot_(plot), capacity_(plan.file.question.memory_bytes) {
        low_ = high_ = seconds_of(plan.layouts.front());
        double most = 0;
        for (const PlannedLayout& each : plan.layouts) {
            low_ = std::min(low_, seconds_of(each));
            high_ = std::max(high_, seconds_of(each));
            most = std::max(most, each.estimate->needed_bytes);
        }
        logarithmic_ = high_ > 4 * low_;
        if (logarithmic_) {
            low_ /= 1.15;
            high_ *= 1.15;
        } else {
            low_ = 0;
            high_ = std::max(high_ * 1.12, 1e-9);
        }
        top_ = std::clamp(most * 1.06, capacity_ * 1.12, capacity_ * kAbove);
    }
    float x(double seconds) const {
        const double part = logarithmic_ ? std::log(seconds / low_) / std::log(high_ / low_)
                                         : (seconds - low_) / (high_ - low_);
        return plot_.x + plot_.w * static_cast<float>(std::clamp(part, 0.0, 1.0));
    }
    float y(double bytes) const {
        return plot_.y + plot_.h * static_cast<float>(1 - std::clamp(bytes / top_, 0.0, 1.0));
    }
    Point at(const PlannedLayout& layout) const {
        return {x(seconds_of(layout)), y(layout.estimate->needed_bytes)};
    }
    double top() const { return top_; }
    bool is_logarithmic() const { return logarithmic_; }
    /// Where a line is drawn: 1, 2, 5 times a power of ten, or equally far apart.
    std::vector<double> times() const {
        std::vector<double> ticks;
        if (!logarithmic_) {
            const double step = view::round_step(high_ * 1e9 / 6) / 1e9;
            for (double at = step; at < high_; at += step) ticks.push_back(at);
            return ticks;
        }
        for (double ten = std::pow(10, std::floor(std::log10(low_))); ten < high_; ten *= 10)
            for (const double times : {1.0, 2.0, 5.0})
                if (ten * times > low_ && ten * times < high_) ticks.push_back(ten * times);
        return ticks;
    }

  private:
    Rect plot_;
    double capacity_, low_, high_, top_;
    bool logarithmic_;
};

void scale(Ui& ui, const Axes& axes, Rect plot) {
    const float line = ui.line(Face::mono_small);
    float free_from = plot.x - 40;
    for (const double at : axes.times()) {
        const float x = axes.x(at);
        ui.draw->AddLine(ui.px(Point{x, plot.y}), ui.px(Point{x, plot.y + plot.h}), ui.colour(Token::line),
                         ui.px(1));
        const std::string words = step_time_text(at);
        const float w = ui.width(words, Face::mono_small);
        if (x - w / 2 < free_from || x + w / 2 > plot.x + plot.w + 20) continue;
        ui.text({x - w / 2, plot.y + plot.h + 4, w, line}, words, Face::mono_small, Token::mute);
        free_from = x + w / 2 + 12;
    }
    const double step = view::round_step(axes.top() / kGiB / 5);
    for (double at = 0; at * kGiB <= axes.top(); at += step) {
        const float y = axes.y(at * kGiB);
        ui.hairline(plot.x, y, plot.w);
        ui.text({plot.x - 66, y - line / 2, 58, line}, std::to_string(std::llround(at)) + " GiB",
                Face::mono_small, Token::mute, Align::right);
    }
}

void capacity_line(Ui& ui, const Axes& axes, double bytes, Rect plot) {
    const float y = axes.y(bytes);
    // Where an estimate cannot promise that a layout fits.
    const float tight = axes.y(estimate::kTightShare * bytes);
    ui.fill({plot.x, y, plot.w, tight - y}, Token::warn, 0, 0.13F);
    stroke(*ui.draw, {ui.px(Point{plot.x, y}), ui.px(Point{plot.x + plot.w, y})}, false, view::Stroke::dashed,
           ui.colour(Token::err), ui.px(1.6F), ui.scale);
    const std::string words = ui.say("ui.plan.capacity", {{"memory", bytes_text(std::llround(bytes))}});
    const float w = ui.width(words, Face::caption), line = ui.line(Face::caption);
    if (w + 12 <= plot.w)
        ui.text({plot.x + plot.w - w - 6, y + 2, w, line}, words, Face::caption, Token::err);
}

/// From each layout of the front to the next: what memory is paid for in time.
void front_line(Ui& ui, const Axes& axes, const Planned& plan) {
    std::vector<ImVec2> path;
    for (const PlannedLayout& each : plan.layouts)
        if (each.front) path.push_back(ui.px(axes.at(each)));
    std::ranges::sort(path, std::ranges::less(), &ImVec2::x);  // within 1 % the smaller comes first in a plan
    if (path.size() > 1)
        ui.draw->AddPolyline(path.data(), static_cast<int>(path.size()), ui.colour(Token::ok, 0.7F), 0,
                             ui.px(1.5F));
}

void mark(Ui& ui, const PlannedLayout& layout, Point at, bool chosen, bool pointed) {
    const float radius = pointed ? kPoint + 1.5F : kPoint;
    if (!layout.fits) {
        ui.cross(at, Token::err);
    } else {
        ui.draw->AddCircleFilled(ui.px(at), ui.px(radius),
                                 ui.colour(layout.front ? Token::ok : Token::sky, layout.front ? 1 : 0.55F),
                                 0);
    }
    if (chosen) ui.draw->AddCircle(ui.px(at), ui.px(radius + 4), ui.colour(Token::sel), 0, ui.px(2));
}

std::optional<std::size_t> nearest(const Planned& plan, const Axes& axes, Point at) {
    std::optional<std::size_t> found;
    float least = kReach * kReach;
    for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
        const Point p = axes.at(plan.layouts[i]);
        const float far = (p.x - at.x) * (p.x - at.x) + (p.y - at.y) * (p.y - at.y);
        if (far >= least) continue;
        least = far;
        found = i;
    }
    return found;
}

}  // namespace

std::optional<std::size_t> plan_chart(Ui& ui, Memory& memory, const Planned& plan, Rect box) {
    const float line = ui.line(Face::mono_small);
    const Rect plot{box.x + 70, box.y + 10, box.w - 94, box.h - 2 * line - 22};
    if (plot.w < 80 || plot.h < 60) return std::nullopt;
    const Axes axes(plan, plot);
    scale(ui, axes, plot);
    ui.text({plot.x, plot.y + plot.h + 6 + line, plot.w, line},
            view::elided(ui.measure, ui.say(axes.is_logarithmic() ? "ui.plan.axes_log" : "ui.plan.axes"),
                         Face::caption, plot.w),
            Face::caption, Token::mute, Align::centre);
    capacity_line(ui, axes, plan.file.question.memory_bytes, plot);
    front_line(ui, axes, plan);
    // The keyboard has the list of layouts.
    const bool hovered = touch(ui, memory, "plan_chart", plot, false).hovered && !ui.state.loading;
    std::optional<std::size_t> pointed;
    if (hovered) {
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        pointed = nearest(plan, axes, {mouse.x / ui.scale, mouse.y / ui.scale});
    }
    for (std::size_t i = plan.layouts.size(); i-- > 0;) {  // the fastest last, above the others
        const Point at = axes.at(plan.layouts[i]);
        mark(ui, plan.layouts[i], at, i == ui.state.layout, pointed == i);
        memory.shapes.push_back(
            {{"layout", static_cast<int64_t>(i)}, {at.x - kPoint, at.y - kPoint, 2 * kPoint, 2 * kPoint}});
    }
    if (!pointed) return pointed;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
        ui.act(session::OpenLayout{*pointed});
    else if (ImGui::IsMouseClicked(ImGuiMouseButton_Left))
        ui.act(session::ChooseLayout{*pointed});
    return pointed;
}

std::string step_time_text(double seconds) {
    return view::format_time(std::llround(std::min(seconds, 9e9) * 1e9));
}

}  // namespace meshscope::panels
