// The algebra of core/mesh/layout.h. Values: the docstrings of PyTorch 2.15's
// torch/distributed/_mesh_layout.py and worked examples of CuTe's layout algebra turned row-major, each
// checkable by hand.
#include "core/mesh/layout.h"

#include <algorithm>

#include "core/base/error.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::mesh;
using Numbers = std::vector<int64_t>;

TEST_CASE("a layout is coalesced, so equal layouts have one spelling") {
    CHECK(Layout({2, 2}, {2, 1}).to_text() == "4:1");
    CHECK(Layout({2, 2}, {2, 1}) == Layout({4}, {1}));
    CHECK(Layout({2, 2}, {4, 1}).to_text() == "(2,2):(4,1)");
    CHECK(Layout({2, 1, 3}, {3, 7, 1}).to_text() == "6:1");
    CHECK(Layout({1}, {4}).to_text() == "():()");
    CHECK(Layout({1, 1}, {4, 1}) == Layout());
    CHECK(Layout({2, 2}, {1, 2}).to_text() == "(2,2):(1,2)");
}

TEST_CASE("a layout's offsets come in row-major order") {
    CHECK(Layout({2, 2}, {4, 1}).offsets() == Numbers{0, 1, 4, 5});
    CHECK(Layout({2, 3}, {3, 1}).offsets() == Numbers{0, 1, 2, 3, 4, 5});
    CHECK(Layout({2, 3}, {1, 2}).offsets() == Numbers{0, 2, 4, 1, 3, 5});
    CHECK(Layout().offsets() == Numbers{0});
    const Layout layout({2, 3}, {1, 2});
    for (int64_t i = 0; i < layout.numel(); ++i)
        CHECK(layout.offset(i) == layout.offsets()[static_cast<size_t>(i)]);
    CHECK(layout.numel() == 6);
    CHECK(layout.cosize() == 6);
    CHECK(Layout({2, 2}, {4, 1}).cosize() == 6);
    CHECK(test::thrown_id<InvalidArgument>([&] { (void)layout.offset(6); }) == "mesh.layout_index");
    CHECK(test::thrown_id<InvalidArgument>([&] { (void)layout.offset(-1); }) == "mesh.layout_index");
}

TEST_CASE("a complement places a layout so that the world is covered once") {
    CHECK(Layout({4}, {1}).complement(8).to_text() == "2:4");
    CHECK(Layout({2}, {2}).complement(8).to_text() == "(2,2):(4,1)");
    CHECK(Layout({2}, {4}).complement(8).to_text() == "4:1");
    CHECK(Layout().complement(8).to_text() == "8:1");
    CHECK(Layout({8}, {1}).complement(8).to_text() == "():()");
    CHECK(test::thrown_id<InvalidArgument>([] {
              (void)Layout({2, 3}, {2, 1}).complement(12);
          }) == "mesh.layout_overlaps");
}

TEST_CASE("the rows of a layout are the groups of a dim") {
    using Rows = std::vector<Numbers>;
    // _mesh_layout.py, global_ranks: world 16, 4:1.
    CHECK(Layout({4}, {1}).rows(16) == Rows{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}});
    CHECK(Layout({2}, {2}).rows(4) == Rows{{0, 2}, {1, 3}});
}

TEST_CASE("every row of every layout of a small world is found again from each of its places") {
    const int64_t world = 24;  // 2·3·4 row-major: strides 12, 4, 1
    const std::vector<Layout> dims = row_major(Numbers{2, 3, 4});
    const std::vector<Layout> layouts{dims[0],
                                      dims[1],
                                      dims[2],
                                      collapse(std::vector{dims[0], dims[2]}),
                                      collapse(std::vector{dims[2], dims[0]}),
                                      collapse(dims),
                                      Layout()};
    for (const Layout& layout : layouts) {
        Numbers all;
        for (const Numbers& row : layout.rows(world)) {
            for (size_t i = 0; i < row.size(); ++i) {
                INFO(layout.to_text() << " at " << row[i]);
                CHECK(layout.base_of(row[i]) == row[0]);
                CHECK(layout.index_at(row[i]) == static_cast<int64_t>(i));
            }
            all.insert(all.end(), row.begin(), row.end());
        }
        std::sort(all.begin(), all.end());
        Numbers expected;
        for (int64_t i = 0; i < world; ++i) expected.push_back(i);
        CHECK(all == expected);
    }
}

TEST_CASE("a composition is the function of functions") {
    CHECK(Layout({6, 2}, {2, 1}).composition(Layout({3}, {2})).to_text() == "3:2");
    CHECK(Layout({4}, {2}).composition(Layout({2}, {2})).to_text() == "2:4");
    const Layout outer({2, 4}, {16, 1});
    for (const Layout& inner :
         {Layout({2}, {4}), Layout({4}, {2}), Layout({2}, {1}), Layout({8}, {1}), Layout()}) {
        const Layout composed = outer.composition(inner);
        REQUIRE(composed.numel() == inner.numel());
        for (int64_t i = 0; i < inner.numel(); ++i)
            CHECK(composed.offset(i) == outer.offset(inner.offset(i)));
    }
    CHECK(test::thrown_id<InvalidArgument>([] {
              (void)Layout({2, 3}, {6, 1}).composition(Layout({3}, {2}));
          }) == "mesh.layout_cut_across");
    CHECK(test::thrown_id<InvalidArgument>([] { (void)Layout({4}, {1}).composition(Layout({4}, {2})); }) ==
          "mesh.layout_too_small");
}

TEST_CASE("slicing asks for falling strides, concatenating only for no overlap") {
    CHECK(Layout({2, 2}, {4, 1}).check_sorted());
    CHECK_FALSE(Layout({2, 2}, {1, 4}).check_sorted());
    CHECK(Layout({2, 2}, {1, 4}).check_orthogonal());
    // The three examples of _mesh_layout.py, check_orthogonal.
    CHECK(Layout({2, 3}, {6, 1}).check_orthogonal());
    CHECK_FALSE(Layout({2, 3}, {2, 1}).check_orthogonal());
    CHECK_FALSE(Layout({4, 2}, {1, 1}).check_orthogonal());
    CHECK_FALSE(Layout({2, 2}, {2, 2}).check_orthogonal());
}

TEST_CASE("a layout that cannot be is refused") {
    CHECK(test::thrown_id<InvalidArgument>([] { Layout({2, 2}, {1}); }) == "mesh.layout_lengths");
    CHECK(test::thrown_id<InvalidArgument>([] { Layout({0}, {1}); }) == "mesh.layout_values");
    CHECK(test::thrown_id<InvalidArgument>([] { Layout({2}, {-1}); }) == "mesh.layout_values");
}
