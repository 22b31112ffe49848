// What the command `meshscope run` refuses before its first step, and in which words.
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/i18n/catalogue.h"
#include "core/data/safetensors.h"
#include "tests/cli/program.h"
#include "tests/cli/toy.h"
#include "tests/test.h"

using namespace meshscope;
using nlohmann::json;

TEST_CASE("a bad scenario lists all its mistakes, exits with 65, and overwrites nothing") {
    const program::Folder folder;
    const std::string bad = folder.write(
        "bad.toml", "format = 1\n[model]\nkind = \"toy\"\n[train]\nstepz = 1\nglobal_batch = 0\n");
    const std::string old = folder.write("o.json", "old");
    const auto ended = program::run({"run", bad, "--json", old});
    CHECK(ended.exit_code == 65);
    // The misspelt key is one mistake; the one that it was to be is not missed besides.
    CHECK(ended.err.find("is missing") == std::string::npos);
    CHECK(ended.err.find(bad + ":5:1: unknown key train.stepz") != std::string::npos);
    CHECK(ended.err.find("did you mean steps?") != std::string::npos);
    CHECK(ended.err.find(bad + ":6:16: train.global_batch cannot be 0") != std::string::npos);
    CHECK(program::content(old) == "old");
    const auto as_json = program::run({"run", bad, "--json", "-"});
    CHECK(as_json.exit_code == 65);
    const json errors = json::parse(as_json.out)["errors"];
    REQUIRE(errors.size() == 2);
    CHECK(errors[0]["id"] == "scenario.unknown_key");
    CHECK(errors[0]["line"] == 5);
}

TEST_CASE("damaged weights are bad input too, named by file and byte") {
    const program::Folder folder;
    folder.write("w.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
    const std::string scenario =
        folder.write("s.toml",
                     "format = 1\n[model]\nkind = \"toy\"\nweights = \"w.safetensors\"\n"
                     "[train]\nsteps = 1\nglobal_batch = 1\n");
    const auto ended = program::run({"run", scenario});
    CHECK(ended.exit_code == 65);
    // At its beginning the file says enough.
    CHECK(ended.err.find("w.safetensors: ") != std::string::npos);
    folder.write("w.safetensors", std::string("\x02\0\0\0\0\0\0\0[]", 10));
    CHECK(program::run({"run", scenario, "--lang", "en"}).err.find("w.safetensors:byte ") !=
          std::string::npos);
    CHECK(program::run({"run", scenario, "--lang", "zh"}).err.find("w.safetensors（第 ") !=
          std::string::npos);
}

TEST_CASE("a checkpoint to go on from that is not there is told at the scenario's line") {
    const program::Folder folder;
    const std::string scenario =
        folder.write("s.toml",
                     "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 1\n"
                     "[checkpoint]\nresume = \"nosuch\"\n");
    const auto ended = program::run({"run", scenario});
    CHECK(ended.exit_code == 65);
    CHECK(ended.err.find(scenario + ":8:10: ") != std::string::npos);
    CHECK(ended.err.find("nosuch") != std::string::npos);
    // One that the command names is no mistake of the file.
    CHECK(program::run({"run", scenario, "--resume", folder.file("other")}).exit_code == 74);
}

TEST_CASE("a missing backend, file or folder has its own exit code") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    CHECK(program::run({"run", scenario, "--backend", "pigeons"}).exit_code == 69);
    CHECK(program::run({"run", folder.file("none.toml")}).exit_code == 74);
    CHECK(program::run({"run", scenario, "--trace", folder.file("none/t.mscope")}).exit_code == 74);
    CHECK(program::run({"run", scenario, "--json", scenario}).exit_code == 2);
    CHECK(program::run({"run", scenario, "--json", folder.file("x"), "--trace", folder.file("./x")})
              .exit_code == 2);
    CHECK(program::content(scenario) == kToy);
    CHECK_FALSE(std::filesystem::exists(folder.file("x")));
}

TEST_CASE("a place where nothing can be written is told before the first step, and left as it was") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    folder.write("plain", "a file");
    std::filesystem::create_directory(folder.file("d"));
    const auto before = folder.files();
    const auto fails = [&](const std::vector<std::string>& words, const std::string& said) {
        const auto ended = program::run(words);
        INFO(ended.err);
        CHECK(ended.exit_code == 74);
        CHECK(ended.err.find(said) != std::string::npos);
        CHECK(ended.err.find("step 1 of") == std::string::npos);
        CHECK(ended.out.empty());
    };
    for (const char* option : {"--trace", "--json", "--save"}) {
        fails({"run", scenario, option, folder.file("d")},
              folder.file("d") + " could not be written: Is a directory");
        fails({"run", scenario, option, "/proc/nope"}, "/proc is not a writable folder");
    }
    for (const std::string& place : {std::string("/proc/nope"), folder.file("plain/below/it")}) {
        const std::string saving =
            folder.write("saving.toml", kToy + "[checkpoint]\nfolder = \"" + place + "\"\n");
        fails({"run", saving}, "cannot write " + place);
    }
    // But the variant of a lesson that is to show a save that fails comes to it.
    const std::string failing = folder.write(
        "failing.toml",
        kToy +
            "[lesson]\nchapter = 6\n[[lesson.variant]]\nid = \"break\"\n"
            "set = { \"checkpoint.folder\" = \"/proc/nope\" }\nends = \"checkpoint.save_failed\"\n");
    const auto ended = program::run({"run", failing, "--variant", "break"});
    CHECK(ended.exit_code == 74);
    CHECK(ended.err.find("the checkpoint could not be saved: /proc/nope") != std::string::npos);
    CHECK(std::filesystem::is_empty(folder.file("d")));
    CHECK(folder.files() == before + 2);  // saving.toml, failing.toml
    const std::string deep = folder.write("saving.toml", kToy + "[checkpoint]\nfolder = \"not/yet/there\"\n");
    CHECK(program::run({"run", deep, "-q"}).exit_code == 0);
    CHECK(std::filesystem::exists(folder.file("not/yet/there/step_000002/")));
}

TEST_CASE("a run that goes on says from where, and an empty name is no name") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy + "[checkpoint]\nfolder = \"c\"\n");
    const auto first = program::run({"run", scenario});
    REQUIRE(first.exit_code == 0);
    CHECK(first.err.find("goes on") == std::string::npos);
    std::string longer = kToy;
    longer.replace(longer.find("steps = 2"), 9, "steps = 3");
    folder.write("s.toml", longer);
    const std::string told = "resuming from " + folder.file("c/step_000002") + ", 2 steps done\n";
    const auto second = program::run({"run", scenario, "--resume", folder.file("c")});
    CHECK(second.exit_code == 0);
    CHECK(second.err == told);
    CHECK(program::run({"run", scenario, "--resume", folder.file("c"), "-q"}).err.empty());
    const auto chinese = program::run({"--lang", "zh", "run", scenario, "--resume", folder.file("c")});
    CHECK(chinese.err == "从 " + folder.file("c/step_000002") + " 接着训练，已完成 2 步\n");
    for (const char* option : {"--resume", "--trace", "--json", "--save", "--variant", "--backend",
                               "--schedule", "--init-method"}) {
        const auto empty = program::run({"run", scenario, option, ""});
        INFO(empty.err);
        CHECK(empty.exit_code == 2);
        CHECK(empty.err.find(std::string(option) + " has an empty value") != std::string::npos);
        CHECK(empty.out.empty());
    }
    const auto nameless = program::run({"run", ""});
    CHECK(nameless.exit_code == 2);
    CHECK(nameless.err == "meshscope: SCENARIO is empty\n");
}

TEST_CASE("an option that the backend would leave aside is refused, and so is a time-out that is none") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    const auto refused = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"run", scenario};
        words.insert(words.end(), more.begin(), more.end());
        const auto ended = program::run(words);
        INFO(ended.err);
        CHECK(ended.exit_code == 2);
        CHECK(ended.out.empty());
        return ended.err;
    };
    CHECK(refused({"--init-method", "tcp://127.0.0.1:1"})
              .find("--init-method does not apply to the backend threads, only to tcp, nccl") !=
          std::string::npos);
    CHECK(refused({"--backend", "mpi", "--init-method", "env://"}).find("backend mpi") != std::string::npos);
    CHECK(refused({"--timeout", "5"}).find("--timeout does not apply to the backend threads") !=
          std::string::npos);
    CHECK(refused({"--max-restarts", "2"})
              .find("--max-restarts does not apply to the backend threads, only to tcp, nccl, mpi") !=
          std::string::npos);
    for (const char* none : {"0", "-1", "86401", "nan", "1.5", "soon"})
        CHECK(refused({"--backend", "tcp", "--timeout", none}).find("--timeout") != std::string::npos);
    // One process of a launcher has nobody to meet; how many there are is not for the command to know.
    const std::string one = folder.write(
        "one.toml", "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 8\n");
    program::How how;
    how.environment = {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"};
    const auto alone = program::run({"run", one, "--init-method", "env://", "--timeout", "5", "-q"}, how);
    INFO(alone.err);
    CHECK(alone.exit_code == 0);
    // Starting again is the launcher's, of however many; with processes of its own it is run's.
    const auto again = program::run({"run", one, "--max-restarts", "2"}, how);
    CHECK(again.exit_code == 2);
    CHECK(
        again.err.find("--max-restarts is for processes that `run` starts itself; torchrun started these") !=
        std::string::npos);
    const auto own = program::run({"run", scenario, "--backend", "tcp", "--max-restarts", "2", "-q"});
    INFO(own.err);
    CHECK(own.exit_code == 0);
}

TEST_CASE("a variant that is not there is told with those that are, or that there are none") {
    const program::Folder folder;
    const auto said = [&](const std::string& more) {
        const auto ended = program::run({"run", folder.write("s.toml", kToy + more), "--variant", "x"});
        CHECK(ended.exit_code == 2);
        return ended.err.substr(0, ended.err.find('\n'));
    };
    CHECK(said("") == "meshscope: there is no variant x; the scenario has no variants");
    CHECK(said("[lesson]\nchapter = 6\n[[lesson.variant]]\nid = \"one\"\nset = { \"train.steps\" = 1 }\n") ==
          "meshscope: there is no variant x; the scenario has: one");
}

TEST_CASE("a mesh for hybrid sharding without names is told with the names it needs") {
    const program::Folder folder;
    std::string unnamed = kToy;
    const std::string names = "names = [\"replicate\", \"shard\"]\n";
    unnamed.erase(unnamed.find(names), names.size());
    const auto ended = program::run({"run", folder.write("s.toml", unnamed)});
    CHECK(ended.exit_code == 65);
    CHECK(ended.err.find("s.toml:8:9: parallel.data = \"fsdp2\" on mesh [2, 2]") != std::string::npos);
    CHECK(ended.err.find("mesh.names = [\"replicate\", \"shard\"]; mesh.shape = [4]") != std::string::npos);
}

TEST_CASE("no output may be a file that the run reads, under whatever name") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    const auto saved = program::run({"run", scenario, "-q", "--save", folder.file("w.safetensors")});
    REQUIRE(saved.exit_code == 0);
    const std::string weights = program::content(folder.file("w.safetensors"));
    std::string text = kToy;
    text.insert(text.find("[train]"), "weights = \"w.safetensors\"\n");
    folder.write("from_weights.toml", text);
    std::filesystem::create_symlink("w.safetensors", folder.file("link"));
    for (const char* option : {"--trace", "--json", "--save"}) {
        for (const char* output : {"w.safetensors", "link", "from_weights.toml"}) {
            INFO(option << ' ' << output);
            const auto ended =
                program::run({"run", folder.file("from_weights.toml"), option, folder.file(output)});
            CHECK(ended.exit_code == 2);
            CHECK(ended.err.find(folder.file(output) + " would overwrite ") != std::string::npos);
        }
    }
    CHECK(program::content(folder.file("w.safetensors")) == weights);
    CHECK(program::content(folder.file("from_weights.toml")) == text);
}

TEST_CASE("a pipe is neither waited for nor replaced") {
    const program::Folder folder;
    REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    const auto read = program::run({"run", folder.file("pipe")});
    CHECK(read.exit_code == 74);
    CHECK(read.err.find("pipe is a device, a pipe or a socket") != std::string::npos);
    const auto written =
        program::run({"run", folder.write("s.toml", kToy), "-q", "--json", folder.file("pipe")});
    CHECK(written.exit_code == 74);
    CHECK(std::filesystem::is_fifo(folder.file("pipe")));
}

TEST_CASE(
    "a schedule or an init method that is none is a mistake of the command line, told before all else") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    const auto told = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"run", scenario};
        words.insert(words.end(), more.begin(), more.end());
        const auto ended = program::run(words);
        CHECK(ended.exit_code == 2);
        CHECK(ended.out.empty());
        return ended.err;
    };
    for (const char* none : {"fair", "random", "pct:1", "pct:1:0"})
        CHECK(told({"--schedule", none})
                  .starts_with(std::string("meshscope: --schedule: ") + none +
                               " is not a valid schedule; write random:SEED"));
    CHECK(told({"--schedule", "random:1", "--backend", "tcp"})
              .starts_with("meshscope: --schedule does not apply to the backend tcp, only to threads"));
    for (const char* none : {"foo://x", "x:29400", "file://x", "env"})
        CHECK(told({"--backend", "tcp", "--init-method", none}) ==
              std::string("meshscope: --init-method: ") + none +
                  " does not say where the ranks meet; write env://, tcp://host:port or file:///path\n");
    CHECK(program::run({"run", scenario, "--schedule", "random:1"}).err.starts_with("one rank at a time"));
}

TEST_CASE("torchrun's port without a next one is told with its variable") {
    const program::Folder folder;
    const auto ended =
        program::run({"run", folder.write("s.toml", kToy)},
                     {.environment = {"RANK=0", "WORLD_SIZE=4", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=65535",
                                      "TORCHELASTIC_USE_AGENT_STORE=True"}});
    CHECK(ended.exit_code == 65);
    CHECK(ended.err.find("torchrun has its own store at MASTER_PORT=65535") != std::string::npos);
}
