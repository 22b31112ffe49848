// What can go wrong with a checkpoint: each is told in one message that names the file, and an older one
// survives.
#include <sys/resource.h>

#include <csignal>

#include "core/base/error.h"
#include "core/base/folder_mark.h"
#include "core/run/checkpoint/folder.h"
#include "tests/run/checkpoint_helper.h"
#include "tests/test.h"

using namespace checkpoint_test;
namespace fs = std::filesystem;

namespace {

struct Refusal {
    std::string id, file;
    Message hint = {};
};

/// How a run of this scenario is refused; "" when it is not.
Refusal refusal(const std::string& toml, const test::Folder& folder) {
    try {
        run_at(toml, folder);
    } catch (const InputError& error) {
        const Diagnostic& first = error.diagnostics().at(0);
        return {first.message.id, first.position.file, first.hint};
    } catch (const IoError& error) {
        return {error.message().id, ""};
    }
    return {};
}

/// A folder whose "a" holds the checkpoints of steps 2 and 4 of four FSDP2 ranks.
struct Saved {
    test::Folder folder;
    Saved() { run_at(text(4, kFsdp4, "folder = \"a\"\nevery = 2\n"), folder); }
    std::string resume() const { return text(6, kFsdp4, "resume = \"a\"\n"); }
    fs::path newest() const { return folder.path / "a/step_000004"; }
};

void overwrite(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a flipped bit anywhere in a checkpoint is found, and named by its file") {
    const Saved saved;
    int files = 0;
    for (const auto& entry : fs::directory_iterator(saved.newest())) {
        if (entry.path().filename() == kFolderMark) continue;  // says whose the folder is, nothing more
        const std::string whole = test::content(entry.path());
        ++files;
        // Every tenth of the file, the first and the last byte.
        for (std::size_t tenth = 0; tenth <= 10; ++tenth) {
            std::string changed = whole;
            char& byte = changed[std::min(whole.size() - 1, whole.size() * tenth / 10)];
            if (byte == '\n') continue;  // between two tokens of the manifest
            byte = static_cast<char>(byte ^ 4);
            overwrite(entry.path(), changed);
            const Refusal refused = refusal(saved.resume(), saved.folder);
            INFO(entry.path().string() << " tenth " << tenth);
            CHECK(refused.id == (entry.path().filename() == "manifest.json" ? "checkpoint.manifest_damaged"
                                                                            : "checkpoint.file_damaged"));
            CHECK(refused.file == entry.path().string());
        }
        overwrite(entry.path(), whole);
    }
    CHECK(files == 5);
    CHECK(refusal(saved.resume(), saved.folder).id.empty());
}

TEST_CASE("a cut or missing file is named: the older checkpoint can still be asked for") {
    const Saved saved;
    const fs::path file = saved.newest() / "rank_00002.safetensors";
    const std::string whole = test::content(file);
    overwrite(file, whole.substr(0, whole.size() - 1));
    CHECK(refusal(saved.resume(), saved.folder).id == "checkpoint.file_size");
    overwrite(file, "");
    CHECK(refusal(saved.resume(), saved.folder).id == "checkpoint.file_size");
    fs::remove(file);
    const Refusal missing = refusal(saved.resume(), saved.folder);
    CHECK(missing.id == "checkpoint.file_missing");
    CHECK(missing.file == file.string());
    CHECK(refusal(text(6, kFsdp4, "resume = \"a/step_000002\"\n"), saved.folder).id.empty());
}

TEST_CASE("a run that was killed while it saved leaves the older checkpoint the newest") {
    // As each file in turn was the last to be written, under the name that a finished one gets or not yet.
    for (const char* name : {"a/step_000006.tmp", "a/step_000006"})
        for (int written = 0; written <= 4; ++written) {
            INFO(name << " with " << written << " files");
            const Saved saved;
            fs::create_directory(saved.folder.path / name);
            if (written > 0) mark_folder(saved.folder.file(name));
            for (int rank = 0; rank < written; ++rank) {
                const std::string file = "rank_0000" + std::to_string(rank) + ".safetensors";
                fs::copy_file(saved.newest() / file, saved.folder.path / name / file);
            }
            CHECK(run::checkpoint::find_checkpoint(saved.folder.file("a")) == saved.newest().string());
            // Resuming saves over the leftover.
            CHECK(refusal(text(6, kFsdp4, "resume = \"a\"\nfolder = \"a\"\n"), saved.folder).id.empty());
            CHECK(run::checkpoint::find_checkpoint(saved.folder.file("a")) ==
                  saved.folder.file("a/step_000006"));
            CHECK_FALSE(fs::exists(saved.folder.path / "a/step_000006.tmp"));
        }
}

TEST_CASE("an unfinished checkpoint, an empty folder and none at all are three different things") {
    const Saved saved;
    fs::remove(saved.newest() / "manifest.json");
    CHECK(refusal(saved.resume(), saved.folder).id.empty());  // the older one is taken
    const Refusal named = refusal(text(6, kFsdp4, "resume = \"a/step_000004\"\n"), saved.folder);
    CHECK(named.id == "checkpoint.incomplete");
    CHECK(named.file == saved.newest().string());
    fs::remove(saved.folder.path / "a/step_000002/manifest.json");
    CHECK(refusal(saved.resume(), saved.folder).id == "checkpoint.incomplete");
    fs::create_directory(saved.folder.path / "empty");
    CHECK(refusal(text(6, kFsdp4, "resume = \"empty\"\n"), saved.folder).id == "checkpoint.none_found");
    CHECK(refusal(text(6, kFsdp4, "resume = \"nowhere\"\n"), saved.folder).id == "checkpoint.cannot_read");
}

TEST_CASE("a checkpoint of another training is refused, each difference named") {
    const Saved saved;
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string toml = saved.resume();
        toml.replace(toml.find(from), from.size(), to);
        std::vector<std::string> keys;
        try {
            run_at(toml, saved.folder);
        } catch (const InputError& error) {
            for (const Diagnostic& d : error.diagnostics()) {
                CHECK(d.message.id == "checkpoint.foreign");
                CHECK(d.position.file == (saved.newest() / "manifest.json").string());
                keys.push_back(to_text(*d.message.find("key")));
            }
        }
        return keys;
    };
    using Keys = std::vector<std::string>;
    CHECK(with("hidden = 10", "hidden = 12") == Keys{"model.hidden"});
    CHECK(with("kind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 2", "kind = \"toy\"") ==
          Keys{"model.kind"});  // that a toy has no sizes of its own is the same difference
    CHECK(with("seed = 3", "seed = 3\nsampler = \"distributed\"") == Keys{"data.sampler"});
    CHECK(with("samples = 480\nseed = 3", "seed = 4\nsampler = \"distributed\"\nsamples = 480") ==
          Keys{"data.seed", "data.sampler"});
    CHECK(with("seed = 3", "seed = 4") == Keys{"data.seed"});
    CHECK(with("samples = 480\nseed = 3", "samples = 479\nseed = 4") == Keys{"data.samples", "data.seed"});
    CHECK(with("global_batch = 24", "global_batch = 12") == Keys{"train.global_batch"});
    CHECK(with("kind = \"adamw\"\nlr = 0.01", "kind = \"adam\"\nlr = 0.01") == Keys{"optimizer.kind"});
    CHECK(with("global_batch = 24", "global_batch = 24\ndtype = \"bfloat16\"") == Keys{"train.dtype"});
    CHECK(with("lr = 0.01", "lr = 0.02").empty());
}

TEST_CASE(
    "a checkpoint with all steps done, and a folder that is another run's, are told before anything runs") {
    const Saved saved;
    CHECK(refusal(text(4, kFsdp4, "resume = \"a\"\n"), saved.folder).id == "checkpoint.nothing_left");
    CHECK(refusal(text(2, kFsdp4, "folder = \"a\"\n"), saved.folder).id == "checkpoint.folder_in_use");
    CHECK(run::checkpoint::complete_checkpoints(saved.folder.file("a")).size() == 2);
}

TEST_CASE("to go on from a folder in use is offered only where that is possible") {
    const Saved saved;
    const auto offered = [&](const std::string& toml) {
        const Refusal refused = refusal(toml, saved.folder);
        CHECK(refused.id == "checkpoint.folder_in_use");
        return refused.hint;
    };
    // The newest has four steps: a run of four is finished, one of six goes on.
    CHECK(offered(text(6, kFsdp4, "folder = \"a\"\n")).id == "checkpoint.hint.folder_in_use");
    const Message finished = offered(text(4, kFsdp4, "folder = \"a\"\n"));
    CHECK(finished.id == "checkpoint.hint.folder_finished");
    CHECK(to_text(*finished.find("done")) == "4");
    std::string other = text(6, kFsdp4, "folder = \"a\"\n");
    other.replace(other.find("hidden = 10"), 11, "hidden = 12");
    CHECK(offered(other).id == "checkpoint.hint.other_folder");
    overwrite(saved.newest() / "manifest.json", "{}");
    CHECK(offered(text(6, kFsdp4, "folder = \"a\"\n")).id == "checkpoint.hint.other_folder");
}

TEST_CASE("a save that fails says why, and leaves the checkpoint before it whole") {
    const std::string kind = GENERATE("sharded", "rank0");
    const Saved saved;
    const std::string before = test::content(saved.newest() / "rank_00001.safetensors");
    const std::string toml = text(6, kFsdp4, "resume = \"a\"\nfolder = \"a\"\nkind = \"" + kind + "\"\n");
    std::string id, kept, reason;
    const auto attempt = [&] {
        id.clear();
        try {
            run_at(toml, saved.folder);
        } catch (const IoError& error) {
            id = error.message().id;
            if (const MessageValue* value = error.message().find("kept")) kept = to_text(*value);
            if (const MessageValue* value = error.message().find("reason")) reason = to_text(*value);
        }
    };
    // The disk takes no more than 300 bytes a file.
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    rlimit small = limit;
    small.rlim_cur = 300;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    attempt();
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, handler);
    CHECK(id == "checkpoint.save_failed_kept");
    CHECK(kept == saved.newest().string());
    CHECK(reason.find("ulimit -f: 300") != std::string::npos);
    CHECK(test::content(saved.newest() / "rank_00001.safetensors") == before);
    CHECK_FALSE(fs::exists(saved.folder.path / "a/step_000006.tmp"));
    CHECK(run::checkpoint::complete_checkpoints(saved.folder.file("a")).size() == 2);
    attempt();  // with room again it goes on from there
    CHECK(id.empty());

    // A file stands where the folder should be.
    saved.folder.write("b", "no folder");
    CHECK(refusal(text(2, kFsdp4, "folder = \"b\"\n"), saved.folder).id == "checkpoint.save_failed");
}
