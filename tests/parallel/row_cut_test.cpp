#include <fstream>
#include <nlohmann/json.hpp>

#include "core/parallel/fsdp2/shard.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope::parallel;

TEST_CASE("five rows on four ranks: rank 3 owns none, eight travel") {
    const RowCut cut{5, 4};
    CHECK(cut.rows_of(0) == 2);
    CHECK(cut.rows_of(1) == 2);
    CHECK(cut.rows_of(2) == 1);
    CHECK(cut.rows_of(3) == 0);
    CHECK(cut.padded_rows() == 8);
}

TEST_CASE("every cut of golden/misc.json is PyTorch's") {
    std::ifstream in(meshscope::test::golden_folder() + "/misc.json");
    const auto golden = nlohmann::json::parse(in);
    int64_t seen = 0;
    for (const auto& row : golden.at("dim0_shard")) {
        const RowCut cut{row.at("rows").get<int64_t>(), row.at("world").get<int64_t>()};
        INFO(row.dump());
        for (int64_t r = 0; r < cut.ranks; ++r)
            CHECK(cut.rows_of(r) == row.at("rows_per_rank").at(static_cast<std::size_t>(r)).get<int64_t>());
        CHECK(cut.rows_per_rank() == row.at("padded_rows").get<int64_t>());
        ++seen;
    }
    CHECK(seen > 0);
}
