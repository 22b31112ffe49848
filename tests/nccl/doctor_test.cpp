// doctor and run tell what is there of GPUs and NCCL, and what is missing; doctor --nccl checks, here over
// the stand-in.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace {

const std::string kModule = std::string("MESHSCOPE_NCCL_MODULE=") + MESHSCOPE_NCCL_MODULE;
const std::string kFake = std::string("MESHSCOPE_NCCL=") + MESHSCOPE_FAKE_NCCL;

}  // namespace

TEST_CASE("doctor tells of GPUs and NCCL what is there, or what is missing, as JSON and in words") {
    const auto told =
        program::run({"doctor", "--json"}, {0, "", {kModule, kFake, "MESHSCOPE_CUDA_MODULE=/nowhere.so"}});
    REQUIRE(told.exit_code == 0);
    const auto facts = nlohmann::json::parse(told.out);
    CHECK(facts["gpu"]["devices"].empty());
    CHECK(facts["gpu"]["module"] == "/nowhere.so");
    CHECK(facts["gpu"]["missing"].get<std::string>().find("/nowhere.so") != std::string::npos);
    CHECK(facts["nccl"]["missing"].is_null());
    CHECK(facts["nccl"]["version"] == "2.28.9");
    CHECK(facts["nccl"]["file"] == MESHSCOPE_FAKE_NCCL);
    CHECK(facts["nccl"]["stand_in"] == true);

    const auto words = program::run({"doctor"}, {0, "", {kModule, "MESHSCOPE_NCCL=/nowhere/libnccl.so.2"}});
    CHECK(words.exit_code == 0);
    CHECK(words.err.find(
              "The backend nccl cannot be used here: /nowhere/libnccl.so.2 cannot be loaded as NCCL") !=
          std::string::npos);
    const auto chinese =
        program::run({"doctor", "--lang", "zh"}, {0, "", {kModule, "MESHSCOPE_NCCL=/nowhere/libnccl.so.2"}});
    CHECK(chinese.err.find("这里不能使用后端 nccl：") != std::string::npos);
}

TEST_CASE("doctor never calls a stand-in a GPU") {
    const std::string module =
        "MESHSCOPE_CUDA_MODULE=" + meshscope::test::bin_folder() + "/../lib/meshscope-cuda-stand-in.so";
    const auto told = program::run({"doctor", "--json"}, {0, "", {module}});
    REQUIRE(told.exit_code == 0);
    const auto gpu = nlohmann::json::parse(told.out)["gpu"];
    CHECK(gpu["stand_in"] == true);
    CHECK(gpu["missing"].is_null());
    const auto words = program::run({"doctor"}, {0, "", {module, kModule, kFake}});
    CHECK(words.out.find("a stand-in on the host's memory: no GPU") != std::string::npos);
    CHECK(words.out.find("a stand-in on the host's memory: no NCCL") != std::string::npos);
}

TEST_CASE("doctor --nccl runs each collective and finds every number right") {
    const auto told = program::run({"doctor", "--nccl", "--ranks", "3", "--json"}, {0, "", {kModule, kFake}});
    REQUIRE(told.exit_code == 0);
    const auto check = nlohmann::json::parse(told.out)["nccl_check"];
    CHECK(check["ranks"] == 3);
    CHECK(check["stand_in"] == true);
    CHECK(check["collectives"].size() == 3 * 15 + 1);
    for (const auto& one : check["collectives"]) CHECK(one["wrong"] == 0);

    const auto words = program::run({"doctor", "--nccl"}, {0, "", {kModule, kFake}});
    CHECK(words.exit_code == 0);
    CHECK(words.out.find("this says nothing of a GPU") != std::string::npos);
    CHECK(words.out.find("reduce_scatter sum") != std::string::npos);
    CHECK(program::run({"doctor", "--ranks", "2"}).exit_code == 2);
}

TEST_CASE("what a run over NCCL lacks is said once, before any process is started, with exit code 69") {
    const program::Folder folder;
    const std::string scenario =
        folder.write("s.toml",
                     "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 4\n"
                     "[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n");
    const auto lacks = [&](std::vector<std::string> environment) {
        return program::run({"run", scenario, "--backend", "nccl"}, {0, "", std::move(environment)});
    };
    const auto library = lacks({kModule, "MESHSCOPE_NCCL=/nowhere/libnccl.so.2"});
    CHECK(library.exit_code == 69);
    CHECK(library.err.find("/nowhere/libnccl.so.2 cannot be loaded as NCCL") != std::string::npos);
    CHECK(library.err.find("rank") == std::string::npos);
    const auto module = lacks({"MESHSCOPE_NCCL_MODULE=/nowhere.so", kFake});
    CHECK(module.exit_code == 69);
    CHECK(module.err.find("the NCCL module /nowhere.so cannot be loaded") != std::string::npos);
}
