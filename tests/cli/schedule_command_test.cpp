// The command `meshscope schedule`, run as a user runs it.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;

namespace {

program::Ended run_schedule(std::vector<std::string> words, const std::string& language = "en") {
    words.insert(words.begin(), {"--lang", language, "schedule"});
    return program::run(words);
}

}  // namespace

TEST_CASE("schedule --json prints PyTorch's orders, the kind in any case") {
    std::ifstream file(meshscope::test::golden_folder() + "/misc.json");
    const json asked = json::parse(file);
    for (const json& entry : asked.at("pipeline_schedules")) {
        std::string kind = entry["schedule"];
        for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const auto ended = run_schedule({"--kind", kind, "--ranks", entry["pp"].dump(), "--stages-per-rank",
                                         entry["stages_per_rank"].dump(), "--microbatches",
                                         entry["microbatches"].dump(), "--json"});
        INFO(kind);
        REQUIRE(ended.exit_code == 0);
        CHECK(json::parse(ended.out)["order"] == entry["order"]);
    }
}

TEST_CASE("schedule --csv has a row a rank, with communication on request") {
    const std::vector<std::string> words{"--kind", "gpipe", "--ranks", "2", "--microbatches", "1", "--csv"};
    CHECK(run_schedule(words).out == "0F0,,,0B0\r\n,1F0,1B0\r\n");
    std::vector<std::string> with_comms = words;
    with_comms.emplace_back("--comms");
    CHECK(run_schedule(with_comms).out ==
          "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\r\n"
          "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\r\n");
}

TEST_CASE("schedule draws time to scale, with the bubble and the legend") {
    const auto ended = run_schedule({"--kind", "1F1B", "--ranks", "2", "--microbatches", "2"});
    CHECK(ended.exit_code == 0);
    // F0 F1 on rank 0; F0 B0 on rank 1 from 1 to 4; B0 comes at 4. GPipe and 1F1B: 3(M+P-1) = 9, 6 of work.
    CHECK(ended.out.find("rank 0  F0 F1 ·  ·  B0--- ·  B1---\n") != std::string::npos);
    CHECK(ended.out.find("rank 1  ·  F0 B0--- F1 B1--- ·  ·\n") != std::string::npos);
    CHECK(ended.out.find("9 units of time, of which a rank works 6 on average; bubble 33.3 %") !=
          std::string::npos);
    CHECK(ended.out.find("has no F0") != std::string::npos);
    const auto chinese = run_schedule({"--kind", "dualpipev", "--ranks", "2", "--microbatches", "4"}, "zh");
    CHECK(chinese.out.find("气泡占") != std::string::npos);
    CHECK(chinese.out.find("空闲") != std::string::npos);
}

TEST_CASE("schedule says what it cannot run and what it could, with the contract's exit codes") {
    const auto says = [](const std::vector<std::string>& words, int exit_code, const std::string& part) {
        const auto ended = run_schedule(words);
        INFO(ended.err << ended.out);
        CHECK(ended.exit_code == exit_code);
        CHECK((ended.err + ended.out).find(part) != std::string::npos);
    };
    says({"--kind", "1F1B", "--ranks", "4", "--microbatches", "3"}, 65,
         "needs at least 4 micro-batches, got 3");
    says({"--kind", "Interleaved1F1B", "--ranks", "4", "--microbatches", "9"}, 65, "8 and 10");
    says({"--kind", "gpipe", "--ranks", "2", "--stages-per-rank", "2", "--microbatches", "4"}, 65,
         "1 stage on each rank, not 2");
    says({"--kind", "DualPipe", "--ranks", "2", "--microbatches", "4"}, 2, "did you mean DualPipeV?");
    says({"--kind", "nonsense", "--ranks", "2", "--microbatches", "4"}, 2, "there is no schedule nonsense");
    says({"--kind", "gpipe", "--ranks", "0", "--microbatches", "4"}, 65, "at least 1 rank");
    says({"--kind", "gpipe", "--ranks", "-9223372036854775808", "--microbatches", "4"}, 65,
         "got -9223372036854775808 ranks");
    says({"--kind", "gpipe", "--ranks", "4194304", "--microbatches", "4194304"}, 2, "actions");
    says({"--kind", "gpipe", "--ranks", "2", "--microbatches", "4", "--comms"}, 2, "--comms needs");
    says({"--kind", "gpipe", "--ranks", "2", "--microbatches", "4", "--csv", "--json"}, 2, "");
    says({"--kind", "gpipe", "--ranks", "x", "--microbatches", "4"}, 2, "");
    const auto as_json = run_schedule({"--kind", "1F1B", "--ranks", "4", "--microbatches", "3", "--json"});
    CHECK(json::parse(as_json.out)["errors"][0]["id"] == "pipeline.microbatches_least");
}
