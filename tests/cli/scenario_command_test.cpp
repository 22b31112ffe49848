// The command `meshscope scenario from`.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;

namespace {

std::string job(const std::string& name) {
    return meshscope::test::golden_folder() + "/imports/job_config/" + name;
}

}  // namespace

TEST_CASE(
    "scenario from writes a scenario that predict takes, with the origin of each value, and the next "
    "command") {
    const program::Folder folder;
    const std::string out = folder.file("s.toml");
    const auto ended = program::run({"scenario", "from", job("torchtitan_llama3_debug_hsdp_tp.json"), "-o",
                                     out, "--ranks-per-node", "8"});
    REQUIRE(ended.exit_code == 0);
    CHECK(ended.out.find("meshscope predict " + out) != std::string::npos);
    CHECK(ended.err.find("replicate 2 × shard 2 × tp 2") != std::string::npos);
    const std::string text = program::content(out);
    CHECK(text.find("shape = [2, 2, 2]") != std::string::npos);
    CHECK(text.find("# tp 2: torchtitan_llama3_debug_hsdp_tp.json: parallelism.tensor_parallel_degree") !=
          std::string::npos);
    CHECK(program::run({"predict", out, "--json"}).exit_code == 0);
    // It may be made again, but what a person wrote stays.
    const auto again =
        program::run({"scenario", "from", job("torchtitan_llama3_debug_hsdp_tp.json"), "-o", out});
    CHECK(again.exit_code == 0);
    const std::string own = folder.write("own.toml", "format = 1\n");
    CHECK(program::run({"scenario", "from", job("torchtitan_llama3_debug_hsdp_tp.json"), "-o", own})
              .exit_code == 2);
}

TEST_CASE("scenario from overwrites no file of the job, also none that only another file names") {
    const program::Folder folder;
    const std::string zero = folder.write("ds.json", R"({"train_micro_batch_size_per_gpu": 1})");
    const std::string accelerate = folder.write("acc.yaml",
                                                "distributed_type: DEEPSPEED\nnum_processes: "
                                                "2\ndeepspeed_config: {deepspeed_config_file: ds.json}\n");
    const std::string model = meshscope::test::golden_folder() + "/model_config/Llama-3.2-1B.json";
    const auto ended =
        program::run({"scenario", "from", accelerate, model, "--seq", "8", "-o", zero, "--force"});
    CHECK(ended.exit_code == 2);
    CHECK(ended.err.find("ds.json") != std::string::npos);
    CHECK(program::content(zero).starts_with("{"));
}

TEST_CASE("scenario from asks for what no file says, in both languages, and --json tells what is known") {
    const std::string file = job("megatron_mixtral_8x22b_tp2pp8ep8vpp1_release.yaml");
    const auto asked = program::run({"scenario", "from", file});
    CHECK(asked.exit_code == 65);
    CHECK(asked.err.find("give --world N, a multiple of 128") != std::string::npos);
    const auto chinese = program::run({"scenario", "from", file, "--lang", "zh"});
    CHECK(chinese.err.find("128 的倍数") != std::string::npos);
    const auto known = program::run({"scenario", "from", file, "--json", "--world", "256"});
    CHECK(known.exit_code == 65);
    const json said = json::parse(known.out);
    CHECK(said["mesh"] == json({{"shape", {8, 16, 2}}, {"names", {"pp", "shard", "tp"}}}));
    CHECK(said["missing"][0]["option"] == "--vocab");
    CHECK(said["scenario"].is_null());
}
