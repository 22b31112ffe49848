// What is refused, with the id of our message and the type and text of PyTorch 2.15's exception (seen in
// PyTorch).
#include <functional>

#include "core/base/error.h"
#include "core/mesh/answer.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::mesh;

namespace {

/// "id | PyTorch's exception"
std::string refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const InvalidArgument& error) {
        return error.message().id + " | " + pytorch_exception(error.message());
    }
    return "nothing was refused";
}

DeviceMesh cube() {
    return DeviceMesh::init({2, 2, 2}, {"replicate", "shard", "tp"}, 8);
}

}  // namespace

TEST_CASE("a mesh that cannot be made is refused as PyTorch refuses it") {
    CHECK(refusal([] {
              DeviceMesh::init({3, 3}, {}, 8);
          }) ==
          "mesh.larger_than_world | RuntimeError: Mesh should not be bigger than default world size 8, but "
          "found 9 ranks!");
    CHECK(
        refusal([] {
            DeviceMesh::init({2, 4}, {"a", "a"}, 8);
        }) ==
        "mesh.name_twice | RuntimeError: Each mesh_dim_name must be unique. Found repeated mesh_dim_name in "
        "mesh_dim_names ('a', 'a')");
    CHECK(
        refusal([] {
            DeviceMesh::init({2, 4}, {"a"}, 8);
        }) ==
        "mesh.names_do_not_fit | RuntimeError: mesh_shape and mesh_dim_names should have same length! Found "
        "len(mesh_dim_names): 1 and len(mesh_shape):2.");
    CHECK(refusal([] { DeviceMesh::init({0, 4}, {}, 8); }) == "mesh.bad_size | AssertionError");
    CHECK(refusal([] {
              DeviceMesh::init({-2, 4}, {}, 8);
          }) == "mesh.bad_size | RuntimeError: upper bound and lower bound inconsistent with step sign");
    CHECK(refusal([] {
              DeviceMesh::init({int64_t{1} << 40, int64_t{1} << 40}, {}, 8);
          }).starts_with("mesh.larger_than_world"));
    CHECK(refusal([] { DeviceMesh::init({1}, {}, 0); }).starts_with("mesh.bad_world"));
}

TEST_CASE("explicit ranks must be there, once each, as many as the shape holds") {
    const auto made_of = [](std::vector<int64_t> ranks, Shape shape, Names names = {}) {
        return refusal([&] { DeviceMesh::from_ranks(shape, ranks, names, 8); });
    };
    CHECK(made_of({0, 1, 1, 2}, {2, 2}) ==
          "mesh.rank_twice | RuntimeError: Each device mesh dimension should get only one process group, but "
          "got 1 in "
          "[1, 2]!");
    CHECK(made_of({0, 1, 2, 0}, {2, 2}) ==
          "mesh.rank_twice | RuntimeError: Each device mesh dimension should get only one process group, but "
          "got 0 in "
          "[1, 0]!");
    CHECK(made_of({0, 1, 1, 2}, {4}) ==
          "mesh.rank_twice | ValueError: ranks list must not contain duplicate entries, got [0, 1, 1, 2]");
    CHECK(made_of({0, 1, 2, 9}, {2, 2}) ==
          "mesh.rank_outside_world | ValueError: Rank 9 is out of range. Valid ranks are 0 to 7 "
          "(world_size=8)");
    CHECK(made_of({0, 1, 2, -1}, {2, 2}) ==
          "mesh.rank_outside_world | ValueError: Rank -1 is out of range. Valid ranks are 0 to 7 "
          "(world_size=8)");
    CHECK(made_of({0, 1, 2}, {2, 2}) ==
          "mesh.ranks_do_not_fit | RuntimeError: shape '[2, 2]' is invalid for input of size 3");
    CHECK(made_of({0, 1, 2, 3}, {2, 2}, {"a"}) ==
          "mesh.names_do_not_fit | IndexError: tuple index out of range");
    // PyTorch takes these two without a word; here they are refused, and PyTorch is not quoted.
    CHECK(made_of({0, 1, 2, 3}, {2, 2}, {"a", "b", "c"}) == "mesh.names_do_not_fit | ");
    CHECK(made_of({0, 1, 2, 3}, {2, 2}, {"a", "a"}) == "mesh.name_twice | ");
}

TEST_CASE("a slice is refused for its names") {
    CHECK(
        refusal([] { cube().slice({"nope"}); }) ==
        "mesh.unknown_name | KeyError: Invalid mesh_dim_names ('nope',) specified. Valid mesh_dim_names are "
        "['replicate', 'shard', 'tp'].");
    CHECK(refusal([] {
              cube().slice({"shard", "replicate"});
          }) ==
          "mesh.names_out_of_order | KeyError: Invalid mesh_dim_names ('shard', 'replicate') specified. Mesh "
          "dim indices "
          "should be in ascending order.");
    CHECK(refusal([] {
              cube().slice({"shard", "shard"});
          }) ==
          "mesh.names_overlap | RuntimeError: Slicing overlapping dim_names ('shard', 'shard') is not "
          "allowed.");
    CHECK(refusal([] { DeviceMesh::init({8}, {}, 8).slice({"dp"}); }) ==
          "mesh.unnamed | RuntimeError: Cannot slice a DeviceMesh without mesh_dim_names!");
    const DeviceMesh mesh = cube();
    mesh.slice({"replicate", "shard"}).flatten("dp");
    CHECK(
        refusal([&] { mesh.slice({"nope"}); }) ==
        "mesh.unknown_name | KeyError: Invalid mesh_dim_names ('nope',) specified. Valid mesh_dim_names are "
        "['replicate', 'shard', 'tp', 'dp'].");
}

TEST_CASE("a refused slice says which order would be right") {
    try {
        cube().slice({"tp", "replicate"});
        FAIL("not refused");
    } catch (const InvalidArgument& error) {
        CHECK(to_text(*error.message().find("asked")) == "('tp', 'replicate')");
        CHECK(to_text(*error.message().find("possible")) == "('replicate', 'tp')");
        CHECK(to_text(*error.message().find("mesh")) ==
              "DeviceMesh((replicate=2, shard=2, tp=2), 'cpu', stride=(4, 2, 1))");
    }
}

TEST_CASE("flatten is refused for a name that is taken") {
    CHECK(refusal([] {
              cube().slice({"replicate", "shard"}).flatten("tp");
          }) ==
          "mesh.flatten_name_is_dim | ValueError: (\"tp already exists for submesh of the "
          "DeviceMesh((replicate=2, "
          "shard=2, tp=2), 'cpu', stride=(4, 2, 1)). \", \"The mesh_dim_names of submesh and flattened mesh "
          "are "
          "('replicate', 'shard', 'tp'). Please specify another valid mesh_dim_name.\")");
    const DeviceMesh mesh = cube();
    mesh.slice({"replicate", "shard"}).flatten("dp");
    CHECK(refusal([&] {
              mesh.slice({"replicate", "tp"}).flatten("dp");
          }) ==
          "mesh.flatten_name_taken | ValueError: Flatten mesh with mesh_dim_name dp has been created before, "
          "Please "
          "specify another valid mesh_dim_name.");
    CHECK(refusal([] {
              DeviceMesh::init({2, 4}, {}, 8).flatten("x");
          }) == "mesh.unnamed | RuntimeError: Cannot flatten a DeviceMesh without mesh_dim_names!");
}

TEST_CASE("unflatten is refused for its dim, sizes and names") {
    CHECK(refusal([] {
              cube().unflatten(0, {3, 2}, {"a", "b"});
          }) ==
          "mesh.unflatten_product | ValueError: The product of mesh_sizes=(3, 2) is 6, but the original "
          "dimension at "
          "dim=0 has size 2. These must be equal for unflatten to work correctly.");
    CHECK(refusal([] {
              cube().unflatten(0, {-1, 2}, {"a", "b"});
          }) ==
          "mesh.unflatten_product | ValueError: The product of mesh_sizes=(-1, 2) is -2, but the original "
          "dimension at "
          "dim=0 has size 2. These must be equal for unflatten to work correctly.");
    CHECK(refusal([] {
              cube().unflatten("x", {2, 1}, {"a", "b"});
          }) ==
          "mesh.no_such_dim | ValueError: dim x specified in `_unflatten` is not in ('replicate', 'shard', "
          "'tp')");
    CHECK(refusal([] {
              cube().unflatten(3, {2, 1}, {"a", "b"});
          }) == "mesh.dim_out_of_range | ValueError: dim 3 specified in `_unflatten` is out of range 3");
    CHECK(refusal([] {
              cube().unflatten(-1, {2, 1}, {"a", "b"});
          }) ==
          "mesh.dim_out_of_range | AssertionError: Please use a non-overlapping layout when creating a "
          "DeviceMesh.");
    CHECK(refusal([] {
              cube().unflatten(0, {2, 1}, {"a"});
          }) ==
          "mesh.unflatten_names | RuntimeError: mesh_dim_names must have same length as mesh_sizes in "
          "_unflatten!");
    CHECK(refusal([] {
              cube().unflatten(0, {-2, -1}, {"a", "b"});
          }).starts_with("mesh.unflatten_product | RuntimeError"));
    CHECK(refusal([] {
              cube().unflatten(0, {int64_t{1} << 62, 4}, {"a", "b"});
          }).starts_with("mesh.unflatten_product"));
    CHECK(refusal([] {
              DeviceMesh::init({2, 4}, {}, 8).unflatten(0, {2, 1}, {"a", "b"});
          }).starts_with("mesh.unnamed | TypeError"));
    const DeviceMesh flat = DeviceMesh::init({2, 2, 3}, {"a", "b", "c"}, 12).slice({"a", "c"}).flatten("dp");
    CHECK(refusal([&] {
              flat.unflatten(0, {3, 2}, {"x", "y"});
          }) == "mesh.unflatten_cuts_across | AssertionError");
}

TEST_CASE("concatenate is refused for overlap and for other ranks") {
    CHECK(refusal([] {
              const DeviceMesh mesh = cube();
              DeviceMesh::concatenate({mesh.slice({"tp"}), mesh.slice({"shard", "tp"})});
          }) ==
          "mesh.concatenate_overlap | RuntimeError: Cannot concatenate overlapping meshes: "
          "[DeviceMesh((tp=2), 'cpu', "
          "stride=(1,)), DeviceMesh((shard=2, tp=2), 'cpu', stride=(2, 1))]");
    CHECK(refusal([] {
              DeviceMesh::concatenate(
                  {cube().slice({"tp"}), DeviceMesh::init({2, 2}, {"x", "y"}, 8).slice({"x"})});
          }) ==
          "mesh.concatenate_other | RuntimeError: Cannot concatenate DeviceMeshes derived from different "
          "device meshes");
    CHECK(refusal([] { DeviceMesh::concatenate({}); }) ==
          "mesh.concatenate_nothing | IndexError: list index out of range");
    CHECK(refusal([] {
              DeviceMesh::concatenate({DeviceMesh::init({2, 4}, {}, 8)});
          }).starts_with("mesh.unnamed | TypeError"));
}

TEST_CASE("a group or a local rank is refused without a dim, for an unknown dim, and outside") {
    CHECK(refusal([] { cube().mesh_dim("x"); }) ==
          "mesh.no_such_dim | KeyError: (\"Mesh dimension 'x' does not exist.\", \"Available mesh dimensions "
          "are: "
          "mesh_dim_names=('replicate', 'shard', 'tp')\")");
    CHECK(refusal([] {
              DeviceMesh::init({2, 4}, {}, 8).mesh_dim("x");
          }) == "mesh.unnamed | KeyError: No `mesh_dim_names` found.");
    CHECK(refusal([] { (void)cube().group(GlobalRank{0}); }) ==
          "mesh.dim_needed | RuntimeError: ('Found the DeviceMesh have 3 dimensions', 'Optional kwarg "
          "`mesh_dim` needs to "
          "be specified when device_mesh.ndim > 1.', 'If you want to get the list of all the ProcessGroups "
          "in the "
          "DeviceMesh,please use `get_all_groups()` instead.')");
    CHECK(refusal([] { (void)cube().local_rank(GlobalRank{0}); }) ==
          "mesh.dim_needed | RuntimeError: ('Found the DeviceMesh have 3 dimensions', 'Optional kwarg "
          "`mesh_dim` needs to "
          "be specified when device_mesh.ndim > 1.')");
    CHECK(refusal([] { (void)cube().local_rank(GlobalRank{0}, 5); }) ==
          "mesh.dim_out_of_range | IndexError: list index out of range");
    CHECK(refusal([] { (void)cube().slice({}).group(GlobalRank{0}); }) ==
          "mesh.dim_out_of_range | IndexError: list index out of range");
    CHECK(refusal([] {
              (void)DeviceMesh::init({2, 2}, {}, 8).group(GlobalRank{6}, 0);
          }) == "mesh.rank_outside | IndexError: list index out of range");
    CHECK(refusal([] { (void)cube().slice({"tp"}).ranks(GlobalRank{8}); }) ==
          "mesh.rank_outside_submesh | RuntimeError: In order to get the mesh Tensor of a DeviceMesh it "
          "needs to either "
          "have all its original dimensions (e.g., no slicing) or it needs to contain the local rank");
}

TEST_CASE("a dim below 0 is refused by _unflatten as PyTorch does: its size first, then that it is no dim") {
    const DeviceMesh mesh = DeviceMesh::init({2, 2}, {"a", "b"}, 4);
    const auto unflatten = [&](int64_t dim, const Shape& sizes) {
        return refusal([&] { (void)mesh.unflatten(dim, sizes, {"x", "y"}); });
    };
    CHECK(unflatten(-1, {4, 2}) ==
          "mesh.dim_out_of_range | ValueError: The product of mesh_sizes=(4, 2) is 8, but the original "
          "dimension at "
          "dim=-1 has size 2. These must be equal for unflatten to work correctly.");
    CHECK(unflatten(-1, {2, 1}) ==
          "mesh.dim_out_of_range | AssertionError: Please use a non-overlapping layout when creating a "
          "DeviceMesh.");
    CHECK(unflatten(-3, {2, 1}) == "mesh.dim_out_of_range | IndexError: tuple index out of range");
}

TEST_CASE("existing groups that do not make the mesh are refused") {
    using Groups = std::vector<std::vector<int64_t>>;
    const auto made_of = [](const Groups& groups, Shape shape, Names names) {
        return refusal([&] { DeviceMesh::from_groups(groups, shape, {0, 1, 2, 3}, names, 8); });
    };
    CHECK(made_of({}, {2, 2}, {"a", "b"}) ==
          "mesh.no_groups | ValueError: Expects at least one ProcessGroup to be passed");
    CHECK(made_of({{1, 3}, {0, 1}}, {2, 2}, {}) ==
          "mesh.groups_unnamed | ValueError: Must pass mesh_dim_names if passing multiple ProcessGroups");
    CHECK(made_of({{1, 3}, {0, 1}}, {4}, {"a"}) ==
          "mesh.groups_do_not_fit | ValueError: Expects mesh with ndim equal to number of ProcessGroups but "
          "got mesh [0, 1, "
          "2, 3] and 2 ProcessGroups");
    // PyTorch believes these.
    CHECK(made_of({{0, 3}, {0, 1}}, {2, 2}, {"a", "b"}) == "mesh.group_is_no_row | ");
    CHECK(made_of({{1, 3}, {}}, {2, 2}, {"a", "b"}) == "mesh.group_is_no_row | ");
    CHECK(made_of({{1, 3}, {6, 7}}, {2, 2}, {"a", "b"}) == "mesh.group_is_no_row | ");
}
