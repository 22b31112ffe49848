// One algorithm's row: its name, the matrices at their landings, the hops as bars, and how it ended.
#include <algorithm>
#include <cmath>

#include "app/gui/view/algorithms_picture.h"
#include "app/gui/view/common.h"
#include "app/gui/view/fitting.h"
#include "app/gui/view/format.h"
#include "app/gui/view/predict_call.h"
#include "core/base/joined.h"

namespace meshscope::view {
namespace {

constexpr double kPulse_s = 0.16;

}  // namespace

std::vector<std::string> AlgorithmsPicture::head_words(const AlgorithmRow& row) const {
    const CallLandings& its = *row.landings;
    std::vector<std::string> words;
    if (!options_.sums) return words;
    words.push_back(row.done ? format_time(its.length_ns) : p_.say("view.algorithms.cut_off"));
    std::string told = p_.say("view.algorithms.rounds", {arg("rounds", int64_t{its.rounds})});
    if (its.rounds > 0) words.push_back(told);
    if (row.sent_bytes >= 0)
        words.push_back(p_.say("view.algorithms.sends", {arg("rank", int64_t{row.call.rank}),
                                                         arg("bytes", format_bytes(row.sent_bytes))}));
    if (!row.comparable) words.push_back(p_.say("view.algorithms.other_size"));
    if (row.runs.size() > 1) words.push_back(p_.say("view.algorithms.same", {arg("runs", joined(row.runs))}));
    return words;
}

void AlgorithmsPicture::row(std::size_t i, float y) {
    const AlgorithmRow& row = rows_[i];
    const CallLandings& call = *row.landings;
    const bool over = now_ >= call.length_ns;
    p_.layer = 0;
    if (i > 0) p_.line({kPad / 2, y + 0.5F}, {in_.size.width - kPad / 2, y + 0.5F}, Token::line);
    if (row.first && over && options_.sums) {
        auto& frame = p_.outline({kPad / 2, y + 2, in_.size.width - kPad, row_ - 4}, Token::ok, 1.6F, 8);
        frame.fill = Token::ok;
        frame.fill_alpha = 0.06F;
    }
    head(row, y);
    const std::string reason = why_not(row);
    if (!reason.empty()) {
        p_.layer = 4;
        p_.paragraph(reason, {x0_, y + 14}, Face::caption, Token::mute, x1_ - x0_);
    } else if (in_cells(call)) {
        matrices(i, y + 8);
    } else {
        curve(call, {x0_, y + 8, x1_ - x0_, row_ - kBar - 22});
    }
    bars(i, y + row_ - kBar - 6);
    end(row, y, over);
    tell(row, reason);
}

std::string AlgorithmsPicture::why_not(const AlgorithmRow& row) const {
    const CallLandings& call = *row.landings;
    if (!call.landings.empty()) return {};
    const bool alone = call.ranks.size() < 2;
    const char* id = alone                                        ? "view.collective.alone"
                     : row.sent_bytes < 0                         ? "view.collective.native"
                     : row.trace->info.level < trace::Level::hops ? "view.collective.no_hops"
                                                                  : "view.collective.still";
    return p_.say(id, {arg("where", row.name)});
}

void AlgorithmsPicture::head(const AlgorithmRow& row, float y) {
    p_.layer = 4;
    const float line = p_.line_height(Face::caption);
    const float left = kPad + kIcon + 8, room = gutter_ - kIcon - 14;
    draw_links(p_, *row.landings, {kPad + kIcon / 2, y + 10 + kIcon / 2}, kIcon / 2 - 3);
    p_.text(elided(in_.measure, row.name, Face::title, room), {left, y + 4}, Face::title, Token::text,
            Align::left, {"algorithm", static_cast<int64_t>(row.landings->algorithm)});
    float at = y + 4 + p_.line_height(Face::title);
    bool time = true;
    for (const std::string& words : head_words(row)) {
        const Face face = time && row.done ? Face::mono_small : Face::caption;
        if (at + p_.line_height(face) > y + row_ - 2) break;
        const std::string fits = elided(in_.measure, words, face, room);
        p_.text(fits, {left, at}, face, !row.done && time ? Token::warn : time ? Token::text : Token::soft);
        if (time) prediction(row, {left + p_.width(fits, face), at - 1}, left + room);
        at += std::max(line, p_.line_height(face));
        time = false;
    }
}

float AlgorithmsPicture::prediction_width(const std::string& words) const {
    return 8 + p_.width(words, Face::caption) + 10;
}

void AlgorithmsPicture::prediction(const AlgorithmRow& row, Point at, float right) {
    const std::string words = predicted_words(row);
    const float w = prediction_width(words);
    if (words.empty() || at.x + w > right + 2) return;
    const Id id{"predicted", static_cast<int64_t>(&row - rows_.data())};
    const Rect box{at.x + 8, at.y, w - 8, p_.line_height(Face::caption) + 1};
    p_.outline(box, Token::line2, 1.2F, 5, id).stroke_style = Stroke::dashed;
    p_.label(box, words, Face::caption, Token::soft, Token::none, id);
}

std::string AlgorithmsPicture::predicted_words(const AlgorithmRow& row) const {
    if (options_.profile == nullptr || !options_.sums) return {};
    for (const PredictedSize& size : kPredictedSizes)
        if (size.bytes == options_.choice.predicted_bytes)
            if (const auto takes =
                    predicted_ns(*row.trace, row.call, *options_.profile, size.bytes, in_.memo))
                return p_.say("view.algorithms.predicted",
                              {arg("size", size.words), arg("time", format_time(*takes))});
    return {};
}

/// Matrices at their landings, right ends there.
void AlgorithmsPicture::matrices(std::size_t i, float y) {
    const CallLandings& call = *rows_[i].landings;
    const std::size_t n = call.landings.size();
    MatrixLook look = look_;
    look.row = static_cast<int64_t>(i);
    const float w = look.cell_w * static_cast<float>(std::min(look.shown_columns, call.columns()));
    const float h = matrix_height(call, look);
    std::size_t landed = 0;  // those that have
    while (landed < n && call.landings[landed].end_ns <= now_) ++landed;
    std::vector<float> right(n);
    for (std::size_t k = 0; k < n; ++k)
        right[k] = std::floor(std::max(x0_ + w, x(call.landings[k].end_ns) - 4));
    std::vector<char> drawn(n, 0);
    std::vector<std::size_t> order;
    if (landed > 0) order.push_back(landed - 1);
    if (landed < n) order.push_back(landed);
    order.push_back(n - 1);
    for (std::size_t k = 0; k < n; ++k) order.push_back(k);
    for (const std::size_t k : order) {
        const float place = x(call.landings[k].end_ns);
        // No room before its landing: only what stands there now, and the end, is drawn all the same.
        if (place - 4 < right[k] - 1 && k + 1 != landed && k + 1 < n) continue;
        if (leaves_axis(call) && place >= x1_ && k + 1 < n && k != landed) continue;
        bool free = true;
        for (std::size_t o = 0; o < n; ++o)
            free = free && (drawn[o] == 0 || std::fabs(right[o] - right[k]) >= w + 6);
        if (free) drawn[k] = 1;
    }
    std::vector<CallCell> cells = call.cells;
    if (matrix_w_ > 0) {
        const Rect start{x0_ - 14 - w, y, w, h};
        draw_matrix(p_, call, cells, {}, start, look);
        row_names(call, start);
    }
    for (std::size_t k = 0; k < n; ++k) {
        const Landing& landing = call.landings[k];
        const Rect box{right[k] - w, y, w, h};
        if (k > landed && drawn[k]) {
            coming(box, landing, false);
            continue;
        }
        if (k == landed) {
            if (!drawn[k]) continue;
            look.faint = true;
            draw_matrix(p_, call, cells, {}, box, look);
            look.faint = false;
            coming(box, landing, true);
            continue;
        }
        std::vector<std::size_t> fresh;
        if (k > landed) continue;
        for (std::size_t c = landing.first; c < landing.last; ++c) {
            const CallChange& change = call.changes[c];
            const std::size_t at =
                call.at(static_cast<std::size_t>(change.member), static_cast<std::size_t>(change.column));
            cells[at] = change.cell;
            fresh.push_back(at);
        }
        look.pulse = pulse(landing);
        if (drawn[k]) draw_matrix(p_, call, cells, fresh, box, look);
    }
}

void AlgorithmsPicture::row_names(const CallLandings& call, Rect matrix) {
    if (ranks_w_ <= 0) return;
    const std::size_t rows = std::min(call.ranks.size(), look_.shown_rows);
    const float each = matrix.h / static_cast<float>(std::max<std::size_t>(1, rows));
    p_.layer = 3;
    for (std::size_t m = 0; m < rows; ++m)
        p_.symbol({matrix.x - 9, matrix.y + each * (static_cast<float>(m) + 0.5F)},
                  std::min(4.5F, each / 2 - 0.5F), static_cast<int64_t>(m));
}

/// How strongly it is lit, by how long ago it landed.
float AlgorithmsPicture::pulse(const Landing& landing) const {
    if (options_.ns_per_s <= 0) return 0;
    const double age_s = static_cast<double>(now_ - landing.end_ns) / options_.ns_per_s + options_.rested_s;
    return static_cast<float>(std::clamp(1 - age_s / kPulse_s, 0.0, 1.0));
}

void AlgorithmsPicture::coming(const Rect& box, const Landing& landing, bool next) {
    p_.layer = 3;
    auto& frame = p_.outline({box.x - 3, box.y - 3, box.w + 6, box.h + 6},
                             next ? Token::accent : Token::line2, next ? 1.6F : 1, 6);
    frame.stroke_style = next ? Stroke::dashed : Stroke::dotted;
    if (!next) frame.fill = Token::bg;  // no line of the ruler goes through the words
    const std::string words = format_time(landing.end_ns);
    if (!next && options_.sums && p_.width(words, Face::mono_small) <= box.w)
        p_.label(box, words, Face::mono_small, Token::mute);
}

/// How many parts are complete, from hop to hop: full height is all of them.
void AlgorithmsPicture::curve(const CallLandings& call, const Rect& box) {
    p_.layer = 1;
    p_.line({box.x, box.y}, {box.x + box.w, box.y}, Token::line);
    p_.line({box.x, box.y + box.h}, {box.x + box.w, box.y + box.h}, Token::line2);
    const auto& points = call.complete;
    for (std::size_t k = 0; k < points.size(); ++k) {
        const int64_t to =
            k + 1 < points.size() ? points[k + 1].first : std::max(points[k].first, call.length_ns);
        const float share =
            call.all > 0 ? static_cast<float>(points[k].second) / static_cast<float>(call.all) : 0;
        const float a = x(points[k].first), b = x(to), h = box.h * share;
        const float cut = std::clamp(x(now_), a, b);
        const auto piece = [&](float from, float till, float alpha) {
            if (till - from < 0.1F || h < 0.5F) return;
            p_.rect({from, box.y + box.h - h, till - from, h}, share >= 1 ? Token::ok : Token::accent)
                .fill_alpha = alpha;
        };
        piece(a, now_ >= 0 ? cut : a, 0.6F);
        piece(now_ >= 0 ? cut : a, b, 0.18F);
    }
    p_.layer = 4;
    const std::string words =
        p_.say("view.algorithms.complete",
               {arg("done", format_count(call.complete_at(now_))), arg("all", format_count(call.all))});
    // No line goes through the words: they stand where neither the cursor nor the call's end is.
    const float w = p_.width(words, Face::caption);
    for (const float at : {box.x + 8, x(call.length_ns) + 34, box.x + box.w - w - 8}) {
        const auto crossed = [&](float line) { return line > at - 4 && line < at + w + 4; };
        if (at + w > box.x + box.w || crossed(x(now_)) || crossed(x(call.length_ns))) continue;
        p_.text(words, {at, box.y + 2}, Face::caption, Token::text);
        break;
    }
}

std::vector<std::string> AlgorithmsPicture::bar_words(const CallLandings& call,
                                                      const Landing& landing) const {
    const std::string bytes = format_bytes(landing.bytes);
    if (!options_.sums) return {""};
    if (!landing.even)
        return {p_.say("view.algorithms.hops", {arg("hops", static_cast<int64_t>(landing.n_links))}), ""};
    std::string links;
    for (std::size_t k = 0; k < landing.links.size() && landing.n_links <= 3; ++k)
        links += (k > 0 ? ", " : "") +
                 std::to_string(call.ranks[static_cast<std::size_t>(landing.links[k].first)]) + "→" +
                 std::to_string(call.ranks[static_cast<std::size_t>(landing.links[k].second)]);
    const std::string times = std::to_string(landing.n_links) + " × " + bytes;
    if (links.empty()) return {times, bytes};
    return {links + ", " + bytes, times, bytes};
}

void AlgorithmsPicture::bars(std::size_t i, float y) {
    const CallLandings& call = *rows_[i].landings;
    const Token hue = op_hue(call.op);
    p_.layer = 1;
    if (call.landings.empty()) {
        if (call.length_ns <= 0) return;
        auto& bar = p_.rect({x(0), y, std::max(2.F, x(call.length_ns) - x(0)), kBar}, hue, 3);
        tint(bar, hue);
        return;
    }
    float last = x0_;
    for (std::size_t k = 0; k < call.landings.size(); ++k) {
        const Landing& landing = call.landings[k];
        const float a = std::max(last, x(landing.begin_ns)), b = x(landing.end_ns);
        if (b - last < 1.5F && k + 1 < call.landings.size()) continue;
        last = b;
        const Rect box{a + 0.5F, y, std::max(1.F, b - a - 1), kBar};
        const Id id{"landing", static_cast<int64_t>(i), static_cast<int64_t>(k)};
        p_.layer = 1;
        auto& bar = p_.rect(box, hue, 3, id);
        tint(bar, hue);
        const bool over = landing.end_ns <= now_, going = !over && landing.begin_ns <= now_;
        if (!over) {
            bar.fill_alpha = 0.08F;
            bar.stroke_alpha = 0.6F;
        }
        const float reached = x(now_) - box.x;
        if (going && reached > 0)
            p_.rect({box.x, box.y, std::min(box.w, reached), box.h}, hue, 3, id).fill_alpha = 0.45F;
        p_.layer = 2;
        const Rect room = now_ < 0 ? box : aside(box, x(now_));
        const std::string words = p_.fit(bar_words(call, landing), Face::mono_small, room.w - 6);
        if (words.empty()) continue;
        p_.label(room, words, Face::mono_small, over || going ? Token::text : Token::soft, Token::none, id);
        p_.layer = 0;  // no line of the ruler goes through the words
        p_.rect(box, Token::bg, 3);
    }
}

void AlgorithmsPicture::end(const AlgorithmRow& row, float y, bool over) {
    const CallLandings& call = *row.landings;
    p_.layer = 4;
    const float at = x(call.length_ns);
    if (!row.done) return;
    if (leaves_axis(call)) {
        // Two strokes through its bar: it goes on beyond the axis.
        for (const float dx : {0.F, 6.F})
            p_.line({at + 2 + dx, y + row_ - 4}, {at + 8 + dx, y + row_ - kBar - 10}, Token::warn, 2);
        return;
    }
    p_.line({at + 1, y + 8}, {at + 1, y + row_ - 6}, over ? Token::text : Token::mute, 2);
    if (!over) return;
    p_.tick({at + 16, y + 18}, 12, Token::ok, 2);
    if (!row.first || !options_.sums) return;
    const std::string id = first_words(row);
    const std::string words =
        p_.fit({p_.say(id), p_.say(id + ".short")}, Face::caption, in_.size.width - kPad - at - 28);
    if (!words.empty())
        p_.text(words, {at + 28, y + 18 - p_.line_height(Face::caption) / 2}, Face::caption, Token::ok,
                Align::left, {"first"});
}

void AlgorithmsPicture::tell(const AlgorithmRow& row, const std::string& reason) {
    const CallLandings& call = *row.landings;
    std::string line = row.name;
    for (const std::string& words : head_words(row)) line += "  " + words;
    if (!reason.empty())
        line += "  " + reason;
    else
        line += "  " + p_.say("view.algorithms.complete", {arg("done", format_count(call.complete_at(now_))),
                                                           arg("all", format_count(call.all))});
    if (const std::string words = predicted_words(row); !words.empty())
        line += "  " + p_.say("view.algorithms.prediction") + " " + words;
    if (row.first && options_.sums) line += "  " + p_.say(first_words(row));
    p_.tell(line);
}

}  // namespace meshscope::view
