// The command `meshscope run`: its JSON is the contract that outside checks read, its exit codes and files
// too.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/i18n/catalogue.h"
#include "core/trace/store.h"
#include "tests/cli/program.h"
#include "tests/run/golden_case.h"
#include "tests/test.h"

using namespace meshscope;
using nlohmann::json;

namespace {

const std::string kToy =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 2\nglobal_batch = 8\n"
    "[mesh]\nshape = [2, 2]\n[parallel]\ndata = \"fsdp2\"\n";

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
    CHECK(ended.err.find(bad + ":6:1: train.global_batch cannot be 0") != std::string::npos);
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
