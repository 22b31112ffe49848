// From 17 ranks on: ranks × ranks as one matrix, and beside it the rows that matter.
#include <algorithm>
#include <set>

#include "app/gui/view/attention/picture.h"
#include "app/gui/view/event_times.h"
#include "app/gui/view/format.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMostCells = 64;

}  // namespace

/// A cell stands for blocks of neighbouring ranks: how much of what they compute is done.
void AttentionPicture::matrix(Rect box) {
    const std::size_t cells = std::min(scene_.n(), kMostCells);
    const float each = box.w / static_cast<float>(cells);
    const auto first = [&](std::size_t cell) { return cell * scene_.n() / cells; };
    p_.layer = kCells;
    for (std::size_t i = 0; i < cells && options_.sums; ++i)
        for (std::size_t j = 0; j < cells; ++j) {
            double done = 0, all = 0;
            for (std::size_t query = first(i); query < first(i + 1); ++query)
                for (std::size_t keys = first(j); keys < first(j + 1); ++keys) {
                    const AttentionRank& rank = scene_.ranks[query];
                    const AttentionBlock& block = rank.blocks[keys];
                    if (block.event < 0) continue;
                    all += 1;
                    done += static_cast<double>(share_done(in_, rank.rank, block.event));
                }
            const Rect cell{box.x + each * static_cast<float>(j), box.y + each * static_cast<float>(i), each,
                            each};
            const Token fill = all == 0 ? Token::inset : done == 0 ? Token::ghost : heat(done / all);
            p_.rect(cell, fill, 0, {"rank", scene_.ranks[first(i)].rank});
        }
    p_.outline(box, Token::line2, 1);
    const auto chosen = static_cast<float>(((scene_.place() + 1) * cells - 1) / scene_.n());
    p_.layer = kMarks;
    p_.outline({box.x - 1, box.y + each * chosen - 1, box.w + 2, each + 2}, Token::sel, 1.6F, 2);
}

float AttentionPicture::many(float y, float room) {
    const float line = p_.line_height(Face::caption), side = std::clamp(room - 2 * line - 16, 160.F, 420.F);
    p_.layer = kWords;
    const float wide = in_.size.width - 2 * kPad;
    const bool swaps = scene_.way == AttentionWay::heads;  // then no rank computes with another's keys
    const std::string words = p_.say(swaps ? "view.attention.many.heads" : "view.attention.many",
                                     {arg("ranks", static_cast<int64_t>(scene_.n()))});
    p_.tell(words);
    const float top = p_.paragraph(words, {kPad, y}, Face::caption, Token::mute, wide) + 4;
    if (!swaps) matrix({kPad, top, side, side});
    // The selected rank, the one with the least and the one with the most to compute.
    const auto by_work = [&](std::size_t a, std::size_t b) {
        return scene_.ranks[a].flops() < scene_.ranks[b].flops();
    };
    std::vector<std::size_t> places(scene_.n());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::set<std::size_t> shown{scene_.place()};
    if (options_.sums) {
        shown.insert(*std::ranges::min_element(places, by_work));
        shown.insert(*std::ranges::max_element(places, by_work));
    }
    float at = top;
    const float x = swaps ? kPad : kPad + side + 24, right = in_.size.width - kPad;
    for (const std::size_t place : shown) {
        const Rect box{x, at, right - x, 84};
        if (box.w < 180) break;
        frame(place, box);
        name_of(place, {x + 14, 110}, box);
        if (options_.sums) work(place, {x + 136, box.w - 150}, box);
        at += 92;
    }
    return (swaps ? at : std::max(top + side, at)) + 10;
}

}  // namespace meshscope::view
