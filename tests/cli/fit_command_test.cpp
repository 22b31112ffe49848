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

TEST_CASE("bench profile --fit takes the speed of products from measured steps, and says what it used") {
    const program::Folder folder;
    const json published =
        json::parse(program::content(meshscope::test::source_root() + "/core/estimate/published/runs.json"));
    json of_one = json::array(), mixed = json::array();
    for (const json& run : published) {
        if (!run["id"].get<std::string>().starts_with("tt-")) continue;
        mixed.push_back(run);
        if (run["gpu"].get<std::string>().find("Grand Teton") != std::string::npos) of_one.push_back(run);
    }
    folder.write("runs.json", of_one.dump());
    folder.write("mixed.json", mixed.dump());
    const std::string out = folder.file("ours.toml");
    const auto ended =
        program::run({"bench", "profile", "--fit", folder.file("runs.json"), "--out", out, "--json"});
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    const json said = json::parse(ended.out);
    CHECK(said["products"]["runs"].size() >= 3);
    CHECK(said["products"]["speed"].get<double>() > 0.5);
    CHECK(said["products"]["speed"].get<double>() < 2);
    CHECK(said["profile"].get<std::string>().find("efficiency = ") != std::string::npos);
    // Of two kinds of GPU there is no one speed; a base that is named says what to start from.
    CHECK(program::run({"bench", "profile", "--fit", folder.file("mixed.json")}).exit_code == 2);
    CHECK(
        program::run({"bench", "profile", "--fit", folder.file("mixed.json"), "--base", "h100"}).exit_code ==
        0);
}
