#include "core/base/message.h"
#include "core/base/error.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("a message describes itself with its typed arguments") {
    const Message message{
        "mesh.larger_than_world",
        {{"needed", int64_t{8}}, {"shape", std::vector<int64_t>{2, 2, 2}}, {"name", std::string("tp")}}};
    CHECK(describe(message) == "mesh.larger_than_world(needed=8, shape=[2, 2, 2], name=tp)");
    REQUIRE(message.find("needed") != nullptr);
    CHECK(std::get<int64_t>(*message.find("needed")) == 8);
    CHECK(message.find("absent") == nullptr);
}

TEST_CASE("an input error carries every mistake and reports the first") {
    const InputError error({{{"scenario.unknown_key", {}}, {"s.toml", 3, 1, -1}, {}},
                            {{"scenario.wrong_type", {}}, {"s.toml", 9, 4, -1}, {}}});
    CHECK(error.diagnostics().size() == 2);
    CHECK(std::string(error.what()) == "scenario.unknown_key()");
}

TEST_CASE("global and group ranks are different types") {
    STATIC_REQUIRE_FALSE(std::is_convertible_v<GlobalRank, GroupRank>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<int, GlobalRank>);
    CHECK(GlobalRank{1} < GlobalRank{2});
}
