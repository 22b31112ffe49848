// How large the matrices are, and in how many lines they stand.
#include <algorithm>

#include "app/gui/view/matrices_picture.h"

namespace meshscope::view {
namespace {

using Kind = MatrixStep::Kind;
using Role = MatrixTile::Role;

constexpr float kFigureW = 33, kFigureH = 20;  // look2.md section 1: a cell with its number
constexpr float kMostCell = 14, kNearly = 0.7F;
constexpr float kLeastTile = 72;    // its longer side, where cells have not room for more
constexpr float kGutterFrom = 760;  // from this width on the rank's name stands at the left

}  // namespace

/// One m for what is added or compared: all ranks' matrices at a place, the partial sums and their sum.
double MatricesPicture::most(std::size_t place, const MatrixTile& tile) const {
    const auto adds = [](const MatrixTile& t) { return t.role == Role::partial_sum || t.role == Role::sum; };
    double most = 0;
    for (const MatrixChain& chain : scene_.chains) {
        if (place == 0 && chain.before) most = std::max(most, most_of(chain.before->numbers));
        if (place <= 1) most = std::max(most, most_of(chain.start.numbers));
        for (std::size_t i = 0; i < chain.steps.size(); ++i) {
            const MatrixStep& step = chain.steps[i];
            if (place == 2 + 2 * i && step.factor) most = std::max(most, most_of(step.factor->numbers));
            if (place == 3 + 2 * i || (adds(tile) && adds(step.result)))
                most = std::max(most, most_of(step.result.numbers));
        }
    }
    return most;
}

std::vector<MatricesPicture::Item> MatricesPicture::items(const MatrixChain& chain, Scale scale) const {
    std::vector<Item> all;
    const auto tile = [&](const MatrixTile& t, const MatrixStep* made_by, std::size_t place, bool figures) {
        Item item;
        item.tile = &t;
        item.made_by = made_by;
        item.place = place;
        item.figures = figures && scale.figures && cells_of(t.columns) == t.columns && !t.numbers.empty();
        item.w = static_cast<float>(cells_of(t.columns)) * (item.figures ? kFigureW : scale.cell);
        item.h = static_cast<float>(cells_of(t.rows)) * (item.figures ? kFigureH : scale.cell);
        item.wide = std::max(item.w, p_.width(shown_name(p_, t) + " " + shape_words(t), Face::mono_small));
        all.push_back(item);
    };
    const auto sign = [&](const std::string& words, const MatrixStep* by, bool arrow) {
        Item item;
        item.sign = words;
        item.made_by = by;
        item.arrow = arrow;
        item.w = item.wide =
            arrow ? std::max(26.F, p_.width(words, Face::caption)) : p_.width(words, Face::body);
        all.push_back(item);
    };
    if (chain.before) {
        tile(*chain.before, nullptr, 0, false);
        sign("all_gather", nullptr, true);
    }
    tile(chain.start, nullptr, 1, false);
    std::size_t last_product = 0;
    for (std::size_t i = 0; i < chain.steps.size(); ++i)
        if (chain.steps[i].kind == Kind::product) last_product = i;
    for (std::size_t i = 0; i < chain.steps.size(); ++i) {
        const MatrixStep& step = chain.steps[i];
        if (step.factor) {
            sign("×", &step, false);
            tile(*step.factor, nullptr, 2 + 2 * i, false);
            sign(step.words.empty() ? "=" : step.words + " =", &step, false);
        } else {
            sign(step.words, &step, true);
        }
        const bool adds = step.result.role == Role::partial_sum || step.result.role == Role::sum;
        tile(step.result, &step, 3 + 2 * i, adds || i == last_product);
    }
    return all;
}

/// Breaks before a sign, where the matrix behind it has no room in the line. What has figures has lines of
/// its own then, as its cells are higher than the others'.
std::vector<MatricesPicture::Line> MatricesPicture::flow(const std::vector<Item>& items, float room) const {
    const auto fill = [&](bool apart) {
        std::vector<Line> lines(1);
        for (std::size_t i = 0; i < items.size(); ++i) {
            const bool sign = items[i].tile == nullptr && i + 1 < items.size();
            float w = items[i].wide + kGap;
            if (sign) w += kGap + items[i + 1].wide;
            const bool full = lines.back().w + w > room;
            const bool higher = apart && sign && items[i + 1].figures && !items[i - 1].figures;
            if (i > lines.back().first && items[i].tile == nullptr && (full || higher))
                lines.push_back({i, i, 0, 0});
            Line& at = lines.back();
            at.w += items[i].wide + (i > at.first ? kGap : 0);
            at.h = std::max(at.h, items[i].h);
            at.last = i + 1;
        }
        return lines;
    };
    auto lines = fill(false);
    const bool figures = std::ranges::any_of(items, &Item::figures);
    return lines.size() > 1 && figures ? fill(true) : lines;
}

float MatricesPicture::band_height(const MatrixChain& chain, Scale scale, float room) const {
    const float words = 2 * p_.line_height(Face::mono_small) + 10;
    float h = head_height() + 2;
    for (const Line& line : flow(items(chain, scale), room)) h += line.h + words;
    return h;
}

/// Above the lines of a band; 0 where the name stands beside them.
float MatricesPicture::head_height() const {
    return in_.size.width - 2 * kPad >= kGutterFrom ? 0 : p_.line_height(Face::caption) + 8;
}
float MatricesPicture::inside_width() const {
    return in_.size.width - 2 * kPad - 2 * kInside - 24 - (head_height() == 0 ? kGutter : 0);
}

/// The largest cells with which all bands have room, in fewer lines where they are nearly as large; with
/// figures where cells stay readable.
MatricesPicture::Scale MatricesPicture::choose(float room_w, float room_h) const {
    /// How many lines a band takes at most; 0: it has no room.
    const auto lines_of = [&](Scale scale) -> std::size_t {
        float h = 0;
        std::size_t most = 0;
        for (const MatrixChain& chain : scene_.chains) {
            const auto lines = flow(items(chain, scale), room_w);
            for (const Line& line : lines)
                if (line.w > room_w) return 0;
            most = std::max(most, lines.size());
            h += band_height(chain, scale, room_w) + kBandGap;
        }
        return h <= room_h + kBandGap ? most : 0;
    };
    // Below this size nothing is seen any more: then the picture is higher than its place.
    int64_t longest = 1;
    const auto measure = [&](const MatrixTile& tile) {
        longest = std::max({longest, cells_of(tile.rows), cells_of(tile.columns)});
    };
    for (const MatrixStep& step : scene_.chain().steps) {
        if (step.factor) measure(*step.factor);
        measure(step.result);
    }
    const float least_cell = std::clamp(kLeastTile / static_cast<float>(longest), 2.F, kGoodCell);
    for (const bool figures : {true, false}) {
        Scale best{0, figures};
        std::size_t least = 0;
        for (float cell = kMostCell; cell >= (figures ? kGoodCell : least_cell);
             cell -= cell > 3 ? 1.F : 0.5F) {
            const std::size_t lines = lines_of({cell, figures});
            const bool first = best.cell <= 0;
            if (lines == 0 || (!first && (lines >= least || cell < best.cell * kNearly))) continue;
            best.cell = cell;
            least = lines;
        }
        if (best.cell > 0) return best;
    }
    return {least_cell, false};
}

}  // namespace meshscope::view
