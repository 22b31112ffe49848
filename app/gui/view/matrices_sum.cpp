// The sum, chunk by chunk as the collective's hops bring it.
#include <algorithm>
#include <cmath>

#include "app/gui/view/matrices_picture.h"

namespace meshscope::view {
namespace {

/// Elements [first, first + n) of the rank's part of a matrix as blocks of the whole. A part of a row counts
/// with its columns.
std::vector<Block> blocks_in(const MatrixTile& tile, int64_t first, int64_t n) {
    trace::ParameterRun run;
    run.n_rows = tile.own.rows;
    run.n_columns = tile.own.columns;
    std::vector<Block> blocks;
    for (const Block& own : blocks_of(run, first, n))
        for (Block block : blocks_of_part(tile, own.row, own.rows)) {
            block.column = tile.own.column + own.column;
            block.columns = own.columns;
            blocks.push_back(block);
        }
    return blocks;
}

}  // namespace

void MatricesPicture::sum(const MatrixChain& chain, const Item& item, Rect box) {
    const MatrixTile& tile = *item.tile;
    const auto c = static_cast<std::size_t>(&chain - scene_.chains.data());
    const int32_t event = item.made_by->event;
    TileLook look{.most = most(item.place, tile),
                  .share = 1,
                  .figures = item.figures,
                  .cut = cut_hue(),
                  .id = {"matrix", chain.rank, static_cast<int64_t>(item.place)}};
    const float done = share_done(in_, chain.rank, event);
    sums_[c] = place_of(tile, box, tile.own);
    const auto& added = added_[c];
    if (done >= 1 || !added) {
        if (done < 1) look.share = 0;
        draw_tile(p_, tile, box, look);
        return;
    }
    // Of an all_reduce the buffer is the whole matrix; of a reduce_scatter the rank's own piece of it.
    const auto& state = added->state;
    const auto m = static_cast<std::size_t>(std::ranges::find(state.ranks, chain.rank) - state.ranks.begin());
    const BufferState& buffer = state.buffers[m];
    const int64_t n = tile.own.rows * tile.own.columns;
    std::vector<Block> whole;
    // What of a stretch of the buffer is this rank's, counted in its part.
    const auto within = [&](int64_t offset, int64_t elements) {
        const int64_t from = std::clamp<int64_t>(offset - tile.first_in_buffer, 0, n);
        return std::pair(from, std::clamp<int64_t>(offset + elements - tile.first_in_buffer, from, n));
    };
    for (const ChunkState& piece : buffer.pieces) {
        if (std::cmp_less(piece.from_count, state.ranks.size())) continue;
        const auto [from, to] = within(piece.offset, piece.elements);
        for (const Block& block : blocks_in(tile, from, to - from)) whole.push_back(block);
    }
    look.known = &whole;
    draw_tile(p_, tile, box, look);
    p_.layer = kMarks;
    for (const Block& block : whole) {
        const Rect at = place_of(tile, box, block);
        p_.outline({at.x - 1, at.y - 1, at.w + 2, at.h + 2}, Token::ok, 1.6F, 3);
    }
    // What is on its way: the place it will take, filled as far as it has come.
    for (const HopState& hop : state.hops) {
        if (std::cmp_not_equal(hop.receiver, m) || !hop.flying) continue;
        const bool covered = !options_.senders_covered.empty();
        const Token hue =
            covered ? Token::soft : origin_hue(mark_of(state.ranks[static_cast<std::size_t>(hop.sender)]));
        int64_t elements = 0;
        Rect around{};
        for (const trace::HopPiece& piece : hop.pieces) {
            elements += piece.elements;
            const auto [from_element, to_element] = within(piece.offset, piece.elements);
            for (const Block& block : blocks_in(tile, from_element, to_element - from_element)) {
                const Rect at = place_of(tile, box, block);
                p_.layer = kLines;
                p_.rect({at.x, at.y, at.w * hop.progress, at.h}, hue, 2).fill_alpha = 0.4F;
                auto& edge = p_.outline(at, hue, 1.2F, 2);
                edge.stroke_style = Stroke::dashed;
                if (around.h < at.h) around = at;
            }
        }
        if (covered) continue;
        const int32_t sender = state.ranks[static_cast<std::size_t>(hop.sender)];
        const auto come = static_cast<int64_t>(std::floor(hop.progress * static_cast<float>(elements)));
        const std::vector<MessageArg> args{arg("rank", sender), arg("come", come), arg("all", elements)};
        const std::string words = p_.fit({p_.say("view.matrices.from", args)}, Face::caption, around.w - 12);
        if (words.empty() || around.h < p_.line_height(Face::caption)) continue;
        const float w = p_.width(words, Face::caption) + 12, high = p_.line_height(Face::caption);
        const Rect pill{around.x + (around.w - w) / 2, around.y + (around.h - high) / 2, w, high};
        p_.layer = kMarks;
        p_.rect(pill, Token::panel, 8).fill_alpha = 0.92F;
        p_.label(pill, words, Face::caption, Token::text);
    }
}

/// Chunks between the bands, on a lane at the right.
void MatricesPicture::travelling() {
    if (added_.empty() || !added_.front() || !options_.senders_covered.empty()) return;
    const auto& state = added_.front()->state;
    const auto band_of = [&](int32_t member) -> std::size_t {
        const int32_t rank = state.ranks[static_cast<std::size_t>(member)];
        for (std::size_t c = 0; c < scene_.chains.size(); ++c)
            if (scene_.chains[c].rank == rank) return c;
        return scene_.chains.size();
    };
    const float lane = in_.size.width - kPad - 16;
    for (const HopState& hop : state.hops) {
        if (!hop.flying) continue;
        const std::size_t from = band_of(hop.sender), to = band_of(hop.receiver);
        if (from >= sums_.size() || to >= sums_.size() || from == to || sums_[from].w <= 0 ||
            sums_[to].w <= 0)
            continue;
        const int64_t mark = mark_of(state.ranks[static_cast<std::size_t>(hop.sender)]);
        const Token hue = origin_hue(mark);
        const float x = lane + (hop.sender < hop.receiver ? -8.F : 6.F);
        const auto middle = [](const Rect& r, float share) { return r.y + r.h * share; };
        const Point a{sums_[from].x + sums_[from].w + 4, middle(sums_[from], 0.3F)},
            d{sums_[to].x + sums_[to].w + 4, middle(sums_[to], 0.7F)};
        p_.layer = kLines;
        p_.polyline({a, {x, a.y}, {x, d.y}, d}, hue, 1.4F).arrow = true;
        const float t = ease_in_out_cubic(hop.progress);
        const Point at{x, a.y + (d.y - a.y) * t};
        p_.layer = kMarks;
        p_.circle(at, 6.5F, Token::panel).stroke = hue;
        p_.symbol(at, 4, mark, hue);
    }
}

}  // namespace meshscope::view
