// The command `meshscope run`: its JSON is the contract that outside checks read, its exit codes and files
// too.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/i18n/catalogue.h"
#include "core/data/safetensors.h"
#include "core/trace/store.h"
#include "tests/cli/program.h"
#include "tests/run/golden_case.h"
#include "tests/test.h"

using namespace meshscope;
using nlohmann::json;

namespace {

const std::string kToy =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 2\nglobal_batch = 8\n"
    "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n";

golden::Outcome outcome_of(const json& out) {
    golden::Outcome outcome;
    outcome.losses = out["losses"].get<std::vector<double>>();
    if (out.contains("grad_norms")) outcome.grad_norms = out["grad_norms"].get<std::vector<double>>();
    for (const json& c : out["collectives"])
        outcome.collectives.push_back({c["rank"], c["step"], c["op"], c["group"], c["in"], c["out"],
                                       c["dtype"],
                                       c["reduce_op"].is_null() ? "" : c["reduce_op"].get<std::string>()});
    return outcome;
}

}  // namespace

TEST_CASE("run --json and --save give PyTorch's golden runs") {
    for (const std::string& name : golden::names()) {
        INFO(name);
        const program::Folder folder;
        const json gold = golden::read_case(name);
        const std::string scenario = folder.write("s.toml", golden::scenario_text(gold, name));
        const auto ended =
            program::run({"run", scenario, "--backend", "threads", "--json", folder.file("o.json"), "--save",
                          folder.file("f.safetensors"), "--quiet"});
        REQUIRE(ended.exit_code == 0);
        CHECK(ended.out.empty());
        CHECK(ended.err.empty());
        golden::Outcome ours = outcome_of(golden::read_json(folder.file("o.json")));
        golden::read_parameters(folder.file("f.safetensors"), ours);
        CHECK(golden::differences(ours, golden::expected(gold, name)) == std::vector<std::string>{});
    }
}

TEST_CASE("run --json says why each collective is there, how it went, and what memory did") {
    const program::Folder folder;
    const auto ended = program::run({"run", folder.write("s.toml", kToy), "--json", "-"});
    REQUIRE(ended.exit_code == 0);
    const json out = json::parse(ended.out);
    CHECK(out["world_size"] == 4);
    CHECK_FALSE(out.contains("grad_norms"));
    const i18n::Catalogue catalogue = i18n::Catalogue::embedded();
    CHECK(out["collectives"].size() == 4 * 2 * 4);  // ranks × steps × (two gathers, a scatter, an all_reduce)
    for (const json& c : out["collectives"]) {
        CHECK_FALSE(catalogue.rule(c["reason"].get<std::string>(), i18n::Language::zh).sentence.empty());
        CHECK(c["algorithm"] == "ring");
        const bool reduces = c["op"] != "all_gather";
        CHECK(c["reduce_op"].is_null() != reduces);
    }
    REQUIRE(out["memory"].size() == 4);
    for (const json& m : out["memory"]) {
        int64_t sum = 0;
        for (const json& bytes : m["by_category"]) sum += bytes.get<int64_t>();
        CHECK(m["peak_bytes"] == sum);
        CHECK(sum >= 88 * 4);  // its shard at least: 10·11/2 + 3·11 floats
        CHECK_FALSE(m["peak_cause"].get<std::string>().empty());
    }
}

TEST_CASE("run tells what evaluations came to, and every collective done a second time has its words") {
    const program::Folder folder;
    const std::string path = folder.write(
        "s.toml",
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 3\n"
        "global_batch = 4\nrecompute = \"full\"\n[eval]\nevery = 2\nsamples = 3\n"
        "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"tp\"]\n[parallel]\ndata = \"ddp\"\n");
    const json out = json::parse(program::run({"run", path, "--json", "-"}).out);
    REQUIRE(out["evaluations"].size() == 1);
    CHECK(out["evaluations"][0]["step"] == 1);
    CHECK(out["evaluations"][0]["samples"] == 3);
    const double loss = out["evaluations"][0]["loss"];
    CHECK(loss > 0);
    const i18n::Catalogue catalogue = i18n::Catalogue::embedded();
    int again = 0;
    for (const json& c : out["collectives"]) {
        const std::string rule = c["reason"];
        for (const i18n::Language language : {i18n::Language::en, i18n::Language::zh}) {
            CHECK_FALSE(catalogue.rule(rule, language).sentence.empty());
            CHECK_FALSE(catalogue.rule(rule, language).pytorch.empty());
        }
        again += rule == "recompute.tp.rowwise.partial_sum";
    }
    CHECK(again == 4 * 3 * 2);  // ranks × steps × layers
    const i18n::Rule first = catalogue.rule("tp.rowwise.partial_sum", i18n::Language::en);
    const i18n::Rule second = catalogue.rule("recompute.tp.rowwise.partial_sum", i18n::Language::en);
    CHECK(second.sentence.find(first.sentence) != std::string::npos);
    CHECK(second.pytorch.find("checkpoint") != std::string::npos);
    CHECK(catalogue.rule("recompute.nothing.such", i18n::Language::en).sentence.empty());

    const auto table = program::run({"run", path}), chinese = program::run({"--lang", "zh", "run", path});
    CHECK(table.out.find("evaluation loss") != std::string::npos);
    CHECK(chinese.out.find("评估损失") != std::string::npos);
}

TEST_CASE("run tells losses and checks in words, and exits with 1 when a check fails") {
    const program::Folder folder;
    const std::string good =
        "[[check]]\nid = \"it holds\"\nsql = \"SELECT count(*) = 32 FROM collectives\"\n";
    const std::string bad =
        "[[check]]\nid = \"it does not\"\nsql = \"SELECT 0\"\n[[check]]\nid = \"no SQL\"\nsql = \"SELEKT\"\n";
    const auto fine = program::run({"run", folder.write("good.toml", kToy + good)});
    CHECK(fine.exit_code == 0);
    CHECK(fine.out.find("loss") != std::string::npos);
    CHECK(fine.out.find("ok      it holds") != std::string::npos);
    const auto failed = program::run({"run", folder.write("bad.toml", kToy + good + bad)});
    CHECK(failed.exit_code == 1);
    CHECK(failed.out.find("failed  it does not: its query gave 0") != std::string::npos);
    CHECK(failed.out.find("failed  no SQL: ") != std::string::npos);
    const auto quiet = program::run({"run", folder.file("bad.toml"), "--quiet"});
    CHECK(quiet.exit_code == 1);
    CHECK(quiet.out.find("it holds") == std::string::npos);
    CHECK(quiet.out.find("it does not") != std::string::npos);
}

TEST_CASE("a check shows its title in the language, and where its SQL stands when it cannot be run") {
    const program::Folder folder;
    const std::string checks =
        "[[check]]\nid = \"holds\"\nsql = \"SELECT 1\"\ntitle = { en = \"It holds\", zh = \"成立\" }\n"
        "[[check]]\nid = \"broken\"\nsql = \"SELEKT\"\n";
    const std::string path = folder.write("s.toml", kToy + checks);
    const auto en = program::run({"run", path}), zh = program::run({"run", path, "--lang", "zh"});
    CHECK(en.out.find("It holds\n") != std::string::npos);
    CHECK(zh.out.find("成立\n") != std::string::npos);
    CHECK(en.out.find("broken: " + path + ":18:7: ") != std::string::npos);  // kToy has 11 lines
}

TEST_CASE("a run that goes to NaN or Inf names the op and the rank, and its JSON stays JSON") {
    const program::Folder folder;
    // One huge input on one row: rank 3 of 4 has it, and squaring the error overflows there.
    const auto numbers = [](std::size_t n, std::size_t at, float there) {
        std::vector<float> all(n, 0.5F);
        all[at] = there;
        return all;
    };
    data::write_safetensors(folder.file("d.safetensors"),
                            {data::named_floats("x0", {8, 10}, std::vector<float>(80, 0.5F)),
                             data::named_floats("y0", {8, 5}, numbers(40, 7 * 5, 3e30F)),
                             data::named_floats("x1", {8, 10}, std::vector<float>(80, 0.5F)),
                             data::named_floats("y1", {8, 5}, std::vector<float>(40, 0.5F))});
    std::string text = kToy + "[data]\nfile = \"d.safetensors\"\n";
    const auto ended =
        program::run({"run", folder.write("s.toml", text), "-q", "--json", folder.file("o.json")});
    INFO(ended.err);
    CHECK(ended.exit_code == 0);
    CHECK(ended.err.find("inf came first in step 0 on rank 3, made by mse (forward") != std::string::npos);
    const json out = golden::read_json(folder.file("o.json"));
    CHECK(out["losses"][0].is_null());
    CHECK(out["not_finite"]["rank"] == 3);
    CHECK(out["not_finite"]["op"] == "mse");
    CHECK(out["not_finite"]["step"] == 0);
    CHECK(program::run({"--lang", "zh", "run", folder.file("s.toml"), "-q"}).err.find("由 mse 产生（前向") !=
          std::string::npos);
}

TEST_CASE("weights and data that are not finite are refused by name and index") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    REQUIRE(program::run({"run", scenario, "-q", "--save", folder.file("w.safetensors")}).exit_code == 0);
    data::SafetensorsFile file = data::read_safetensors(folder.file("w.safetensors"));
    std::vector<float> numbers = file.tensors[1].floats();
    numbers[3] = -std::numeric_limits<float>::infinity();
    const std::string name = file.tensors[1].name;
    file.tensors[1] = data::named_floats(name, file.tensors[1].shape, numbers);
    data::write_safetensors(folder.file("w.safetensors"), file.tensors);
    std::string text = kToy;
    text.insert(text.find("[train]"), "weights = \"w.safetensors\"\n");
    const auto weights = program::run({"run", folder.write("w.toml", text)});
    CHECK(weights.exit_code == 65);
    CHECK(weights.err.find(name + ": element 3 is -inf") != std::string::npos);

    std::vector<float> x(80, 1.0F);
    x[79] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> y(40, 1.0F);
    data::write_safetensors(folder.file("d.safetensors"),
                            {data::named_floats("x0", {8, 10}, x), data::named_floats("y0", {8, 5}, y),
                             data::named_floats("x1", {8, 10}, std::vector<float>(80, 1.0F)),
                             data::named_floats("y1", {8, 5}, y)});
    const auto batches =
        program::run({"run", folder.write("d.toml", kToy + "[data]\nfile = \"d.safetensors\"\n")});
    CHECK(batches.exit_code == 65);
    CHECK(batches.err.find("x0: element 79 is nan") != std::string::npos);
}

TEST_CASE("run --trace writes a record that reads back") {
    const program::Folder folder;
    const auto ended = program::run(
        {"run", folder.write("s.toml", kToy), "--trace", folder.file("t.mscope"), "--level", "collectives"});
    REQUIRE(ended.exit_code == 0);
    const trace::Trace trace = trace::read_trace(folder.file("t.mscope"));
    CHECK(trace.info.steps == 2);
    CHECK(trace.info.level == trace::Level::collectives);
    CHECK(trace.info.scenario == kToy);
}

TEST_CASE("a bad scenario lists all its mistakes, exits with 65, and overwrites nothing") {
    const program::Folder folder;
    const std::string bad = folder.write(
        "bad.toml", "format = 1\n[model]\nkind = \"toy\"\n[train]\nstepz = 1\nglobal_batch = 0\n");
    const std::string old = folder.write("o.json", "old");
    const auto ended = program::run({"run", bad, "--json", old});
    CHECK(ended.exit_code == 65);
    CHECK(ended.err.find(bad + ":4:1: train.steps is missing") != std::string::npos);
    CHECK(ended.err.find(bad + ":5:1: there is no key train.stepz") != std::string::npos);
    CHECK(ended.err.find("did you mean steps?") != std::string::npos);
    CHECK(ended.err.find(bad + ":6:16: train.global_batch cannot be 0") != std::string::npos);
    CHECK(program::content(old) == "old");
    const auto as_json = program::run({"run", bad, "--json", "-"});
    CHECK(as_json.exit_code == 65);
    const json errors = json::parse(as_json.out)["errors"];
    REQUIRE(errors.size() == 3);
    CHECK(errors[1]["id"] == "scenario.unknown_key");
    CHECK(errors[1]["line"] == 5);
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
    CHECK(ended.err.find("w.safetensors:byte ") != std::string::npos);
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
        fails({"run", scenario, option, "/proc/nope"}, "/proc is no folder that you may write to");
    }
    for (const std::string& place : {std::string("/proc/nope"), folder.file("plain/below/it")}) {
        const std::string saving =
            folder.write("saving.toml", kToy + "[checkpoint]\nfolder = \"" + place + "\"\n");
        fails({"run", saving}, place + " cannot be written");
    }
    // But the variant of a lesson that is to show a save that fails comes to it.
    const std::string failing = folder.write(
        "failing.toml",
        kToy +
            "[lesson]\nchapter = 6\n[[lesson.variant]]\nid = \"break\"\n"
            "set = { \"checkpoint.folder\" = \"/proc/nope\" }\nends = \"checkpoint.save_failed\"\n");
    const auto ended = program::run({"run", failing, "--variant", "break"});
    CHECK(ended.exit_code == 74);
    CHECK(ended.err.find("no checkpoint was saved: /proc/nope") != std::string::npos);
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
    const std::string told = "goes on from " + folder.file("c/step_000002") + ", 2 steps done\n";
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
    CHECK(nameless.err == "meshscope: SCENARIO is empty; name what is meant\n");
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
              .find("--init-method means nothing to the backend threads; it is for tcp, nccl") !=
          std::string::npos);
    CHECK(refused({"--backend", "mpi", "--init-method", "env://"}).find("backend mpi") != std::string::npos);
    CHECK(refused({"--timeout", "5"}).find("--timeout means nothing to the backend threads") !=
          std::string::npos);
    CHECK(refused({"--max-restarts", "2"})
              .find("--max-restarts means nothing to the backend threads; it is for tcp, nccl, mpi") !=
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
    CHECK(ended.err.find("names = [\"replicate\", \"shard\"]: 2 replicas, each cut over 2 ranks") !=
          std::string::npos);
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

TEST_CASE("where nobody looks for Ctrl-C, the first one ends the program") {
    // Without the default action this would go on for minutes.
    const auto ended = program::run({"bench", "collectives", "--ranks", "4", "--sizes", "64M", "--ops",
                                     "all_reduce,all_gather,broadcast,all_to_all,reduce_scatter"},
                                    {600, "", {}});
    CHECK(ended.exit_code == 128 + SIGINT);
}

TEST_CASE("Ctrl-C ends a run after its present step, with valid files") {
    const program::Folder folder;
    std::string text = kToy;
    text.replace(text.find("steps = 2"), 9, "steps = 1000000");
    const auto ended = program::run({"run", folder.write("s.toml", text), "--level", "collectives", "--trace",
                                     folder.file("t.mscope"), "--json", folder.file("o.json")},
                                    {1500, "", {}});
    CHECK(ended.exit_code == 130);
    CHECK(ended.err.find("stopped after") != std::string::npos);
    const json out = golden::read_json(folder.file("o.json"));
    const trace::Trace trace = trace::read_trace(folder.file("t.mscope"));
    CHECK(out["losses"].size() > 0);
    CHECK(out["losses"].size() < 1000000);
    CHECK(static_cast<std::size_t>(trace.info.steps) == out["losses"].size());
}

namespace {

/// Three ranks of DDP, and what goes wrong with rank 1 in step 1.
std::string faulty(const std::string& fault) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 3\n"
           "global_batch = 6\n[mesh]\nshape = [3]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n"
           "[[faults]]\nrank = 1\nstep = 1\nphase = \"backward\"\n" +
           fault;
}

}  // namespace

TEST_CASE("a run that fails says who did what, as JSON too, and leaves the record up to there") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", faulty("kind = \"mismatch\"\nfield = \"dtype\"\n"));
    const auto ended = program::run({"run", scenario, "--json", "-", "--trace", folder.file("t.mscope")});
    CHECK(ended.exit_code == 1);
    CHECK(ended.err.find("rank 1 calls all_reduce(sum, int32") != std::string::npos);
    CHECK(ended.err.find("ranks 0, 2 call all_reduce(sum, float32") != std::string::npos);
    const json told = json::parse(ended.out)["errors"][0];
    CHECK(told["id"] == "diagnosis.mismatch");
    CHECK(told["diagnosis"]["culprits"] == std::vector<int>{1});
    CHECK(told["diagnosis"]["differs"] == std::vector<std::string>{"dtype"});

    const trace::Trace trace = trace::read_trace(folder.file("t.mscope"));
    CHECK(json::parse(trace.info.failure)["id"] == "diagnosis.mismatch");
    CHECK(trace.info.steps == 1);
    const auto asked = program::run({"trace", "query", folder.file("t.mscope"),
                                     "SELECT json_extract(value, '$.diagnosis.kind') FROM meta "
                                     "WHERE key = 'failure'"});
    CHECK(asked.exit_code == 0);
    CHECK(asked.out.find("mismatch") != std::string::npos);

    // Into a file: the words and the JSON both on stderr.
    const auto aside = program::run({"run", scenario, "--json", folder.file("o.json")});
    CHECK(aside.exit_code == 1);
    CHECK(aside.out.empty());
    CHECK(json::parse(aside.err.substr(aside.err.find("{\"errors\"")))["errors"][0]["id"] ==
          "diagnosis.mismatch");
}

TEST_CASE(
    "a lost, stalled or corrupted peer ends with 75: unchecked, a mismatch is what it would be elsewhere") {
    const program::Folder folder;
    for (const char* kind : {"kill", "stall", "corrupt"}) {
        const std::string scenario = folder.write("s.toml", faulty("kind = \"" + std::string(kind) + "\"\n"));
        CHECK(program::run({"run", scenario, "--quiet"}).exit_code == 75);
        // The same in any order of the ranks.
        const auto stepped = program::run({"run", scenario, "--schedule", "pct:3:2"});
        CHECK(stepped.exit_code == 75);
        CHECK(stepped.err.find("pct:3:2") != std::string::npos);
    }
    const std::string scenario =
        folder.write("s.toml", faulty("kind = \"mismatch\"\nfield = \"reduce_op\"\n"));
    CHECK(program::run({"run", scenario, "--quiet"}).exit_code == 1);
    CHECK(program::run({"run", scenario, "--quiet", "--no-checked"}).exit_code == 0);
    CHECK(program::run({"run", scenario, "--checked", "--no-checked"}).exit_code == 2);
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
                               " is no schedule; write random:SEED"));
    CHECK(told({"--schedule", "random:1", "--backend", "tcp"})
              .starts_with("meshscope: --schedule means nothing to the backend tcp; it is for threads"));
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
