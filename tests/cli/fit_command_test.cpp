// `meshscope bench profile --fit`.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;

TEST_CASE("bench profile --fit writes a profile that is read again, and says what it used and what is left") {
    const std::string files = meshscope::test::golden_folder() + "/imports/nccl_tests/";
    const program::Folder folder;
    const std::string out = folder.file("cluster.toml");
    const auto ended = program::run({"bench", "profile", "--fit", files + "all_reduce_8_exact.json", "--base",
                                     "a100", "--name", "cluster", "--out", out});
    REQUIRE(ended.exit_code == 0);
    CHECK(ended.err.find("2.50 us a hop and 200.0 GB/s, fitted from 21 rows") != std::string::npos);
    CHECK(program::content(out).find("name = \"cluster\"") != std::string::npos);
    const std::string scenario = meshscope::test::source_root() + "/scenarios/63_hsdp/scenario.toml";
    CHECK(program::run({"predict", scenario, "--profile", out}).exit_code == 0);
    const auto told =
        program::run({"bench", "profile", "--fit", files + "all_reduce_8_measured.txt", "--json"});
    REQUIRE(told.exit_code == 0);
    const json said = json::parse(told.out);
    CHECK(said["links"][0]["link"] == "inside");
    CHECK(said["links"][0]["rows"].size() == 11);
    CHECK(said["files"][0]["fits"]["out_of_place_absolute"]["alpha_us_per_step"].get<double>() ==
          Approx(1.66028).epsilon(1e-4));
    CHECK(program::run({"bench", "profile", "--base", "a100"}).exit_code == 2);
    CHECK(program::run(
              {"bench", "profile", "--fit", files + "all_reduce_8_exact.json", "--base", out, "--out", out})
              .exit_code == 2);
    CHECK(program::content(out).find("name = \"cluster\"") != std::string::npos);
}
