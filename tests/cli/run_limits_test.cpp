// Runs that must not pass for good ones: training that came to NaN, a batch that no machine holds, outputs
// that would take the place of somebody else's files.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/data/safetensors.h"
#include "core/trace/store.h"
#include "tests/cli/program.h"
#include "tests/cli/toy.h"
#include "tests/test.h"

using namespace meshscope;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// An mlp whose numbers are NaN after a few steps.
std::string diverging(const std::string& more = "", int steps = 8) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 8\nhidden = 16\nlayers = 2\n[train]\nsteps = " +
           std::to_string(steps) +
           "\nglobal_batch = 8\n[optimizer]\nkind = \"sgd\"\nlr = 1e9\n"
           "[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n" +
           more;
}

/// How many numbers of the safetensors files in a folder and those inside it are `wanted`.
int64_t floats_below(const fs::path& folder, bool (*wanted)(float)) {
    int64_t n = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".safetensors") continue;
        for (const data::NamedTensor& tensor : data::read_safetensors(entry.path()).tensors)
            if (tensor.dtype == DType::float32) n += std::ranges::count_if(tensor.floats(), wanted);
    }
    return n;
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("training that comes to NaN is a failure with an exit code of its own, its record written") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", diverging());
    const auto ended = program::run({"run", scenario, "--trace", folder.file("t.mscope"), "--save",
                                     folder.file("w.safetensors"), "--json", folder.file("o.json")});
    INFO(ended.err);
    CHECK(ended.exit_code == 79);
    CHECK(holds(ended.err, "NaN or Inf: "));
    CHECK(holds(ended.err, "first appeared in step"));
    CHECK(trace::read_trace(folder.file("t.mscope")).info.losses.size() == 8);
    CHECK(json::parse(program::content(folder.file("o.json"))).contains("not_finite"));
    // No weights that `weights =` would refuse.
    CHECK_FALSE(fs::exists(folder.file("w.safetensors")));
    CHECK(holds(ended.err, "w.safetensors is not written"));
    // On standard output there is one JSON text.
    const auto out = program::run({"run", scenario, "-q", "--json", "-"});
    CHECK(out.exit_code == 79);
    CHECK(json::parse(out.out).contains("not_finite"));
}

TEST_CASE("processes of its own end likewise, and are not started again: the same numbers would come out") {
    const program::Folder folder;
    const auto ended = program::run(
        {"run", folder.write("s.toml", diverging()), "-q", "--backend", "tcp", "--max-restarts", "3"});
    INFO(ended.err);
    CHECK(ended.exit_code == 79);
    CHECK(holds(ended.err, "first appeared in step"));
    CHECK_FALSE(holds(ended.err, "restart"));
}

TEST_CASE("no checkpoint is made of NaN, and none that is good goes for one") {
    const program::Folder folder;
    const std::string checkpoint = "[checkpoint]\nfolder = \"a\"\nevery = 1\nkeep = 1\nkind = \"" +
                                   std::string(GENERATE("sharded", "rank0")) + "\"\n";
    std::string good = diverging(checkpoint, 2);
    good.replace(good.find("1e9"), 3, "0.01");
    REQUIRE(program::run({"run", folder.write("good.toml", good), "-q"}).exit_code == 0);
    const auto ended = program::run(
        {"run", folder.write("s.toml", diverging(checkpoint, 30)), "-q", "--resume", folder.file("a")});
    INFO(ended.err);
    CHECK(ended.exit_code == 79);
    CHECK(holds(ended.err, "this state is not saved"));
    CHECK(ended.err.find("this state is not saved") == ended.err.rfind("this state is not saved"));
    // The newest one is the last whose numbers were finite: training goes on from there.
    int checkpoints = 0;
    for (const auto& entry : fs::directory_iterator(folder.path / "a")) {
        ++checkpoints;
        CHECK(entry.path().filename() >= "step_000002");
        CHECK(entry.path().filename() < "step_000030");
    }
    CHECK(checkpoints == 1);
    CHECK(floats_below(folder.path / "a", [](float x) { return std::isfinite(x); }) > 0);
    CHECK(floats_below(folder.path / "a", [](float x) { return !std::isfinite(x); }) == 0);
    std::string on = diverging(checkpoint, 31);
    on.replace(on.find("1e9"), 3, "0");
    const auto again = program::run({"run", folder.write("on.toml", on), "-q", "--resume", folder.file("a")});
    INFO(again.err);
    // Its weights could be read, and are so large that the next loss may be Inf.
    CHECK((again.exit_code == 0 || again.exit_code == 79));
    CHECK_FALSE(holds(again.err, "cannot read"));
}

TEST_CASE(
    "a scenario that is to show divergence says so: then it is the run's success, and its lack is none") {
    const program::Folder folder;
    const std::string expects = "[run]\nexpect = \"divergence\"\n";
    const auto diverged = program::run({"run", folder.write("s.toml", diverging(expects))});
    INFO(diverged.err);
    CHECK(diverged.exit_code == 0);
    CHECK(holds(diverged.err, "first appeared in step"));
    const auto finite = program::run({"run", folder.write("f.toml", kToy + expects), "-q"});
    CHECK(finite.exit_code == 1);
    CHECK(holds(finite.err, "stayed finite"));
    CHECK(program::run({"run", folder.file("s.toml"), "-q", "--save", folder.file("w.safetensors")})
              .exit_code == 79);
    const auto word =
        program::run({"run", folder.write("w.toml", kToy + "[run]\nexpect = \"convergence\"\n"), "-q"});
    CHECK(word.exit_code == 65);
    CHECK(holds(word.err, "divergence"));
}

TEST_CASE("a batch that no machine holds is refused before the first step, and by processes' parent") {
    const program::Folder folder;
    const std::string text =
        "format = 1\n[model]\nkind = \"gpt\"\ndim = 32\nhidden = 64\nlayers = 2\nheads = 4\nvocab = 64\n"
        "seq = 64\n[train]\nsteps = 2\nglobal_batch = 2147483640\n[mesh]\nshape = [2]\n"
        "[parallel]\ndata = \"ddp\"\n";
    const std::string scenario = folder.write("s.toml", text);
    for (const char* backend : {"threads", "tcp"}) {
        const auto ended =
            program::run({"run", scenario, "--backend", backend, "--trace", folder.file("t.mscope")});
        INFO(ended.err);
        CHECK(ended.exit_code == 71);
        CHECK(holds(ended.err, "this run would take "));
        CHECK(holds(ended.err,
                    "`meshscope run --force`"));  // the window, which says the same, has no such option
        CHECK_FALSE(holds(ended.err, "rank 0"));
    }
    CHECK(folder.files() == 1);
    CHECK(holds(program::run({"--lang", "zh", "run", scenario, "-q"}).err,
                "`meshscope run --force` 可以强行尝试"));
}

TEST_CASE("no output takes the place of another kind of file unless told so, and its own kind is replaced") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", scenario, "-q"});
        return program::run(words);
    };
    for (const char* option : {"--trace", "--save", "--json"}) {
        INFO(option);
        const std::string path = folder.write("thesis.tex", "\\documentclass{book}");
        const auto refused = run({option, path});
        CHECK(refused.exit_code == 2);
        CHECK(holds(refused.err, "is not overwritten"));
        CHECK(program::content(path) == "\\documentclass{book}");
        CHECK(run({option, path, "--force"}).exit_code == 0);
        CHECK(program::content(path) != "\\documentclass{book}");
        CHECK(run({option, path}).exit_code == 0);  // now it is of its kind
    }
}

namespace {

/// What `words` write is refused over notes, written there with --force, and then replaced without.
void check_own_kind(const program::Folder& folder, std::vector<std::string> words) {
    const std::string notes = "Monday: nothing.\n", path = folder.write("notes.txt", notes);
    words.push_back(path);
    const auto refused = program::run(words);
    CAPTURE(words, refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(holds(refused.err, "is not overwritten"));
    CHECK(program::content(path) == notes);
    words.emplace_back("--force");
    CHECK(program::run(words).exit_code == 0);
    CHECK(program::content(path) != notes);
    words.pop_back();
    CHECK(program::run(words).exit_code == 0);  // now it is of its kind
}

}  // namespace

TEST_CASE("tables of a record and of measured collectives replace their own kind alone") {
    const program::Folder folder;
    const std::string trace = folder.file("t.mscope");
    REQUIRE(program::run({"run", folder.write("s.toml", kToy), "-q", "--trace", trace}).exit_code == 0);
    check_own_kind(folder, {"trace", "export", "csv", trace, "-o"});
    check_own_kind(folder, {"bench", "collectives", "--ranks", "2", "--sizes", "1K", "--table"});
}

TEST_CASE("a measured profile replaces its own kind alone") {
    check_own_kind(program::Folder(), {"bench", "profile", "--repeats", "1", "--out"});
}

TEST_CASE("a file that has a part file's name is neither written over nor removed") {
    const program::Folder folder;
    const std::string part = folder.write("t.mscope.rank-1.part", "mine");
    const auto ended =
        program::run({"run", folder.write("s.toml", kToy), "-q", "--trace", folder.file("t.mscope")});
    INFO(ended.err);
    CHECK(ended.exit_code == 0);
    CHECK(program::content(part) == "mine");
    CHECK(holds(ended.err, part));
    CHECK(folder.files() == 3);
}
