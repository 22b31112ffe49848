// Meshes of 10^6 ranks answer for one rank without a table of all of them.
#include <algorithm>
#include <chrono>

#include "core/mesh/answer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::mesh;
using Numbers = std::vector<int64_t>;

namespace {

/// The fastest of several tries, in microseconds: what the work takes when nothing else disturbs it.
double microseconds(const auto& work) {
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
        best = std::min(best, taken.count());
    }
    return best;
}

}  // namespace

TEST_CASE("a mesh of 100 x 100 x 100 answers for one rank by arithmetic") {
    const DeviceMesh mesh = DeviceMesh::init({100, 100, 100}, {"a", "b", "c"}, 1'000'000);
    const GlobalRank rank{345'678};
    CHECK(mesh.coordinate(rank) == Numbers{34, 56, 78});
    const Numbers group_b = mesh.group(rank, 1);
    REQUIRE(group_b.size() == 100);
    for (int64_t i = 0; i < 100; ++i) CHECK(group_b[static_cast<size_t>(i)] == 340'078 + 100 * i);
    CHECK(mesh.local_rank(rank, 2) == 78);
    CHECK(mesh.slice({"a", "c"}).coordinate(rank) == Numbers{34, 78});
    CHECK(mesh.slice({"c"}).ranks(rank).front() == 345'600);
    // 10^6 / 100 subgroups a dim.
    CHECK(mesh.cost() == GroupCost{30'000, 3});
}

TEST_CASE("the time for one rank's answer does not grow with the world") {
    const auto ask = [](int64_t outer) {
        const GlobalRank rank{static_cast<int32_t>(outer * 100 - 1)};
        return microseconds([&] {
            const DeviceMesh made = DeviceMesh::init({outer, 10, 10}, {"a", "b", "c"}, outer * 100);
            if (made.coordinate(rank) != Numbers{outer - 1, 9, 9})
                throw std::runtime_error("wrong coordinate");
            if (made.group(rank, 1).size() != 10 || made.slice({"b", "c"}).ranks(rank).size() != 100)
                throw std::runtime_error("wrong group");
        });
    };
    // 10^3 and 2·10^9 ranks. A table of the second would take 16 GB; a walk over it seconds. The bound is
    // generous for sanitizers and busy machines, and still a thousand times below a walk.
    const double small = ask(10);
    const double large = ask(20'000'000);
    INFO("10^3 ranks: " << small << " us, 2*10^9 ranks: " << large << " us");
    CHECK(large < 20 * small + 200);
}

TEST_CASE("excerpts are the ends of the lists they stand for") {
    const DeviceMesh mesh = DeviceMesh::init({3, 4, 5}, {"a", "b", "c"}, 60);
    // Concatenated the other way round and flattened, the layout does not rise; groups are sorted all the
    // same.
    const DeviceMesh turned = DeviceMesh::concatenate({mesh.slice({"c"}), mesh.slice({"a"})});
    const DeviceMesh flat = turned.flatten("ca");
    const auto cut = [](const Numbers& all, int64_t most) {
        const auto size = static_cast<int64_t>(all.size());
        RankExcerpt excerpt{size, all, all.back()};
        if (size > most) excerpt.first.resize(3);
        return excerpt;
    };
    for (const DeviceMesh& one : {mesh, turned, flat, mesh.slice({"a", "c"})})
        for (const int64_t most : {3, 16, 64})
            for (int32_t rank = 0; rank < 60; rank += 7) {
                CHECK(one.ranks_excerpt(GlobalRank{rank}, most) == cut(one.ranks(GlobalRank{rank}), most));
                for (int64_t dim = 0; dim < one.ndim(); ++dim) {
                    CHECK(one.group_excerpt(GlobalRank{rank}, dim, most) ==
                          cut(one.group(GlobalRank{rank}, dim), most));
                    const std::vector<Numbers> groups = one.all_groups(dim);
                    const std::vector<RankExcerpt> excerpts = one.group_excerpts(dim, 8, most);
                    CHECK(one.group_count(dim) == static_cast<int64_t>(groups.size()));
                    REQUIRE(excerpts.size() == std::min<size_t>(8, groups.size()));
                    for (size_t g = 0; g < excerpts.size(); ++g) CHECK(excerpts[g] == cut(groups[g], most));
                }
            }
}
