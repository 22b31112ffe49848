#include "app/gui/view/algorithms_view.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/algorithms_picture.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/forms.h"
#include "app/gui/view/timeline_layout.h"

namespace meshscope::view {
namespace {

constexpr float kMostCell = 40, kLeastRow = 102;
constexpr std::size_t kMostMembersInCells = 64;
/// One that takes so much longer than the next leaves the axis.
constexpr double kFarOff = 4;

}  // namespace

AlgorithmsPicture::AlgorithmsPicture(const Input& input, const AlgorithmsOptions& options)
    : in_(input), options_(options), p_(input), rows_(algorithm_rows(input, options, &without_)) {}

Picture AlgorithmsPicture::draw() {
    p_.grow();
    if (rows_.empty()) return nothing();
    const CallLandings& front = *rows_.front().landings;
    now_ = in_.cursor.t_ns - front.begin_ns;
    float y = legend(header());
    measure(y);
    axis();
    ruler(y);
    y += p_.line_height(Face::mono_small) + 6;
    const float top = y;
    for (const std::size_t i : order()) {
        row(i, y);
        y += row_;
    }
    cursor(top, y);
    y = foot(y + 8);
    return p_.take(y);
}

Picture AlgorithmsPicture::nothing() {
    const auto shown = shown_collective(in_);
    const float y = draw_chips(p_, form_chips(p_, Form::side_by_side), {kPad, 10}, in_.size.width - kPad);
    const std::string words = p_.say(shown ? "view.algorithms.transfer" : no_collective(in_.trace));
    p_.nothing(words, {kPad, y + 12});
    return p_.take();
}

float AlgorithmsPicture::header() {
    p_.layer = 5;
    const trace::Event& e = in_.trace.event(rows_.front().call.rank, rows_.front().call.event);
    const std::string op(name(e.op)), unit(in_.trace.text(e.unit));
    const float high = std::max(kChip, p_.line_height(Face::mono_title)), right = in_.size.width - kPad;
    p_.text(op, {kPad, 8 + (high - p_.line_height(Face::mono_title)) / 2}, Face::mono_title, op_hue(e.op));
    const float left = kPad + p_.width(op, Face::mono_title) + 18;
    const std::vector<Chip> chips = form_chips(p_, Form::side_by_side);
    const float below = draw_chips(p_, chips, {left, 8 + (high - kChip) / 2}, right);
    const std::string size = format_bytes(front().elements * bytes_per_element(e.dtype));
    const std::string where =
        p_.say("view.algorithms.where",
               {arg("unit", unit.empty() ? op : unit),
                arg("ranks", static_cast<int64_t>(front().ranks.size())), arg("bytes", size)});
    const float at = left + chips_width(p_, chips) + 16;
    if (options_.sums && at + p_.width(where, Face::caption) <= right)
        p_.text(where, {at, 8 + (high - p_.line_height(Face::caption)) / 2}, Face::caption, Token::soft);
    p_.tell(op + (options_.sums ? "  " + where : ""));
    return std::max(8 + high, below) + 8;
}

float AlgorithmsPicture::legend(float y) {
    MatrixLegend of;
    of.ranks = front().ranks;
    of.origins = moves_origins(front().op);
    of.followed = followed();
    of.members = front().ranks.size();
    of.values = values();
    of.predicted =
        std::ranges::any_of(rows_, [this](const AlgorithmRow& row) { return !predicted_words(row).empty(); });
    return matrix_legend(p_, {kPad, y, in_.size.width - 2 * kPad, 0}, of) + 6;
}

/// The column that is followed, where one is.
int64_t AlgorithmsPicture::followed() const {
    const auto& chunk = in_.selection.chunk;
    return chunk && *chunk >= 0 && static_cast<std::size_t>(*chunk) < front().columns() ? *chunk : -1;
}
/// Parts of one number each, which the record kept: they are written.
bool AlgorithmsPicture::values() const {
    return std::ranges::all_of(rows_, [](const AlgorithmRow& row) {
        const CallLandings& its = *row.landings;
        for (std::size_t c = 0; c < its.columns(); ++c)
            if (its.edges[c + 1] - its.edges[c] > 1) return false;
        return std::ranges::any_of(its.cells, &CallCell::known);
    });
}
bool AlgorithmsPicture::in_cells(const CallLandings& call) const {
    return call.ranks.size() <= kMostMembersInCells;
}

/// How wide and high everything is.
void AlgorithmsPicture::measure(float top) {
    const float least = std::min(210.F, in_.size.width * 0.26F);
    gutter_ = 90;
    for (const AlgorithmRow& row : rows_) {
        float w = p_.width(row.name, Face::title);
        const std::vector<std::string> heads = head_words(row);
        for (const std::string& words : heads) w = std::max(w, p_.width(words, Face::caption));
        if (const std::string words = predicted_words(row); !words.empty())
            w = std::max(w, p_.width(heads.front(), Face::mono_small) + prediction_width(words));
        gutter_ = std::max(gutter_, w + kIcon + 16);
    }
    gutter_ = std::min(gutter_, least);
    std::size_t members = 1, columns = 1;
    for (const AlgorithmRow& row : rows_) {
        members = std::max(members, row.landings->ranks.size());
        columns = std::max(columns, row.landings->columns());
    }
    const auto n = static_cast<float>(rows_.size());
    const float room = in_.size.height - top - p_.line_height(Face::mono_small) - 18 - foot_height();
    const bool cells = members <= kMostMembersInCells;
    const float own = members <= 8 ? static_cast<float>(members) * 7.5F + kBar + 18 : 96;
    row_ = std::clamp(std::floor(room / n), std::max(own, kLeastRow), 300.F);
    const float high = row_ - kBar - 18;
    look_ = {};
    look_.shown_rows = cells ? std::min<std::size_t>(members, members <= 8 ? 8 : 16) : 1;
    look_.shown_columns = std::min<std::size_t>(columns, members <= 8 ? 8 : 16);
    look_.cell_h =
        std::min(cells ? kMostCell : 120.F, std::floor(high / static_cast<float>(look_.shown_rows)));
    row_ = std::max(kLeastRow, look_.cell_h * static_cast<float>(look_.shown_rows) + kBar + 22);
    look_.values = values();
    look_.followed = followed();
    fit_columns();
    matrix_w_ = cells ? look_.cell_w * static_cast<float>(look_.shown_columns) : 0;
    if (gutter_ + matrix_w_ + 200 > in_.size.width) matrix_w_ = 0;  // the start is left out first
    const bool named = matrix_w_ > 0 && members <= 8 && look_.cell_h >= 6;
    ranks_w_ = named ? kRanks : 0;
    x0_ = std::floor(kPad + gutter_ + ranks_w_ + (matrix_w_ > 0 ? matrix_w_ + 14 : 0));
    x1_ = in_.size.width - kPad - 26;
}

/// The width at which every landing of every row has its matrix; less where that is too narrow for some.
void AlgorithmsPicture::fit_columns() {
    const double most = axis_length();
    const auto d = static_cast<float>(look_.shown_columns);
    const float area = in_.size.width - 2 * kPad - gutter_ - 40;
    float share = 1;  // of the axis, the narrowest landing
    for (const AlgorithmRow& row : rows_) {
        const auto n = static_cast<float>(row.landings->landings.size());
        if (n > 0 && most > 0)
            share =
                std::min(share, static_cast<float>(static_cast<double>(row.landings->length_ns) / most) / n);
    }
    const float fits = (share * area - 10) / (1 + share) / d;
    const bool figures = front().ranks.size() <= 8;
    const float digits = p_.width(look_.values ? "00" : "0", Face::mono_small) + 12;
    const float least = figures ? (look_.cell_h - kCellGap >= kLeastFigure ? digits : 11.F) : 6.F;
    look_.cell_w = std::clamp(std::floor(fits), least, figures ? 44.F : 14.F);
    // A matrix is no wider than a quarter of the picture.
    look_.cell_w = std::max(4.F, std::min(look_.cell_w, std::floor(area * 0.25F / d)));
}

double AlgorithmsPicture::axis_length() const {
    std::vector<double> lengths;
    for (const AlgorithmRow& row : rows_) lengths.push_back(static_cast<double>(row.landings->length_ns));
    std::ranges::sort(lengths);
    const double most = lengths.back();
    if (lengths.size() < 2) return most;
    const double next = lengths[lengths.size() - 2];
    return next > 0 && most > kFarOff * next ? next * 1.2 : most;
}
void AlgorithmsPicture::axis() {
    length_ = std::max(1.0, axis_length());
}
float AlgorithmsPicture::x(int64_t at_ns) const {
    return x0_ + static_cast<float>(std::clamp(static_cast<double>(at_ns) / length_, 0.0, 1.0)) * (x1_ - x0_);
}
bool AlgorithmsPicture::leaves_axis(const CallLandings& call) const {
    return static_cast<double>(call.length_ns) > length_ * 1.0001;
}

void AlgorithmsPicture::ruler(float y) {
    cursor_time(y);
    // The grids' own axes, on those of the start: chunks from left to right, below them a rank a row.
    if (ranks_w_ > 0) {
        const float left = x0_ - 14 - matrix_w_;
        const std::string last = std::to_string(look_.shown_columns - 1);
        const std::string words = p_.fit(
            {p_.say("view.algorithms.chunks", {arg("last", last)}), p_.say("view.algorithms.chunks.short")},
            Face::caption, matrix_w_ + 10);
        p_.layer = 5;
        if (!words.empty())
            p_.try_text(words, {left + matrix_w_ / 2, y - 1}, Face::caption, Token::soft, Align::centre);
    }
    bottom_ = y + p_.line_height(Face::mono_small) + 6 + row_ * static_cast<float>(rows_.size());
    RulerTicks ticks;
    ticks.last = length_ * 1.0001;
    ticks.step = round_step(length_ * 84 / std::max(1.F, x1_ - x0_));
    ticks.y = y;
    ticks.numbers = options_.sums;
    draw_ticks(p_, ticks, [&](double t) {
        const float at = std::floor(x(std::llround(t))) + 0.5F;
        p_.layer = 0;
        p_.line({at, y + p_.line_height(Face::mono_small) + 4}, {at, bottom_}, Token::line);
        return at;
    });
}

/// The cursor's time on the ruler; the ruler's own keep off it.
void AlgorithmsPicture::cursor_time(float y) {
    if (now_ < 0 || !options_.sums || static_cast<double>(now_) > length_) return;
    const std::string words = format_time(now_);
    const float w = p_.width(words, Face::mono_small) + 12, line = p_.line_height(Face::mono_small);
    const float left = std::clamp(x(now_) - w / 2, x0_ - 20, in_.size.width - w - 2);
    p_.layer = 7;
    p_.rect({left, y - 1, w, line + 2}, Token::accent, 6);
    p_.reserve({left - 6, y, w + 12, line});
    p_.label({left + 6, y, w - 12, line}, words, Face::mono_small, Token::onacc);
}

void AlgorithmsPicture::cursor(float top, float bottom) {
    if (now_ < 0) return;
    p_.layer = 6;
    const float at = x(now_);
    p_.line({at, top - 2}, {at, bottom}, Token::accent, 2).id = {"cursor"};
}

Picture algorithms_view(const Input& input, const AlgorithmsOptions& options) {
    return AlgorithmsPicture(input, options).draw();
}

}  // namespace meshscope::view
