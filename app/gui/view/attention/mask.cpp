// The causal mask, block by block, and what travels between the rows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "app/gui/view/attention/picture.h"
#include "app/gui/view/event_times.h"

namespace meshscope::view {
namespace {

constexpr float kLeastCell = 3, kGapsFrom = 7, kTurn = 9;

/// The colours of ranks repeat after eight: those of a second and third round are hatched.
void fill_of(Shape& shape, int64_t origin) {
    shape.fill = origin_hue(origin);
    if (origin < 8) return;
    shape.pattern = origin < 16 ? Fill::hatch : Fill::cross_hatch;
    shape.hatch = Token::ink;
}

/// How much of a block the causal mask leaves, in areas that can be seen: of `side` × `side` parts of it.
struct Coarse {
    std::size_t side = 1;
    std::vector<int64_t> seen;  ///< pairs that are left, by row and column
    std::vector<int64_t> all;

    /// The first of `n` rows, or columns, of a part.
    std::size_t edge(std::size_t part, std::size_t n) const { return (part * n + side - 1) / side; }
};

Coarse coarse_of(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns, std::size_t side) {
    Coarse out{side, std::vector<int64_t>(side * side), std::vector<int64_t>(side * side)};
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t c = 0; c < side; ++c) {
            const auto first = columns.begin() + static_cast<std::ptrdiff_t>(out.edge(c, columns.size()));
            const auto last = columns.begin() + static_cast<std::ptrdiff_t>(out.edge(c + 1, columns.size()));
            const std::size_t at = i * side / rows.size() * side + c;
            out.all[at] += last - first;
            // A rank's tokens ascend.
            out.seen[at] += std::upper_bound(first, last, rows[i]) - first;
        }
    return out;
}

}  // namespace

void AttentionPicture::mask_row(std::size_t place, const Columns& c, float y) {
    for (std::size_t keys = 0; keys < scene_.n(); ++keys) {
        const float x = c.mask.x + static_cast<float>(keys) * (c.block + 6);
        block(place, keys, {x, y + (c.row - c.block) / 2, c.block, c.block});
    }
}

void AttentionPicture::block(std::size_t queries, std::size_t keys, Rect box) {
    const AttentionRank& rank = scene_.ranks[queries];
    const AttentionBlock& block = rank.blocks[keys];
    const auto origin = static_cast<int64_t>(keys);
    const bool known = block.cells_known;
    if (!options_.sums) {  // which are computed would answer
        p_.layer = kCells;
        p_.rect(box, Token::ghost, 4, {"rank", rank.rank}).stroke = Token::line2;
        return;
    }
    if (block.event < 0) {
        p_.layer = kCells;
        auto& shape = p_.rect(box, Token::inset, 4, {"rank", rank.rank});
        shape.stroke = Token::line2;
        if (!known) {  // the record ends before it, or does not tell which tokens these are
            shape.stroke_style = Stroke::dashed;
            return;
        }
        shape.pattern = Fill::hatch;
        shape.hatch = Token::line2;
        p_.layer = kMarks;
        if (box.w < 18) return;
        const Rect middle{box.x + box.w / 2 - 8, box.y + box.h / 2 - 8, 16, 16};
        p_.rect(middle, Token::inset, 8);
        p_.label(middle, "–", Face::mono_small, Token::soft);
        return;
    }
    const Id id{"kernel", rank.rank, block.event};
    const float share = share_done(in_, rank.rank, block.event);
    const auto n = static_cast<float>(std::max(rank.tokens.size(), scene_.ranks[keys].tokens.size()));
    if (known && with_cells() && box.w / n >= kLeastCell) {
        block_cells(queries, keys, box, share);
    } else if (known && block.pairs >= 0 && box.w >= 2 * kLeastCell) {
        coarse_cells(queries, keys, box, share);
    } else {
        p_.layer = kCells;
        auto& shape = p_.rect(box, Token::ghost, 4, id);
        shape.stroke = Token::line2;
        if (share > 0) fill_of(p_.rect({box.x, box.y, box.w, box.h * share}, Token::none, 4, id), origin);
    }
    const bool now = std::cmp_equal(now_[queries].block, keys) && share > 0;
    if (now) {
        p_.layer = kMarks;
        p_.outline({box.x - 2, box.y - 2, box.w + 4, box.h + 4}, Token::accent, 2, 5, id);
    }
    if (scene_.n() == 1 || scene_.way == AttentionWay::heads || box.w < 24) return;
    p_.layer = kMarks;
    const Point middle{box.x + box.w / 2, box.y + box.h / 2};
    p_.circle(middle, kTurn, Token::bg, id).fill_alpha = 0.85F;
    p_.label({middle.x - kTurn, middle.y - kTurn, 2 * kTurn, 2 * kTurn}, std::to_string(block.turn + 1),
             Face::mono_small, share > 0 ? Token::text : Token::soft, Token::none, id);
}

/// Where single pairs are too small to be drawn: parts of the block, each as full as the mask leaves it, so
/// that a block on the diagonal is seen to be half of one.
void AttentionPicture::coarse_cells(std::size_t queries, std::size_t keys, Rect box, float share) {
    const auto& rows = scene_.ranks[queries].tokens;
    const auto& columns = scene_.ranks[keys].tokens;
    const Id id{"kernel", scene_.ranks[queries].rank, scene_.ranks[queries].blocks[keys].event};
    const auto room = static_cast<std::size_t>(box.w / kLeastCell);
    const std::size_t side = std::min({room, std::size_t{6}, rows.size(), columns.size()});
    const Coarse parts = coarse_of(rows, columns, std::max<std::size_t>(1, side));
    int64_t pairs = 0, seen = 0;
    for (const int64_t n : parts.seen) pairs += n;
    const auto filled = static_cast<int64_t>(std::floor(share * static_cast<float>(pairs) + 1e-4F));
    p_.layer = kBack;
    p_.rect(box, Token::inset, 3, id);
    p_.layer = kCells;
    const auto place = [&](std::size_t part, std::size_t n) {
        return box.w * static_cast<float>(parts.edge(part, n)) / static_cast<float>(n);
    };
    for (std::size_t i = 0; i < parts.side; ++i)
        for (std::size_t j = 0; j < parts.side; ++j) {
            const std::size_t at = i * parts.side + j;
            if (parts.seen[at] == 0) continue;
            seen += parts.seen[at];
            const float x = place(j, columns.size()), y = place(i, rows.size());
            auto& shape = p_.rect(
                {box.x + x, box.y + y, place(j + 1, columns.size()) - x, place(i + 1, rows.size()) - y},
                Token::ghost, 0, id);
            if (seen <= filled) fill_of(shape, static_cast<int64_t>(keys));
            shape.fill_alpha = p_.alpha * static_cast<float>(parts.seen[at]) /
                               static_cast<float>(std::max<int64_t>(1, parts.all[at]));
        }
}

/// The pairs that are seen fill row by row as the kernel's time passes.
void AttentionPicture::block_cells(std::size_t queries, std::size_t keys, Rect box, float share) {
    const auto& rows = scene_.ranks[queries].tokens;
    const auto& columns = scene_.ranks[keys].tokens;
    const Id id{"kernel", scene_.ranks[queries].rank, scene_.ranks[queries].blocks[keys].event};
    const float w = box.w / static_cast<float>(columns.size()), h = box.h / static_cast<float>(rows.size());
    const float gap = std::min(w, h) >= kGapsFrom ? 1.5F : 0.F;
    int64_t pairs = 0;
    for (const int64_t query : rows)
        pairs += std::ranges::count_if(columns, [&](int64_t key) { return key <= query; });
    const auto filled = static_cast<int64_t>(std::floor(share * static_cast<float>(pairs) + 1e-4F));
    p_.layer = kBack;
    p_.rect(box, Token::inset, 3, id);
    p_.layer = kCells;
    int64_t seen = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < columns.size(); ++j) {
            if (columns[j] > rows[i]) continue;
            const Rect cell{box.x + w * static_cast<float>(j), box.y + h * static_cast<float>(i), w - gap,
                            h - gap};
            const bool done = seen++ < filled;
            auto& shape = p_.rect(cell, Token::ghost, gap > 0 ? 2.F : 0.F, id);
            if (done) fill_of(shape, static_cast<int64_t>(keys));
            if (!done && gap > 0) shape.stroke = Token::line2;
        }
}

void AttentionPicture::flights(const Columns& c, float y) {
    for (const AttentionFlight& each : attention_flights(in_, scene_)) flight(each, c, y);
}

/// From the keys of one row to those of the next; the last row's go back to the first in a lane of their own.
void AttentionPicture::flight(const AttentionFlight& flight, const Columns& c, float y) {
    const auto middle = [&](std::size_t place) {
        return y + static_cast<float>(place) * (c.row + kRowGap) + c.row / 2;
    };
    const auto origin = static_cast<int64_t>(flight.origin);
    const auto hue = origin_hue(origin);
    const bool back = flight.to < flight.from;
    const float shift = flight.gradient ? 6.F : -6.F;
    const float left = c.ways.x + 2,
                lane = c.ways.x + (back ? 50.F : 24.F) + (scene_.backward ? shift / 2 : 0);
    const float from = middle(flight.from) + 5 + (scene_.backward ? shift : 0);
    const float to = middle(flight.to) - 5 + (scene_.backward ? shift : 0);
    if (flight.share < 1) {
        p_.layer = kLines;
        auto& way = p_.polyline({{left, from}, {lane, from}, {lane, to}, {left + 2, to}}, hue, 1.4F);
        way.arrow = true;
        if (flight.gradient) way.stroke_style = Stroke::dashed;
    }
    // The way's length decides where the capsule is.
    const float across = lane - left, down = std::abs(to - from), whole = 2 * across + down;
    const float at = flight.share * whole;
    Point p{left + at, from};
    if (at > across) p = {lane, from + (to > from ? 1.F : -1.F) * std::min(down, at - across)};
    if (at > across + down) p = {lane - (at - across - down), to};
    constexpr float kWide = 26, kHigh = 20;
    p.x = std::max(p.x, left + kWide / 2 + 8);
    const Rect capsule{p.x - kWide / 2, p.y - kHigh / 2, kWide, kHigh};
    const Id id{"flight", scene_.ranks[flight.to].rank};
    p_.layer = kMarks;
    auto& body = p_.rect(capsule, flight.gradient ? Token::panel : hue, kHigh / 2, id);
    body.stroke = hue;
    body.width = 1.6F;
    p_.symbol({p.x, p.y}, 5, origin, flight.gradient ? hue : Token::ink);
}

}  // namespace meshscope::view
