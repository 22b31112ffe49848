// The files that the program writes (traces, weights, JSON, exports): killed, or told that the disk is full,
// at each system call, it leaves the old file or the whole new one under each name.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/data/safetensors.h"
#include "core/trace/part_file.h"
#include "core/trace/store.h"
#include "tests/folder.h"
#include "tests/run/watched.h"
#include "tests/test.h"

using namespace meshscope;
using file_calls::Counted;
using file_calls::Ended;
using file_calls::Fate;
using file_calls::Files;
using file_calls::Plan;
namespace fs = std::filesystem;

namespace {

std::string scenario(int steps) {
    return "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = " + std::to_string(steps) +
           "\nglobal_batch = 8\n[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n";
}

/// A program that writes files into a folder.
struct Writer {
    std::string name;
    std::vector<std::string> words;
    /// Throws, or gives false, when a file is none that the program would write.
    std::function<bool(const std::string& path)> whole;
};

/// Files outside the watched folder that the writers read: scenarios of one and of two steps, a trace.
struct Sources {
    test::Folder folder;
    Sources() {
        folder.write("one.toml", scenario(1));
        folder.write("two.toml", scenario(2));
        run_of("one.toml", folder.path);
    }
    /// meshscope itself writes three files; its quick stand-in two of them.
    std::vector<std::string> words_of_run(const std::string& program, const std::string& toml,
                                          const fs::path& out) const {
        const std::string trace = (out / "t.mscope").string(), weights = (out / "w.safetensors").string();
        if (program == "test_saver") return {watched::program(program), folder.file(toml), trace, weights};
        return {watched::program(program),
                "run",
                folder.file(toml),
                "--quiet",
                "--trace",
                trace,
                "--save",
                weights,
                "--json",
                (out / "o.json").string()};
    }
    void run_of(const std::string& toml, const fs::path& out) const {
        REQUIRE(file_calls::run(words_of_run("meshscope", toml, out), {}).exit_code == 0);
    }
};

/// A file of a run of two steps.
bool of_two_steps(const std::string& path) {
    if (path.ends_with(".mscope")) return trace::read_trace(path).info.losses.size() == 2;
    if (path.ends_with(".safetensors")) return data::read_safetensors(path).tensors.size() == 4;
    return nlohmann::json::parse(test::content(path))["losses"].size() == 2;
}

/// `runs`: the program that runs a scenario.
std::vector<Writer> writers(const std::string& runs, const Sources& sources, const fs::path& out) {
    const auto exported = [&](const std::string& format, const std::string& file) {
        const std::vector<std::string> begin{watched::program("meshscope"),   "trace", "export", format,
                                             sources.folder.file("t.mscope"), "-o"};
        std::vector<std::string> real = begin, reference = begin;
        real.push_back((out / file).string());
        reference.push_back(sources.folder.file(file));
        REQUIRE(file_calls::run(reference, {}).exit_code == 0);
        const std::string expected = test::content(sources.folder.file(file));
        return Writer{format, real, [=](const std::string& path) { return test::content(path) == expected; }};
    };
    return {{runs, sources.words_of_run(runs, "two.toml", out), of_two_steps},
            exported("perfetto", "p.json"),
            exported("csv", "c.csv")};
}

/// The plan's fate at each call in turn. Under every name lies the old file, or a whole new one; `check` sees
/// the rest. The program can then write all of them as if nothing had been.
void each(const Writer& writer, const Files& old, Plan plan,
          const std::function<void(const Ended&, std::size_t n_old)>& check) {
    for (plan.nth = 1;; plan.nth += watched::kEvery) {
        file_calls::put_back(old, plan.below);
        const Ended ended = file_calls::run(writer.words, plan);
        std::string where = "the end";
        if (ended.calls.size() >= plan.nth)
            where = ended.calls[plan.nth - 1].name + " " + ended.calls[plan.nth - 1].path;
        INFO(writer.name << ": call " << plan.nth << ": " << where);
        INFO(ended.err);
        std::size_t n_old = 0;
        for (const auto& [name, bytes] : old) {
            const std::string path = plan.below + "/" + name;
            INFO(path);
            const bool is_old = test::content(path) == bytes;
            n_old += is_old;
            CHECK((is_old || writer.whole(path)));
        }
        if (ended.calls.size() < plan.nth) {
            CHECK(ended.exit_code == 0);
            CHECK(n_old == 0);
            CHECK(ended.calls.size() >= (plan.counted == Counted::growing ? 2U : 6U));
            return;
        }
        check(ended, n_old);
        // To begin again takes as long as to fail: after every fourth failure.
        if (plan.nth % 4 != 1) continue;
        CHECK(file_calls::run(writer.words, {}).exit_code == 0);
        for (const auto& [name, bytes] : old) CHECK(writer.whole(plan.below + "/" + name));
    }
}

/// What the folder holds for a writer before it begins: files of its own kind, or any others.
Files old_files(const Writer& writer, const Sources& sources) {
    if (writer.name == "perfetto") return {{"p.json", R"({"written_by":"meshscope","traceEvents":[]})"}};
    if (writer.name == "csv") {  // an export of a trace without rows: its line of names
        const std::string rows = test::content(sources.folder.file("c.csv"));
        return {{"c.csv", rows.substr(0, rows.find('\n') + 1)}};
    }
    Files old;
    if (writer.name == "meshscope") old.emplace_back("o.json", test::content(sources.folder.file("o.json")));
    for (const char* name : {"t.mscope", "w.safetensors"})
        old.emplace_back(name, test::content(sources.folder.file(name)));
    return old;
}

}  // namespace

TEST_CASE("a program killed while it writes leaves each of its files old or whole") {
    if (!watched::possible()) return;
    const Sources sources;
    const test::Folder out;
    for (const Writer& writer : writers("test_saver", sources, out.path))
        each(writer, old_files(writer, sources),
             {.below = out.path.string(), .counted = Counted::changing, .fate = Fate::killed, .error = 0},
             [&](const Ended& ended, std::size_t) { CHECK(ended.exit_code == 128 + SIGKILL); });
}

TEST_CASE("a disk that is full from any write on is told, and leaves files old or whole and no parts") {
    if (!watched::possible()) return;
    const Sources sources;
    const test::Folder out;
    // The program itself, whose exit codes and words these are; sanitizers make its start long.
    for (const Writer& writer :
         writers(watched::kEvery == 1 ? "meshscope" : "test_saver", sources, out.path)) {
        const Files old = old_files(writer, sources);
        each(writer, old,
             {.below = out.path.string(),
              .counted = Counted::growing,
              .fate = Fate::fails_from,
              .error = ENOSPC},
             [&](const Ended& ended, std::size_t n_old) {
                 CHECK(ended.exit_code == 74);
                 CHECK(n_old > 0);
                 CHECK((ended.err.find("No space left on device") != std::string::npos ||
                        ended.err.find("database or disk is full") != std::string::npos));
                 std::size_t n_files = 0, n_rank_parts = 0;
                 for (const auto& [file, bytes] : file_calls::files_below(out.path.string()))
                     ++(file.find(".mscope.rank-") == std::string::npos ? n_files : n_rank_parts);
                 CHECK(n_files == old.size());
                 // What the ranks recorded stays where the trace could not be written, and that is told.
                 CHECK((n_rank_parts == 0 || ended.err.find("trace recover") != std::string::npos));
                 for (int32_t rank = 0; rank < 2; ++rank)
                     fs::remove(trace::part_path(out.file("t.mscope"), rank));
             });
    }
}

TEST_CASE("an input/output error in any call of a program that writes is told, or did no harm") {
    if (!watched::possible()) return;
    const Sources sources;
    const test::Folder out;
    for (const Writer& writer : writers("test_saver", sources, out.path))
        each(writer, old_files(writer, sources),
             {.below = out.path.string(), .counted = Counted::changing, .fate = Fate::fails, .error = EIO},
             [&](const Ended& ended, std::size_t n_old) {
                 if (n_old > 0) CHECK(ended.exit_code == 74);
                 if (ended.exit_code == 74)
                     CHECK((ended.err.find("Input/output error") != std::string::npos ||
                            ended.err.find("disk I/O error") != std::string::npos));
             });
}
