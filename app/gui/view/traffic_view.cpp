#include "app/gui/view/traffic_view.h"

#include <algorithm>

#include "app/gui/view/format.h"
#include "app/gui/view/timeline_bars.h"
#include "app/gui/view/traffic_picture.h"
#include "core/base/rank_set.h"
#include "core/trace/recorded.h"

namespace meshscope::view {
namespace {

constexpr float kLeastCell = 4;      // look.md section 9: a square a rank
constexpr float kMostCell = 88;      // a matrix of two is no poster
constexpr float kLeastBeside = 220;  // what the links need
constexpr int32_t kMostSums = 32;    // rows whose sums are worth a column

}  // namespace

int32_t most_cells(float pixels) {
    return std::max(1, static_cast<int32_t>(pixels / kLeastCell));
}

std::vector<Chip> span_chips(const Painter& p, const TrafficFilter& filter, int32_t step) {
    const auto chip = [&](TrafficSpan span, std::string words) {
        return Chip{std::move(words), {"traffic_span", static_cast<int64_t>(span)}, filter.span == span};
    };
    std::vector<Chip> chips{chip(TrafficSpan::run, p.say("view.traffic.span.run")),
                            chip(TrafficSpan::step, step >= 0 ? p.say("view.step", {arg("step", step)})
                                                              : p.say("view.traffic.span.setup")),
                            chip(TrafficSpan::cursor, p.say("view.traffic.span.cursor"))};
    if (filter.window) chips.push_back({p.say("view.traffic.all"), {"traffic_all"}, false});
    return chips;
}

std::vector<Chip> op_chips(const Painter& p, const Traffic& traffic, const TrafficFilter& filter) {
    std::vector<Chip> chips{{p.say("view.traffic.every"), {"traffic_op", -1}, !filter.op}};
    for (std::size_t op = 0; op < kOps; ++op)
        if (traffic.by_op[op] > 0 || (filter.op && *filter.op == op))
            chips.push_back({std::string(name(static_cast<CollectiveOp>(op))),
                             {"traffic_op", static_cast<int64_t>(op)},
                             filter.op && *filter.op == op});
    return chips;
}

TrafficPicture::TrafficPicture(const Input& input, const TrafficOptions& options)
    : in_(input),
      options_(options),
      p_(input),
      counted_(options.counted ? Traffic{}
                               : traffic(input.trace, input.clock, input.cursor.t_ns, options.filter)),
      traffic_(options.counted ? *options.counted : counted_),
      missing_(trace::unrecorded_ranks(input.trace)),
      low_(input.size.height < 360) {}

float TrafficPicture::header() {
    p_.layer = kWords;
    float y = low_ ? 6.F : 10.F;
    const std::string bytes = format_exact_bytes(traffic_.total);
    const float right = in_.size.width - kPad;
    // Of what no hops were recorded nobody knows the sum: unknown is not zero.
    const bool told = tells_hops(in_.trace) || why_no_hops(in_.trace) == std::string("view.traffic.alone");
    const std::string title =
        !told ? p_.say("view.traffic.title.unknown")
              : p_.fit(
                    {p_.say("view.traffic.title", {arg("bytes", bytes)}),
                     p_.say("view.traffic.title.short", {arg("bytes", format_bytes(traffic_.total))}), bytes},
                    Face::title, right - kPad);
    if (!title.empty()) p_.text(title, {kPad, y}, Face::title, Token::text, Align::left, {"sum"});
    p_.tell(told ? p_.say("view.traffic.title", {arg("bytes", bytes)}) : title);
    const auto spans =
        span_chips(p_, options_.filter, step_at(in_.trace, in_.clock, in_.cursor.t_ns, in_.memo));
    const float beside = kPad + p_.width(title, Face::title) + 24, high = p_.line_height(Face::title);
    if (beside + chips_width(p_, spans) <= right) {
        draw_chips(p_, spans, {beside, y + (high - kChip) / 2}, right);
        y += std::max(high, kChip) + 6;
    } else {
        y = draw_chips(p_, spans, {kPad, y + high + 4}, right) + 6;
    }
    const auto ops = op_chips(p_, traffic_, options_.filter);
    if (ops.size() > 2) y = draw_chips(p_, ops, {kPad, y}, right) + (low_ ? 4.F : 8.F);
    return y;
}

Picture TrafficPicture::draw() {
    float y = header();
    if (!tells_hops(in_.trace) || traffic_.untold_bytes > 0) {
        const bool none = !tells_hops(in_.trace);
        const std::string words =
            none ? p_.say(why_no_hops(in_.trace))
                 : p_.say("view.traffic.untold", {arg("bytes", format_exact_bytes(traffic_.untold_bytes))});
        y = p_.nothing(words, {kPad, y}) + 6;
        if (none) return p_.take();
    }
    if (!missing_.empty()) {
        const std::string words = p_.say("view.traffic.missing", {{"ranks", rank_list(missing_)}});
        y = p_.nothing(words, {kPad, y}) + 6;
    }
    const float foot = low_ ? 6.F : 14.F, whole = in_.size.width - 2 * kPad;
    const bool has_beside = whole >= kLeastBeside + 260;
    const float room = has_beside ? whole - std::max(kLeastBeside, whole * 0.38F) - 24 : whole;
    const float line = p_.line_height(Face::caption), number = p_.line_height(Face::mono_small);
    // First how far ranks must be folded, by the room there is at most; then what numbers need of it.
    const float most = std::min(room, in_.size.height - y - foot - line - number - 8);
    grid_ = traffic_grid(in_.trace, traffic_, options_.filter, most_cells(std::max(40.F, most - 40)));
    const float left = p_.width(number_of(grid_.senders(grid_.rows - 1)), Face::mono_small) + 10;
    const float top = y + line + 4 + number + 4;
    const auto side = [&](float beside_rows, float below) {
        return std::min({kMostCell, (room - left - beside_rows) / static_cast<float>(grid_.columns),
                         (in_.size.height - top - foot - below) / static_cast<float>(grid_.rows)});
    };
    // Sums stand at the edges where each row and each column has room for its own.
    const float sum = widest_sum() + 14;
    float sums_height = number + 6;
    if (widest(received_by_column()) + kBetweenSums > side(sum, sums_height)) sums_height += number;
    sums_ = std::max(grid_.rows, grid_.columns) <= kMostSums && side(sum, sums_height) >= number;
    const float cell = sums_ ? side(sum, sums_height) : side(0, 0);
    const Rect box{kPad + left, top, std::max(1.F, cell) * static_cast<float>(grid_.columns),
                   std::max(1.F, cell) * static_cast<float>(grid_.rows)};
    p_.layer = kWords;
    std::vector<std::string> said{grid_.fold > 1
                                      ? p_.say("view.traffic.axes.folded", {arg("fold", grid_.fold)})
                                      : p_.say("view.traffic.axes"),
                                  p_.say("view.traffic.axes.short")};
    if (many_nodes() && grid_.fold == 1)
        said.insert(said.begin(), p_.say("view.traffic.dashed", {arg("axes", said.front())}));
    const float beside_x = std::max(box.x + box.w + (sums_ ? sum : 0.F) + 28, kPad + room * 0.6F);
    const std::string axes = p_.fit(said, Face::caption, has_beside ? beside_x - kPad - 16 : room);
    if (!axes.empty()) p_.text(axes, {kPad, y}, Face::caption, Token::mute);
    matrix(box);
    if (has_beside) beside({beside_x, y, in_.size.width - kPad - beside_x, in_.size.height - y - foot});
    tell();
    return p_.take();
}

void TrafficPicture::tell() {
    p_.tell(p_.say("view.traffic.inside") + "  " + format_exact_bytes(traffic_.inside));
    p_.tell(p_.say("view.traffic.between") + "  " + format_exact_bytes(traffic_.between));
    constexpr int32_t kMost = 64;  // cells a side that are told; the links are told anyway
    if (std::max(grid_.rows, grid_.columns) <= kMost) {
        std::string head = p_.say("view.traffic.axes.short");
        for (int32_t c = 0; c < grid_.columns; ++c) head += "\t" + number_of(grid_.receivers(c));
        p_.tell(head);
        for (int32_t r = 0; r < grid_.rows; ++r) {
            std::string row = number_of(grid_.senders(r));
            for (int32_t c = 0; c < grid_.columns; ++c)
                row += "\t" + (received_is_unknown(c) ? "–" : std::to_string(grid_.at(r, c)));
            p_.tell(row);
        }
    }
}

Picture traffic_view(const Input& input, const TrafficOptions& options) {
    if (input.trace.ranks.empty()) {
        Painter p(input);
        p.nothing(p.say(why_no_hops(input.trace)), {20, 16});
        return p.take();
    }
    return TrafficPicture(input, options).draw();
}

}  // namespace meshscope::view
