// The command `meshscope sampler`: the fields of golden/misc.json, and what it refuses.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;

TEST_CASE("sampler --json answers every case of golden/misc.json") {
    std::ifstream in(meshscope::test::golden_folder() + "/misc.json");
    const json golden = json::parse(in);
    for (const json& row : golden.at("distributed_sampler")) {
        std::vector<std::string> words{"sampler",
                                       "--samples",
                                       row.at("n").dump(),
                                       "--world",
                                       row.at("world").dump(),
                                       "--batch-size",
                                       row.at("batch_size").dump(),
                                       "--json"};
        if (row.at("drop_last").get<bool>()) words.push_back("--drop-last");
        const auto ended = program::run(words);
        REQUIRE(ended.exit_code == 0);
        CHECK(json::parse(ended.out).at("ranks") == row.at("ranks"));
    }
}

TEST_CASE("sampler shuffles as PyTorch does, and its table marks padding and the short batch") {
    const auto shuffled = program::run(
        {"sampler", "--samples", "11", "--world", "2", "--shuffle", "--seed", "3", "--epoch", "2", "--json"});
    REQUIRE(shuffled.exit_code == 0);
    CHECK(json::parse(shuffled.out)["ranks"][0]["indices"] == json({9, 0, 10, 3, 7, 4}));
    const auto table = program::run({"sampler", "--samples", "11", "--world", "2", "--batch-size", "4"});
    CHECK(table.exit_code == 0);
    CHECK(table.out.find("0 2 4 6 | (8 10)") != std::string::npos);
    CHECK(table.out.find("1 3 5 7 | (9 0*)") != std::string::npos);
    CHECK(table.out.find("padding (1 in total)") != std::string::npos);
    const auto cut =
        program::run({"sampler", "--samples", "11", "--world", "2", "--drop-last", "--lang", "zh"});
    CHECK(cut.out.find("末尾的 1 个样本被丢弃") != std::string::npos);
    CHECK(program::run({"sampler", "--help"}).out.find("meshscope sampler --samples 11 --world 2 --json") !=
          std::string::npos);
}

TEST_CASE("sampler refuses what cannot be dealt, at once, and says what could") {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"--samples", "0", "--world", "2"},
             {"--samples", "-3", "--world", "2"},
             {"--samples", "9223372036854775807", "--world", "2"},
             {"--samples", "11", "--world", "0"},
             {"--samples", "11", "--world", "100000000"},
             {"--samples", "11", "--world", "2", "--batch-size", "0"},
             {"--samples", "11", "--world", "2", "--shuffle", "--epoch", "-1"},
             {"--samples", "11", "--world", "2", "--seed", "3"},
             {"--samples", "eleven", "--world", "2"},
             {"--samples", "99999999999999999999", "--world", "2"},
             {"--samples", "11"}}) {
        std::vector<std::string> all{"sampler"};
        all.insert(all.end(), words.begin(), words.end());
        INFO(words.back());
        const auto ended = program::run(all);
        CHECK(ended.exit_code == 2);
        CHECK(ended.out.empty());
        CHECK_FALSE(ended.err.empty());
    }
    CHECK(program::run({"sampler", "--samples", "1000001", "--world", "2"}).err.find("1 to 1000000") !=
          std::string::npos);
}
