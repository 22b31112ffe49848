// What a run came to, in figures: unknown is not zero, and totals say what they count.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/cli/toy.h"
#include "tests/test.h"

using namespace meshscope;
using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string with_steps(int steps) {
    std::string text = kToy;
    return text.replace(text.find("steps = 2"), 9, "steps = " + std::to_string(steps));
}

}  // namespace

TEST_CASE("a run that records nothing does not say that nothing was sent") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    const auto full = program::run({"run", scenario});
    // 4 ranks × 2 steps × (two gathers, a reduce_scatter, an all_reduce); bytes as pytorch_rules 1.2 has
    // them.
    CHECK(has(full.out, "; 32 collectives, "));
    const auto off = program::run({"run", scenario, "--level", "off"});
    REQUIRE(off.exit_code == 0);
    CHECK(has(off.out, "4 ranks, 2 steps in "));
    CHECK(has(off.out, "; collectives and bytes were not recorded (level off)\n"));
    CHECK_FALSE(has(off.out, "0 collectives"));
    CHECK(has(program::run({"--lang", "zh", "run", scenario, "--level", "off"}).out,
              "没有记录 collective 和字节数"));
    const json told = json::parse(program::run({"run", scenario, "--level", "off", "--json", "-"}).out);
    CHECK(told["level"] == "off");
    CHECK(told["losses"].size() == 2);
    CHECK(told["collectives"].is_null());
    CHECK(told["memory"].is_null());
    const json recorded = json::parse(program::run({"run", scenario, "--json", "-"}).out);
    CHECK(recorded["level"] == "values");
    CHECK(recorded["collectives"].size() == 32);
    CHECK(recorded["memory"].size() == 4);
    CHECK(recorded["resumed_after"] == 0);
}

TEST_CASE("a run that goes on counts its own steps, and says how many there are in all") {
    const program::Folder folder;
    REQUIRE(program::run({"run", folder.write("s.toml", kToy + "[checkpoint]\nfolder = \"c\"\n"), "-q"})
                .exit_code == 0);
    const std::string longer = folder.write("l.toml", with_steps(5));
    const std::vector<std::string> words{"run", longer, "--resume", folder.file("c")};
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> all = words;
        all.insert(all.end(), more.begin(), more.end());
        return program::run(all);
    };
    const auto ended = with({"--trace", folder.file("t.mscope")});
    REQUIRE(ended.exit_code == 0);
    CHECK(has(ended.out, "4 ranks, 3 steps in "));
    CHECK(has(ended.out, " ms (resumed after 2, 5 in all); 48 collectives, "));
    const json told = json::parse(with({"--json", "-"}).out);
    CHECK(told["steps"] == 5);
    CHECK(told["resumed_after"] == 2);
    CHECK(told["losses"].size() == 5);
    // The record: what an earlier run did is unknown in it, not zero.
    CHECK(has(program::run({"trace", "info", folder.file("t.mscope")}).out,
              "5, of which this record holds the last 3 (2 to 4)"));
    CHECK(json::parse(program::run({"trace", "info", folder.file("t.mscope"), "--json"})
                          .out)["first_recorded_step"] == 2);
    CHECK(program::run({"trace", "query", folder.file("t.mscope"),
                        "SELECT step, collectives IS NULL AS unknown, loss IS NULL AS lost FROM steps",
                        "--csv"})
              .out == "step,unknown,lost\r\n0,1,0\r\n1,1,0\r\n2,0,0\r\n3,0,0\r\n4,0,0\r\n");
}

TEST_CASE(
    "the summary of a record tells how its run ended where that was early, or in numbers that are none") {
    const program::Folder folder;
    const std::string trace = folder.file("t.mscope");
    const auto info = [&] { return program::run({"trace", "info", trace}).out; };
    const auto told = [&] { return json::parse(program::run({"trace", "info", trace, "--json"}).out); };
    const std::string fault = "[[faults]]\nkind = \"kill\"\nrank = 1\nstep = 1\n";
    CHECK(program::run({"run", folder.write("k.toml", kToy + fault), "--trace", trace}).exit_code == 75);
    CHECK(has(info(), "1 of 2"));
    CHECK(has(info(), "rank 1 died"));
    CHECK(has(program::run({"--lang", "zh", "trace", "info", trace}).out, "结束情况"));
    CHECK(told()["planned_steps"] == 2);
    CHECK(told()["ended"]["id"] == "diagnosis.lost");
    const std::string diverges = folder.write("d.toml", with_steps(6) + "[optimizer]\nlr = 1e9\n");
    CHECK(program::run({"run", diverges, "--trace", trace}).exit_code == 79);
    CHECK(has(info(), "is NaN or infinite"));
    CHECK(told()["ended"]["id"] == "view.end.not_finite");
    CHECK(program::run({"run", folder.write("s.toml", kToy), "--trace", trace}).exit_code == 0);
    CHECK_FALSE(has(info(), "ended"));
    CHECK(told()["ended"].is_null());
}

TEST_CASE("what a record's level does not hold is refused, not answered with zero") {
    const program::Folder folder;
    const auto record = [&](const std::string& level) {
        const std::string file = folder.file(level + ".mscope");
        REQUIRE(program::run({"run", folder.write("s.toml", kToy), "-q", "--level", level, "--trace", file})
                    .exit_code == 0);
        return file;
    };
    const std::string off = record("off"), collectives = record("collectives"), hops = record("hops");
    const auto count = [](const std::string& file, const std::string& view) {
        return program::run({"trace", "query", file, "SELECT count(*) AS n FROM " + view});
    };
    for (const char* view : {"collectives", "compute", "memory", "parameters", "dependencies"}) {
        INFO(view);
        CHECK(count(collectives, view).exit_code == 0);
        const auto refused = count(off, view);
        CHECK(refused.exit_code == 65);
        CHECK(has(refused.err, "made with the level off, and that needs collectives or more"));
    }
    CHECK(count(hops, "hops").exit_code == 0);
    CHECK(
        has(count(collectives, "hops").err, "made with the level collectives, and that needs hops or more"));
    CHECK(has(count(hops, "buffers").err, "made with the level hops, and that needs values or more"));
    CHECK(program::run({"trace", "query", off, "SELECT loss FROM losses"}).exit_code == 0);
    CHECK(program::run(
              {"trace", "query", off, "SELECT DISTINCT bytes IS NULL AND peak_bytes IS NULL AS u FROM ranks"})
              .out == "u\n1\n");
    const auto told = program::run({"trace", "info", off});
    CHECK(told.exit_code == 0);
    CHECK(has(told.out, "not recorded"));
    const json info = json::parse(program::run({"trace", "info", off, "--json"}).out);
    CHECK(info["events"].is_null());
    CHECK(info["collectives"].is_null());
    CHECK(info["ranks"][0]["peak_bytes"].is_null());
    CHECK(json::parse(program::run({"trace", "info", collectives, "--json"}).out)["hops"].is_null());
    // A check that cannot be answered fails with the reason.
    const std::string checked =
        folder.write("c.toml", kToy + "[[check]]\nid = \"none\"\nsql = \"SELECT count(*) = 0 FROM hops\"\n");
    CHECK(program::run({"run", checked, "--level", "hops"}).exit_code == 1);  // there are some
    const auto unknown = program::run({"run", checked, "--level", "collectives"});
    CHECK(unknown.exit_code == 1);
    CHECK(has(unknown.out + unknown.err, "that needs hops or more"));
}
