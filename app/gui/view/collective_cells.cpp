#include "app/gui/view/collective_cells.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"

namespace meshscope::view {
namespace {

// The hop that is about to fill a piece, or on its way to it.
const HopState* coming(const CollectiveState& state, std::size_t member, const ChunkState& piece) {
    for (const auto& h : state.hops) {
        if (h.landed || h.receiver != static_cast<int32_t>(member)) continue;
        if (covers(h, piece) && (h.flying || h.hop.round == state.round)) return &h;
    }
    return nullptr;
}

class BufferRow {
  public:
    BufferRow(Painter& p, const CollectiveState& state, std::size_t member, Rect row, bool marks)
        : p_(p), s_(state), m_(member), row_(row), marks_(marks) {}

    void draw() {
        const auto& b = s_.buffers[m_];
        const auto n = static_cast<float>(std::max<std::size_t>(1, b.pieces.size()));
        const float gap = row_.w / n >= 24 ? 5.F : row_.w / n >= 6 ? 2.F : 0.F;
        const float mark_h = marks_ ? 11.F : 0.F;
        const float w = (row_.w - gap * (n - 1)) / n;
        float x = row_.x;
        for (const auto& piece : b.pieces) {
            const Rect box{x, row_.y, w, row_.h - mark_h};
            if (moves_origins(s_.op))
                origin_cell(piece, box);
            else
                sum_cell(piece, box);
            x += w + gap;
        }
    }

  private:
    Id id(const ChunkState& piece) const { return {"chunk", s_.ranks[m_], piece.chunk}; }

    void origin_cell(const ChunkState& piece, const Rect& box) {
        const int64_t origin = origin_of(s_, piece);
        const Token hue = origin_hue(origin);
        const HopState* hop = coming(s_, m_, piece);
        if (box.w < 12 || box.h < 12) {  // too small for edges and words
            auto& tiny = p_.rect(box, piece.from_count > 0 ? hue : Token::ghost, 1, id(piece));
            tiny.fill_alpha = piece.from_count > 0 ? 0.92F : 1;
            return;
        }
        if (piece.from_count == 0) {
            const float arrived = hop && hop->flying ? hop->progress : 0;
            auto& back = p_.rect(box, Token::ghost, 4, id(piece));
            back.stroke = hue;
            back.width = 1.6F;
            back.stroke_style = Stroke::dashed;
            if (arrived > 0) p_.rect({box.x, box.y, box.w * arrived, box.h}, hue, 4).fill_alpha = 0.42F;
            const auto done = static_cast<int64_t>(std::floor(arrived * static_cast<float>(piece.elements)));
            const std::string words =
                p_.fit({hop && hop->flying ? format_count(done) + " / " + format_count(piece.elements)
                                           : format_count(piece.elements),
                        hop && hop->flying ? format_count(done) : ""},
                       Face::mono_small, box.w - 8);
            if (!words.empty())
                p_.label(box, words, Face::mono_small, arrived > 0 ? Token::text : Token::soft, Token::none,
                         id(piece));
            return;
        }
        auto& cell = p_.rect(box, hue, 4, id(piece));  // whole: what is written on it was chosen for the hue
        if (origin >= 8) {
            cell.pattern = Fill::hatch;  // the second round of hues
            cell.hatch = Token::ink;
        }
        if (hop && !hop->landed) {
            cell.stroke = Token::sel;
            cell.width = 1;
        }
        const Rect inner = padding(piece, box);
        if (inner.w < 12) return;
        const float r = std::min(6.F, inner.h * 0.2F);
        const bool mark = inner.w >= 40;
        if (mark) p_.symbol({inner.x + 14, inner.y + inner.h / 2}, r, origin, Token::ink);
        const Rect rest = mark ? Rect{inner.x + 22, inner.y, inner.w - 24, inner.h} : inner;
        if (!numbers(piece, rest, Token::ink, hue)) count(piece, rest, Token::ink, hue);
    }

    // A neutral cell that fills 1/n higher with every rank added; complete: ok.
    void sum_cell(const ChunkState& piece, const Rect& box) {
        const auto n = static_cast<int32_t>(s_.ranks.size());
        const HopState* hop = coming(s_, m_, piece);
        p_.rect(box, Token::ghost, 4, id(piece));
        const float part = static_cast<float>(std::min(piece.from_count, n)) / static_cast<float>(n);
        const bool complete = piece.from_count >= n;
        float level = box.h * part;
        // Where the fill's edge would go through the words, and neither side has room for them, it covers
        // all, as faint as it is small.
        const float line = p_.line_height(Face::mono_small) - 5;  // glyphs are lower than their line
        const float empty = box.h - level;
        const bool covers_all = level > 0 && box.h >= 16 && level < line && empty < line &&
                                std::fabs(empty - box.h / 2) < line / 2;
        if (covers_all) level = box.h;
        if (level > 0) {
            auto& fill = p_.rect({box.x, box.y + box.h - level, box.w, level},
                                 complete ? Token::ok : Token::accent, 4);
            fill.fill_alpha = complete ? 0.42F : covers_all ? 0.42F * part : 0.36F;
        }
        if (box.w < 12 || box.h < 12) return;  // too small for edges and words
        const bool leaving = std::any_of(s_.hops.begin(), s_.hops.end(), [&](const HopState& h) {
            return h.flying && h.sender == static_cast<int32_t>(m_) && covers(h, piece);
        });
        float beside_plus = 0;
        if (hop || leaving) {
            // Where it comes from is told by the hue: the sender's for what arrives, its own for what leaves.
            auto& edge =
                p_.outline(box, origin_hue(hop ? hop->sender : static_cast<int64_t>(m_)), hop ? 2.F : 1.6F, 4,
                           {hop ? "arriving" : "leaving", s_.ranks[m_], piece.chunk});
            if (hop) edge.stroke_style = Stroke::dashed;
            if (hop && hop->hop.reduces != 0) beside_plus = plus(box, origin_hue(hop->sender));
        } else if (is_result(s_, m_, piece) && s_.op == CollectiveOp::reduce_scatter) {
            p_.outline(box, Token::line2, 1.4F, 4);
        }
        const Rect inner = padding(piece, box);
        const Rect words{inner.x + beside_plus, inner.y, inner.w - beside_plus, inner.h};
        if (!numbers(piece, words, Token::text, Token::none))
            count(piece, off_edge(words, level, line), Token::text, Token::none);
        if (marks_) contributors(piece, {box.x, box.y + box.h + 3, box.w, 8});
    }

    // On the edge of what is added to, not replaced. Gives how far it reaches into the cell.
    float plus(const Rect& box, Token hue) {
        constexpr float kRadius = 5.5F, kArm = 3;
        if (box.w < 4 * kRadius || box.h < 2 * kRadius + 2) return 0;
        const Point c{box.x, box.y + box.h / 2};
        p_.circle(c, kRadius, Token::raised, {"adding", s_.ranks[m_], 0}).stroke = hue;
        p_.line({c.x - kArm, c.y}, {c.x + kArm, c.y}, Token::text, 1.4F);
        p_.line({c.x, c.y - kArm}, {c.x, c.y + kArm}, Token::text, 1.4F);
        return kRadius;
    }

    // Padding is hatched at the end of the piece; gives what is left for the data.
    Rect padding(const ChunkState& piece, const Rect& box) {
        if (piece.padding <= 0 || piece.elements <= 0) return box;
        const float part =
            std::clamp(static_cast<float>(piece.padding) / static_cast<float>(piece.elements), 0.F, 1.F);
        const float w = std::max(std::min(7.F, box.w), box.w * part);
        auto& pad = p_.rect({box.x + box.w - w, box.y, w, box.h}, Token::inset, 3,
                            {"padding", s_.ranks[m_], piece.chunk});
        pad.pattern = Fill::hatch;
        pad.hatch = Token::line2;
        pad.stroke = Token::line2;
        pad.stroke_style = Stroke::dashed;
        return {box.x, box.y, box.w - w, box.h};
    }

    // Every number, where all of them fit.
    bool numbers(const ChunkState& piece, const Rect& box, Token colour, Token on) {
        const auto& b = s_.buffers[m_];
        const int64_t shown = piece.elements - piece.padding;
        if (shown <= 0 || shown > 8 || b.values.empty()) return false;
        const float each = box.w / static_cast<float>(shown);
        std::vector<std::string> words;
        for (int64_t i = 0; i < shown; ++i) {
            const auto at = static_cast<std::size_t>(piece.offset + i);
            if (at >= b.values.size() || !b.known[at]) return false;
            words.push_back(format_number(b.values[at]));
            if (p_.width(words.back(), Face::mono_small) > each - 4) return false;
        }
        for (int64_t i = 0; i < shown; ++i) {
            const Rect sub{box.x + each * static_cast<float>(i), box.y, each, box.h};
            p_.label(sub, words[static_cast<std::size_t>(i)], Face::mono_small, colour, on, id(piece));
            if (i > 0)
                p_.line({sub.x, box.y + 4}, {sub.x, box.y + box.h - 4},
                        on == Token::none ? Token::line2 : Token::ink)
                    .stroke_alpha = 0.35F;
        }
        return true;
    }

    void count(const ChunkState& piece, const Rect& box, Token colour, Token on) {
        const std::string figure = format_count(piece.elements);
        const std::string words = p_.fit({p_.say("view.collective.numbers", {arg("n", figure)}), figure},
                                         Face::mono_small, box.w - 6);
        if (!words.empty() && box.h >= 16) p_.label(box, words, Face::mono_small, colour, on, id(piece));
    }

    // The symbols of the ranks that are in, dots for the missing.
    void contributors(const ChunkState& piece, const Rect& row) {
        const auto n = s_.ranks.size();
        if (n > kMaskBits) return;
        const float each = std::min(11.F, row.w / static_cast<float>(n));
        if (each < 6) return;
        const float x0 = row.x + (row.w - each * static_cast<float>(n)) / 2;
        for (std::size_t g = 0; g < n; ++g) {
            const Point c{x0 + each * (static_cast<float>(g) + 0.5F), row.y + row.h / 2};
            if (piece.from >> g & 1)
                p_.symbol(c, std::min(3.4F, each * 0.4F), static_cast<int64_t>(g));
            else
                p_.circle(c, 1, Token::line2);
        }
    }

    Painter& p_;
    const CollectiveState& s_;
    std::size_t m_;
    Rect row_;
    bool marks_;
};

// What a capsule says: the numbers if they are few, else how many.
std::string load_of(const Painter& p, const CollectiveState& state, const HopState& h) {
    const auto& b = state.buffers[static_cast<std::size_t>(h.sender)];
    std::string words;
    if (h.hop.elements <= 3 && !b.values.empty() && state.op != CollectiveOp::all_to_all) {
        for (const auto& piece : b.pieces) {
            if (!covers(h, piece)) continue;
            for (int64_t i = 0; i < std::min(piece.elements, h.hop.elements); ++i) {
                const auto at = static_cast<std::size_t>(piece.offset + i);
                if (at < b.values.size() && b.known[at])
                    words += (words.empty() ? "" : " ") + format_number(b.values[at]);
            }
        }
    }
    if (words.empty() || p.width(words, Face::mono_small) > 96) words = format_count(h.hop.elements);
    return words;
}

}  // namespace

int64_t origin_of(const CollectiveState& state, const ChunkState& piece) {
    switch (state.op) {
        case CollectiveOp::broadcast:
        case CollectiveOp::scatter:
        case CollectiveOp::send:
        case CollectiveOp::recv:
            // What has one source: by chunk where it is cut, else the source's own hue.
            if (state.buffers[0].pieces.size() > 1) return piece.chunk;
            for (std::size_t m = 0; m < state.buffers.size(); ++m)
                for (const auto& h : state.hops)
                    if (h.hop.round == 0) return h.sender;
            return 0;
        default:
            return piece.chunk;
    }
}

void draw_buffer(Painter& painter, const CollectiveState& state, std::size_t member, Rect row, bool marks) {
    BufferRow(painter, state, member, row, marks && !moves_origins(state.op)).draw();
}

void draw_flight(Painter& p, const CollectiveState& state, const HopState& h, const Path& path, bool small,
                 bool still) {
    const bool origins = moves_origins(state.op);
    const int64_t owner = origins && state.op != CollectiveOp::all_to_all ? h.hop.chunk : h.sender;
    ChunkState named;
    named.chunk = h.hop.chunk;
    const int64_t origin =
        origins ? (state.op == CollectiveOp::all_to_all ? h.sender : origin_of(state, named)) : owner;
    const Token hue = origin_hue(origin);
    auto& way = p.bezier(path.a, path.b, path.c, path.d, hue, 1.6F);
    way.stroke_alpha = h.flying ? 0.6F : 0.3F;
    way.arrow = true;
    if (!h.flying) return;
    const float t = still ? 0.5F : ease_in_out_cubic(h.progress);
    const auto at = [&](float where) {
        return bezier_at(path.a, path.b, path.c, path.d, std::clamp(where, 0.F, 1.F));
    };
    const Id id{"flight", state.ranks[static_cast<std::size_t>(h.receiver)], h.index};
    p.layer += 1;
    const std::string words = small ? "" : load_of(p, state, h);
    const float w = small ? 18.F : std::max(56.F, p.width(words, Face::mono_small) + 38),
                height = small ? 18.F : 26.F;
    // The capsule keeps clear of both ends: it leaves from beside the sender and stops beside the receiver.
    const float length = std::max(1.F, std::hypot(path.d.x - path.a.x, path.d.y - path.a.y));
    const float clear =
        (w / 2 * std::fabs(path.d.x - path.a.x) + height / 2 * std::fabs(path.d.y - path.a.y)) / length + 1;
    const auto along = [&](float where) {
        const float from = std::min(0.5F, clear / length);
        return at(from + std::clamp(where, 0.F, 1.F) * (1 - 2 * from));
    };
    const Point c = along(t);
    if (small) {
        p.circle(c, 9, Token::bg, id).stroke = hue;
        p.symbol(c, 5, origin);
        p.layer -= 1;
        return;
    }
    const Rect box{c.x - w / 2, c.y - height / 2, w, height};
    if (!still)
        for (int k = 3; k >= 1; --k) {
            const Point tail = along(t - 0.035F * static_cast<float>(k));
            p.rect({tail.x - w / 2, tail.y - height / 2, w, height}, hue, height / 2).fill_alpha =
                0.22F - 0.055F * static_cast<float>(k);
        }
    auto& capsule = p.rect(box, origins ? hue : Token::raised, height / 2, id);
    if (!origins) {
        capsule.stroke = hue;
        capsule.width = 2;
    }
    const Token ink = origins ? Token::ink : Token::text;
    p.symbol({box.x + 17, c.y}, 5.5F, origin, origins ? Token::ink : Token::none);
    if (p.is_free(box))
        p.label({box.x + 26, box.y, w - 34, height}, words, Face::mono_small, ink,
                origins ? hue : Token::none, id);
    p.layer -= 1;
}

bool draw_overview(Painter& p, const trace::Trace& trace, const trace::CollectiveInstance& instance,
                   const CollectiveState& now, Rect box) {
    const auto n = now.ranks.size();
    const auto pieces = now.buffers.empty() ? 0 : now.buffers[0].pieces.size();
    const auto columns = static_cast<float>(now.rounds + 1);
    const float pad = 16, head = p.line_height(Face::caption) + 6, title = p.line_height(Face::body) + 8;
    const float column = std::min(170.F, (box.w - 2 * pad) / columns);
    const float cell =
        std::floor(std::min({22.F, (column - 38) / static_cast<float>(std::max<std::size_t>(1, pieces)) - 3,
                             (box.h - title - head - pad - 10) / static_cast<float>(n) - 3}));
    if (now.rounds < 2 || cell < 7 || pieces == 0) return false;
    // As wide as the column lets them, so that a fill is seen from afar.
    const float wide =
        std::clamp(std::floor((column - 38) / static_cast<float>(pieces)) - 3, cell, cell * 1.8F);
    const int base = p.layer;
    p.rect(box, Token::panel, 12).stroke = Token::line;
    p.layer = base + 1;
    const std::string words = p.say("view.collective.overview", {arg("hops", now.rounds)});
    p.text(words, {box.x + pad, box.y + 8}, Face::body, Token::text);
    const std::string how =
        p.say(moves_origins(now.op) ? "view.collective.overview.origins" : "view.collective.overview.sums");
    if (p.width(words, Face::body) + p.width(how, Face::caption) + 24 < box.w - 2 * pad)
        p.text(how, {box.x + box.w - pad, box.y + 9}, Face::caption, Token::mute, Align::right);
    for (int32_t k = 0; k <= now.rounds; ++k) {
        const auto state = collective_after(trace, instance, k);
        const float x = box.x + pad + column * static_cast<float>(k), y = box.y + title + 4;
        const Rect frame{x - 6, y - 2, column - 6, head + static_cast<float>(n) * (cell + 3) + 8};
        const bool current = k == std::min(now.round, now.rounds) && now.begun;
        p.layer = base + 1;
        auto& back = p.rect(frame, current ? Token::accentbg : Token::none, 8, {"hop", k});
        back.stroke = current ? Token::accent : Token::none;
        p.layer = base + 2;
        bool reducing = false;
        for (const auto& h : state.hops) reducing = reducing || (h.hop.round == k - 1 && h.hop.reduces);
        const std::string label =
            k == 0 ? p.say("view.collective.start") : p.say("view.collective.after", {arg("hop", k)});
        std::string kind;
        if (k > 0 && now.op == CollectiveOp::all_reduce) {
            const CollectiveOp half = reducing ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather;
            // Both halves by their names, or both by their marks.
            const float room = column - 26 - p.width(label, Face::caption);
            const bool names =
                p.width(std::string(name(CollectiveOp::reduce_scatter)), Face::caption) <= room &&
                p.width(std::string(name(CollectiveOp::all_gather)), Face::caption) <= room;
            kind = names ? std::string(name(half)) : op_mark(half);
        }
        const float kind_w = kind.empty() ? 0 : p.width(kind, Face::caption) + 8;
        const std::string fitted = p.fit({label, std::to_string(k)}, Face::caption, column - 18 - kind_w);
        p.text(fitted, {x, y}, Face::caption, current ? Token::text : Token::mute);
        if (!kind.empty() && p.width(fitted, Face::caption) + kind_w <= column - 16)
            p.text(kind, {x + column - 16, y}, Face::caption, reducing ? Token::orange : Token::sky,
                   Align::right);
        for (std::size_t m = 0; m < n; ++m) {
            const float cy = y + head + static_cast<float>(m) * (cell + 3);
            p.symbol({x + 5, cy + cell / 2}, std::min(4.F, cell * 0.3F), static_cast<int64_t>(m));
            for (std::size_t c = 0; c < state.buffers[m].pieces.size(); ++c) {
                const auto& piece = state.buffers[m].pieces[c];
                const Rect at{x + 18 + static_cast<float>(c) * (wide + 3), cy, wide, cell};
                p.rect(at, Token::ghost, 2);
                if (moves_origins(now.op)) {
                    if (piece.from_count > 0)
                        p.rect(at, origin_hue(origin_of(state, piece)), 2).fill_alpha = 0.9F;
                    continue;
                }
                const bool complete = piece.from_count >= static_cast<int32_t>(n);
                const float level =
                    cell * static_cast<float>(std::min<int32_t>(piece.from_count, static_cast<int32_t>(n))) /
                    static_cast<float>(n);
                p.rect({at.x, at.y + cell - level, wide, level}, complete ? Token::ok : Token::accent, 2)
                    .fill_alpha = complete ? 0.9F : 0.55F;
                if (complete && cell >= 10)
                    p.tick({at.x + wide / 2, at.y + cell / 2}, cell * 0.45F, Token::ink);
            }
        }
    }
    p.layer = base;
    return true;
}

}  // namespace meshscope::view
