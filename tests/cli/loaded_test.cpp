// Libraries of numbers start threads and take memory as soon as they are loaded: who computes nothing does
// not load them.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/sanitizer.h"
#include "tests/test.h"

using program::content;
using program::Folder;

namespace {

constexpr const char* kScenario =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 1\n"
    "global_batch = 4\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n";
constexpr const char* kCalls =
    "format = 1\n[mesh]\nshape = [2]\nnames = [\"dp\"]\n[[call]]\nop = \"all_reduce\"\ngroup = \"dp\"\n"
    "elements = 16\n";

/// What the dynamic linker tells of the files that the program and those it starts load.
std::string loaded_by(const std::vector<std::string>& words) {
    const Folder told;
    const program::Ended ended =
        program::run(words, {.environment = {"LD_DEBUG=files", "LD_DEBUG_OUTPUT=" + told.file("loaded")}});
    INFO(ended.err);
    CHECK(ended.exit_code == 0);
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(told.path)) all += content(entry.path());
    CHECK(all.find("libc.so") != std::string::npos);
    return all;
}

}  // namespace

TEST_CASE("a command that computes nothing loads no library of numbers") {
    const Folder folder;
    const std::string scenario = folder.write("s.toml", kScenario), calls = folder.write("c.toml", kCalls),
                      trace = folder.file("t.mscope");
    REQUIRE(program::run({"run", scenario, "--trace", trace, "-q"}).exit_code == 0);
    std::vector<std::vector<std::string>> commands{
        {"--version"},
        {"--help"},
        {"run", "--help"},
        {"mesh", "--shape", "2,2"},
        {"schedule", "--kind", "1F1B", "--ranks", "2", "--microbatches", "4"},
        {"sampler", "--samples", "11", "--world", "2", "--batch-size", "3"},
        {"predict", scenario},
        {"lesson", "list"},
        {"trace", "info", trace},
        {"run", calls, "-q"},
        {"launch", "-n", "1", "--", "true"}};
#ifdef MESHSCOPE_WITH_WINDOW
    commands.push_back({"trace", "export", "svg", trace, "-o", folder.file("t.svg")});
#endif
    for (const std::vector<std::string>& words : commands) {
        const std::string loaded = loaded_by(words);
        CAPTURE(words);
        for (const char* library : {"blas", "dnnl", "gomp", "OpenCL", "libmpi", "libcuda", "libnccl"})
            CHECK(loaded.find(library) == std::string::npos);
    }
    // One that trains loads what it multiplies with.
    const bool has_library = program::run({"doctor"}).out.find("plain loops") == std::string::npos;
    CHECK((loaded_by({"run", scenario, "-q"}).find("meshscope_blas_") != std::string::npos) == has_library);
}

TEST_CASE("the version is told in little memory") {
    if (meshscope::test::kSanitizer) return;  // which takes all addresses for itself
    const pid_t child = fork();
    if (child == 0) {
        const rlimit memory{200'000'000, 200'000'000}, seconds{20, 20};
        if (setrlimit(RLIMIT_AS, &memory) != 0 || setrlimit(RLIMIT_CPU, &seconds) != 0) _exit(126);
        program::become({"--version"}, {});
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}
