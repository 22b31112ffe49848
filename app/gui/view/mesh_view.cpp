#include "app/gui/view/mesh_view.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "app/gui/view/mesh_layout.h"
#include "app/gui/view/mesh_question.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {
namespace {

// Layers of the picture.
enum : int { kNodes, kSheets, kHulls, kLinks, kRanks, kWords, kSelected };

class Mesh {
  public:
    Mesh(const Input& input, const MeshOptions& options)
        : in_(input),
          p_(input),
          q_(mesh_question(input, options)),
          progress_(ease_out_quint(options.slice_progress)) {
        count_ = static_cast<int64_t>(q_.ranks.size());
        asking_ = q_.index_of(q_.asking);
    }

    Picture draw() {
        place();
        if (at_.skewed)
            corner_axes();
        else
            flat_axes();
        if (!q_.sliced) nodes();
        sheets();
        links();
        ranks();
        hulls();
        you();
        tell();
        return p_.take();
    }

  private:
    enum class Detail { card, circle, square };

    // Between the whole mesh and the slice every rank goes straight from one place to the other.
    void place() {
        const auto& size = in_.size;
        const float line = p_.line_height(Face::caption);
        const auto kept_dims = q_.sliced ? q_.kept : std::vector<std::size_t>{};
        const float apart = q_.sliced ? progress_ : 1;
        area_ = {50, 12 + line, size.width - 76,
                 size.height - 24 - 2 * line};  // corner axes left, sheet names below
        if (q_.shape.size() >= 3) at_ = mesh_layout(q_.shape, kept_dims, area_, apart);
        if (!at_.skewed) {
            float names = 0;
            for (std::size_t d = 0; d < q_.shape.size(); ++d)
                names = std::max(
                    names, p_.width(q_.names[d] + " = " + std::to_string(q_.shape[d] - 1), Face::caption));
            label_left_ = q_.shape.size() == 1 && count_ <= 24 ? 0.F : std::min(names, size.width * 0.22F);
            const auto rows = static_cast<float>(q_.shape.size());
            area_ = {16 + label_left_ + 14, 14 + line * rows, size.width - 32 - label_left_ - 14,
                     size.height - 24 - line * rows};
            at_ = mesh_layout(q_.shape, kept_dims, area_, apart);
        }
        if (q_.sliced && progress_ < 1) {
            const auto whole = mesh_layout(q_.shape, {}, area_, 1);
            for (std::size_t i = 0; i < at_.positions.size(); ++i) {
                auto& p = at_.positions[i];
                p = {whole.positions[i].x + (p.x - whole.positions[i].x) * progress_,
                     whole.positions[i].y + (p.y - whole.positions[i].y) * progress_};
            }
        }
        // Cards, then circles while the number fits inside, then squares.
        radius_ = std::min(27.F, at_.pitch() * 0.34F);
        const float number =
            p_.width(std::to_string(*std::max_element(q_.ranks.begin(), q_.ranks.end())), Face::mono_small);
        detail_ = !at_.skewed && at_.pitch_x >= 118 && at_.pitch_y >= 62 ? Detail::card
                  : number <= 2 * radius_ - 2                            ? Detail::circle
                                                                         : Detail::square;
        if (detail_ == Detail::square) radius_ = std::clamp(at_.pitch() * 0.4F, 0.5F, 7.F);
        card_ = {0, 0, std::min(at_.pitch_x - 30, 220.F), std::min(at_.pitch_y - 36, 108.F)};
        for (int64_t i = 0; i < count_; ++i) p_.reserve(body(i));
    }

    const Point& pos(int64_t index) const { return at_.positions[static_cast<std::size_t>(index)]; }
    Rect body(int64_t index) const {
        const Point c = pos(index);
        if (detail_ == Detail::card) return {c.x - card_.w / 2, c.y - card_.h / 2, card_.w, card_.h};
        return {c.x - radius_, c.y - radius_, 2 * radius_, 2 * radius_};
    }
    std::vector<int64_t> coordinate(int64_t index) const { return mesh_coordinate(q_.shape, index); }
    int64_t stride(std::size_t dim) const {
        int64_t s = 1;
        for (std::size_t d = dim + 1; d < q_.shape.size(); ++d) s *= q_.shape[d];
        return s;
    }
    bool kept(std::size_t dim) const {
        return std::find(q_.kept.begin(), q_.kept.end(), dim) != q_.kept.end();
    }
    bool same_sheet(int64_t a, int64_t b) const {
        const auto ca = coordinate(a), cb = coordinate(b);
        for (std::size_t d = 0; d < ca.size(); ++d)
            if (!kept(d) && ca[d] != cb[d]) return false;
        return true;
    }
    // In a slice the asking rank's sheet stands out, the others step back.
    float strength(int64_t index) const {
        return !q_.sliced || asking_ < 0 || same_sheet(index, asking_) ? 1.F : 1 - 0.45F * progress_;
    }

    // ------------------------------------------------------------------ axes

    // Row and column headings: "shard = 0" in the dim's hue, the number alone where that is too wide, every
    // k-th where even those would touch.
    void flat_axes() {
        p_.layer = kWords;
        const float line = p_.line_height(Face::caption);
        float top = 8, left = 12;
        const float node_room = q_.sliced || q_.node_of_rank.empty() ? 0 : line;
        Rect all = body(0);
        for (int64_t i = 1; i < count_; ++i) all = join(all, body(i));
        float x_rows = 0;
        for (const auto& d : at_.dims) x_rows += d.horizontal && d.div == 1 && d.size > 1 ? 1.F : 0.F;
        top = std::max(4.F, all.y - 12 - line * x_rows - node_room);
        for (auto d = at_.dims.rbegin(); d != at_.dims.rend(); ++d) {
            if (d->size < 2) continue;
            const bool folded = d->div > 1 || d->size < q_.shape[d->dim];
            if (folded && d->horizontal) continue;
            headings(*d, folded, d->horizontal ? top : left);
            if (d->horizontal) top += line;
        }
    }

    static Rect join(Rect a, Rect b) {
        const float x = std::min(a.x, b.x), y = std::min(a.y, b.y);
        return {x, y, std::max(a.x + a.w, b.x + b.w) - x, std::max(a.y + a.h, b.y + b.h) - y};
    }

    // The index of the mesh's first rank with this dim at k and all others at 0, and the last of its block.
    Rect block_of(const PlacedDim& d, int64_t k) const {
        Rect box{0, 0, -1, -1};
        for (int64_t i = 0; i < count_; ++i) {
            if (coordinate(i)[d.dim] / d.div % d.size != k) continue;
            bool first = true;  // only the first block of the dims further out
            for (const auto& other : at_.dims)
                if (other.horizontal == d.horizontal && !(other.dim == d.dim && other.div == d.div) &&
                    outer_of(other, d) && coordinate(i)[other.dim] / other.div % other.size != 0)
                    first = false;
            if (!first) continue;
            box = box.w < 0 ? body(i) : join(box, body(i));
        }
        return box;
    }
    static bool outer_of(const PlacedDim& a, const PlacedDim& b) {
        return std::fabs(a.step.x) + std::fabs(a.step.y) > std::fabs(b.step.x) + std::fabs(b.step.y);
    }

    void headings(const PlacedDim& d, bool folded, float edge) {
        const Token hue = q_.hue(d.dim);
        const float line = p_.line_height(Face::caption);
        const Id id{"axis", static_cast<int64_t>(d.dim)};
        const float room = std::fabs(d.horizontal ? d.step.x : d.step.y) - 6;
        const std::string last = q_.names[d.dim] + " = " + std::to_string(d.size - 1);
        const bool names_fit = !folded && (d.horizontal ? p_.width(last, Face::caption) <= room
                                                        : p_.width(last, Face::caption) <= label_room(d));
        int64_t every = 1;
        const float each = d.horizontal ? p_.width(std::to_string(d.size - 1), Face::mono_small) + 8 : line;
        while (static_cast<float>(every) * (room + 6) < each) every *= 2;
        if (!names_fit) axis_name(d, edge, id);
        for (int64_t k = 0; k < d.size; k += every) {
            const Rect b = block_of(d, k);
            std::string words =
                names_fit ? q_.names[d.dim] + " = " + std::to_string(k) : std::to_string(k * d.div);
            if (folded) words += "–" + std::to_string(std::min(q_.shape[d.dim], (k + 1) * d.div) - 1);
            const Face face = names_fit ? Face::caption : Face::mono_small;
            if (d.horizontal) {
                p_.try_text(words, {b.x + b.w / 2, edge}, face, hue, Align::centre, id);
            } else {
                const float right = std::max(p_.width(words, face) + 4, b.x - 14 - node_margin());
                p_.try_text(words, {right, b.y + b.h / 2 - line / 2}, face, hue, Align::right, id);
            }
        }
    }
    float label_room(const PlacedDim&) const { return std::max(label_left_, 40.F); }
    float node_margin() const { return q_.sliced || q_.node_of_rank.empty() ? 0.F : 10.F; }

    // The name with an arrow, where there is no room for "name = index" at each index.
    void axis_name(const PlacedDim& d, float edge, const Id& id) {
        const Token hue = q_.hue(d.dim);
        const float line = p_.line_height(Face::caption);
        const float w = p_.width(q_.names[d.dim], Face::caption);
        const Rect first = block_of(d, 0), last = block_of(d, d.size - 1);
        if (d.horizontal) {
            const float right = first.x - 40;
            if (!p_.try_text(q_.names[d.dim], {std::max(right, w + 4), edge}, Face::caption, hue,
                             Align::right, id))
                return;
            const float y = edge + line / 2, x = std::max(right, w + 4) + 6;
            arrow({x, y}, {x + 22, y}, hue, id);
            p_.reserve({x - 6, edge, 30, line});
        } else {
            const float x = std::max(4.F, first.x - 14 - w);
            for (const float y : {first.y - line - 2, last.y + last.h + 2})
                if (p_.try_text(q_.names[d.dim], {x, y}, Face::caption, hue, Align::left, id)) return;
        }
    }
    void arrow(Point from, Point to, Token hue, const Id& id) {
        auto& line = p_.line(from, to, hue, 2);
        line.arrow = true;
        line.id = id;
    }

    // Sheets in parallel projection: the two inner dims as arrows from the lower left corner, each outer dim
    // as an arrow between the first two sheets and "tp = 0" under them.
    void corner_axes() {
        p_.layer = kWords;
        const float line = p_.line_height(Face::caption);
        const Point o{34, in_.size.height - 92};
        for (const auto& d : at_.dims) {
            if (d.size < 2) continue;
            const Id id{"axis", static_cast<int64_t>(d.dim)};
            const Token hue = q_.hue(d.dim);
            const float length = std::hypot(d.step.x, d.step.y);
            const Point u{d.step.x / length, d.step.y / length};
            if (d.inner) {
                const float reach = d.horizontal ? 58.F : 46.F;
                const Point tip{o.x + u.x * reach, o.y + u.y * reach};
                arrow(o, tip, hue, id);
                if (d.horizontal)
                    p_.try_text(q_.names[d.dim], {o.x + 8, tip.y - line - 4}, Face::caption, hue, Align::left,
                                id);
                else
                    p_.try_text(q_.names[d.dim], {std::max(8.F, tip.x - 30), tip.y + 4}, Face::caption, hue,
                                Align::left, id);
                continue;
            }
            for (int64_t k = 0; k < d.size; ++k) {
                const Rect b = block_of(d, k);
                const std::string words = q_.names[d.dim] + " = " + std::to_string(k);
                const bool mine =
                    q_.index_of(q_.asking) >= 0 && coordinate(q_.index_of(q_.asking))[d.dim] == k;
                const Token colour = q_.sliced && mine ? Token::text : Token::mute;
                if (d.horizontal) {
                    for (const float y : {lowest() + (q_.sliced ? 6.F : line), in_.size.height - line - 4})
                        if (p_.try_text(words, {b.x + b.w / 2, y}, Face::caption, colour, Align::centre, id))
                            break;
                } else {
                    p_.try_text(words, {area_.x - 30, b.y - line}, Face::caption, colour, Align::left, id);
                }
            }
            const Rect a = block_of(d, 0), b = block_of(d, 1);
            if (d.horizontal) {
                const float x = (a.x + a.w + b.x) / 2, y = a.y + a.h * 0.6F;
                if (b.x - a.x - a.w > 70 &&
                    p_.try_text(q_.names[d.dim], {x, y - line - 3}, Face::caption, hue, Align::centre, id))
                    arrow({x - 22, y}, {x + 22, y}, hue, id);
            }
        }
    }
    float lowest() const {
        float y = 0;
        for (const auto& p : at_.positions) y = std::max(y, p.y + std::max(radius_ + 4, at_.pitch_y * 0.43F));
        return y;
    }

    // ------------------------------------------------------------- structure

    // A machine is drawn round its ranks where they stand together; else not at all, since a box round others
    // would lie.
    void nodes() {
        if (q_.node_of_rank.empty()) return;
        std::map<int32_t, std::vector<int64_t>> members;
        for (int64_t i = 0; i < count_; ++i) {
            const auto rank = static_cast<std::size_t>(q_.ranks[static_cast<std::size_t>(i)]);
            if (rank < q_.node_of_rank.size()) members[q_.node_of_rank[rank]].push_back(i);
        }
        if (members.size() < 2) return;
        for (const auto& [node, ranks] : members) {
            const float margin = detail_ == Detail::card ? 9.F : std::min(14.F, at_.pitch() * 0.14F);
            const auto outline = round_of(ranks, margin);
            if (!alone(outline, ranks)) continue;
            p_.layer = kNodes;
            auto& shape = p_.polygon(outline, Token::panel, {"node", node});
            shape.stroke = Token::line;
            p_.layer = kWords;
            Point corner = outline.front();
            for (const Point& o : outline)
                if (o.y < corner.y || (o.y == corner.y && o.x < corner.x)) corner = o;
            Rect all = body(ranks[0]);
            for (const int64_t i : ranks) all = join(all, body(i));
            p_.try_text("node " + std::to_string(node),
                        {all.x - margin, all.y - margin - p_.line_height(Face::caption)}, Face::caption,
                        Token::mute, Align::left, {"node", node});
        }
    }
    std::vector<Point> round_of(const std::vector<int64_t>& members, float margin) const {
        std::vector<Rect> boxes;
        for (const int64_t i : members) boxes.push_back(body(i));
        return hull(boxes, margin);
    }
    bool alone(const std::vector<Point>& outline, const std::vector<int64_t>& members) const {
        for (int64_t i = 0; i < count_; ++i)
            if (std::find(members.begin(), members.end(), i) == members.end() && inside(outline, pos(i)))
                return false;
        return true;
    }

    void sheets() {
        if (!q_.sliced || q_.kept.size() == q_.shape.size()) return;
        std::map<std::vector<int64_t>, std::vector<int64_t>> sheets;
        for (int64_t i = 0; i < count_; ++i) {
            std::vector<int64_t> key;
            const auto at = coordinate(i);
            for (std::size_t d = 0; d < at.size(); ++d)
                if (!kept(d)) key.push_back(at[d]);
            sheets[key].push_back(i);
        }
        Point ex{at_.pitch_x, 0}, ey{0, at_.pitch_y};
        for (const auto& d : at_.dims)
            if (d.inner)
                (d.horizontal ? ex : ey) =
                    kept(d.dim) ? d.step : (d.horizontal ? Point{at_.pitch_x, 0} : Point{0, at_.pitch_y});
        const float reach = detail_ == Detail::square ? 0.5F : 0.43F;
        p_.layer = kSheets;
        for (const auto& [key, members] : sheets) {
            std::vector<Rect> corners;
            for (const int64_t i : members)
                for (const float sx : {-reach, reach})
                    for (const float sy : {-reach, reach})
                        corners.push_back(
                            {pos(i).x + sx * ex.x + sy * ey.x, pos(i).y + sx * ex.y + sy * ey.y, 0, 0});
            const bool mine = strength(members[0]) >= 1 && q_.index_of(q_.asking) >= 0;
            auto& sheet = p_.polygon(hull(corners, 0), mine ? Token::accentbg : Token::panel,
                                     {"sheet", q_.ranks[static_cast<std::size_t>(members[0])]});
            sheet.fill_alpha = (mine ? 1.F : 0.55F) * progress_;
            sheet.stroke = mine ? Token::accent : Token::line2;
            sheet.stroke_alpha = (mine ? 1.F : 0.8F) * progress_;
            sheet.width = mine ? 1.5F : 1;
        }
    }

    // A line from member to member of every group, in the dim's hue and pattern.
    void links() {
        if (detail_ == Detail::square) return;
        p_.layer = kLinks;
        for (std::size_t dim = 0; dim < q_.shape.size(); ++dim) {
            if (q_.shape[dim] < 2) continue;
            const int64_t step = stride(dim);
            const PlacedDim* placed = nullptr;
            for (const auto& d : at_.dims)
                if (d.dim == dim && d.div == 1) placed = &d;
            for (int64_t i = 0; i < count_; ++i) {
                const int64_t k = coordinate(i)[dim];
                if (k + 1 >= q_.shape[dim]) continue;
                if (placed && placed->size < q_.shape[dim] && (k + 1) % placed->size == 0)
                    continue;  // a fold's end
                link(dim, i, i + step, i - k * step, placed && !placed->inner && !at_.skewed);
            }
        }
    }
    void link(std::size_t dim, int64_t a, int64_t b, int64_t first, bool bow) {
        const bool dropped = q_.sliced && !kept(dim);
        Point from = pos(a), to = pos(b);
        const float length = std::hypot(to.x - from.x, to.y - from.y);
        const float cut = detail_ == Detail::card ? 0.F : std::min(radius_ + 3, length * 0.45F);
        const Point u{(to.x - from.x) / std::max(1.F, length), (to.y - from.y) / std::max(1.F, length)};
        from = {from.x + u.x * cut, from.y + u.y * cut};
        to = {to.x - u.x * cut, to.y - u.y * cut};
        Shape* line = nullptr;
        if (bow) {
            // Outer dims of a flat grid pass beside the ranks between, not through them.
            const float side =
                std::min(at_.pitch() * 0.42F, 30.F) + (detail_ == Detail::card ? card_.h / 2 : 0.F);
            const Point n{-u.y * side, u.x * side};
            line = &p_.bezier(from, {from.x - n.x, from.y - std::fabs(n.y)},
                              {to.x - n.x, to.y - std::fabs(n.y)}, to, q_.hue(dim));
        } else {
            line = &p_.line(from, to, q_.hue(dim));
        }
        line->stroke_style = q_.stroke(dim);
        line->width = line->stroke_style == Stroke::double_line      ? 1.4F
                      : detail_ == Detail::card || at_.pitch() >= 48 ? 2.2F
                                                                     : 1.4F;
        line->stroke_alpha = (dropped ? 0.75F - 0.4F * progress_ : 0.8F) * std::min(strength(a), strength(b));
        line->id = {"group", static_cast<int64_t>(dim), q_.ranks[static_cast<std::size_t>(first)]};
    }

    // ----------------------------------------------------------------- ranks

    void ranks() {
        for (int64_t i = 0; i < count_; ++i) {
            const auto rank = q_.ranks[static_cast<std::size_t>(i)];
            const bool chosen = in_.selection.rank && *in_.selection.rank == rank;
            const bool asking = rank == q_.asking;
            const Id id{"rank", rank};
            const float s = strength(i);
            const Token ring = chosen || (asking && q_.sliced) ? Token::sel
                               : q_.sliced && s >= 1           ? Token::accent
                                                               : Token::line2;
            if (detail_ == Detail::card)
                card(i, ring, s, id);
            else if (detail_ == Detail::circle)
                circle(i, ring, s, id);
            else
                square(i, ring, s, id);
        }
    }

    void circle(int64_t i, Token ring, float s, const Id& id) {
        const auto rank = q_.ranks[static_cast<std::size_t>(i)];
        p_.layer = kRanks;
        if (ring == Token::sel) p_.circle(pos(i), radius_ + 9, Token::accent).fill_alpha = 0.28F;
        auto& c = p_.circle(pos(i), radius_, Token::raised, id);
        c.stroke = ring;
        c.width = ring == Token::sel ? 3.F : 1.6F;
        c.stroke_alpha = s;
        p_.layer = kWords;
        const Token colour = s < 1 ? Token::mute : Token::text;
        const std::string number = std::to_string(rank);
        const Face face = radius_ >= 22 ? Face::mono_title : radius_ >= 14 ? Face::mono : Face::mono_small;
        if (p_.width(number, face) <= 2 * radius_ - 2)
            p_.label(body(i), number, face, colour, Token::none, id);
        if (radius_ < 18) return;
        const std::string where = format_tight(coordinate(i));
        const float line = p_.line_height(Face::mono_small);
        const Point c0 = pos(i);
        const Token tone = s < 1 ? Token::mute : Token::soft;
        // Beside the links, not on them: above the first row, below the last, at the lower right between.
        int64_t row = 0, rows = 1;
        for (const auto& d : at_.dims)
            if (!d.horizontal && d.inner) {
                row = coordinate(i)[d.dim] / d.div % d.size;
                rows = d.size;
            }
        const float above = c0.y - radius_ - line - (ring == Token::sel ? 8.F : 2.F),
                    below = c0.y + radius_ + 2;
        if (row == 0 && p_.try_text(where, {c0.x, above}, Face::mono_small, tone, Align::centre)) return;
        if (row + 1 == rows && p_.try_text(where, {c0.x, below}, Face::mono_small, tone, Align::centre))
            return;
        p_.try_text(where, {c0.x + radius_ * 0.8F, c0.y + radius_ * 0.75F}, Face::mono_small, tone);
    }
    static std::string format_tight(const std::vector<int64_t>& at) {
        std::string out = "(";
        for (std::size_t d = 0; d < at.size(); ++d) out += (d ? "," : "") + std::to_string(at[d]);
        return out + ")";
    }

    void square(int64_t i, Token ring, float s, const Id& id) {
        p_.layer = kRanks;
        auto& c = p_.rect(body(i),
                          ring == Token::sel      ? Token::sel
                          : ring == Token::accent ? Token::accent
                                                  : Token::compute,
                          0, id);
        c.fill_alpha = s;
    }

    void card(int64_t i, Token ring, float s, const Id& id) {
        const auto rank = q_.ranks[static_cast<std::size_t>(i)];
        p_.layer = kRanks;
        const Rect b = body(i);
        auto& box = p_.rect(b, Token::raised, 12, id);
        box.stroke = ring;
        box.width = ring == Token::sel ? 2.F : 1;
        p_.layer = kWords;
        const float pad = 12, h = p_.line_height(Face::body), line = p_.line_height(Face::mono_small);
        const std::string words = "rank " + std::to_string(rank), where = format_tight(coordinate(i));
        const bool one_line =
            p_.width(words, Face::body) + 8 + p_.width(where, Face::mono_small) <= b.w - 2 * pad;
        float y = b.y + (b.h >= h + line + 12 ? 6 : (b.h - h) / 2);
        const Token colour = s < 1 ? Token::mute : Token::text;
        if (p_.width(words, Face::body) <= b.w - 2 * pad)
            p_.label({b.x + pad, y, b.w - 2 * pad, h}, words, Face::body, colour, Token::none, id,
                     Align::left);
        const std::string you = p_.say("view.you");
        const float name_w = p_.width(words, Face::body), you_w = p_.width(you, Face::caption) + 16;
        if (rank == q_.asking &&
            name_w + 8 + you_w + 8 + p_.width(where, Face::mono_small) <= b.w - 2 * pad) {
            const Rect pill{b.x + pad + name_w + 8, y + 2, you_w, h - 4};
            p_.rect(pill, Token::accent, (h - 4) / 2);
            p_.label(pill, you, Face::caption, Token::onacc);
        }
        if (one_line)
            p_.label({b.x + pad, y, b.w - 2 * pad, h}, where, Face::mono_small, Token::mute, Token::none, id,
                     Align::right);
        y += h;
        if (!one_line && y + line <= b.y + b.h && p_.width(where, Face::mono_small) <= b.w - 2 * pad) {
            p_.label({b.x + pad, y, b.w - 2 * pad, line}, where, Face::mono_small, Token::mute, Token::none,
                     id, Align::left);
            y += line;
        }
        card_groups(i, b, y, pad, line);
    }
    // The rank's groups, one line a dim, as get_all_groups() gives them.
    void card_groups(int64_t i, const Rect& b, float y, float pad, float line) {
        for (std::size_t d = 0; d < q_.shape.size(); ++d) {
            const std::string words = format_list(group_ranks(i, d));
            if (y + line > b.y + b.h - 2 || p_.width(words, Face::mono_small) > b.w - 2 * pad) return;
            p_.label({b.x + pad, y, b.w - 2 * pad, line}, words, Face::mono_small, q_.hue(d), Token::none,
                     {"group", static_cast<int64_t>(d), group_ranks(i, d).front()}, Align::left);
            y += line;
        }
    }
    std::vector<int64_t> group_members(int64_t i, std::size_t d) const {
        std::vector<int64_t> out;
        const int64_t first = i - coordinate(i)[d] * stride(d);
        for (int64_t k = 0; k < q_.shape[d]; ++k) out.push_back(first + k * stride(d));
        return out;
    }
    std::vector<int64_t> group_ranks(int64_t i, std::size_t d) const {
        auto out = group_members(i, d);
        for (auto& m : out) m = q_.ranks[static_cast<std::size_t>(m)];
        std::sort(out.begin(), out.end());
        return out;
    }

    // The selected rank's groups, one hull a dim; where others stand between, rings round the members
    // instead.
    void hulls() {
        if (!in_.selection.rank) return;
        const int64_t i = q_.index_of(*in_.selection.rank);
        if (i < 0) return;
        p_.layer = kHulls;
        for (std::size_t d = 0; d < q_.shape.size(); ++d) {
            if (q_.shape[d] < 2) continue;
            const auto members = group_members(i, d);
            // One inside the other, and never as far as the neighbours.
            const float gap = at_.pitch() / 2 - radius_;
            const float step = static_cast<float>(d + 1) / static_cast<float>(q_.shape.size());
            const float margin = detail_ == Detail::card ? 4 + 3 * static_cast<float>(d)
                                                         : std::min(4 + 8 * step, gap * (0.3F + 0.5F * step));
            const auto outline = round_of(members, margin);
            const Id id{"group", static_cast<int64_t>(d), q_.ranks[static_cast<std::size_t>(members[0])]};
            if (alone(outline, members)) {
                auto& h = p_.polygon(outline, q_.hue(d), id);
                h.fill_alpha = 0.07F;
                h.stroke = q_.hue(d);
                h.width = 2;
            } else {
                for (const int64_t m : members) {
                    auto& h = p_.polygon(round_of({m}, margin), Token::none, id);
                    h.stroke = q_.hue(d);
                    h.width = 2;
                }
            }
        }
    }

    void you() {
        const int64_t i = q_.index_of(q_.asking);
        if (i < 0 || detail_ == Detail::card) return;
        p_.layer = kSelected;
        const std::string word = p_.say("view.you");
        const float w = p_.width(word, Face::body), line = p_.line_height(Face::body);
        const Point c = pos(i);
        const float out = radius_ + 26;
        for (const Point d : {Point{-1, 0.75F}, Point{1, 0.75F}, Point{-1, -0.75F}, Point{1, -0.75F}}) {
            const Point at{c.x + d.x * (out + w / 2), c.y + d.y * out};
            if (!p_.try_text(word, {at.x, at.y - line / 2}, Face::body, Token::text, Align::centre)) continue;
            const Point start{at.x, at.y - d.y / 0.75F * line * 0.45F},
                end{c.x + d.x * (radius_ + 2), c.y + d.y * 6};
            p_.bezier(start, {start.x, (start.y + end.y) / 2 + (end.y - start.y) * 0.3F},
                      {(start.x + end.x) / 2, end.y}, end, Token::sel, 1.4F);
            return;
        }
    }

    // Every rank with its coordinate, and every group once.
    void tell() {
        if (q_.mesh) p_.tell(q_.mesh->repr());
        for (int64_t i = 0; i < count_; ++i)
            p_.tell("rank " + std::to_string(q_.ranks[static_cast<std::size_t>(i)]) + " " +
                    format_tight(coordinate(i)));
        for (std::size_t d = 0; d < q_.shape.size(); ++d)
            for (int64_t i = 0; i < count_; ++i)
                if (coordinate(i)[d] == 0) p_.tell(q_.names[d] + " " + format_list(group_ranks(i, d)));
    }

    const Input& in_;
    Painter p_;
    MeshQuestion q_;
    float progress_;
    int64_t count_ = 0, asking_ = -1;
    MeshLayout at_;
    Rect area_, card_;
    Detail detail_ = Detail::circle;
    float radius_ = 10, label_left_ = 0;
};

}  // namespace

Picture mesh_view(const Input& input, const MeshOptions& options) {
    return Mesh(input, options).draw();
}

}  // namespace meshscope::view
