// One matrix: its cells, its cut, its numbers.
#include <algorithm>
#include <cmath>

#include "app/gui/view/format.h"
#include "app/gui/view/matrices_picture.h"

namespace meshscope::view {
namespace {

constexpr int64_t kMostCells = 32;  // look2.md section 1: beyond, a cell stands for several numbers
constexpr float kGapsFrom = 7;      // a cell from this size on stands apart from its neighbours
constexpr float kFiguresWide = 30, kFiguresHigh = 20;

/// Rows or columns [first, last) of the matrix that cell `i` of `cells` stands for.
std::pair<int64_t, int64_t> covered(int64_t i, int64_t cells, int64_t n) {
    return {i * n / cells, std::max(i * n / cells + 1, (i + 1) * n / cells)};
}

/// "−1.9", "12", "0.0": what has room in a cell.
std::string figure(float value) {
    if (!std::isfinite(value)) return format_number(value);
    const auto size = static_cast<double>(std::abs(value));
    if (size >= 99.95) return format_number(value, 3);
    if (size < 0.05) return "0.0";
    const auto tenths = static_cast<int64_t>(std::llround(size * 10));
    return (value < 0 ? "−" : "") + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

/// What numbers stand under a cell.
struct Under {
    int64_t n = 0;
    double sum = 0;
    std::size_t last = 0;  ///< the last of them, in the part
};

/// Those of `under`: rows of the part, columns of the whole.
Under numbers_under(const MatrixTile& tile, const Block& under, const std::vector<Block>* known) {
    Under found;
    for (int64_t i = under.row; i < under.row + under.rows; ++i)
        for (int64_t c = under.column; c < under.column + under.columns; ++c) {
            const int64_t row = tile.row(i);
            const auto here = [&](const Block& b) {
                return row >= b.row && row < b.row + b.rows && c >= b.column && c < b.column + b.columns;
            };
            if (known != nullptr && std::ranges::none_of(*known, here)) continue;
            ++found.n;
            found.last = static_cast<std::size_t>(i * tile.own.columns + c - tile.own.column);
            found.sum += static_cast<double>(tile.numbers[found.last]);
        }
    return found;
}

/// Whether any is, where there are no numbers to add up.
bool any_under(const MatrixTile& tile, const Block& under, const std::vector<Block>* known) {
    if (under.rows <= 0 || under.columns <= 0) return false;
    if (known == nullptr) return true;
    return std::ranges::any_of(*known, [&](const Block& b) {
        const auto [from, to] = tile.own_rows_in(b.row, b.row + b.rows);
        return std::max(from, under.row) < std::min(to, under.row + under.rows) &&
               std::max(b.column, under.column) <
                   std::min(b.column + b.columns, under.column + under.columns);
    });
}

}  // namespace

int64_t cells_of(int64_t n) {
    return std::min(n, kMostCells);
}

double most_of(const std::vector<float>& numbers) {
    double most = 0;
    for (const float x : numbers)
        if (std::isfinite(x)) most = std::max(most, static_cast<double>(std::abs(x)));
    return most;
}

Rect place_of(const MatrixTile& tile, Rect box, const Block& block) {
    const float row = box.h / static_cast<float>(std::max<int64_t>(1, tile.rows)),
                column = box.w / static_cast<float>(std::max<int64_t>(1, tile.columns));
    return {box.x + column * static_cast<float>(block.column), box.y + row * static_cast<float>(block.row),
            column * static_cast<float>(block.columns), row * static_cast<float>(block.rows)};
}

std::vector<Block> blocks_of_part(const MatrixTile& tile, int64_t first, int64_t n) {
    std::vector<Block> blocks;
    if (tile.row_places.empty()) {
        if (n > 0) blocks.push_back({tile.row(first), tile.own.column, n, tile.own.columns});
        return blocks;
    }
    for (int64_t i = first; i < first + n; ++i) {
        if (!blocks.empty() && blocks.back().row + blocks.back().rows == tile.row(i))
            ++blocks.back().rows;
        else
            blocks.push_back({tile.row(i), tile.own.column, 1, tile.own.columns});
    }
    return blocks;
}

std::string shown_name(const Painter& p, const MatrixTile& tile) {
    return tile.role == MatrixTile::Role::partial_sum ? p.say("view.matrices.partial") : tile.name;
}

std::string shape_words(const MatrixTile& tile) {
    return format_list({tile.rows_in_all > 0 ? tile.rows_in_all : tile.rows, tile.columns});
}

std::string part_words(const MatrixTile& tile) {
    if (!tile.cut() || !tile.row_places.empty()) return "";
    const auto range = [](int64_t first, int64_t n, int64_t all) {
        return n == all ? std::string(":") : std::to_string(first) + ":" + std::to_string(first + n);
    };
    return "[" + range(tile.own.row, tile.own.rows, tile.rows) + ", " +
           range(tile.own.column, tile.own.columns, tile.columns) + "]";
}

void draw_tile(Painter& p, const MatrixTile& tile, Rect box, const TileLook& look) {
    const int64_t rows = cells_of(tile.rows), columns = cells_of(tile.columns);
    if (rows <= 0 || columns <= 0) return;
    const float w = box.w / static_cast<float>(columns), h = box.h / static_cast<float>(rows);
    const float gap = std::min(w, h) >= kGapsFrom ? 1.5F : 0.F, radius = gap > 0 ? 1.5F : 0.F;
    const bool numbers = !tile.numbers.empty();
    const bool figures = look.figures && numbers && w >= kFiguresWide && h >= kFiguresHigh &&
                         rows == tile.rows && columns == tile.columns;
    const Block& own = tile.own;
    const auto there = static_cast<int64_t>(std::floor(look.share * static_cast<float>(own.columns) + 1e-4F));
    p.layer = 1;
    if (gap == 0) p.rect(box, Token::ghost).id = look.id;
    for (int64_t i = 0; i < rows; ++i) {
        const auto [row, row_end] = covered(i, rows, tile.rows);
        const auto [first, last] = tile.own_rows_in(row, row_end);
        for (int64_t k = 0; k < columns; ++k) {
            const auto [column, column_end] = covered(k, columns, tile.columns);
            const Block under = {first, std::max(column, own.column), last - first,
                                 std::min(column_end, own.column + there) - std::max(column, own.column)};
            const Under found = numbers ? numbers_under(tile, under, look.known)
                                        : Under{.n = any_under(tile, under, look.known) ? 1 : 0};
            const Rect cell{box.x + w * static_cast<float>(k) + gap / 2,
                            box.y + h * static_cast<float>(i) + gap / 2, w - gap, h - gap};
            if (found.n == 0) {
                if (gap > 0) p.rect(cell, Token::ghost, radius, look.id);
                continue;
            }
            const double value = found.sum / static_cast<double>(found.n);
            const Token hue =
                numbers ? heat(look.most > 0 ? value / look.most / 2 + 0.5 : 0.5) : Token::line2;
            p.layer = 1;
            p.rect(cell, hue, radius, look.id);
            if (!figures) continue;
            const std::string words = p.fit({figure(tile.numbers[found.last])}, Face::mono_small, cell.w);
            if (words.empty()) continue;
            p.layer = 3;
            p.label(cell, words, Face::mono_small, Token::ink, hue, look.id);
        }
    }
    p.layer = 2;
    if (!tile.cut()) return;
    for (const Block& block : blocks_of_part(tile, 0, own.rows)) {
        const Rect at = place_of(tile, box, block);
        p.outline({at.x - 1, at.y - 1, at.w + 2, at.h + 2}, Token::soft, 1, 2).stroke_alpha = 0.9F;
    }
    if (look.cut == Token::none || !tile.row_places.empty()) return;
    const Rect part = place_of(tile, box, own);
    const auto cut = [&](Point from, Point to) {
        auto& line = p.line(from, to, look.cut, 1.6F);
        line.stroke_style = look.cut_stroke;
    };
    for (const float x : {part.x, part.x + part.w})
        if (x > box.x + 0.5F && x < box.x + box.w - 0.5F) cut({x, box.y - 4}, {x, box.y + box.h + 4});
    for (const float y : {part.y, part.y + part.h})
        if (y > box.y + 0.5F && y < box.y + box.h - 0.5F) cut({box.x - 4, y}, {box.x + box.w + 4, y});
}

}  // namespace meshscope::view
