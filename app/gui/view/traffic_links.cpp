#include <algorithm>
#include <cmath>
#include <map>

#include "app/gui/view/format.h"
#include "app/gui/view/traffic_picture.h"

namespace meshscope::view {
namespace {

constexpr int32_t kMostDrawn = 16;  // ranks whose links are a drawing; more are a list
constexpr int32_t kMostNodes = 4;

}  // namespace

void TrafficPicture::beside(Rect box) {
    float y = split_card(box);
    y = ramp({box.x, y + 12, box.w, box.h}) + 14;
    const Rect rest{box.x, y, box.w, box.y + box.h - y};
    if (rest.h < 60) return;
    if (!links_drawing(rest)) links_list(rest);
}

// Bytes inside nodes beside those between, as figures and as one bar. Grey: the colours of this picture are
// amounts.
float TrafficPicture::split_card(Rect box) {
    float y = box.y;
    const float line = p_.line_height(Face::caption), number = p_.line_height(Face::mono),
                right = box.x + box.w;
    const auto row = [&](const char* id, int64_t bytes, int32_t links, bool hatched) {
        p_.layer = kBack;
        auto& mark = p_.rect({box.x, y + number / 2 - 7, 14, 14}, Token::compute, 3);
        if (hatched) {
            mark.pattern = Fill::hatch;
            mark.hatch = Token::text;
        }
        p_.layer = kWords;
        const double share =
            traffic_.total > 0 ? static_cast<double>(bytes) / static_cast<double>(traffic_.total) : 0;
        const std::string percent = format_percent(share) + " %", exact = format_exact_bytes(bytes);
        const float percent_w =
            std::max(p_.width("100 %", Face::mono_small), p_.width(percent, Face::mono_small));
        const std::string words = p_.say(id);
        const float words_w = 22 + p_.width(words, Face::caption), percent_x = right - percent_w - 12;
        std::string amount =
            p_.fit({exact, format_bytes(bytes)}, Face::mono, percent_x - box.x - words_w - 10);
        const bool one_line = !amount.empty();
        if (!one_line) amount = p_.fit({exact, format_bytes(bytes)}, Face::mono, percent_x - box.x - 22);
        p_.text(percent, {right, y + (number - p_.line_height(Face::mono_small)) / 2}, Face::mono_small,
                Token::mute, Align::right);
        if (words_w <= percent_x - box.x)
            p_.text(words, {box.x + 22, y + (number - line) / 2}, Face::caption, Token::soft);
        if (!one_line) y += line + 2;
        if (!amount.empty()) p_.text(amount, {percent_x, y}, Face::mono, Token::text, Align::right);
        y += number;
        const std::string used =
            p_.fit({p_.say("view.traffic.links", {arg("links", links)})}, Face::caption, box.w - 22);
        if (!used.empty() && !low_) {
            p_.text(used, {box.x + 22, y}, Face::caption, Token::mute);
            y += line + 2;
        }
        y += 2;
    };
    row("view.traffic.inside", traffic_.inside, traffic_.links_inside, false);
    row("view.traffic.between", traffic_.between, traffic_.links_between, true);
    if (traffic_.total > 0) {
        p_.layer = kBack;
        const float w = std::round(box.w * static_cast<float>(static_cast<double>(traffic_.inside) /
                                                              static_cast<double>(traffic_.total)));
        if (w > 0) p_.rect({box.x, y + 2, w, 10}, Token::compute);
        if (w < box.w) {
            auto& s = p_.rect({box.x + w, y + 2, box.w - w, 10}, Token::compute);
            s.pattern = Fill::hatch;
            s.hatch = Token::text;
        }
        y += 14;
    }
    return y;
}

// The legend: amount by colour.
float TrafficPicture::ramp(Rect box) {
    p_.layer = kWords;
    const float line = p_.line_height(Face::caption);
    const std::string zero = "0", most = format_bytes(grid_.most),
                      words = p_.fit({p_.say("view.traffic.legend"), p_.say("view.traffic.legend.short")},
                                     Face::caption, box.w);
    if (!words.empty()) p_.text(words, {box.x, box.y}, Face::caption, Token::mute);
    const float y = box.y + line + 2, number = p_.line_height(Face::mono_small);
    const float x0 = box.x + p_.width(zero, Face::mono_small) + 8,
                x1 = box.x + box.w - p_.width(most, Face::mono_small) - 8;
    p_.text(zero, {box.x, y}, Face::mono_small, Token::soft);
    p_.text(most, {box.x + box.w, y}, Face::mono_small, Token::soft, Align::right);
    p_.layer = kBack;
    if (x1 - x0 >= 32)
        for (int i = 0; i < kHeats; ++i) {
            const float a = std::round(x0 + (x1 - x0) * static_cast<float>(i) / kHeats),
                        b = std::round(x0 + (x1 - x0) * static_cast<float>(i + 1) / kHeats);
            p_.rect({a, y + number / 2 - 5, b - a, 10}, heat(static_cast<double>(i) / (kHeats - 1)), 0,
                    {"ramp", i});
        }
    return y + number;
}

void TrafficPicture::draw_link(Point a, Point b, const TrafficLink& link, int64_t most, float bend,
                               float radius) {
    const float dx = b.x - a.x, dy = b.y - a.y, length = std::max(1.F, std::hypot(dx, dy));
    const Point side{-dy / length * bend, dx / length * bend};
    const Point c{a.x + dx / 3 + side.x, a.y + dy / 3 + side.y},
        d{b.x - dx / 3 + side.x, b.y - dy / 3 + side.y};
    // From rim to rim: the curve leaves and arrives towards its bend.
    const auto rim = [radius](Point from, Point to) {
        const float x = to.x - from.x, y = to.y - from.y, l = std::max(1.F, std::hypot(x, y));
        return Point{from.x + x / l * radius, from.y + y / l * radius};
    };
    const double share = static_cast<double>(link.bytes) / static_cast<double>(std::max<int64_t>(1, most));
    const float width = 1.6F + 2.4F * static_cast<float>(share);
    // Cividis ends in a dark blue and a pale yellow: on a dark or a light scene one of them needs an edge.
    p_.bezier(rim(a, c), c, d, rim(b, d), Token::mute, width + 2).arrow = true;
    auto& s = p_.bezier(rim(a, c), c, d, rim(b, d), heat(share), width);
    s.arrow = true;
    s.id = {"link", pack({link.src, 1}), pack({link.dst, 1})};
}

// Nodes as panels, ranks in them, a curve a link: there and back on either side.
bool TrafficPicture::links_drawing(Rect box) {
    const auto ranks = static_cast<int32_t>(in_.trace.ranks.size());
    if (ranks > kMostDrawn || options_.filter.window) return false;
    std::map<int32_t, std::vector<int32_t>> nodes;
    for (int32_t r = 0; r < ranks; ++r)
        nodes[in_.trace.info.node_of_rank.empty() ? 0
                                                  : in_.trace.info.node_of_rank[static_cast<std::size_t>(r)]]
            .push_back(r);
    if (static_cast<int32_t>(nodes.size()) > kMostNodes) return false;
    std::size_t widest = 1;
    for (const auto& [node, members] : nodes) widest = std::max(widest, members.size());
    const float label = p_.line_height(Face::caption) + 2;
    const float rows = static_cast<float>(nodes.size());
    const float row = std::min(150.F, (box.h + 12) / rows);
    const float step = (box.w - 24) / static_cast<float>(widest);
    const float radius = std::min({20.F, step * 0.3F, (row - label - 12) * 0.24F});
    if (radius < 9) return false;
    std::map<int32_t, Point> at;
    float y = box.y;
    for (const auto& [node, members] : nodes) {
        const Rect panel{box.x, y + label, box.w, row - label - 12};
        p_.layer = kWords;
        const std::string name = p_.say("view.node", {arg("node", node)});
        // Links between nodes pass behind the name.
        p_.rect({box.x, y, p_.width(name, Face::caption) + 6, label - 2}, Token::bg, 2, {"node", node});
        p_.text(name, {box.x, y}, Face::caption, Token::mute, Align::left, {"node", node});
        p_.layer = kBack;
        p_.rect(panel, Token::panel, 10, {"node", node});
        p_.outline(panel, Token::line2, 1, 10, {"node", node});
        for (std::size_t i = 0; i < members.size(); ++i)
            at[members[i]] = {panel.x + 12 + step * (static_cast<float>(i) + 0.5F), panel.y + panel.h / 2};
        y += row;
    }
    int64_t most = 0;
    for (const TrafficLink& link : traffic_.links) most = std::max(most, link.bytes);
    p_.layer = kLines;
    for (const TrafficLink& link : traffic_.links) {
        const Point a = at[link.src], b = at[link.dst];
        const float distance = std::hypot(b.x - a.x, b.y - a.y);
        const bool flat = std::fabs(a.y - b.y) < 1;
        // Neighbours' curves stay inside the node's panel; longer ones bend more, so that they part.
        const float bend = flat ? std::min(row * 0.36F, 10 + distance * 0.14F) : 6 + distance * 0.05F;
        draw_link(a, b, link, most, -bend, radius + 2);
    }
    p_.layer = kWords;
    for (const auto& [rank, c] : at) {
        const bool chosen = in_.selection.rank == rank;
        auto& s = p_.circle(c, radius, Token::raised, {"rank", rank});
        s.stroke = chosen ? Token::sel : Token::line2;
        s.width = chosen ? 2.F : 1.F;
        const std::string number = std::to_string(rank);
        if (p_.width(number, Face::mono_small) <= 2 * radius)
            p_.label({c.x - radius, c.y - radius, 2 * radius, 2 * radius}, number, Face::mono_small,
                     Token::text, Token::none, {"rank", rank});
    }
    return true;
}

// Too many ranks to draw: what nodes send each other, then the busiest links.
void TrafficPicture::links_list(Rect box) {
    const float line = std::max(24.F, p_.line_height(Face::caption) + 4), right = box.x + box.w;
    float y = box.y;
    const auto head = [&](const std::string& words) {
        if (y + 2 * line > box.y + box.h) return false;
        p_.layer = kWords;
        const std::string fitting = p_.fit({words}, Face::caption, box.w);
        if (!fitting.empty()) p_.text(fitting, {box.x, y}, Face::caption, Token::mute);
        y += p_.line_height(Face::caption) + 2;
        p_.layer = kLines;
        p_.line({box.x, y + 0.5F}, {right, y + 0.5F}, Token::line);
        y += 4;
        return true;
    };
    const auto row = [&](const std::string& words, int64_t bytes, int64_t most, const Id& id) {
        if (y + line > box.y + box.h) return false;
        p_.layer = kBack;
        p_.rect({box.x, y + line / 2 - 6, 12, 12},
                heat(static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, most))), 3, id);
        p_.layer = kWords;
        const std::string amount = format_bytes(bytes);
        p_.label({box.x + 20, y, box.w - 20, line}, amount, Face::mono_small, Token::text, Token::none, id,
                 Align::right);
        const float room = box.w - 32 - p_.width(amount, Face::mono_small);
        const std::string fitting = p_.fit({words}, Face::caption, room);
        if (!fitting.empty())
            p_.label({box.x + 20, y, room, line}, fitting, Face::caption, Token::soft, Token::none, id,
                     Align::left);
        y += line;
        return true;
    };
    const auto& node_of = in_.trace.info.node_of_rank;
    std::map<std::pair<int32_t, int32_t>, int64_t> pairs;
    if (!node_of.empty())
        for (const TrafficLink& link : traffic_.links) {
            const int32_t a = node_of[static_cast<std::size_t>(link.src)],
                          b = node_of[static_cast<std::size_t>(link.dst)];
            if (a != b) pairs[{a, b}] += link.bytes;
        }
    std::vector<std::pair<std::pair<int32_t, int32_t>, int64_t>> by_bytes(pairs.begin(), pairs.end());
    std::stable_sort(by_bytes.begin(), by_bytes.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    const float half = box.y + box.h * 0.5F;
    if (!by_bytes.empty() && head(p_.say("view.traffic.nodes")))
        for (const auto& [nodes, bytes] : by_bytes) {
            if (y + line > half && y > box.y + 3 * line) break;
            if (!row(p_.say("view.traffic.node.pair", {arg("from", nodes.first), arg("to", nodes.second)}),
                     bytes, by_bytes.front().second, {"node", nodes.first, nodes.second}))
                break;
        }
    if (y > box.y) y += 10;
    std::vector<TrafficLink> links;
    for (const TrafficLink& link : traffic_.links)
        if (grid_.window.from.contains(link.src) && grid_.window.to.contains(link.dst)) links.push_back(link);
    const auto shown = std::min<std::size_t>(links.size(), 24);
    std::partial_sort(
        links.begin(), links.begin() + static_cast<std::ptrdiff_t>(shown), links.end(),
        [](const TrafficLink& a, const TrafficLink& b) {
            return a.bytes != b.bytes ? a.bytes > b.bytes : std::pair{a.src, a.dst} < std::pair{b.src, b.dst};
        });
    if (links.empty() || !head(p_.say("view.traffic.busiest"))) return;
    for (std::size_t i = 0; i < shown; ++i)
        if (!row("rank " + std::to_string(links[i].src) + " → rank " + std::to_string(links[i].dst),
                 links[i].bytes, links.front().bytes,
                 {"link", pack({links[i].src, 1}), pack({links[i].dst, 1})}))
            break;
}

}  // namespace meshscope::view
