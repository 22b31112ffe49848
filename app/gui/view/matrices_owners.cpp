// Whose rows of a gathered weight are whose: one hue and symbol a rank in the whole picture, an edge beside
// the rows, and where missing rows come from.
#include <algorithm>
#include <cstddef>

#include "app/gui/view/matrices_picture.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kFewOwners = 16;  // beyond, the others' rows have no marks of their own
constexpr float kEdge = 3;              // how thick the edge is

}  // namespace

void MatricesPicture::find_members() {
    const auto add = [&](int32_t group) {
        const auto& ranks = in_.trace.groups[static_cast<std::size_t>(group)].ranks;
        members_.insert(members_.end(), ranks.begin(), ranks.end());
    };
    if (scene_.group >= 0) add(scene_.group);
    for (std::size_t c = 0; c < scene_.chains.size(); ++c) {
        int32_t before = -1;  // lives of one chain mostly share their group
        for (const Borrowed& life : borrowed_[c]) {
            const int32_t group = in_.trace.event(scene_.chains[c].rank, life.gather).group;
            if (group != before) add(group);
            before = group;
        }
    }
    std::ranges::sort(members_);
    const auto [first, last] = std::ranges::unique(members_);
    members_.erase(first, last);
}

int64_t MatricesPicture::mark_of(int32_t rank) const {
    const auto at = std::ranges::lower_bound(members_, rank);
    return at == members_.end() || *at != rank ? rank : at - members_.begin();
}

std::vector<OwnedRows> MatricesPicture::owners_of(const MatrixChain& chain, const Borrowed& life) const {
    const trace::Event& gather = in_.trace.event(chain.rank, life.gather);
    const auto& all = in_.trace.groups[static_cast<std::size_t>(gather.group)].ranks;
    return owned_rows(in_.trace, all.size() <= kFewOwners ? all : std::vector<int32_t>{chain.rank},
                      life.parameter);
}

void MatricesPicture::edges(const std::vector<OwnedRows>& owned, const MatrixTile& tile, Rect box,
                            const std::function<bool(int32_t)>& here) {
    const float all = static_cast<float>(std::max<int64_t>(1, tile.transposed ? tile.columns : tile.rows));
    p_.layer = kLines;
    for (const OwnedRows& each : owned) {
        const float from = each.from / all, to = each.to / all;
        const Rect edge =
            tile.transposed
                ? Rect{box.x + box.w * from + 0.5F, box.y - kEdge - 1.5F, box.w * (to - from) - 1, kEdge}
                : Rect{box.x - kEdge - 1.5F, box.y + box.h * from + 0.5F, kEdge, box.h * (to - from) - 1};
        auto& shape = p_.rect(edge, origin_hue(mark_of(each.rank)), 1, {"rank", each.rank});
        if (!here(each.rank)) shape.fill_alpha = 0.3F;
    }
}

void MatricesPicture::owners_legend(Rect box, int32_t gather) {
    const auto& group =
        in_.trace.groups[static_cast<std::size_t>(in_.trace.event(scene_.rank, gather).group)].ranks;
    const float line = p_.line_height(Face::caption);
    const std::string words = p_.say("view.matrices.owners");
    const auto width = [&](std::size_t n) {
        float w = p_.width(words, Face::caption) + 10;
        for (std::size_t i = 0; i < n; ++i)
            w += 24 + p_.width("rank " + std::to_string(group[i]), Face::caption);
        return w;
    };
    if (group.size() > kFewOwners || width(group.size()) > box.w) return;
    float x = box.x + box.w - width(group.size());
    p_.layer = kWords;
    p_.text(words, {x, box.y}, Face::caption, Token::mute);
    x += p_.width(words, Face::caption) + 10;
    for (const int32_t rank : group) {
        const int64_t mark = mark_of(rank);
        const std::string name = "rank " + std::to_string(rank);
        p_.layer = kLines;
        p_.symbol({x + 6, box.y + line / 2}, 4.5F, mark, origin_hue(mark));
        p_.layer = kWords;
        p_.text(name, {x + 14, box.y}, Face::caption, Token::soft, Align::left, {"rank", rank});
        x += 24 + p_.width(name, Face::caption);
    }
}

}  // namespace meshscope::view
