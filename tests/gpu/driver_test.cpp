// What doctor and run say of a machine's driver: the real module over a stand-in for libcuda.so.1 that gives
// each answer, and of modules that are none.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace {

const std::string kLibraries = std::string("LD_LIBRARY_PATH=") + MESHSCOPE_FAKE_DRIVER;

/// Whether this build has the real module; where no CUDA toolkit was there, nothing of it can be tried.
bool real_module() {
    const bool built = std::filesystem::exists(meshscope::test::bin_folder() + "/../lib/meshscope-cuda.so");
    if (!built) WARN("no CUDA toolkit was there when this was built: the real module is not tested");
    return built;
}

std::string missing(const std::vector<std::string>& environment) {
    const auto told = program::run({"doctor", "--json"}, {0, "", environment});
    REQUIRE(told.exit_code == 0);
    const auto gpu = nlohmann::json::parse(told.out)["gpu"];
    CHECK(gpu["devices"].empty());
    return gpu["missing"].is_null() ? "nothing" : gpu["missing"].get<std::string>();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string scenario_in(const program::Folder& folder) {
    return folder.write("s.toml",
                        "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 4\n"
                        "[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n");
}

}  // namespace

TEST_CASE("each answer of a driver is told in words and with its number") {
    if (!real_module()) return;
    // What cuInit returns, as CUDA numbers it; the last is of a driver newer than this program.
    for (const int code :
         {1, 2, 3, 4, 34, 36, 46, 101, 201, 214, 304, 800, 801, 802, 803, 804, 805, 807, 999, 1234}) {
        const std::string said = missing({kLibraries, "FAKE_CUDA_INIT=" + std::to_string(code)});
        CAPTURE(said);
        CHECK(has(said, "an NVIDIA driver is installed, but CUDA cannot be used with it: "));
        CHECK(has(said, "(error " + std::to_string(code) + ")"));
    }
    CHECK(has(missing({kLibraries, "FAKE_CUDA_INIT=100"}), "it sees no GPU"));
    const std::string old = missing({kLibraries, "FAKE_CUDA_VERSION=12040"});
    CAPTURE(old);
    CHECK(has(old, "the NVIDIA driver is too old: it serves CUDA 12.4, and this build needs 1"));
}

TEST_CASE(
    "a run that the driver cannot serve ends with exit code 69 and the same sentence, in both languages") {
    if (!real_module()) return;
    const program::Folder folder;
    const std::string scenario = scenario_in(folder);
    struct Case {
        const char *answer, *english, *chinese;
    };
    for (const Case& one : {Case{"FAKE_CUDA_INIT=100", "it sees no GPU", "它看不到 GPU"},
                            Case{"FAKE_CUDA_INIT=803", "CUDA cannot be used with it", "CUDA 无法使用"},
                            Case{"FAKE_CUDA_VERSION=12040", "it serves CUDA 12.4", "它只支持到 CUDA 12.4"}}) {
        const auto said = [&](const char* language) {
            return program::run({"run", scenario, "--backend", "cuda", "--lang", language},
                                {0, "", {kLibraries, one.answer}});
        };
        const auto english = said("en"), chinese = said("zh");
        CAPTURE(one.answer, english.err, chinese.err);
        CHECK(english.exit_code == 69);
        CHECK(has(english.err, one.english));
        CHECK(chinese.exit_code == 69);
        CHECK(has(chinese.err, one.chinese));
    }
}

TEST_CASE(
    "a GPU module that is none is named, with exit code 69: no file, no library, another's, another "
    "build's") {
    const program::Folder folder;
    const std::string scenario = scenario_in(folder);
    const std::string text = folder.write("meshscope-cuda.so", "no library");
    struct Case {
        std::string module, reason;
    };
    for (const Case& one :
         {Case{"/nowhere/meshscope-cuda.so", "No such file"}, Case{text, text},
          Case{folder.path.string(), folder.path.string()}, Case{"libm.so.6", "meshscope_gpu_module"},
          Case{MESHSCOPE_OTHER_VERSION, "belongs to another build of the program"}}) {
        const auto ended = program::run({"run", scenario, "--backend", "cuda"},
                                        {0, "", {"MESHSCOPE_CUDA_MODULE=" + one.module}});
        CAPTURE(one.module, ended.err);
        CHECK(ended.exit_code == 69);
        CHECK(has(ended.err, "GPU module " + one.module));
        CHECK(has(ended.err, one.reason));
        const std::string doctor = missing({"MESHSCOPE_CUDA_MODULE=" + one.module});
        CHECK(has(doctor, one.reason));
    }
}

TEST_CASE("a run on the stand-in says so, and its figures are no GPU's") {
    const program::Folder folder;
    const std::string scenario = scenario_in(folder);
    const std::string module = meshscope::test::bin_folder() + "/../lib/meshscope-cuda-stand-in.so";
    const auto ended = program::run({"run", scenario, "--backend", "cuda", "--quiet", "--json", "-"},
                                    {0, "", {"MESHSCOPE_CUDA_MODULE=" + module}});
    CAPTURE(ended.err);
    REQUIRE(ended.exit_code == 0);
    const auto told = nlohmann::json::parse(ended.out);
    CHECK(told["backend"] == "cuda-stand-in");
    CHECK(told["device_memory"]["own_bytes"].get<int64_t>() > 2 * (int64_t{32} << 20));
    CHECK(told["device_memory"]["most_in_use_bytes"] > told["device_memory"]["own_bytes"]);
    CHECK(told["memory"][0]["peak_tensors"].get<int64_t>() > 0);
    CHECK(has(ended.err, "not on a GPU"));
    // On the CPU there is no such figure, and nothing to say.
    const auto threads = program::run({"run", scenario, "--quiet", "--json", "-"});
    CHECK(threads.err.empty());
    CHECK_FALSE(nlohmann::json::parse(threads.out).contains("device_memory"));
}

TEST_CASE("bench collectives refuses a backend whose tensors lie on a device") {
    const std::string module = meshscope::test::bin_folder() + "/../lib/meshscope-cuda-stand-in.so";
    const auto ended = program::run({"bench", "collectives", "--backend", "cuda", "--ranks", "2"},
                                    {0, "", {"MESHSCOPE_CUDA_MODULE=" + module}});
    CHECK(ended.exit_code == 65);
    CHECK(has(ended.err, "the ranks of cuda keep their tensors on a device"));
}
