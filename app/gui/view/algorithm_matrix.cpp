#include "app/gui/view/algorithm_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "app/gui/view/algorithms_view.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/common.h"
#include "app/gui/view/format.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMostFigures = 8;  ///< members up to which a cell is more than a colour
constexpr std::size_t kMostLinked = 16;
constexpr float kPip = 4;

class Matrix {
  public:
    Matrix(Painter& p, const CallLandings& call, std::span<const CallCell> cells, const Rect& box,
           const MatrixLook& look)
        : p_(p), call_(call), cells_(cells), box_(box), look_(look), layer_(p.layer) {
        p_.alpha = look.faint ? 0.3F : 1;
    }
    ~Matrix() {
        p_.alpha = 1;
        p_.layer = layer_;
    }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;

    void draw(std::span<const std::size_t> fresh) {
        if (call_.ranks.size() > kMostFigures) return heats();
        for (std::size_t m = 0; m < call_.ranks.size(); ++m)
            for (std::size_t c = 0; c < call_.columns(); ++c) one(m, c);
        pulse(fresh);
        follow(fresh);
    }

  private:
    Rect place(std::size_t m, std::size_t c) const {
        return {box_.x + static_cast<float>(c) * look_.cell_w, box_.y + static_cast<float>(m) * look_.cell_h,
                look_.cell_w - kCellGap, look_.cell_h - kCellGap};
    }
    bool complete(std::size_t at) const {
        return call_.wanted[at] > 0 && cells_[at].count >= call_.wanted[at];
    }

    void one(std::size_t m, std::size_t c) {
        const std::size_t at = call_.at(m, c);
        const CallCell& cell = cells_[at];
        const Rect box = place(m, c);
        const Id id{"part", call_.ranks[m], static_cast<int64_t>(c)};
        const auto n = static_cast<float>(call_.ranks.size());
        p_.layer = 2;
        if (moves_origins(call_.op)) {
            const int64_t origin = cell.from != 0 ? std::countr_zero(cell.from) : 0;
            p_.rect(box, cell.count > 0 ? origin_hue(origin) : Token::ghost, 2.5F, id);
            p_.layer = 3;
            if (cell.count > 0 && !figure(box, box.w - 2, cell, id, origin_hue(origin)) && box.w >= 12 &&
                box.h >= 12)
                p_.symbol({box.x + box.w / 2, box.y + box.h / 2}, std::min(box.w, box.h) * 0.28F, origin,
                          Token::ink);
            return;
        }
        p_.rect(box, Token::ghost, 2.5F, id);
        const float h = box.h * std::min(1.F, static_cast<float>(cell.count) / n);
        if (cell.count > 0) {
            auto& fill = p_.rect({box.x, box.y + box.h - h, box.w, h},
                                 complete(at) ? Token::ok : Token::accent, 2.5F, id);
            fill.fill_alpha = (complete(at) ? 0.42F : 0.36F) * p_.alpha;
        }
        p_.layer = 3;
        const float pip = (box.h - 3) / n;
        const bool pips = cell.count > 0 && pip >= 3 && box.w >= 22;  // else a figure and a pip read as one
        figure(off_edge(box, h, kLeastFigure), box.w - (pips ? kPip + 5 : 2), cell, id, Token::none);
        for (std::size_t g = 0; pips && g < call_.ranks.size(); ++g) {
            const bool in = ((cell.from >> g) & 1) != 0;
            p_.rect(
                {box.x + box.w - kPip - 1.5F, box.y + 1.5F + pip * static_cast<float>(g), kPip, pip - 0.7F},
                in ? origin_hue(static_cast<int64_t>(g)) : Token::line2, 0,
                pip_id({call_.ranks[m], static_cast<int32_t>(c), call_.ranks[g], in}));
        }
    }

    /// The cell's number, or how many are in, where it has room.
    bool figure(const Rect& box, float room, const CallCell& cell, const Id& id, Token on) {
        if (box.h < kLeastFigure || cell.count == 0) return false;
        const bool written = look_.values && cell.known;
        if (on != Token::none && (!written || look_.faint)) return false;  // whose it is, its colour tells
        const std::string words = written ? format_number(cell.value) : std::to_string(cell.count);
        if (p_.width(words, Face::mono_small) > room) return false;
        const float alpha = p_.alpha, w = p_.width(words, Face::mono_small);
        p_.alpha = 1;  // figures are read in faint cells, too
        // On whole pixels: thin strokes between two are grey.
        p_.label({std::floor(box.x + 1 + (room - w) / 2), box.y, w, box.h}, words, Face::mono_small,
                 Token::text, on, id, Align::left);
        p_.alpha = alpha;
        return true;
    }

    /// What has just landed lights up for a moment.
    void pulse(std::span<const std::size_t> fresh) {
        if (look_.pulse <= 0 || look_.faint) return;
        p_.layer = 4;
        for (const std::size_t at : fresh)
            p_.outline(place(at / call_.columns(), at % call_.columns()), Token::text, 1.5F, 2.5F)
                .stroke_alpha = look_.pulse;
    }

    void follow(std::span<const std::size_t> fresh) {
        if (look_.followed < 0 || look_.faint) return;
        const auto column = static_cast<std::size_t>(look_.followed);
        if (column >= call_.columns()) return;
        p_.layer = 4;
        if (fresh.empty()) {
            const Rect first = place(0, column), last = place(call_.ranks.size() - 1, column);
            p_.outline({first.x - 2, first.y - 2, first.w + 4, last.y + last.h - first.y + 4}, Token::sel,
                       1.6F, 4)
                .stroke_style = Stroke::dashed;
            return;
        }
        for (const std::size_t at : fresh) {
            if (at % call_.columns() != column) continue;
            const Rect box = place(at / call_.columns(), column);
            p_.outline({box.x - 1.5F, box.y - 1.5F, box.w + 3, box.h + 3}, Token::sel, 1.8F,
                       std::min(4.F, box.h / 4 + 1));
        }
    }

    /// Colours by count: blocks of members and columns, alike ones beside each other in one.
    void heats() {
        const std::size_t rows = std::min(look_.shown_rows, call_.ranks.size()),
                          columns = std::min(look_.shown_columns, call_.columns());
        p_.layer = 2;
        for (std::size_t r = 0; r < rows; ++r) {
            std::size_t begin = 0;
            Token before = Token::none;
            for (std::size_t c = 0; c <= columns; ++c) {
                const Token now = c < columns ? block(r, c, rows, columns) : Token::none;
                if (c > 0 && now != before) {
                    const Rect first = place(r, begin), last = place(r, c - 1);
                    const auto rank = call_.ranks[r * call_.ranks.size() / rows];
                    p_.rect({first.x, first.y, last.x + last.w + 1.5F - first.x, first.h + 1.5F}, before, 0,
                            {"part", rank, static_cast<int64_t>(begin * call_.columns() / columns)});
                    begin = c;
                }
                before = now;
            }
        }
    }
    Token block(std::size_t r, std::size_t c, std::size_t rows, std::size_t columns) const {
        const std::size_t m0 = r * call_.ranks.size() / rows, m1 = (r + 1) * call_.ranks.size() / rows,
                          c0 = c * call_.columns() / columns, c1 = (c + 1) * call_.columns() / columns;
        double in = 0, whole = 0;
        const double most = moves_origins(call_.op) ? 1 : static_cast<double>(call_.ranks.size());
        for (std::size_t m = m0; m < m1; ++m)
            for (std::size_t k = c0; k < c1; ++k) {
                in += std::min(most, static_cast<double>(cells_[call_.at(m, k)].count));
                whole += most;
            }
        return heat(whole > 0 ? in / whole : 0);
    }

    Painter& p_;
    const CallLandings& call_;
    std::span<const CallCell> cells_;
    Rect box_;
    const MatrixLook& look_;
    int layer_;
};

}  // namespace

float matrix_height(const CallLandings& call, const MatrixLook& look) {
    return look.cell_h * static_cast<float>(std::min(look.shown_rows, call.ranks.size()));
}

void draw_matrix(Painter& p, const CallLandings& call, std::span<const CallCell> cells,
                 std::span<const std::size_t> fresh, const Rect& box, const MatrixLook& look) {
    Matrix(p, call, cells, box, look).draw(fresh);
}

void draw_links(Painter& p, const CallLandings& call, Point centre, float radius) {
    const std::size_t n = call.ranks.size();
    if (n < 2 || n > kMostLinked) return;
    const auto point = [&](int32_t m) {
        const float angle = 2 * 3.14159265F * static_cast<float>(m) / static_cast<float>(n) - 3.14159265F / 2;
        return Point{centre.x + radius * std::cos(angle), centre.y + radius * std::sin(angle)};
    };
    std::set<std::pair<int32_t, int32_t>> links;
    for (const Landing& landing : call.landings)
        for (const auto& [from, to] : landing.links) links.insert({std::min(from, to), std::max(from, to)});
    for (const auto& [from, to] : links) p.line(point(from), point(to), Token::line2, 1.2F);
    for (std::size_t m = 0; m < n; ++m)
        p.circle(point(static_cast<int32_t>(m)), n <= 8 ? 3.2F : 2.2F, origin_hue(static_cast<int64_t>(m)));
}

float matrix_legend(Painter& p, const Rect& box, const MatrixLegend& of) {
    struct Entry {
        std::string words;
        float wide;
        std::function<void(Point)> mark;
    };
    std::vector<Entry> entries;
    const auto square = [&](Point at, Token hue, float share, float alpha) {
        p.rect({at.x, at.y - 7, 16, 14}, Token::ghost, 2.5F);
        if (share > 0) p.rect({at.x, at.y + 7 - 14 * share, 16, 14 * share}, hue, 2.5F).fill_alpha = alpha;
    };
    const auto n = static_cast<int64_t>(of.members);
    if (of.members > 0 && of.members <= kMaskBits)
        entries.push_back(
            {p.say("view.algorithms.legend.axes"), 26, [&p](Point at) {
                 for (int cell = 0; cell < 4; ++cell)
                     p.rect({at.x + 8 + 8 * static_cast<float>(cell % 2),
                             at.y - 7 + 8 * static_cast<float>(cell / 2), 6.5F, 6.5F},
                            Token::line2, 1);
                 p.line({at.x + 3, at.y - 8}, {at.x + 3, at.y + 8}, Token::soft, 1.2F).arrow = true;
             }});
    if (of.members <= 8)
        for (std::size_t m = 0; m < of.ranks.size(); ++m)
            entries.push_back({(m == 0 ? "rank " : "") + std::to_string(of.ranks[m]), 14, [&p, m](Point at) {
                                   p.symbol({at.x + 6, at.y}, 5.5F, static_cast<int64_t>(m));
                               }});
    if (of.members > kMaskBits) {
        entries.push_back({p.say("view.algorithms.legend.complete"), 20,
                           [&square](Point at) { square(at, Token::accent, 0.6F, 0.6F); }});
    } else if (of.members > kMostFigures) {
        entries.push_back(
            {p.say(of.origins ? "view.algorithms.legend.heat_origins" : "view.algorithms.legend.heat",
                   {arg("ranks", n)}),
             84, [&p](Point at) {
                 for (int i = 0; i < 5; ++i)
                     p.rect({at.x + static_cast<float>(i) * 16, at.y - 7, 16, 14},
                            heat(static_cast<double>(i) / 4));
             }});
    } else if (!of.origins) {
        entries.push_back(
            {p.say(of.values ? "view.algorithms.legend.partial" : "view.algorithms.legend.count"), 20,
             [&square](Point at) { square(at, Token::accent, 0.5F, 0.36F); }});
        entries.push_back({p.say("view.collective.complete", {arg("ranks", n)}), 20,
                           [&square](Point at) { square(at, Token::ok, 1, 0.42F); }});
    }
    if (of.followed >= 0 && of.members <= kMostFigures)
        entries.push_back(
            {p.say("view.algorithms.legend.followed", {arg("chunk", of.followed)}), 20, [&p](Point at) {
                 p.outline({at.x, at.y - 6, 16, 12}, Token::sel, 1.8F, 3);
             }});
    if (of.predicted)
        entries.push_back(
            {p.say("view.algorithms.legend.predicted"), 20, [&p](Point at) {
                 p.outline({at.x, at.y - 6, 16, 12}, Token::line2, 1.2F, 3).stroke_style = Stroke::dashed;
             }});
    const float line = std::max(18.F, p.line_height(Face::caption) + 2);
    float x = box.x, y = box.y;
    for (const Entry& entry : entries) {
        const float w = entry.wide + 4 + p.width(entry.words, Face::caption);
        if (x > box.x && x + w > box.x + box.w) {
            x = box.x;
            y += line;
        }
        entry.mark({x, y + line / 2});
        p.label({x + entry.wide + 4, y, w - entry.wide - 4, line}, entry.words, Face::caption, Token::soft,
                Token::none, {}, Align::left);
        x += w + 16;
    }
    return y + line;
}

}  // namespace meshscope::view
