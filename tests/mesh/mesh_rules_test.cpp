// Worked answers of PyTorch 2.15's DeviceMesh that are not in the golden file, each seen in PyTorch itself
// (its fake process group, CPU): reprs, flatten's cache, unflatten and concatenate, groups that exist
// already, what groups cost.
#include <thread>

#include "core/base/error.h"
#include "core/mesh/answer.h"
#include "core/mesh/question_text.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::mesh;
using Numbers = std::vector<int64_t>;
using Rows = std::vector<Numbers>;

namespace {

const Names kNames{"replicate", "shard", "tp"};

DeviceMesh cube() {
    return DeviceMesh::init({2, 2, 2}, kNames, 8);
}

}  // namespace

TEST_CASE("rank 1 of (2,2,2) reads PyTorch's worked answers") {
    const DeviceMesh mesh = cube();
    const GlobalRank one{1};
    CHECK(mesh.repr() == "DeviceMesh((replicate=2, shard=2, tp=2), 'cpu', stride=(4, 2, 1))");
    CHECK(mesh.coordinate(one) == Numbers{0, 0, 1});
    CHECK(mesh.groups(one) == Rows{{1, 5}, {1, 3}, {0, 1}});

    const DeviceMesh pair = mesh.slice({"replicate", "shard"});
    CHECK(nested_text(answer(pair, one)) == "[[1, 3], [5, 7]]");
    CHECK(pair.repr() == "DeviceMesh((replicate=2, shard=2), 'cpu', stride=(4, 2))");
    CHECK(nested_text(answer(mesh.slice({"replicate", "tp"}), one)) == "[[0, 1], [4, 5]]");
    CHECK(mesh.slice({"replicate", "tp"}).repr() == "DeviceMesh((replicate=2, tp=2), 'cpu', stride=(4, 1))");
    CHECK(mesh.slice({"tp"}).ranks(one) == Numbers{0, 1});

    const DeviceMesh dp = pair.flatten("dp");
    CHECK(dp.ranks(one) == Numbers{1, 3, 5, 7});
    CHECK(dp.layout(0).to_text() == "4:2");
    const DeviceMesh outer = mesh.slice({"replicate", "tp"}).flatten();
    CHECK(outer.names() == Names{"replicate_tp"});
    CHECK(outer.ranks(one) == Numbers{0, 1, 4, 5});
    CHECK(outer.layout(0).to_text() == "(2,2):(4,1)");
    CHECK(outer.repr() == "DeviceMesh((replicate_tp=4), 'cpu', stride=((4, 1),))");
}

TEST_CASE("a sub-mesh slices by its own names only") {
    const DeviceMesh pair = cube().slice({"replicate", "shard"});
    CHECK(pair.slice({"replicate"}).ranks(GlobalRank{1}) == Numbers{1, 5});
    CHECK_THROWS_AS(pair.slice({"tp"}), InvalidArgument);
    CHECK(pair.slice({"replicate", "shard"}) == pair);
}

TEST_CASE("a slice of no names is a 0-d mesh of the asking rank") {
    const DeviceMesh point = cube().slice({});
    CHECK(point.ndim() == 0);
    CHECK(point.repr() == "DeviceMesh((), 'cpu', stride=())");
    CHECK(nested_text(answer(point, GlobalRank{3})) == "3");
    CHECK(point.coordinate(GlobalRank{3}) == Numbers{});
    CHECK_THROWS_AS(point.flatten("x"), InvalidArgument);
}

TEST_CASE("a dim of size 1 has no stride, so it may stand anywhere and even twice") {
    const DeviceMesh mesh = DeviceMesh::init({1, 8}, {"a", "b"}, 8);
    CHECK(mesh.slice({"b", "a"}).repr() == "DeviceMesh((b=8, a=1), 'cpu', stride=(1, ()))");
    CHECK(mesh.slice({"a", "a"}).repr() == "DeviceMesh((a=1, a=1), 'cpu', stride=((), ()))");
}

TEST_CASE("the root slices by flattened names too, and flattening again gives the same mesh") {
    const DeviceMesh mesh = cube();
    const DeviceMesh first = mesh.slice({"replicate", "shard"}).flatten("dp");
    const DeviceMesh again = mesh.slice({"replicate", "shard"}).flatten("dp");
    CHECK(first == again);
    CHECK(first.cost() == GroupCost{2, 1});
    CHECK(again.cost() == GroupCost{0, 0});
    CHECK(mesh.slice({"dp"}).ranks(GlobalRank{0}) == Numbers{0, 2, 4, 6});
    CHECK(mesh.slice({"dp", "tp"}).repr() == "DeviceMesh((dp=4, tp=2), 'cpu', stride=(2, 1))");
    CHECK_THROWS_AS(mesh.slice({"dp", "shard"}), InvalidArgument);
    CHECK_THROWS_AS(mesh.slice({"tp", "dp"}), InvalidArgument);
    // A sub-mesh does not know them.
    CHECK_THROWS_AS(mesh.slice({"replicate", "shard"}).slice({"dp"}), InvalidArgument);
    // Meshes made apart share nothing.
    CHECK_THROWS_AS(cube().slice({"dp"}), InvalidArgument);
}

TEST_CASE("flattening one dim into its own name gives it back, under another name a new mesh") {
    const DeviceMesh mesh = DeviceMesh::init({8}, {"w"}, 8);
    CHECK(mesh.flatten() == mesh);
    CHECK(mesh.flatten("x").repr() == "DeviceMesh((x=8), 'cpu', stride=(1,))");
}

TEST_CASE("unflatten keeps the other dims and may leave a size-1 dim") {
    const DeviceMesh mesh = cube().unflatten(0, {2, 1}, {"a", "b"});
    CHECK(mesh.repr() == "DeviceMesh((a=2, b=1, shard=2, tp=2), 'cpu', stride=(4, (), 2, 1))");
    CHECK(mesh.shape() == Shape{2, 1, 2, 2});
    // Two-mode dims come apart along their modes: (2,2,4), dims 0 and 2 flattened, as (4,2).
    const DeviceMesh flat = DeviceMesh::init({2, 2, 4}, kNames, 16).slice({"replicate", "tp"}).flatten("dp");
    CHECK(flat.unflatten("dp", {4, 2}, {"a", "b"}).repr() ==
          "DeviceMesh((a=4, b=2), 'cpu', stride=((8, 2), 1))");
}

TEST_CASE("concatenate may reorder where slicing may not") {
    const DeviceMesh mesh = DeviceMesh::init({2, 2, 2}, {"pp", "dp", "tp"}, 8);
    const DeviceMesh swapped = DeviceMesh::concatenate({mesh.slice({"tp"}), mesh.slice({"pp"})});
    CHECK(nested_text(answer(swapped, GlobalRank{0})) == "[[0, 4], [1, 5]]");
    // Meshes of the same ranks count as views of one, even when made apart.
    const DeviceMesh other = DeviceMesh::init({2, 4}, {"x", "y"}, 8);
    CHECK(DeviceMesh::concatenate({mesh.slice({"tp"}), other.slice({"x"})}).repr() ==
          "DeviceMesh((tp=2, x=2), 'cpu', stride=(1, 4))");
}

TEST_CASE("groups are sorted, so a local rank follows the sorted group, not the order in the mesh") {
    // PyTorch, ranks [[3,1],[2,0]]: rank 3 has coordinate (0,0), groups [2,3] and [1,3], local rank 1 in
    // both.
    const DeviceMesh mesh = DeviceMesh::from_ranks({2, 2}, {3, 1, 2, 0}, {"a", "b"}, 4);
    CHECK(mesh.coordinate(GlobalRank{3}) == Numbers{0, 0});
    CHECK(mesh.groups(GlobalRank{3}) == Rows{{2, 3}, {1, 3}});
    CHECK(mesh.local_rank(GlobalRank{3}, 0) == 1);
    CHECK(mesh.local_rank(GlobalRank{3}, 1) == 1);
    CHECK(nested_text(answer(mesh, GlobalRank{0})) == "[[3, 1], [2, 0]]");
    const DeviceMesh line = DeviceMesh::from_ranks({4}, {3, 1, 2, 0}, {}, 4);
    CHECK(line.local_rank(GlobalRank{3}) == 3);
    CHECK(line.group(GlobalRank{3}) == Numbers{0, 1, 2, 3});
}

TEST_CASE("a rank outside the mesh has no coordinate, and sees the root but no slice") {
    const DeviceMesh mesh = DeviceMesh::from_ranks({2, 2}, {0, 2, 4, 6}, {"a", "b"}, 8);
    CHECK_FALSE(mesh.contains(GlobalRank{1}));
    CHECK_FALSE(mesh.coordinate(GlobalRank{1}).has_value());
    CHECK(mesh.ranks(GlobalRank{1}) == Numbers{0, 2, 4, 6});
    CHECK(mesh.flatten().ranks(GlobalRank{1}) == Numbers{0, 2, 4, 6});
    CHECK_THROWS_AS(mesh.slice({"a"}).ranks(GlobalRank{1}), InvalidArgument);
    CHECK_THROWS_AS(mesh.group(GlobalRank{1}, 0), InvalidArgument);
    CHECK_THROWS_AS(mesh.local_rank(GlobalRank{1}, 0), InvalidArgument);
    // On the way to an answer a slice fails for it, even where the result would cover the root again.
    const Question question{QuestionKind::concatenate, {}, {}, {}, {{"b"}, {"a"}}};
    CHECK(reply(derive(mesh, question), GlobalRank{2}).answer.has_value());
    const Reply outside = reply(derive(mesh, question), GlobalRank{1});
    REQUIRE(outside.error.has_value());
    CHECK(outside.error->id == "mesh.rank_outside_submesh");
}

TEST_CASE("what a rank outside the mesh is refused leaves no name behind") {
    const DeviceMesh mesh = DeviceMesh::init({2, 2}, {"a", "b"}, 5);
    const auto ask = [&](const char* text, int32_t rank) {
        return reply(derive(mesh, parse_questions(text).front(), GlobalRank{rank}), GlobalRank{rank});
    };
    CHECK(ask("mesh[\"a\"]._flatten(\"n1\")", 4).error->id == "mesh.rank_outside_submesh");
    CHECK(pytorch_exception(*ask("mesh[[\"n1\"]]", 4).error) ==
          "KeyError: Invalid mesh_dim_names ['n1'] specified. Valid mesh_dim_names are ['a', 'b'].");
    CHECK(ask("mesh._flatten(\"n2\")", 4).answer.has_value());
    CHECK(ask("mesh[\"a\"]._flatten(\"n1\")", 3).answer.has_value());
}

TEST_CASE("all groups of a dim, in the order PyTorch makes them") {
    const DeviceMesh mesh = cube();
    CHECK(mesh.all_groups(0) == Rows{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
    CHECK(mesh.all_groups(1) == Rows{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
    CHECK(mesh.all_groups(2) == Rows{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
    // The page that many learners read prints other groups for (4,2): [4,5,6,7] and [5,7].
    const DeviceMesh pp_tp = DeviceMesh::init({4, 2}, {"pp", "tp"}, 8);
    CHECK(pp_tp.coordinate(GlobalRank{5}) == Numbers{2, 1});
    CHECK(pp_tp.groups(GlobalRank{5}) == Rows{{1, 3, 5, 7}, {4, 5}});
}

TEST_CASE(
    "what groups cost: new_group once a subgroup, split_group once a dim, nothing for the whole world") {
    CHECK(cube().cost() == GroupCost{12, 3});
    CHECK(DeviceMesh::init({2, 4}, {}, 8).cost() == GroupCost{6, 2});
    CHECK(DeviceMesh::init({8}, {}, 8).cost() == GroupCost{0, 0});
    CHECK(DeviceMesh::init({8}, {}, 9).cost() == GroupCost{1, 1});
    CHECK(DeviceMesh::init({1, 4}, {}, 4).cost() == GroupCost{4, 1});
    CHECK(cube().slice({"shard"}).cost() == GroupCost{0, 0});
    CHECK(cube().unflatten("shard", {2, 1}, {"a", "b"}).cost() == GroupCost{12, 2});
    CHECK(DeviceMesh::from_group({1, 3}, {"x"}, 8).cost() == GroupCost{0, 0});
}

TEST_CASE("a mesh of groups that exist already") {
    const DeviceMesh line = DeviceMesh::from_group({1, 3}, {"x"}, 8);
    CHECK(line.repr() == "DeviceMesh((x=2), 'cpu', stride=(1,))");
    CHECK(line.ranks(GlobalRank{3}) == Numbers{1, 3});
    const DeviceMesh square = DeviceMesh::from_groups({{1, 3}, {0, 1}}, {2, 2}, {0, 1, 2, 3}, {"a", "b"}, 8);
    CHECK(square.groups(GlobalRank{1}) == Rows{{1, 3}, {0, 1}});
    CHECK(square == DeviceMesh::init({2, 2}, {"a", "b"}, 4));
}

TEST_CASE("one mesh may be flattened from several threads at once") {
    const DeviceMesh mesh = cube();
    std::vector<Numbers> seen(8);
    std::vector<std::thread> threads;
    for (int r = 0; r < 8; ++r)
        threads.emplace_back([&, r] {
            for (int i = 0; i < 50; ++i) {
                const DeviceMesh dp = mesh.slice({"replicate", "shard"}).flatten("dp");
                seen[static_cast<size_t>(r)] = mesh.slice({"dp"}).ranks(GlobalRank{r});
                if (dp.ranks(GlobalRank{r}) != seen[static_cast<size_t>(r)])
                    seen[static_cast<size_t>(r)].clear();
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (int r = 0; r < 8; ++r)
        CHECK(seen[static_cast<size_t>(r)] == (r % 2 == 0 ? Numbers{0, 2, 4, 6} : Numbers{1, 3, 5, 7}));
}

TEST_CASE("a question prints as the Python that asks it") {
    CHECK(pytorch_expression({QuestionKind::slice, {"replicate", "shard"}, {}, {}, {}}) ==
          R"(mesh["replicate", "shard"])");
    CHECK(pytorch_expression({QuestionKind::slice, {}, {}, {}, {}}) == "mesh[()]");
    CHECK(pytorch_expression({QuestionKind::flatten, {"a", "b"}, {}, {}, {}}) ==
          R"(mesh["a", "b"]._flatten())");
    CHECK(pytorch_expression({QuestionKind::unflatten, {"a", "b"}, "dp", {2, 4}, {}}) ==
          R"(mesh._unflatten("dp", (2, 4), ("a", "b")))");
    CHECK(pytorch_expression({QuestionKind::unflatten, {"a"}, "0", {8}, {}}) ==
          R"(mesh._unflatten(0, (8,), ("a",)))");
    CHECK(pytorch_expression({QuestionKind::concatenate, {}, {}, {}, {{"tp"}, {"pp"}}}) ==
          R"(DeviceMesh._concatenate([mesh["tp"], mesh["pp"]]))");
}
