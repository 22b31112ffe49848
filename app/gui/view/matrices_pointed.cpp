// What is under the pointer: a number of a product, with the row and the column that it was made of.
#include <algorithm>
#include <cmath>

#include "app/gui/view/format.h"
#include "app/gui/view/matrices_picture.h"

namespace meshscope::view {
namespace {

/// Products that are listed; the others are counted.
constexpr int64_t kMostProducts = 10;

std::string number(float value) {
    const std::string words = format_number(value, 3);
    return value < 0 ? "(" + words + ")" : words;
}

}  // namespace

/// The number of a product's result at the pointer; nothing where it is not there yet, or where one of those
/// that it was made of is not recorded.
std::optional<MatricesPicture::Pointed> MatricesPicture::pointed() const {
    if (!options_.pointer) return std::nullopt;
    for (std::size_t c = 0; c < scene_.chains.size(); ++c) {
        const MatrixChain& chain = scene_.chains[c];
        for (std::size_t i = 0; i < chain.steps.size(); ++i) {
            const MatrixStep& step = chain.steps[i];
            const auto box = placed_[c].find(3 + 2 * i);
            if (!step.factor || box == placed_[c].end() || !box->second.contains(*options_.pointer)) continue;
            const MatrixTile &left = i == 0 ? chain.start : chain.steps[i - 1].result, &right = *step.factor,
                             &result = step.result;
            const bool all = !left.numbers.empty() && !right.numbers.empty() && !result.numbers.empty() &&
                             left.own.columns == right.own.rows && left.own.rows == result.own.rows &&
                             right.own.columns == result.own.columns;
            // Where a cell is an average of several numbers it is no number of its own.
            const bool cells =
                cells_of(result.rows) == result.rows && cells_of(result.columns) == result.columns;
            if (!all || !cells) return std::nullopt;
            const Point at = *options_.pointer;
            const auto row = static_cast<int64_t>((at.y - box->second.y) / box->second.h *
                                                  static_cast<float>(result.rows)),
                       column = static_cast<int64_t>((at.x - box->second.x) / box->second.w *
                                                     static_cast<float>(result.columns));
            const auto [first, last] = result.own_rows_in(row, row + 1);
            const int64_t own_column = column - result.own.column;
            const auto there = static_cast<int64_t>(std::floor(
                share_done(in_, chain.rank, step.event) * static_cast<float>(result.own.columns) + 1e-4F));
            if (first == last || own_column < 0 || own_column >= there) return std::nullopt;
            return Pointed{c, i, first, own_column};
        }
    }
    return std::nullopt;
}

void MatricesPicture::light_up() {
    const auto at = pointed();
    if (!at) return;
    const MatrixChain& chain = scene_.chains[at->chain];
    const MatrixStep& step = chain.steps[at->step];
    const MatrixTile &left = at->step == 0 ? chain.start : chain.steps[at->step - 1].result,
                     &right = *step.factor, &result = step.result;
    const auto& boxes = placed_[at->chain];
    const auto mark = [&](const MatrixTile& tile, std::size_t place, const Block& block) {
        const auto box = boxes.find(place);
        if (box == boxes.end()) return;
        const Rect r = place_of(tile, box->second, block);
        p_.layer = kPointed;
        p_.outline({r.x - 1, r.y - 1, r.w + 2, r.h + 2}, Token::sel, 2, 3,
                   {"product", chain.rank, static_cast<int64_t>(place)});
    };
    const std::size_t result_place = 3 + 2 * at->step;
    mark(left, at->step == 0 ? 1 : result_place - 2,
         {left.row(at->row), left.own.column, 1, left.own.columns});
    mark(right, result_place - 1, {right.own.row, right.own.column + at->column, right.own.rows, 1});
    mark(result, result_place, {result.row(at->row), result.own.column + at->column, 1, 1});

    std::vector<std::string> lines;
    const std::string place = "[" + std::to_string(result.row(at->row)) + ", " +
                              std::to_string(result.own.column + at->column) + "]";
    const float sum = result.numbers[static_cast<std::size_t>(at->row * result.own.columns + at->column)];
    lines.push_back(shown_name(p_, result) + " " + place + " = " + format_number(sum, 3));
    const int64_t n = left.own.columns;
    for (int64_t k = 0; k < n && (k < kMostProducts || n <= kMostProducts + 1); ++k) {
        const float a = left.numbers[static_cast<std::size_t>(at->row * n + k)],
                    b = right.numbers[static_cast<std::size_t>(k * right.own.columns + at->column)];
        lines.push_back((k == 0 ? "   " : "+ ") + number(a) + " × " + number(b));
    }
    if (n > kMostProducts + 1)
        lines.push_back("+ " +
                        p_.say("view.matrices.more_products", {arg("n", format_count(n - kMostProducts))}));
    if (!step.bias.empty())
        lines.push_back("+ b: " + number(step.bias[static_cast<std::size_t>(at->column)]));
    note_at(*options_.pointer, lines);
}

/// Lines in a box beside a point, within the picture's width.
void MatricesPicture::note_at(Point at, const std::vector<std::string>& lines) {
    const float line = p_.line_height(Face::mono_small) + 1;
    float w = 0;
    for (const std::string& words : lines) w = std::max(w, p_.width(words, Face::mono_small));
    w += 20;
    const float h = line * static_cast<float>(lines.size()) + 14;
    const float x = at.x + 16 + w <= in_.size.width - 4 ? at.x + 16 : std::max(4.F, at.x - 12 - w);
    const float y = std::max(4.F, at.y - h / 2);
    p_.layer = kNote;
    p_.rect({x, y, w, h}, Token::raised, 8, {"note"}).stroke = Token::line2;
    float top = y + 7;
    for (const std::string& words : lines) {
        p_.text(words, {x + 10, top}, Face::mono_small, Token::text, Align::left, {"note"});
        top += line;
    }
}

}  // namespace meshscope::view
