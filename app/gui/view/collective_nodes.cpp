#include <algorithm>
#include <iterator>
#include <map>

#include "app/gui/view/collective_picture.h"
#include "app/gui/view/common.h"
#include "app/gui/view/mesh_layout.h"

// What stands around the groups of a collective picture: the machines behind them, heads over columns of
// facing pairs, the idle links of another mesh dim.

namespace meshscope::view {
namespace {

Rect join(const Rect& a, const Rect& b) {
    const float x = std::min(a.x, b.x), y = std::min(a.y, b.y);
    return {x, y, std::max(a.x + a.w, b.x + b.w) - x, std::max(a.y + a.h, b.y + b.h) - y};
}

}  // namespace

int32_t CollectivePicture::node_of_rank(int32_t rank) const {
    const auto& nodes = in_.trace.info.node_of_rank;
    return rank >= 0 && static_cast<std::size_t>(rank) < nodes.size() ? nodes[static_cast<std::size_t>(rank)]
                                                                      : -1;
}

void CollectivePicture::nodes(Rect area, bool below_each_other) {
    std::map<int32_t, Rect> boxes;
    bool crosses = false;
    for (const auto& [i, place] : places_) {
        crosses = crosses || node_of(i) < 0;
        for (std::size_t m = 0; m < place.members.size(); ++m) {
            const int32_t node = node_of_rank(states_[i]->ranks[m]);
            if (node < 0) return;
            Rect box = place.members[m];
            if (m < place.buffers.size()) box = join(box, place.buffers[m]);
            const auto [at, first] = boxes.emplace(node, box);
            if (!first) at->second = join(at->second, box);
        }
    }
    if (!crosses || boxes.size() < 2) return;
    const bool columns = below_each_other && places_[0].second.facing;
    for (auto& [node, box] : boxes)
        box = columns ? Rect{box.x - 12, area.y + 1, box.w + 24, area.h - 2}
                      : Rect{box.x - 9, box.y - 9, box.w + 18, box.h + 18};
    // Where ranks of several nodes stand among each other a box would lie.
    for (auto a = boxes.begin(); a != boxes.end(); ++a)
        for (auto b = std::next(a); b != boxes.end(); ++b)
            if (a->second.x < b->second.x + b->second.w && b->second.x < a->second.x + a->second.w &&
                a->second.y < b->second.y + b->second.h && b->second.y < a->second.y + a->second.h)
                return;
    const float line = p_.line_height(Face::caption);
    for (const auto& [node, box] : boxes) {
        const Id id{"node", node};
        p_.layer = kNodes;
        p_.rect(box, Token::panel, 14, id).stroke = Token::line2;
        const std::string words = p_.say("view.node", {arg("node", node)});
        p_.layer = kWords;
        if (columns && places_.size() > 1) continue;  // its column's head says it
        const float w = p_.width(words, Face::caption);
        for (const float y : {box.y - line, box.y + box.h + 1, box.y + 1}) {
            if (!p_.is_free({box.x + 6, y, w, line})) continue;
            // A hull's line stops at the name instead of running through it.
            if (std::ranges::any_of(hulls_, [&](const Rect& hull) {
                    return (hull.y > y - 1 && hull.y < y + line) ||
                           (hull.y + hull.h > y && hull.y + hull.h < y + line + 1);
                }))
                p_.rect({box.x + 1, y, w + 10, line - 1}, Token::bg, 3, id);
            p_.text(words, {box.x + 6, y}, Face::caption, Token::mute, Align::left, id);
            break;
        }
    }
}

void CollectivePicture::column_heads(float y) {
    p_.layer = kWords;
    const auto& place = places_.front().second;
    const auto& dim = group(own_).mesh_dim;
    for (std::size_t m = 0; m < place.members.size(); ++m) {
        const auto& box = place.members[m];
        const std::string words = dim + " = " + std::to_string(m);
        // A column that stands on one node, while its groups do not, says so.
        int32_t node = node_of_rank(states_[places_[0].first]->ranks[m]);
        for (const auto& [i, other] : places_)
            if (node_of(i) >= 0 || m >= states_[i]->ranks.size() ||
                node_of_rank(states_[i]->ranks[m]) != node)
                node = -1;
        const std::string where = node >= 0 ? p_.say("view.node", {arg("node", node)}) : "";
        const float w = p_.width(words, Face::caption),
                    more = node >= 0 ? 12 + p_.width(where, Face::caption) : 0;
        const float middle = m < place.buffers.size()
                                 ? join(box, place.buffers[m]).x + join(box, place.buffers[m]).w / 2
                                 : box.x + box.w / 2;
        const Token hue = dim_hue(dim, dim_position(own_));
        p_.try_text(words, {middle - (w + more) / 2, y}, Face::caption, hue);
        if (node >= 0)
            p_.try_text(where, {middle - (w + more) / 2 + w + 12, y}, Face::caption, Token::mute, Align::left,
                        {"node", node});
    }
}

void CollectivePicture::idle_links(std::size_t columns) {
    if (columns != 1 || places_.size() < 2 || !places_[0].second.cards) return;
    p_.layer = kNodes + 0;
    for (std::size_t k = 0; k + 1 < places_.size(); ++k)
        for (std::size_t m = 0; m < places_[k].second.members.size(); ++m) {
            const int32_t a = states_[places_[k].first]->ranks[m],
                          b = states_[places_[k + 1].first]->ranks[m];
            for (const auto& g : in_.trace.groups) {
                const bool both = std::count(g.ranks.begin(), g.ranks.end(), a) > 0 &&
                                  std::count(g.ranks.begin(), g.ranks.end(), b) > 0;
                if (!both || g.mesh_dim == "world" || g.mesh_dim == group(own_).mesh_dim) continue;
                const auto& names = in_.trace.info.mesh_names;
                const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), g.mesh_dim) -
                                                         names.begin());
                const Rect &from = places_[k].second.members[m], &to = places_[k + 1].second.members[m];
                const float x = from.x + from.w / 2;
                p_.layer = kIdle;
                auto& line = p_.line({x, from.y + from.h + 3}, {x, to.y - 3}, dim_hue(g.mesh_dim, at), 1.4F);
                line.stroke_style = dim_stroke(g.mesh_dim, at);
                line.stroke_alpha = 0.45F;
                break;
            }
        }
}

}  // namespace meshscope::view
