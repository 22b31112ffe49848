// The command `meshscope run`: its JSON is the contract that outside checks read, its exit codes and files
// too.
#include <csignal>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/i18n/catalogue.h"
#include "core/data/safetensors.h"
#include "core/trace/store.h"
#include "tests/cli/program.h"
#include "tests/cli/toy.h"
#include "tests/run/golden_case.h"
#include "tests/test.h"

using namespace meshscope;
using nlohmann::json;

namespace {

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
    CHECK(failed.out.find("failed  it does not: the query returned 0") != std::string::npos);
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
    CHECK(ended.exit_code == 79);
    CHECK(ended.err.find("inf first appeared in step 0 on rank 3, produced by mse (forward") !=
          std::string::npos);
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

TEST_CASE(
    "the backend is the option's, else the scenario's, else threads, and fibers go on where threads saved") {
    const program::Folder folder;
    const auto run_on = [&](const std::string& text, const std::vector<std::string>& more) {
        std::vector<std::string> words{"run", folder.write("s.toml", text), "-q", "--json",
                                       folder.file("o.json")};
        words.insert(words.end(), more.begin(), more.end());
        const auto ended = program::run(words);
        INFO(ended.err);
        REQUIRE(ended.exit_code == 0);
        return golden::read_json(folder.file("o.json"));
    };
    const std::string fibers = kToy + "[run]\nbackend = \"fibers\"\n";
    const json plain = run_on(kToy, {}), named = run_on(fibers, {}),
               asked = run_on(fibers, {"--backend", "threads"});
    CHECK(plain["backend"] == "threads");
    CHECK(named["backend"] == "fibers");
    CHECK(asked["backend"] == "threads");
    CHECK(named["losses"] == plain["losses"]);

    const std::string saves = "[checkpoint]\nfolder = \"" + folder.file("saved") + "\"\n";
    std::string longer = fibers + saves;
    longer.replace(longer.find("steps = 2"), 9, "steps = 4");
    const json whole = run_on(longer, {});
    std::filesystem::remove_all(folder.file("saved"));
    run_on(kToy + saves, {});
    CHECK(run_on(longer, {"--resume", "auto"})["losses"] == whole["losses"]);
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
    CHECK(ended.err.find("the 2 others (0, 2) call all_reduce(sum, float32") != std::string::npos);
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
