// How messages write sets of ranks.
#include "core/base/rank_set.h"

#include <numeric>
#include <vector>

#include "tests/test.h"

using meshscope::fold_ranks;
using meshscope::ranks_text;

namespace {

std::vector<int64_t> counted(int64_t first, int64_t n, int64_t step = 1) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < n; ++i) all.push_back(first + i * step);
    return all;
}

}  // namespace

TEST_CASE("three ranks or more in a row are a range, two are not") {
    CHECK(ranks_text(std::vector<int32_t>{}).empty());
    CHECK(ranks_text(std::vector<int32_t>{4}) == "4");
    CHECK(ranks_text(std::vector<int32_t>{0, 1}) == "0, 1");
    CHECK(ranks_text(std::vector<int32_t>{0, 1, 2}) == "0–2");
    CHECK(ranks_text(std::vector<int32_t>{0, 1, 3, 4, 5, 9}) == "0, 1, 3–5, 9");
}

TEST_CASE("of 128 ranks without two, three ranges are left") {
    std::vector<int64_t> all = counted(0, 128);
    std::erase(all, 22);
    std::erase(all, 110);
    CHECK(ranks_text(all) == "0–21, 23–109, 111–127");
}

TEST_CASE(
    "ranks that stand equally far apart, as a mesh dim's groups do, are told by the first two and the last") {
    CHECK(ranks_text(counted(0, 16, 8)) == "0, 8, …, 120");
    CHECK(ranks_text(counted(1, 4, 2)) == "1, 3, 5, 7");
    CHECK(fold_ranks(counted(0, 500, 2)).more == 0);
}

TEST_CASE("of more than eight parts seven are shown, and how many ranks are left out is counted") {
    std::vector<int64_t> eight{0, 2, 4, 7, 9, 12, 15, 20};
    CHECK(ranks_text(eight) == "0, 2, 4, 7, 9, 12, 15, 20");
    std::vector<int64_t> more = eight;
    more.push_back(30);
    for (const int64_t rank : counted(40, 10)) more.push_back(rank);
    const meshscope::FoldedRanks folded = fold_ranks(more);
    CHECK(folded.shown == "0, 2, 4, 7, 9, 12, 15");
    CHECK(folded.more == 12);
    CHECK(ranks_text(more) == "0, 2, 4, 7, 9, 12, 15, … (19)");
}

TEST_CASE("the order in which ranks are given does not matter, nor does one that is given twice") {
    CHECK(ranks_text(std::vector<int32_t>{3, 1, 2, 2, 0, 9}) == "0–3, 9");
}
