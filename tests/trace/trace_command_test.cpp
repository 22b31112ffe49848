// The command `meshscope trace`, run as a user runs it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/trace/export.h"
#include "core/trace/store.h"
#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/trace/example.h"
#include "tests/trace/folder.h"

using namespace meshscope::trace;
using nlohmann::json;

namespace {

using program::Ended;

/// Runs `meshscope trace WORDS…`; with `read_errors`, `out` is what went to stderr.
Ended run(const std::vector<std::string>& words, bool read_errors = false) {
    std::vector<std::string> all{"--lang", "en", "trace"};
    all.insert(all.end(), words.begin(), words.end());
    Ended ended = program::run(all);
    if (read_errors) ended.out = ended.err;
    return ended;
}

struct Written {
    example::Folder folder;
    Trace trace = example::merged();
    std::string path = folder.file("a.mscope");
    Written() { write_trace(trace, path); }
};

}  // namespace

TEST_CASE("trace info tells the run, as a table and as JSON") {
    const Written w;
    const Ended table = run({"info", w.path});
    CHECK(table.exit_code == 0);
    CHECK(table.out.find("Two ranks") != std::string::npos);
    CHECK(table.out.find("all_gather") != std::string::npos);
    const Ended chinese = program::run({"--lang", "zh", "trace", "info", w.path});
    for (const char* head : {"操作", "mesh 维度", "次数", "发送字节数", "坐标", "节点", "峰值"})
        CHECK(chinese.out.find(head) != std::string::npos);
    CHECK(chinese.out.find("peak_bytes") == std::string::npos);
    const Ended ended = run({"info", w.path, "--json"});
    CHECK(ended.exit_code == 0);
    const json answer = json::parse(ended.out);
    CHECK(answer.at("title").at("zh") == "两个 rank");
    CHECK(answer.at("world_size") == 2);
    CHECK(answer.at("mesh").at("shape") == json({2}));
    CHECK(answer.at("level") == "values");
    CHECK(answer.at("events") == 6);
    CHECK(answer.at("hops") == 2);
    CHECK(answer.at("losses").at(0) == 0.12345678901234567);
    CHECK(answer.at("collectives") ==
          json::parse(R"([{"op":"all_gather","mesh_dim":"shard","calls":2,"bytes":16}])"));
    CHECK(answer.at("ranks").at(1).at("peak_bytes") == 32);
}

TEST_CASE("trace query answers as a table, JSON or CSV") {
    const Written w;
    const std::string sql =
        "SELECT rank, op, NULL AS gap, 0.5 AS half, 'a,b' AS text FROM collectives ORDER BY rank";
    CHECK(run({"query", w.path, sql}).out ==
          "rank  op          gap  half  text\n"
          "   0  all_gather        0.5  a,b\n"
          "   1  all_gather        0.5  a,b\n");
    CHECK(run({"query", w.path, sql, "--csv"}).out ==
          "rank,op,gap,half,text\r\n0,all_gather,,0.5,\"a,b\"\r\n1,all_gather,,0.5,\"a,b\"\r\n");
    const json answer = json::parse(run({"query", w.path, sql, "--json"}).out);
    CHECK(answer.at("columns") == json({"rank", "op", "gap", "half", "text"}));
    CHECK(answer.at("rows") ==
          json::parse(R"([[0,"all_gather",null,0.5,"a,b"],[1,"all_gather",null,0.5,"a,b"]])"));
    CHECK(json::parse(run({"query", w.path, "SELECT 1 WHERE 0", "--json"}).out).at("rows").empty());
    // a text must not steer the terminal
    CHECK(run({"query", w.path, "SELECT char(27) || '[2J' AS t"}).out == "t\n\\u001b[2J\n");
}

TEST_CASE("trace query refuses with exit 65 and SQLite's reason") {
    const Written w;
    const Ended ended = run({"query", w.path, "SELECT colour FROM collectives"}, true);
    CHECK(ended.exit_code == 65);
    CHECK(ended.out.find("no such column: colour") != std::string::npos);
    CHECK(run({"query", w.path, "DROP TABLE event"}).exit_code == 65);
    CHECK(run({"query", w.path, "SELECT 1", "--json", "--csv"}).exit_code == 2);
    const json answer = json::parse(run({"query", w.path, "SELECT", "--json"}).out);
    CHECK(answer.at("errors").at(0).at("id") == "query.sql");
}

TEST_CASE("trace export writes what the library writes") {
    const Written w;
    const std::string out = w.folder.file("out");
    CHECK(run({"export", "perfetto", w.path, "-o", out}).exit_code == 0);
    std::string expected;
    write_perfetto(w.trace, [&](std::string_view text) { expected += text; });
    CHECK(example::content(out) == expected);
    // A file of another kind stays, unless told otherwise.
    CHECK(run({"export", "csv", w.path, "-o", out, "--what", "hops"}).exit_code == 2);
    CHECK(example::content(out) == expected);
    CHECK(run({"export", "csv", w.path, "-o", out, "--what", "hops", "--force"}).exit_code == 0);
    expected.clear();
    write_csv(TraceDatabase(w.trace), "hops", [&](std::string_view text) { expected += text; });
    CHECK(example::content(out) == expected);
    CHECK(run({"export", "csv", w.path, "-o", "-", "--what", "hops"}).out == expected);
    CHECK(run({"export", "perfetto", w.path, "-o", out, "--what", "hops"}).exit_code == 2);
    CHECK(run({"export", "csv", w.path, "-o", out, "--what", "event"}).exit_code == 2);
    CHECK(run({"export", "csv", w.path, "-o", w.folder.file("none/out")}).exit_code == 74);
}

TEST_CASE("Ctrl-C ends a query that would not end, with 130") {
    const Written w;
    const auto ended =
        program::run({"trace", "query", w.path,
                      "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c) SELECT "
                      "count(*) FROM c"},
                     {700, "", {}});
    CHECK(ended.exit_code == 130);
    CHECK(ended.err.find("the query was not finished") != std::string::npos);
}

TEST_CASE("trace export does not write over the trace it reads") {
    const Written w;
    const std::string before = example::content(w.path);
    for (const char* format : {"csv", "perfetto"}) {
        const auto ended = run({"export", format, w.path, "-o", w.path});
        CHECK(ended.exit_code == 2);
        CHECK(ended.err.find("would overwrite " + w.path) != std::string::npos);
    }
    CHECK(example::content(w.path) == before);
}

TEST_CASE("bad trace files end with their exit code and one message") {
    const Written w;
    const std::string bad = w.folder.file("bad");
    example::put(bad, "not a trace");
    for (const char* command : {"info", "export"}) {
        std::vector<std::string> words{command};
        if (words[0] == "export") words.push_back("perfetto");
        words.push_back(bad);
        if (words[0] == "export") words.insert(words.end(), {"-o", w.folder.file("out")});
        const Ended ended = run(words, true);
        CHECK(ended.exit_code == 65);
        CHECK(ended.out.find("not a Meshscope trace") != std::string::npos);
        CHECK(ended.out.find(bad) != std::string::npos);
    }
    example::put(bad, example::content(w.path).substr(0, 20000));
    CHECK(run({"info", bad}, true).out.find("it has 20000 bytes") != std::string::npos);
    CHECK(run({"info", w.folder.file("none")}).exit_code == 74);
    CHECK(run({"info", w.folder.path.string()}).exit_code == 74);
    CHECK(run({}).exit_code == 2);
}
