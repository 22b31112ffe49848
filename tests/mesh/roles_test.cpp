// The roles of mesh dims come from their names, in torchtitan's words.
#include "core/mesh/roles.h"

#include "tests/test.h"

using namespace meshscope;
using Dims = std::vector<std::size_t>;

TEST_CASE("dims get their roles from their names") {
    const mesh::Roles roles = mesh::roles_of({"pp", "replicate", "shard", "cp", "tp"});
    CHECK(roles.data == Dims{1, 2});
    CHECK(roles.model == Dims{4, 0, 3});
    CHECK(roles.of(mesh::Role::shard) == 2U);
    CHECK(roles.of(mesh::Role::pp) == 0U);
    CHECK(roles.of(mesh::Role::cp) == 3U);
    CHECK(roles.of(mesh::Role::tp) == 4U);
}

TEST_CASE("a dim of another name, and an unnamed mesh, have no role") {
    CHECK(mesh::role_of("dp") == std::nullopt);
    const mesh::Roles roles = mesh::roles_of({"dp", "shard"});
    CHECK(roles.data == Dims{1});
    CHECK_FALSE(roles.of(mesh::Role::tp));
    CHECK(roles.model.empty());
    CHECK(mesh::roles_of({}).data.empty());
}

TEST_CASE("a role's name is the dim's name") {
    for (const char* word : {"replicate", "shard", "tp", "pp", "cp"})
        CHECK(mesh::name(*mesh::role_of(word)) == word);
}
