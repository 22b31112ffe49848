// Nothing is removed, moved or written over that no run wrote: whatever has the name of a checkpoint, lies in
// one, or leads elsewhere.
#include <array>

#include "core/base/error.h"
#include "core/base/folder_mark.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/own_files.h"
#include "tests/run/checkpoint_helper.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace checkpoint_test;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

/// Everything below a folder, links not followed: "a/b" of files, "a/" of folders.
Names below(const fs::path& folder) {
    Names names;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        names.push_back(entry.path().lexically_relative(folder).string() +
                        (fs::is_directory(entry.symlink_status()) ? "/" : ""));
    std::sort(names.begin(), names.end());
    return names;
}

std::string saving(int steps, const std::string& more = "") {
    return text(steps, kFsdp4, "folder = \"a\"\nevery = 1\n" + more);
}

std::string refusal_id(const std::string& toml, const test::Folder& folder) {
    return test::thrown_id([&] { run_at(toml, folder); });
}

}  // namespace

TEST_CASE("a folder, file or link of somebody else's where a checkpoint would be is left alone and told") {
    const std::array<std::function<void(const test::Folder&)>, 6> takes{
        [](const test::Folder& f) { f.write("a/step_000002/f", "x"); },
        [](const test::Folder& f) { f.write("a/step_000002.tmp/f", "x"); },
        // Names that ours have, without anything that says that a run made them.
        [](const test::Folder& f) { f.write("a/step_000001.tmp/rank_00000.safetensors", "x"); },
        [](const test::Folder& f) { f.write("a/step_000001", "x"); },
        [](const test::Folder& f) {
            f.write("elsewhere/f", "x");
            fs::create_directory(f.path / "a");
            fs::create_directory_symlink("../elsewhere", f.path / "a/step_000002");
        },
        [](const test::Folder& f) {
            f.write("elsewhere/f", "x");
            mark_folder(f.file("elsewhere"));
            fs::create_directory(f.path / "a");
            fs::create_directory_symlink("../elsewhere", f.path / "a/step_000002.tmp");
        }};
    for (std::size_t i = 0; i < takes.size(); ++i) {
        INFO("case " << i);
        const test::Folder folder;
        takes[i](folder);
        const Names before = below(folder.path);
        int steps = 0;
        run::RunOptions options;
        options.progress = [&](int32_t, int32_t, double) { ++steps; };
        // Of a name that a checkpoint only has until it is complete that is said.
        CHECK(
            test::thrown_id([&] { run_at(saving(2), folder, options); }).starts_with("checkpoint.not_ours"));
        CHECK(below(folder.path) == before);
        CHECK(steps == 0);  // before anything is trained
    }
}

TEST_CASE("a name of which no checkpoint is saved is nobody's business") {
    const test::Folder folder;
    folder.write("a/step_000001.tmp/f", "x");
    folder.write("a/step_000003/f", "x");
    run_at(text(4, kFsdp4, "folder = \"a\"\nevery = 2\n"), folder);
    CHECK(test::content(folder.path / "a/step_000001.tmp/f") == "x");
    CHECK(test::content(folder.path / "a/step_000003/f") == "x");
    CHECK(run::checkpoint::find_checkpoint(folder.file("a")) == folder.file("a/step_000004"));
}

TEST_CASE("a step's name that comes up while training is refused when its checkpoint is due, and stays") {
    const test::Folder folder;
    run::RunOptions options;
    options.progress = [&](int32_t done, int32_t, double) {
        if (done == 1) folder.write("a/step_000002/f", "x");
    };
    CHECK(test::thrown_id([&] { run_at(saving(3), folder, options); }) == "checkpoint.not_ours");
    CHECK(test::content(folder.path / "a/step_000002/f") == "x");
    CHECK(run::checkpoint::find_checkpoint(folder.file("a")) == folder.file("a/step_000001"));
}

TEST_CASE("keep removes what the manifest names, and neither notes nor folders that lie beside it") {
    const test::Folder folder;
    run_at(saving(3), folder);
    folder.write("a/step_000001/notes.txt", "good one");
    folder.write("a/step_000002/plots/loss.png", "x");
    folder.write("a/step_000002/rank_00009.safetensors", "x");  // our kind of name, not in the manifest
    folder.write("a/step_000000/manifest.json", "{}");          // somebody's own
    run_at(saving(4, "keep = 1\nresume = \"a\"\n"), folder);
    CHECK(run::checkpoint::find_checkpoint(folder.file("a")) == folder.file("a/step_000004"));
    CHECK_FALSE(fs::exists(folder.path / "a/step_000003"));
    CHECK(below(folder.path / "a/step_000001") == Names{"notes.txt"});
    CHECK(below(folder.path / "a/step_000002") ==
          Names{"plots/", "plots/loss.png", "rank_00009.safetensors"});
    CHECK(test::content(folder.path / "a/step_000000/manifest.json") == "{}");
}

TEST_CASE("a checkpoint that takes the place of another keeps what somebody put beside it") {
    const test::Folder folder;
    run_at(saving(2), folder);
    folder.write("a/step_000002/notes.txt", "mine");
    run_at(saving(2, "resume = \"a/step_000001\"\n"), folder);
    CHECK(test::content(folder.path / "a/step_000002/notes.txt") == "mine");
    CHECK(run::checkpoint::find_checkpoint(folder.file("a")) == folder.file("a/step_000002"));
    CHECK_FALSE(fs::exists(folder.path / "a/step_000002.tmp"));
}

TEST_CASE("checkpoints that earlier versions made, without a mark, are known by their manifest") {
    const test::Folder folder;
    run_at(saving(3), folder);
    for (const char* step : {"a/step_000001", "a/step_000002", "a/step_000003"})
        fs::remove(folder.path / step / kFolderMark);
    run_at(saving(5, "keep = 1\nresume = \"a/step_000002\"\n"), folder);
    std::string left;
    for (const auto& entry : fs::directory_iterator(folder.path / "a"))
        left += entry.path().filename().string() + " ";
    CHECK(left == "step_000005 ");
}

TEST_CASE("what a killed save left goes, but for what is not its own") {
    const test::Folder folder;
    for (const char* name : {"a/step_000007.tmp", "a/step_000008.tmp"}) {
        folder.write(std::string(name) + "/rank_00000.safetensors", "half");
        folder.write(std::string(name) + "/.rank_00001.safetensors.part-123-0", "half");
        mark_folder(folder.file(name));
    }
    folder.write("a/step_000008.tmp/notes.txt", "mine");
    folder.write("a/step_000008.tmp/.rank_00001.safetensors.part-", "mine");
    fs::create_directory(folder.path / "a/step_000009.tmp");  // killed before it was marked
    run_at(saving(1), folder);
    CHECK_FALSE(fs::exists(folder.path / "a/step_000007.tmp"));
    CHECK_FALSE(fs::exists(folder.path / "a/step_000009.tmp"));
    CHECK(below(folder.path / "a/step_000008.tmp") == Names{".rank_00001.safetensors.part-", "notes.txt"});
    CHECK(refusal_id(saving(8, "resume = \"a\"\n"), folder) == "checkpoint.not_ours_unfinished");
}
