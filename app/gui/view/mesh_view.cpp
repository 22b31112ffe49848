#include "app/gui/view/mesh_picture.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"

namespace meshscope::view {

Picture MeshPicture::draw() {
    place();
    if (at_.skewed)
        corner_axes();
    else
        flat_axes();
    nodes();
    sheets();
    links();
    hulls();
    node_names();
    if (detail_ == Detail::circle) place_coordinates();
    ranks();
    waits();
    you();
    chosen_legend();
    end_legend();
    tell();
    tell_end();
    return p_.take();
}

void MeshPicture::place() {
    const auto& size = in_.size;
    const float line = p_.line_height(Face::caption);
    const auto kept_dims = q_.sliced ? q_.kept : std::vector<std::size_t>{};
    const float apart = q_.sliced ? progress_ : 1;
    area_ = {50, 12 + line, size.width - 76,
             size.height - 24 - 2 * line - legend_height()};  // corner axes left, sheet names below
    if (q_.shape.size() >= 3) at_ = mesh_layout(q_.shape, kept_dims, area_, apart);
    if (!at_.skewed) {
        float names = 0;
        for (std::size_t d = 0; d < q_.shape.size(); ++d)
            names = std::max(names,
                             p_.width(q_.names[d] + " = " + std::to_string(q_.shape[d] - 1), Face::caption));
        label_left_ = q_.shape.size() == 1 && count_ <= 24 ? 0.F : std::min(names, size.width * 0.22F);
        const auto rows = static_cast<float>(q_.shape.size());
        area_ = {16 + label_left_ + 14, 14 + line * rows, size.width - 32 - label_left_ - 14,
                 size.height - 24 - line * rows - legend_height()};
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
    // Lines from card to card need less room than their groups' names.
    const float between = end_ == nullptr ? 36.F : 28.F;
    card_ = {0, 0, std::min(at_.pitch_x - 30, 220.F), std::min(at_.pitch_y - between, 108.F)};
    for (int64_t i = 0; i < count_; ++i) p_.reserve(body(i));
    if (legend_height() > 0) p_.reserve({0, size.height - legend_height(), size.width, legend_height()});
}

Rect MeshPicture::body(int64_t index) const {
    const Point c = pos(index);
    if (detail_ == Detail::card) return {c.x - card_.w / 2, c.y - card_.h / 2, card_.w, card_.h};
    return {c.x - radius_, c.y - radius_, 2 * radius_, 2 * radius_};
}

int64_t MeshPicture::stride(std::size_t dim) const {
    int64_t s = 1;
    for (std::size_t d = dim + 1; d < q_.shape.size(); ++d) s *= q_.shape[d];
    return s;
}

bool MeshPicture::same_sheet(int64_t a, int64_t b) const {
    const auto ca = coordinate(a), cb = coordinate(b);
    for (std::size_t d = 0; d < ca.size(); ++d)
        if (!kept(d) && ca[d] != cb[d]) return false;
    return true;
}

float MeshPicture::strength(int64_t index) const {
    return !q_.sliced || asking_ < 0 || same_sheet(index, asking_) ? 1.F : 1 - 0.45F * progress_;
}

void MeshPicture::ranks() {
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
        mark_end(i);
    }
}

void MeshPicture::circle(int64_t i, Token ring, float s, const Id& id) {
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
    if (p_.width(number, face) <= 2 * radius_ - 2) p_.label(body(i), number, face, colour, Token::none, id);
    if (coordinates_.empty()) return;
    p_.text(format_tight(coordinate(i)), coordinates_[static_cast<std::size_t>(i)], Face::mono_small,
            s < 1 ? Token::mute : Token::soft);
}

void MeshPicture::keep_off(const std::vector<Point>& path, bool closed) {
    for (std::size_t i = 0; i + 1 < path.size(); ++i) edges_.emplace_back(path[i], path[i + 1]);
    if (closed && path.size() > 2) edges_.emplace_back(path.back(), path.front());
}

bool MeshPicture::crossed(const Rect& box) const {
    // Clipped at the box (Liang and Barsky): a part inside means that the line crosses or touches it.
    return std::any_of(edges_.begin(), edges_.end(), [&](const auto& edge) {
        const auto& [a, b] = edge;
        float from = 0, to = 1;
        const float d[2] = {b.x - a.x, b.y - a.y}, at[2] = {a.x, a.y};
        const float low[2] = {box.x, box.y}, high[2] = {box.x + box.w, box.y + box.h};
        for (int k = 0; k < 2; ++k) {
            if (std::fabs(d[k]) < 1e-4F) {
                if (at[k] < low[k] || at[k] > high[k]) return false;
                continue;
            }
            float t0 = (low[k] - at[k]) / d[k], t1 = (high[k] - at[k]) / d[k];
            if (t0 > t1) std::swap(t0, t1);
            from = std::max(from, t0);
            to = std::min(to, t1);
        }
        return from <= to;
    });
}

void MeshPicture::place_coordinates() {
    if (radius_ < 18) return;
    const float line = p_.line_height(Face::mono_small);
    std::vector<Rect> placed;
    const auto meets = [](const Rect& a, const Rect& b) {
        return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
    };
    for (int64_t i = 0; i < count_; ++i) {
        const float w = p_.width(format_tight(coordinate(i)), Face::mono_small), aside = radius_ * 0.8F;
        // Above, below, then the four corners between the links; then the same outside the hulls.
        const Point c = pos(i);
        std::vector<Point> candidates;
        for (const float away : {radius_ + 3, radius_ + 17}) {
            const float down = away == radius_ + 3 ? radius_ * 0.75F : radius_ + 8;
            for (const float side : {-w / 2, aside, -aside - w, -aside, aside - w})
                for (const bool above : {true, false})
                    candidates.push_back({c.x + side, above ? c.y - (side == -w / 2 ? away : down) - line
                                                            : c.y + (side == -w / 2 ? away : down)});
        }
        bool found = false;
        for (const Point at : candidates) {
            const Rect box{at.x, at.y, w, line}, wide{at.x - 2, at.y + 2, w + 4, line - 4};
            if (box.x < 0 || box.y < 0 || box.x + w > in_.size.width || box.y + line > in_.size.height ||
                !p_.is_free(box) || crossed(wide) ||
                std::any_of(placed.begin(), placed.end(), [&](const Rect& r) { return meets(r, box); }))
                continue;
            placed.push_back(box);
            found = true;
            break;
        }
        if (!found) return;
    }
    for (const Rect& box : placed) coordinates_.push_back({box.x, box.y});
}

std::string MeshPicture::format_tight(const std::vector<int64_t>& at) {
    std::string out = "(";
    for (std::size_t d = 0; d < at.size(); ++d) out += (d ? "," : "") + std::to_string(at[d]);
    return out + ")";
}

void MeshPicture::square(int64_t i, Token ring, float s, const Id& id) {
    p_.layer = kRanks;
    auto& c = p_.rect(body(i),
                      ring == Token::sel      ? Token::sel
                      : ring == Token::accent ? Token::accent
                                              : Token::compute,
                      0, id);
    c.fill_alpha = s;
}

void MeshPicture::card(int64_t i, Token ring, float s, const Id& id) {
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
        p_.label({b.x + pad, y, b.w - 2 * pad, h}, words, Face::body, colour, Token::none, id, Align::left);
    const std::string you = p_.say("view.you");
    const float name_w = p_.width(words, Face::body), you_w = p_.width(you, Face::caption) + 16;
    if (rank == q_.asking && name_w + 8 + you_w + 8 + p_.width(where, Face::mono_small) <= b.w - 2 * pad) {
        const Rect pill{b.x + pad + name_w + 8, y + 2, you_w, h - 4};
        p_.rect(pill, Token::accent, (h - 4) / 2);
        p_.label(pill, you, Face::caption, Token::onacc);
    }
    if (one_line)
        p_.label({b.x + pad, y, b.w - 2 * pad, h}, where, Face::mono_small, Token::mute, Token::none, id,
                 Align::right);
    y += h;
    if (!one_line && y + line <= b.y + b.h && p_.width(where, Face::mono_small) <= b.w - 2 * pad) {
        p_.label({b.x + pad, y, b.w - 2 * pad, line}, where, Face::mono_small, Token::mute, Token::none, id,
                 Align::left);
        y += line;
    }
    if (stood(rank) != nullptr)
        card_end(i, b, y, pad, p_.line_height(Face::caption));
    else
        card_groups(i, b, y, pad, line);
}

void MeshPicture::card_groups(int64_t i, const Rect& b, float y, float pad, float line) {
    for (std::size_t d = 0; d < q_.shape.size(); ++d) {
        const std::string words = format_list(group_ranks(i, d));
        if (y + line > b.y + b.h - 2 || p_.width(words, Face::mono_small) > b.w - 2 * pad) return;
        p_.label({b.x + pad, y, b.w - 2 * pad, line}, words, Face::mono_small, q_.hue(d), Token::none,
                 {"group", static_cast<int64_t>(d), group_ranks(i, d).front()}, Align::left);
        y += line;
    }
}

std::vector<int64_t> MeshPicture::group_members(int64_t i, std::size_t d) const {
    std::vector<int64_t> out;
    const int64_t first = i - coordinate(i)[d] * stride(d);
    for (int64_t k = 0; k < q_.shape[d]; ++k) out.push_back(first + k * stride(d));
    return out;
}

std::vector<int64_t> MeshPicture::group_ranks(int64_t i, std::size_t d) const {
    auto out = group_members(i, d);
    for (auto& m : out) m = q_.ranks[static_cast<std::size_t>(m)];
    std::sort(out.begin(), out.end());
    return out;
}

void MeshPicture::you() {
    const int64_t i = q_.index_of(q_.asking);
    if (i < 0 || detail_ == Detail::card) return;
    p_.layer = kSelected;
    const std::string word = p_.say("view.you");
    const float w = p_.width(word, Face::body), line = p_.line_height(Face::body);
    const Point c = pos(i);
    const float out = radius_ + 26;
    const Point corners[] = {{-1, 0.75F}, {1, 0.75F}, {-1, -0.75F}, {1, -0.75F}};
    for (int k = 0; k < 8; ++k) {
        // Off every line where that can be.
        const Point d = corners[k % 4], at{c.x + d.x * (out + w / 2), c.y + d.y * out};
        if (k < 4 && crossed({at.x - w / 2, at.y - line / 2 + 3, w, line - 6})) continue;
        if (!p_.try_text(word, {at.x, at.y - line / 2}, Face::body, Token::text, Align::centre)) continue;
        const Point start{at.x, at.y - d.y / 0.75F * line * 0.45F},
            end{c.x + d.x * (radius_ + 2), c.y + d.y * 6};
        p_.bezier(start, {start.x, (start.y + end.y) / 2 + (end.y - start.y) * 0.3F},
                  {(start.x + end.x) / 2, end.y}, end, Token::sel, 1.4F);
        return;
    }
}

bool MeshPicture::two_chosen() const {
    const auto& rank = in_.selection.rank;
    return rank && *rank != q_.asking && q_.index_of(*rank) >= 0 && q_.index_of(q_.asking) >= 0;
}

void MeshPicture::chosen_legend() {
    if (end_ != nullptr || !two_chosen()) return;
    const float line = p_.line_height(Face::caption), y = in_.size.height - line - 6;
    const std::string ring = p_.say("view.mesh.legend.ring"),
                      you = p_.say("view.you") + ": " + p_.say("view.mesh.legend.you");
    float x = 16;
    if (x + 20 + p_.width(ring, Face::caption) > in_.size.width - 16) return;
    p_.layer = kWords;
    auto& mark = p_.circle({x + 7, y + line / 2}, 6, Token::none);
    mark.stroke = Token::sel;
    mark.width = 2;
    p_.text(ring, {x + 20, y}, Face::caption, Token::soft);
    x += 20 + p_.width(ring, Face::caption) + 24;
    if (x + p_.width(you, Face::caption) > in_.size.width - 16) return;
    p_.text(you, {x, y}, Face::caption, Token::soft);
}

void MeshPicture::tell() {
    if (q_.mesh) p_.tell(q_.mesh->repr());
    for (int64_t i = 0; i < count_; ++i)
        p_.tell("rank " + std::to_string(q_.ranks[static_cast<std::size_t>(i)]) + " " +
                format_tight(coordinate(i)));
    for (std::size_t d = 0; d < q_.shape.size(); ++d)
        for (int64_t i = 0; i < count_; ++i)
            if (coordinate(i)[d] == 0) p_.tell(q_.names[d] + " " + format_ranks(group_ranks(i, d)));
}

Picture mesh_view(const Input& input, const MeshOptions& options) {
    return MeshPicture(input, options).draw();
}

}  // namespace meshscope::view
