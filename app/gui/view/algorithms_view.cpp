#include "app/gui/view/algorithms_view.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/algorithm_matrix.h"
#include "app/gui/view/collective_cells.h"
#include "app/gui/view/collective_view.h"
#include "app/gui/view/common.h"
#include "app/gui/view/fitting.h"
#include "app/gui/view/format.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {
namespace {

constexpr float kPad = 16, kBar = 16, kIcon = 30;
constexpr float kMostCell = 40, kLeastFigure = 13;
constexpr std::size_t kMostMembersInCells = 64;
/// One that takes so much longer than the next leaves the axis.
constexpr double kFarOff = 4;

class AlgorithmsPicture {
  public:
    AlgorithmsPicture(const Input& input, const AlgorithmsOptions& options)
        : in_(input), options_(options), p_(input), rows_(algorithm_rows(input, options, &without_)) {}

    Picture draw() {
        p_.picture().content_height = 1e6F;  // known at the end
        if (rows_.empty()) return nothing();
        const CallLandings& front = *rows_.front().landings;
        now_ = in_.cursor.t_ns - front.begin_ns;
        float y = legend(header());
        measure(y);
        axis();
        ruler(y);
        y += p_.line_height(Face::mono_small) + 6;
        const float top = y;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            row(i, y);
            y += row_;
        }
        cursor(top, y);
        y = foot(y + 8);
        Picture picture = p_.take();
        picture.height = picture.content_height = std::max(in_.size.height, y);
        return picture;
    }

  private:
    const CallLandings& front() const { return *rows_.front().landings; }

    Picture nothing() {
        const auto shown = shown_collective(in_);
        const float y =
            draw_chips(p_, collective_forms(p_, Form::side_by_side), {kPad, 10}, in_.size.width - kPad);
        const std::string words = p_.say(shown ? "view.algorithms.transfer" : no_collective(in_.trace));
        p_.paragraph(words, {kPad, y + 12}, Face::body, Token::mute, in_.size.width - 2 * kPad, {"empty"});
        p_.tell(words);
        return p_.take();
    }

    float header() {
        p_.layer = 5;
        const trace::Event& e = in_.trace.event(rows_.front().call.rank, rows_.front().call.event);
        const std::string op(name(e.op)), unit(in_.trace.text(e.unit));
        const float high = std::max(kChip, p_.line_height(Face::mono_title)), right = in_.size.width - kPad;
        p_.text(op, {kPad, 8 + (high - p_.line_height(Face::mono_title)) / 2}, Face::mono_title,
                op_hue(e.op));
        const float left = kPad + p_.width(op, Face::mono_title) + 18;
        const std::vector<Chip> chips = collective_forms(p_, Form::side_by_side);
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

    float legend(float y) {
        MatrixLegend of;
        of.ranks = front().ranks;
        of.origins = moves_origins(front().op);
        of.followed = followed();
        of.members = front().ranks.size();
        of.values = values();
        return matrix_legend(p_, {kPad, y, in_.size.width - 2 * kPad, 0}, of) + 6;
    }

    /// The column that is followed, where one is.
    int64_t followed() const {
        const auto& chunk = in_.selection.chunk;
        return chunk && *chunk >= 0 && static_cast<std::size_t>(*chunk) < front().columns() ? *chunk : -1;
    }
    /// Parts of one number each, which the record kept: they are written.
    bool values() const {
        return std::ranges::all_of(rows_, [](const AlgorithmRow& row) {
            const CallLandings& its = *row.landings;
            for (std::size_t c = 0; c < its.columns(); ++c)
                if (its.edges[c + 1] - its.edges[c] > 1) return false;
            return std::ranges::any_of(its.cells, &CallCell::known);
        });
    }
    bool in_cells(const CallLandings& call) const { return call.ranks.size() <= kMostMembersInCells; }

    std::vector<std::string> head_words(const AlgorithmRow& row) const {
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
        return words;
    }

    /// How wide and high everything is.
    void measure(float top) {
        const float least = std::min(210.F, in_.size.width * 0.26F);
        gutter_ = 90;
        for (const AlgorithmRow& row : rows_) {
            float w = p_.width(row.name, Face::title);
            for (const std::string& words : head_words(row)) w = std::max(w, p_.width(words, Face::caption));
            gutter_ = std::max(gutter_, w + kIcon + 16);
        }
        gutter_ = std::min(gutter_, least);
        std::size_t members = 1, columns = 1;
        for (const AlgorithmRow& row : rows_) {
            members = std::max(members, row.landings->ranks.size());
            columns = std::max(columns, row.landings->columns());
        }
        const auto n = static_cast<float>(rows_.size());
        const float offers = options_.offers.empty() ? 0 : kChip + 14;
        const float room = in_.size.height - top - p_.line_height(Face::mono_small) - 18 - offers;
        const bool cells = members <= kMostMembersInCells;
        const float own = members <= 8 ? static_cast<float>(members) * 7.5F + kBar + 18 : 96;
        row_ = std::clamp(std::floor(room / n), std::max(own, 84.F), 300.F);
        const float high = row_ - kBar - 18;
        look_ = {};
        look_.shown_rows = cells ? std::min<std::size_t>(members, members <= 8 ? 8 : 16) : 1;
        look_.shown_columns = std::min<std::size_t>(columns, members <= 8 ? 8 : 16);
        look_.cell_h =
            std::min(cells ? kMostCell : 120.F, std::floor(high / static_cast<float>(look_.shown_rows)));
        row_ = std::max(84.F, look_.cell_h * static_cast<float>(look_.shown_rows) + kBar + 22);
        look_.values = values();
        look_.followed = followed();
        fit_columns();
        matrix_w_ = cells ? look_.cell_w * static_cast<float>(look_.shown_columns) : 0;
        if (gutter_ + matrix_w_ + 200 > in_.size.width) matrix_w_ = 0;  // the start is left out first
        x0_ = std::floor(kPad + gutter_ + (matrix_w_ > 0 ? matrix_w_ + 14 : 0));
        x1_ = in_.size.width - kPad - 26;
    }

    /// The width at which every landing of every row has its matrix; less where that is too narrow for some.
    void fit_columns() {
        const double most = axis_length();
        const auto d = static_cast<float>(look_.shown_columns);
        const float area = in_.size.width - 2 * kPad - gutter_ - 40;
        float share = 1;  // of the axis, the narrowest landing
        for (const AlgorithmRow& row : rows_) {
            const auto n = static_cast<float>(row.landings->landings.size());
            if (n > 0 && most > 0)
                share = std::min(share,
                                 static_cast<float>(static_cast<double>(row.landings->length_ns) / most) / n);
        }
        const float fits = (share * area - 10) / (1 + share) / d;
        const bool figures = front().ranks.size() <= 8;
        const float digits = p_.width(look_.values ? "00" : "0", Face::mono_small) + 12;
        const float least = figures ? (look_.cell_h >= kLeastFigure ? digits : 11.F) : 6.F;
        look_.cell_w = std::clamp(std::floor(fits), least, figures ? 44.F : 14.F);
        // A matrix is no wider than a quarter of the picture.
        look_.cell_w = std::max(4.F, std::min(look_.cell_w, std::floor(area * 0.25F / d)));
    }

    double axis_length() const {
        std::vector<double> lengths;
        for (const AlgorithmRow& row : rows_) lengths.push_back(static_cast<double>(row.landings->length_ns));
        std::ranges::sort(lengths);
        const double most = lengths.back();
        if (lengths.size() < 2) return most;
        const double next = lengths[lengths.size() - 2];
        return next > 0 && most > kFarOff * next ? next * 1.2 : most;
    }
    void axis() { length_ = std::max(1.0, axis_length()); }
    float x(int64_t at_ns) const {
        return x0_ +
               static_cast<float>(std::clamp(static_cast<double>(at_ns) / length_, 0.0, 1.0)) * (x1_ - x0_);
    }
    bool leaves_axis(const CallLandings& call) const {
        return static_cast<double>(call.length_ns) > length_ * 1.0001;
    }

    void ruler(float y) {
        cursor_time(y);
        const double step = round_step(length_ * 84 / std::max(1.F, x1_ - x0_));
        bottom_ = y + p_.line_height(Face::mono_small) + 6 + row_ * static_cast<float>(rows_.size());
        for (double t = 0; t <= length_ * 1.0001; t += step) {
            const float at = std::floor(x(std::llround(t))) + 0.5F;
            p_.layer = 0;
            p_.line({at, y + p_.line_height(Face::mono_small) + 4}, {at, bottom_}, Token::line);
            p_.layer = 5;
            if (options_.sums)
                p_.try_text(format_time(std::llround(t)), {at, y}, Face::mono_small, Token::mute,
                            Align::centre);
        }
    }

    /// The cursor's time on the ruler; the ruler's own keep off it.
    void cursor_time(float y) {
        if (now_ < 0 || !options_.sums || static_cast<double>(now_) > length_) return;
        const std::string words = format_time(now_);
        const float w = p_.width(words, Face::mono_small) + 12, line = p_.line_height(Face::mono_small);
        const float left = std::clamp(x(now_) - w / 2, x0_ - 20, in_.size.width - w - 2);
        p_.layer = 7;
        p_.rect({left, y - 1, w, line + 2}, Token::accent, 6);
        p_.label({left + 6, y, w - 12, line}, words, Face::mono_small, Token::onacc);
    }

    void row(std::size_t i, float y) {
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

    std::string why_not(const AlgorithmRow& row) const {
        const CallLandings& call = *row.landings;
        if (!call.landings.empty()) return {};
        const bool alone = call.ranks.size() < 2;
        const char* id = alone                                        ? "view.collective.alone"
                         : row.sent_bytes < 0                         ? "view.collective.native"
                         : row.trace->info.level < trace::Level::hops ? "view.collective.no_hops"
                                                                      : "view.collective.still";
        return p_.say(id, {arg("where", row.name)});
    }

    void head(const AlgorithmRow& row, float y) {
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
            p_.text(fits, {left, at}, face,
                    !row.done && time ? Token::warn
                    : time            ? Token::text
                                      : Token::soft);
            at += std::max(line, p_.line_height(face));
            time = false;
        }
    }

    /// Matrices at their landings, right ends there.
    void matrices(std::size_t i, float y) {
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
        if (matrix_w_ > 0) draw_matrix(p_, call, cells, {}, {x0_ - 14 - w, y, w, h}, look);
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
            if (drawn[k]) draw_matrix(p_, call, cells, fresh, box, look);
        }
    }

    void coming(const Rect& box, const Landing& landing, bool next) {
        p_.layer = 3;
        auto& frame = p_.outline({box.x - 3, box.y - 3, box.w + 6, box.h + 6},
                                 next ? Token::accent : Token::line2, next ? 1.6F : 1, 6);
        frame.stroke_style = next ? Stroke::dashed : Stroke::dotted;
        const std::string words = format_time(landing.end_ns);
        if (!next && options_.sums && p_.width(words, Face::mono_small) <= box.w)
            p_.label(box, words, Face::mono_small, Token::mute);
    }

    /// How many parts are complete, from hop to hop: full height is all of them.
    void curve(const CallLandings& call, const Rect& box) {
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

    std::vector<std::string> bar_words(const CallLandings& call, const Landing& landing) const {
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

    void bars(std::size_t i, float y) {
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
            const std::string words = p_.fit(bar_words(call, landing), Face::mono_small, box.w - 6);
            if (!words.empty())
                p_.label(box, words, Face::mono_small, over || going ? Token::text : Token::soft, Token::none,
                         id);
        }
    }

    void end(const AlgorithmRow& row, float y, bool over) {
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
        const std::string words =
            p_.fit({p_.say("view.algorithms.first"), p_.say("view.algorithms.first.short")}, Face::caption,
                   in_.size.width - kPad - at - 28);
        if (!words.empty())
            p_.text(words, {at + 28, y + 18 - p_.line_height(Face::caption) / 2}, Face::caption, Token::ok,
                    Align::left, {"first"});
    }

    void cursor(float top, float bottom) {
        if (now_ < 0) return;
        p_.layer = 6;
        const float at = x(now_);
        p_.line({at, top - 2}, {at, bottom}, Token::accent, 2).id = {"cursor"};
    }

    float foot(float y) {
        p_.layer = 5;
        const float right = in_.size.width - kPad;
        for (const std::string& name : without_) {
            const std::string words = p_.say("view.algorithms.no_call", {arg("run", name)});
            y = p_.paragraph(words, {kPad, y}, Face::caption, Token::mute, right - kPad) + 4;
            p_.tell(words);
        }
        if (options_.offers.empty()) return y;
        const std::string words = p_.say("view.algorithms.run_with");
        p_.text(words, {kPad, y + (kChip - p_.line_height(Face::caption)) / 2}, Face::caption, Token::soft);
        std::vector<Chip> chips;
        for (const AlgorithmOffer& offer : options_.offers)
            chips.push_back({std::string(name(offer.algorithm)) + (offer.running ? " …" : ""),
                             {"run_algorithm", static_cast<int64_t>(offer.algorithm)},
                             offer.running});
        return draw_chips(p_, chips, {kPad + p_.width(words, Face::caption) + 12, y}, right) + 8;
    }

    void tell(const AlgorithmRow& row, const std::string& reason) {
        const CallLandings& call = *row.landings;
        std::string line = row.name;
        for (const std::string& words : head_words(row)) line += "  " + words;
        if (!reason.empty())
            line += "  " + reason;
        else
            line +=
                "  " + p_.say("view.algorithms.complete", {arg("done", format_count(call.complete_at(now_))),
                                                           arg("all", format_count(call.all))});
        if (row.first && options_.sums) line += "  " + p_.say("view.algorithms.first");
        p_.tell(line);
    }

    const Input& in_;
    const AlgorithmsOptions& options_;
    Painter p_;
    std::vector<std::string> without_;
    std::vector<AlgorithmRow> rows_;
    MatrixLook look_;
    int64_t now_ = 0;  ///< of the cursor, since the call began
    double length_ = 1;
    float gutter_ = 0, matrix_w_ = 0, row_ = 100, x0_ = 0, x1_ = 1, bottom_ = 0;
};

}  // namespace

std::vector<Chip> collective_forms(const Painter& p, Form form) {
    const auto chip = [&](Form which, const char* id) {
        return Chip{p.say(id), {"form", static_cast<int64_t>(which)}, form == which};
    };
    return {chip(Form::one, "view.algorithms.one"), chip(Form::side_by_side, "view.algorithms.side_by_side")};
}

Picture algorithms_view(const Input& input, const AlgorithmsOptions& options) {
    return AlgorithmsPicture(input, options).draw();
}

}  // namespace meshscope::view
