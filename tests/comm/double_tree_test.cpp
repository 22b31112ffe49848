#include "core/comm/schedule/double_tree.h"

#include <algorithm>
#include <set>

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::comm;

TEST_CASE("the first tree is NCCL's, the second its mirror or shift") {
    // From the pictures in NCCL's src/graph/trees.cc, for 14 ranks: 0-8; 8-4, 8-12; 4-2, 4-6; 12-10, 12-13; …
    const std::vector<int32_t> parents{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12};
    const DoubleTree even(14);
    for (int32_t r = 0; r < 14; ++r) {
        CHECK(even.parent(0, r) == parents[static_cast<std::size_t>(r)]);
        const int32_t mirrored = parents[static_cast<std::size_t>(13 - r)];
        CHECK(even.parent(1, r) == (mirrored < 0 ? -1 : 13 - mirrored));
    }
    // 13 ranks: 0-8; 8-4, 8-12; 12-10; … and the second tree one rank on.
    const DoubleTree odd(13);
    CHECK(odd.parent(0, 12) == 8);
    CHECK(odd.parent(0, 11) == 10);
    CHECK(odd.root(1) == 1);
    for (int32_t r = 0; r < 13; ++r)
        if (odd.parent(0, r) >= 0) CHECK(odd.parent(1, (r + 1) % 13) == (odd.parent(0, r) + 1) % 13);
}

TEST_CASE("both trees span all ranks, and what is inner in one is a leaf in the other, up to one rank") {
    for (int32_t p = 2; p <= 70; ++p) {
        const DoubleTree trees(p);
        INFO(p << " ranks");
        int32_t inner_twice = 0;
        for (int32_t r = 0; r < p; ++r) {
            int32_t inner = 0;
            for (int32_t t = 0; t < 2; ++t) {
                int32_t at = r, steps = 0;
                while (trees.parent(t, at) >= 0 && steps <= p) at = trees.parent(t, at), ++steps;
                REQUIRE(at == trees.root(t));
                for (const int32_t child : trees.children(t, r))
                    if (child >= 0) REQUIRE(trees.parent(t, child) == r);
                inner += trees.children(t, r)[0] >= 0 ? 1 : 0;
            }
            inner_twice += inner == 2 ? 1 : 0;
        }
        CHECK(inner_twice <= 1);
    }
}

TEST_CASE("in no round does a rank send twice or receive twice, and nothing leaves before it has come") {
    for (int32_t p = 2; p <= 70; ++p) {
        const DoubleTree trees(p);
        const int32_t chunks = 5, turn = trees.rounds(chunks);
        std::set<std::pair<int32_t, int32_t>> sends, receives;  // (round, rank)
        bool sound = true;
        const auto move = [&](int32_t round, int32_t from, int32_t to) {
            sound = sound && sends.emplace(round, from).second && receives.emplace(round, to).second;
        };
        for (int32_t t = 0; t < 2; ++t)
            for (int32_t r = 0; r < p; ++r) {
                const int32_t parent = trees.parent(t, r);
                if (parent < 0) continue;
                for (const int32_t child : trees.children(t, r))
                    sound = sound && (child < 0 || trees.up(t, child) < trees.up(t, r));
                for (int32_t c = 0; c < chunks; ++c) {
                    move(trees.up(t, r) + trees.stride() * c, r, parent);
                    move(turn + trees.height() - trees.up(t, r) + trees.stride() * c, parent, r);
                }
                sound = sound && trees.up(t, r) + trees.stride() * (chunks - 1) < turn;
            }
        INFO(p << " ranks");
        CHECK(sound);
        int32_t levels = 0;
        while ((1 << levels) < p) ++levels;
        CHECK(trees.height() <= 2 * levels);
    }
}
