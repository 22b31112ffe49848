#include <algorithm>
#include <cmath>
#include <functional>

#include "app/gui/view/format.h"
#include "app/gui/view/traffic_picture.h"

namespace meshscope::view {
namespace {

constexpr float kLeastOutlined = 14;  // a node's block

}  // namespace

Rect TrafficPicture::cell_box(Rect box, int32_t row, int32_t column) const {
    const float w = box.w / static_cast<float>(grid_.columns), h = box.h / static_cast<float>(grid_.rows);
    const float x0 = std::round(box.x + w * static_cast<float>(column)),
                x1 = std::round(box.x + w * static_cast<float>(column + 1));
    const float y0 = std::round(box.y + h * static_cast<float>(row)),
                y1 = std::round(box.y + h * static_cast<float>(row + 1));
    const float gap = w >= 8 ? 1.F : 0.F;  // small cells touch: gaps would be half of what is seen
    return {x0, y0, x1 - x0 - gap, y1 - y0 - gap};
}

std::string TrafficPicture::words_of(int64_t bytes, Face face, float room) const {
    std::string brief = format_bytes(bytes);
    for (const char* tail : {" B", "B"})
        if (brief.ends_with(tail)) brief.resize(brief.size() - std::string(tail).size());
    std::erase(brief, ' ');
    return p_.fit({format_count(bytes), brief}, face, room);
}

bool TrafficPicture::many_nodes() const {
    const auto& nodes = in_.trace.info.node_of_rank;
    return std::adjacent_find(nodes.begin(), nodes.end(), std::not_equal_to<>()) != nodes.end();
}

void TrafficPicture::matrix(Rect box) {
    p_.layer = kBack;
    p_.rect({box.x - 1, box.y - 1, box.w + 1, box.h + 1}, Token::ghost, 2);
    cells(box);
    node_blocks(box);
    axis_numbers(box);
    if (sums_) sums(box);
    marks(box);
}

void TrafficPicture::cells(Rect box) {
    for (int32_t row = 0; row < grid_.rows; ++row) {
        for (int32_t column = 0; column < grid_.columns; ++column) {
            const int64_t bytes = grid_.at(row, column);
            const Id id{"link", pack(grid_.senders(row)), pack(grid_.receivers(column))};
            const Rect at = cell_box(box, row, column);
            if (bytes <= 0 && received_is_unknown(column)) {
                p_.layer = kCells;
                auto& unknown = p_.rect(at, Token::line, 0, id);
                unknown.pattern = Fill::hatch;
                unknown.hatch = Token::mute;
            }
            if (bytes <= 0) continue;
            const Token hue =
                heat(static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, grid_.most)));
            p_.layer = kCells;
            p_.rect(at, hue, at.w >= 24 ? 3.F : 0.F, id);
            if (at.w < 18) continue;
            const std::string words = words_of(bytes, Face::mono_small, at.w - 4);
            p_.layer = kWords;
            if (!words.empty() && at.h >= 14) p_.label(at, words, Face::mono_small, Token::ink, hue, id);
        }
    }
}

// The blocks whose sender and receiver stand on one node.
void TrafficPicture::node_blocks(Rect box) {
    const auto& nodes = in_.trace.info.node_of_rank;
    if (!many_nodes()) return;
    p_.layer = kLines;
    int32_t outlined = 0;
    for (int32_t row = 0; row < grid_.rows;) {
        const int32_t node = nodes[static_cast<std::size_t>(grid_.senders(row).first)];
        int32_t end = row + 1;
        while (end < grid_.rows && nodes[static_cast<std::size_t>(grid_.senders(end).first)] == node) ++end;
        for (int32_t column = 0; column < grid_.columns;) {
            const int32_t other = nodes[static_cast<std::size_t>(grid_.receivers(column).first)];
            int32_t stop = column + 1;
            while (stop < grid_.columns &&
                   nodes[static_cast<std::size_t>(grid_.receivers(stop).first)] == other)
                ++stop;
            const Rect a = cell_box(box, row, column), b = cell_box(box, end - 1, stop - 1);
            // Smaller ones would be nothing but outline.
            if (node == other && b.x + b.w - a.x >= kLeastOutlined && ++outlined <= 256) {
                auto& s = p_.outline({a.x - 1, a.y - 1, b.x + b.w - a.x + 2, b.y + b.h - a.y + 2},
                                     Token::soft, 1.2F, 3, {"node", node});
                s.stroke_style = Stroke::dashed;
            }
            column = stop;
        }
        row = end;
    }
}

void TrafficPicture::axis_numbers(Rect box) {
    p_.layer = kWords;
    const float line = p_.line_height(Face::mono_small);
    const auto numbers = [&](int32_t count, float side, float need, const auto& put) {
        int32_t every = 1;
        for (int32_t step : {1, 2, 4, 8, 16, 32, 64, 128})
            if (every = step; side * static_cast<float>(step) >= need) break;
        for (int32_t i = 0; i < count; i += every) put(i);
    };
    const float w = box.w / static_cast<float>(grid_.columns), h = box.h / static_cast<float>(grid_.rows);
    numbers(grid_.rows, h, line, [&](int32_t row) {
        const RankRange range = grid_.senders(row);
        const Rect at = cell_box(box, row, 0);
        const bool chosen = in_.selection.rank && range.contains(*in_.selection.rank);
        const float y = at.y + std::max(0.F, (at.h - line) / 2);
        if (y + line > in_.size.height) return;
        p_.text(number_of(range), {box.x - 8, y}, Face::mono_small, chosen ? Token::text : Token::mute,
                Align::right, {"rank", range.first});
    });
    const auto label = [&](int32_t column) {
        // Folded columns are narrow: the first rank says where one begins.
        const RankRange range = grid_.receivers(column);
        return p_.width(number_of(range), Face::mono_small) + 6 <= w ? number_of(range)
                                                                     : std::to_string(range.first);
    };
    float widest = 0;
    for (int32_t c = 0; c < grid_.columns; ++c)
        widest = std::max(widest, p_.width(label(c), Face::mono_small));
    numbers(grid_.columns, w, widest + 6, [&](int32_t column) {
        const RankRange range = grid_.receivers(column);
        const Rect at = cell_box(box, 0, column);
        const bool chosen = in_.selection.rank && range.contains(*in_.selection.rank);
        const std::string words = label(column);
        const float middle = at.x + at.w / 2, half = p_.width(words, Face::mono_small) / 2;
        if (middle + half > in_.size.width) return;
        p_.try_text(words, {std::max(middle, half), box.y - line - 4}, Face::mono_small,
                    chosen ? Token::text : Token::mute, Align::centre, {"rank", range.first});
    });
}

std::vector<int64_t> TrafficPicture::sent_by_row() const {
    std::vector<int64_t> sums(static_cast<std::size_t>(grid_.rows), 0);
    for (int32_t r = 0; r < grid_.rows; ++r)
        for (int32_t c = 0; c < grid_.columns; ++c) sums[static_cast<std::size_t>(r)] += grid_.at(r, c);
    return sums;
}

std::vector<int64_t> TrafficPicture::received_by_column() const {
    std::vector<int64_t> sums(static_cast<std::size_t>(grid_.columns), 0);
    for (int32_t r = 0; r < grid_.rows; ++r)
        for (int32_t c = 0; c < grid_.columns; ++c) sums[static_cast<std::size_t>(c)] += grid_.at(r, c);
    return sums;
}

float TrafficPicture::widest(const std::vector<int64_t>& sums) const {
    float w = 0;
    for (const int64_t bytes : sums) w = std::max(w, p_.width(format_count(bytes), Face::mono_small));
    return w;
}

float TrafficPicture::widest_sum() const {
    return std::max(p_.width(p_.say("view.traffic.sent"), Face::caption), widest(sent_by_row()));
}

bool TrafficPicture::received_is_unknown(int32_t column) const {
    return std::ranges::any_of(missing_,
                               [&](int32_t rank) { return grid_.receivers(column).contains(rank); });
}

void TrafficPicture::sums(Rect box) {
    p_.layer = kWords;
    const float line = p_.line_height(Face::mono_small);
    const float x = box.x + box.w + 12, edge = x + widest_sum();
    const auto sent = sent_by_row();
    p_.try_text(p_.say("view.traffic.sent"), {edge, box.y - p_.line_height(Face::caption) - 4}, Face::caption,
                Token::mute, Align::right);
    for (int32_t r = 0; r < grid_.rows; ++r) {
        const Rect at = cell_box(box, r, 0);
        p_.try_text(format_count(sent[static_cast<std::size_t>(r)]), {edge, at.y + (at.h - line) / 2},
                    Face::mono_small, Token::soft, Align::right, {"rank", grid_.senders(r).first});
    }
    sums_below(box, x);
}

// The columns' sums in one line; where they would touch, in two, every second one in the lower. Rounded only
// where that does not do either.
void TrafficPicture::sums_below(Rect box, float beside) {
    const float line = p_.line_height(Face::mono_small), column = cell_box(box, 0, 0).w;
    const auto received = received_by_column();
    const float y = box.y + box.h + 6;
    // The last one ends before the word beside them.
    const float in_two =
        std::min(2 * column - kBetweenSums, column + 2 * (beside - box.x - box.w - kBetweenSums / 2));
    const auto put = [&](int lines, bool exact) {
        if (y + static_cast<float>(lines) * line > in_.size.height) return false;
        const float room = lines == 1 ? column - kBetweenSums : in_two;
        std::vector<std::string> all;
        for (const int64_t bytes : received) {
            if (received_is_unknown(static_cast<int32_t>(all.size()))) {
                all.emplace_back("–");
                continue;
            }
            all.push_back(exact ? p_.fit({format_count(bytes)}, Face::mono_small, room)
                                : words_of(bytes, Face::mono_small, room));
            if (all.back().empty()) return false;
        }
        for (int32_t c = 0; c < grid_.columns; ++c) {
            const Rect at = cell_box(box, 0, c);
            p_.try_text(all[static_cast<std::size_t>(c)],
                        {at.x + at.w / 2, y + static_cast<float>(c % lines) * line}, Face::mono_small,
                        Token::soft, Align::centre, {"rank", grid_.receivers(c).first});
        }
        p_.try_text(p_.say("view.traffic.received"), {beside, y}, Face::caption, Token::mute);
        return true;
    };
    static_cast<void>(put(1, true) || put(2, true) || put(1, false) || put(2, false));
}

// What is selected: a rank's row and column, a cell, the cells of a collective.
void TrafficPicture::marks(Rect box) {
    p_.layer = kMarks;
    const auto band = [&](int32_t row, int32_t column) {
        const Rect a = cell_box(box, row < 0 ? 0 : row, column < 0 ? 0 : column);
        const Rect b = cell_box(box, row < 0 ? grid_.rows - 1 : row, column < 0 ? grid_.columns - 1 : column);
        return Rect{a.x - 1, a.y - 1, b.x + b.w - a.x + 2, b.y + b.h - a.y + 2};
    };
    if (in_.selection.rank) {
        for (int32_t i = 0; i < grid_.rows; ++i)
            if (grid_.senders(i).contains(*in_.selection.rank))
                p_.outline(band(i, -1), Token::sel, 1, 2).stroke_alpha = 0.6F;
        for (int32_t i = 0; i < grid_.columns; ++i)
            if (grid_.receivers(i).contains(*in_.selection.rank))
                p_.outline(band(-1, i), Token::sel, 1, 2).stroke_alpha = 0.6F;
    }
    if (const auto* event = selected_event(in_);
        event != nullptr && event->kind == trace::EventKind::collective) {
        std::vector<char> lit(grid_.bytes.size(), 0);
        for (const int32_t member : in_.trace.groups[static_cast<std::size_t>(event->group)].ranks) {
            const auto& rank = in_.trace.ranks[static_cast<std::size_t>(member)];
            for (const auto& hop : rank.hops) {
                if (!same_collective(rank.events[static_cast<std::size_t>(hop.event)], *event)) continue;
                if (!grid_.window.from.contains(hop.src) || !grid_.window.to.contains(hop.dst)) continue;
                const int32_t row = (hop.src - grid_.window.from.first) / grid_.fold,
                              column = (hop.dst - grid_.window.to.first) / grid_.fold;
                char& cell = lit[static_cast<std::size_t>(row * grid_.columns + column)];
                if (cell == 0)
                    p_.outline(band(row, column), Token::sel, 1.4F, 3).stroke_style = Stroke::dotted;
                cell = 1;
            }
        }
    }
    if (!in_.selection.cell) return;
    const TrafficCell& cell = *in_.selection.cell;
    for (int32_t r = 0; r < grid_.rows; ++r)
        for (int32_t c = 0; c < grid_.columns; ++c)
            if (grid_.senders(r).contains(cell.from.first) && grid_.receivers(c).contains(cell.to.first)) {
                const Rect at = band(r, c);
                p_.outline({at.x - 2, at.y - 2, at.w + 4, at.h + 4}, Token::sel, 2, 4,
                           {"link", pack(cell.from), pack(cell.to)});
            }
}

}  // namespace meshscope::view
