#include "core/data/made_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;
using meshscope::data::MadeData;

namespace {
struct Rows {
    std::vector<float> x, y;
};
Rows rows_of(const MadeData& data, int64_t step, int64_t global_batch, int64_t first, int64_t n) {
    Rows rows{std::vector<float>(static_cast<std::size_t>(n * data.in)),
              std::vector<float>(static_cast<std::size_t>(n * data.out))};
    data::make_samples(data, data::batch_samples(data, step, global_batch, first, n), std::span(rows.x),
                       std::span(rows.y));
    return rows;
}
}  // namespace

TEST_CASE("a rank makes its own rows alone") {
    const MadeData data{"regression", 3, 0, 6, 4};
    const Rows all = rows_of(data, 2, 8, 0, 8);
    const Rows part = rows_of(data, 2, 8, 5, 3);
    CHECK(std::equal(part.x.begin(), part.x.end(), all.x.begin() + 5 * 6));
    CHECK(std::equal(part.y.begin(), part.y.end(), all.y.begin() + 5 * 4));
    CHECK(rows_of(data, 3, 8, 0, 8).x != all.x);
    CHECK(rows_of({"regression", 4, 0, 6, 4}, 2, 8, 0, 8).x != all.x);
    CHECK(rows_of(data, 0, 4, 2, 0).x.empty());
    // Sample i is the same whatever the batch is.
    CHECK(rows_of(data, 4, 4, 0, 8 - 4).x == std::vector<float>(all.x.begin(), all.x.begin() + 4 * 6));
}

TEST_CASE("a data set with an end begins again") {
    const MadeData data{"regression", 3, 6, 2, 2};
    const Rows first = rows_of(data, 0, 4, 0, 4);
    const Rows second = rows_of(data, 1, 4, 0, 4);  // samples 4, 5, 0, 1
    CHECK(std::equal(first.x.begin(), first.x.begin() + 4, second.x.begin() + 4));
    CHECK(rows_of(data, 3, 4, 0, 4).x == first.x);  // sample 12 is sample 0
}

TEST_CASE("y is linear in x, the same map in every batch, and of variance 1") {
    // As many samples as inputs determine the map; a sum of samples must then map to the sum of their y.
    // Checked through the map's own columns: least squares is exact, so the residual of any other sample is
    // rounding.
    const MadeData data{"regression", 11, 0, 3, 2};
    const Rows basis = rows_of(data, 0, 3, 0, 3);
    const auto solve = [&](const std::vector<float>& x, std::size_t o) {
        // Cramer's rule for the weights c with Σ c_i basis_i = x, then Σ c_i y_i.
        const auto det = [](const std::array<double, 9>& m) {
            return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                   m[2] * (m[3] * m[7] - m[4] * m[6]);
        };
        std::array<double, 9> rows{};
        for (std::size_t i = 0; i < 9; ++i) rows[i] = basis.x[i];
        double y = 0.0;
        for (std::size_t i = 0; i < 3; ++i) {
            std::array<double, 9> swapped = rows;
            for (std::size_t j = 0; j < 3; ++j) swapped[i * 3 + j] = x[j];
            y += det(swapped) / det(rows) * basis.y[i * 2 + o];
        }
        return y;
    };
    const Rows other = rows_of(data, 7, 5, 0, 5);
    for (std::size_t r = 0; r < 5; ++r)
        for (std::size_t o = 0; o < 2; ++o)
            CHECK(other.y[r * 2 + o] ==
                  Approx(solve({other.x.begin() + static_cast<std::ptrdiff_t>(r * 3),
                                other.x.begin() + static_cast<std::ptrdiff_t>(r * 3 + 3)},
                               o))
                      .margin(1e-4));

    const Rows many = rows_of({"regression", 5, 0, 64, 64}, 0, 256, 0, 256);
    double squares = 0.0;
    for (const float y : many.y) squares += static_cast<double>(y) * y;
    CHECK(squares / static_cast<double>(many.y.size()) == Approx(1.0).epsilon(0.15));
}

TEST_CASE("rows that are not there are refused") {
    const MadeData data{"regression", 3, 0, 2, 2};
    std::vector<float> two(4);
    CHECK_THROWS_AS(data::batch_samples(data, 0, 4, 3, 2), InvalidArgument);
    CHECK_THROWS_AS(data::batch_samples(data, 0, 4, -1, 2), InvalidArgument);
    CHECK_THROWS_AS(data::make_samples(data, std::vector<int64_t>{0, 1, 2}, std::span(two), std::span(two)),
                    InvalidArgument);
    CHECK_THROWS_AS(data::make_samples({"images", 3, 0, 2, 2}, std::vector<int64_t>{0, 1}, std::span(two),
                                       std::span(two)),
                    InvalidArgument);
}

namespace {
struct TokenRows {
    std::vector<int64_t> x, y;
};
TokenRows tokens_of(const MadeData& data, int64_t step, int64_t global_batch, int64_t first, int64_t n) {
    TokenRows rows{std::vector<int64_t>(static_cast<std::size_t>(n * data.in)),
                   std::vector<int64_t>(static_cast<std::size_t>(n * data.out))};
    data::make_samples(data, data::batch_samples(data, step, global_batch, first, n), std::span(rows.x),
                       std::span(rows.y));
    return rows;
}
}  // namespace

TEST_CASE("made tokens are walks: y is x one token later, and a rank makes its own rows alone") {
    const MadeData data{"tokens", 5, 0, 32, 32, 50};
    const TokenRows all = tokens_of(data, 1, 8, 0, 8);
    for (std::size_t r = 0; r < 8; ++r)
        for (std::size_t t = 0; t + 1 < 32; ++t) CHECK(all.y[32 * r + t] == all.x[32 * r + t + 1]);
    CHECK(std::all_of(all.x.begin(), all.x.end(), [](int64_t t) { return t >= 0 && t < 50; }));
    const TokenRows part = tokens_of(data, 1, 8, 5, 3);
    CHECK(std::equal(part.x.begin(), part.x.end(), all.x.begin() + 5 * 32));
    CHECK(std::equal(part.y.begin(), part.y.end(), all.y.begin() + 5 * 32));
    CHECK(tokens_of({"tokens", 6, 0, 32, 32, 50}, 1, 8, 0, 8).x != all.x);
    CHECK(tokens_of(data, 2, 8, 0, 8).x != all.x);
    // Samples repeat where the data set ends, and one token is a vocabulary too.
    CHECK(tokens_of({"tokens", 5, 8, 32, 32, 50}, 2, 8, 0, 8).x == tokens_of(data, 0, 8, 0, 8).x);
    CHECK(tokens_of({"tokens", 5, 0, 4, 4, 1}, 0, 1, 0, 1).x == std::vector<int64_t>{0, 0, 0, 0});
}

TEST_CASE("three of four made tokens are followed by their successor") {
    const MadeData data{"tokens", 5, 0, 100, 100, 10};
    const TokenRows rows = tokens_of(data, 0, 100, 0, 100);
    std::array<std::array<int64_t, 10>, 10> follows{};
    for (std::size_t i = 0; i < rows.x.size(); ++i)
        ++follows[static_cast<std::size_t>(rows.x[i])][static_cast<std::size_t>(rows.y[i])];
    int64_t likeliest = 0;
    for (const auto& row : follows) likeliest += *std::max_element(row.begin(), row.end());
    // 0.75 + 0.25 / 10 of 10,000; the deviation is 42.
    CHECK(std::abs(static_cast<double>(likeliest) - 7750.0) < 200.0);
}

TEST_CASE("rows that are no tokens, or outside of the batch, are refused") {
    std::vector<int64_t> four(4);
    CHECK_THROWS_AS(data::batch_samples({"tokens", 1, 0, 4, 4, 9}, 0, 4, 4, 1), InvalidArgument);
    CHECK_THROWS_AS(data::make_samples({"tokens", 1, 0, 4, 4, 9}, std::vector<int64_t>{0, 1}, std::span(four),
                                       std::span(four)),
                    InvalidArgument);
    CHECK_THROWS_AS(data::make_samples({"regression", 1, 0, 4, 4, 9}, std::vector<int64_t>{0},
                                       std::span(four), std::span(four)),
                    InvalidArgument);
}
