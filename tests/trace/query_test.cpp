#include "core/trace/query.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/trace/store.h"
#include "tests/test.h"
#include "tests/trace/enter.h"
#include "tests/trace/example.h"
#include "tests/trace/folder.h"

using namespace meshscope;
using namespace meshscope::trace;

namespace {

std::string one(const TraceDatabase& db, const std::string& sql) {
    return to_text(db.value(sql));
}

std::string line(const TraceDatabase& db, const std::string& sql) {
    std::string text;
    for (const auto& row : db.query(sql).rows) {
        for (const Cell& cell : row) text += to_text(cell) + "|";
        text += "\n";
    }
    return text;
}

std::string refused(const TraceDatabase& db, const std::string& sql, const QueryLimits& limits = {}) {
    try {
        db.query(sql, limits);
        return "answered";
    } catch (const InvalidArgument& e) {
        return e.message().id;
    }
}

}  // namespace

TEST_CASE("the collectives view shows every field in words") {
    const TraceDatabase db(example::merged());
    CHECK(line(db,
               "SELECT id, rank, step, phase, op, reduce_op, mesh_dim, group_ranks, group_size, sequence, "
               "in_elements, "
               "out_elements, dtype, bytes, algorithm, hops, unit, rule, prefetch, microbatch, peer, "
               "padding, stream "
               "FROM collectives ORDER BY rank") ==
          "1|0|0|forward|all_gather|none|shard|[0, "
          "1]|2|0|2|4|float32|8|ring|1|net2|fsdp2.unshard.forward|0|0||0|all_gather|\n"
          "1|1|0|forward|all_gather|none|shard|[0, "
          "1]|2|0|2|4|float32|8|ring|1|net2|fsdp2.unshard.forward|0|0||1|all_gather|\n");
    CHECK(one(db, "SELECT source LIKE 'tests/trace/example.cpp:%' FROM collectives WHERE rank = 0") == "1");
    CHECK(one(db,
              "SELECT count(*) FROM collectives WHERE t_issue_ns <= t_begin_ns AND t_begin_ns <= t_end_ns") ==
          "2");
}

TEST_CASE("the other views") {
    const TraceDatabase db(example::merged());
    CHECK(line(db,
               "SELECT rank, collective, ordinal, round, src, dst, chunk, bytes, offset, elements, reduces "
               "FROM hops") == "0|1|0|0|1|0|1|8|2|2|0|\n1|1|0|0|0|1|0|8|0|2|0|\n");
    CHECK(
        line(
            db,
            "SELECT ordinal, step, phase, category, label, delta_bytes, total_bytes, after_event FROM memory "
            "WHERE rank = 1 ORDER BY ordinal") ==
        "0|-1|setup|sharded_parameters|net1.weight|16|16||\n"
        "1|0|forward|unsharded_parameters|all_gather net2|16|32|1|\n"
        "2|0|backward|unsharded_parameters|all_gather net2|-16|16|2|\n");
    CHECK(line(db,
               "SELECT rank, coordinate, in_mesh, node, events, collectives, bytes, peak_bytes, peak_step, "
               "peak_ordinal "
               "FROM ranks") == "0|[0]|1|0|3|1|8|32|0|1|\n1|[1]|1|1|3|1|8|32|0|1|\n");
    CHECK(line(db, "SELECT step, loss, grad_norm, collectives, compute, bytes FROM steps") ==
          "0|0.12345678901234566|3.0|2|4|16|\n");
    CHECK(line(db, "SELECT step, loss FROM losses") == "0|0.12345678901234566|\n");
    CHECK(
        line(db, "SELECT id, name, unit, phase, flops, touched_bytes, stream FROM compute WHERE rank = 0") ==
        "0|linear|net1|forward|64|48|compute|\n2|linear|net2|backward|64|48|compute|\n");
    CHECK(line(db, "SELECT * FROM groups") == "0|shard|[0, 1]|2|\n1|world|[0, 1]|2|\n");
    CHECK(line(db, "SELECT * FROM dependencies") == "0|1|0|\n0|2|1|\n1|1|0|\n1|2|1|\n");
}

TEST_CASE("hops join collectives, and their bytes add up to what was sent") {
    const TraceDatabase db(example::large(4, 200, 3));
    CHECK(one(db,
              "SELECT count(*) FROM collectives c JOIN hops h ON h.rank = c.rank AND h.collective = c.id "
              "WHERE c.op = 'all_gather'") == "1200");
    CHECK(one(db, "SELECT sum(h.bytes) = (SELECT sum(bytes) FROM collectives) FROM hops h") == "1");
    CHECK(one(db, "SELECT count(*) FROM hops WHERE rank = 2 AND collective = 7") == "3");
    CHECK(one(db, "SELECT max(hops) FROM collectives") == "3");
    CHECK(one(db, "SELECT count(*) FROM hop_rows") == "0");
}

TEST_CASE("ranks outside the mesh have no coordinate and runs without losses no loss") {
    RunInfo info;
    info.world_size = 5;
    info.mesh_shape = {2, 2};
    info.mesh_names = {"replicate", "shard"};
    info.mesh_ranks = {0, 1, 3, 4};
    info.steps = 2;
    const Trace trace = merge(info, {}, std::vector<RankRecord>(5));
    const TraceDatabase db(trace);
    CHECK(line(db, "SELECT rank, coordinate, in_mesh, node, peak_bytes, peak_step FROM ranks") ==
          "0|[0, 0]|1||0||\n1|[0, 1]|1||0||\n2||0||0||\n3|[1, 0]|1||0||\n4|[1, 1]|1||0||\n");
    CHECK(one(db, "SELECT count(*) FROM steps") == "2");
    CHECK(one(db, "SELECT count(*) FROM losses") == "0");
}

TEST_CASE("a file answers as the trace in memory does") {
    const example::Folder folder;
    const Trace trace = example::large(3, 100, 2);
    write_trace(trace, folder.file("a.mscope"));
    const TraceDatabase memory(trace), file = TraceDatabase::open(folder.file("a.mscope"));
    for (const char* view :
         {"collectives", "hops", "memory", "ranks", "steps", "losses", "compute", "groups", "dependencies"}) {
        const std::string sql = std::string("SELECT * FROM ") + view;
        const std::string answer = line(memory, sql);
        CHECK_FALSE(answer.empty());
        CHECK(line(file, sql) == answer);
    }
    CHECK(refused(file, "DELETE FROM event") == "query.not_allowed");
    CHECK(folder.files() == 1);
}

TEST_CASE("nothing but reading this trace is allowed") {
    const example::Folder folder;
    const TraceDatabase db(example::merged());
    for (const std::string sql :
         {"DELETE FROM event", "UPDATE event SET id = 0", "INSERT INTO meta VALUES(1, 2)",
          "CREATE TABLE t(x)", "CREATE TEMP TABLE t(x)", "DROP VIEW hops", "PRAGMA user_version",
          "PRAGMA writable_schema = ON", "SELECT * FROM pragma_table_info('event')", "BEGIN", "VACUUM",
          "REINDEX", "ANALYZE", "EXPLAIN DELETE FROM event", "DETACH main", "SELECT load_extension('x')",
          "WITH x AS (SELECT 1) DELETE FROM event"}) {
        INFO(sql);
        const std::string id = refused(db, sql);
        CHECK((id == "query.not_allowed" || id == "query.sql"));
    }
    CHECK(refused(db, "ATTACH '" + folder.file("x.db") + "' AS x") != "answered");
    CHECK(refused(db, "VACUUM INTO '" + folder.file("x.db") + "'") != "answered");
    CHECK(folder.files() == 0);
    CHECK(one(db, "SELECT count(*) FROM event") == "6");
}

TEST_CASE("limits end a query that would not end") {
    const TraceDatabase db(example::merged());
    const std::string count = "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c";
    QueryLimits few;
    few.steps = 100'000;
    CHECK(refused(db, count + ") SELECT count(*) FROM c", few) == "query.too_long");
    CHECK(refused(db, count + " LIMIT 100) SELECT count(*) FROM c", few) == "answered");
    few = {};
    few.rows = 10;
    CHECK(refused(db, count + " LIMIT 11) SELECT i FROM c", few) == "query.too_many_rows");
    CHECK(refused(db, count + " LIMIT 10) SELECT i FROM c", few) == "answered");
    few = {};
    few.bytes = 4 << 20;
    CHECK(refused(db,
                  "WITH RECURSIVE c(i, b) AS (VALUES(1, randomblob(10000)) UNION ALL SELECT i + 1, "
                  "randomblob(10000) "
                  "FROM c) SELECT count(*) FROM (SELECT b FROM c ORDER BY b)",
                  few) == "query.too_large");
    few = {};
    few.time_ms = 20;
    few.steps = INT64_MAX;
    CHECK(refused(db, count + ") SELECT count(*) FROM c", few) == "query.too_long");
    CHECK(refused(db, "SELECT length(zeroblob(100000000))") == "query.too_large");
    // and the next query is unharmed
    CHECK(one(db, "SELECT count(*) FROM collectives") == "2");
}

TEST_CASE("a result that is kept has a limit, one that is handed over row by row has none") {
    const TraceDatabase db(example::merged());
    const std::string long_rows =
        "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c LIMIT 2000) "
        "SELECT i, hex(zeroblob(5000)) FROM c";  // 2000 rows of 10,000 characters
    QueryLimits limits;
    limits.result_bytes = 1 << 20;
    CHECK(refused(db, long_rows, limits) == "query.result_too_large");
    limits.result_bytes = 32 << 20;
    CHECK(refused(db, long_rows, limits) == "answered");
    limits.result_bytes = 1 << 20;
    int64_t rows = 0;
    db.query(
        long_rows, limits, [](const auto&) {}, [&](const auto&) { ++rows; });
    CHECK(rows == 2000);
}

TEST_CASE("a flag that another thread sets ends a query that would not end") {
    const TraceDatabase db(example::merged());
    std::atomic<bool> cancel{false};
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        cancel = true;
    });
    const auto ends = [&](const std::string& sql) {
        try {
            db.query(
                sql, generous_limits(&cancel), [](const auto&) {}, [](const auto&) {});
        } catch (const Cancelled& cancelled) {
            return cancelled.message().id;
        }
        return std::string("answered");
    };
    const std::string count = "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c) ";
    CHECK(ends(count + "SELECT count(*) FROM c") == "query.cancelled");
    CHECK(ends(count + "SELECT i FROM c") == "query.cancelled");  // the flag stays set
    other.join();
}

TEST_CASE("statements that change something are told that only SELECT is allowed, views or not") {
    const TraceDatabase db(example::merged());
    for (const std::string sql : {"DELETE FROM collectives", "  update collectives SET id = 0",
                                  "INSERT INTO hops VALUES (1)", "DROP TABLE no_such_table"}) {
        INFO(sql);
        CHECK(refused(db, sql) == "query.not_allowed");
    }
    CHECK(refused(db, "SELEKT 1") == "query.sql");
}

TEST_CASE("queries that are no query say so") {
    const TraceDatabase db(example::merged());
    CHECK(refused(db, "") == "query.empty");
    CHECK(refused(db, "  -- nothing\n") == "query.empty");
    CHECK(refused(db, "SELECT 1; SELECT 2") == "query.more_than_one");
    CHECK(refused(db, "SELECT 1; -- and no more\n ") == "answered");
    CHECK(refused(db, "SELECT 1;") == "answered");
    CHECK(refused(db, "SELEC 1") == "query.sql");
    CHECK(refused(db, "SELECT x FROM nowhere") == "query.sql");
    try {
        db.query("SELECT colour FROM collectives");
        FAIL("it was answered");
    } catch (const InvalidArgument& e) {
        CHECK(describe(e.message()) == "query.sql(reason=no such column: colour)");
    }
    try {
        db.value("SELECT id, rank FROM collectives");
        FAIL("it was answered");
    } catch (const InvalidArgument& e) {
        CHECK(describe(e.message()) == "query.not_one_value(rows=2, columns=2)");
    }
}

TEST_CASE("cells keep their type") {
    const TraceDatabase db(example::merged());
    const QueryResult result = db.query("SELECT NULL, 1, 2.0, 'three', x'0aff', 9e999");
    REQUIRE(result.rows.size() == 1);
    const auto& row = result.rows[0];
    CHECK(std::holds_alternative<std::monostate>(row[0]));
    CHECK(std::get<int64_t>(row[1]) == 1);
    CHECK(std::get<double>(row[2]) == 2.0);
    CHECK(std::get<std::string>(row[3]) == "three");
    CHECK(std::get<std::string>(row[4]) == "x'0AFF'");
    CHECK(to_text(row[2]) == "2.0");
    CHECK(to_text(row[5]) == "inf");
    CHECK(query(example::merged(), "SELECT 1 AS a, 2 AS b").columns == std::vector<std::string>{"a", "b"});
}

TEST_CASE("buffers shows what was kept of each side, also where it lies in two blocks of the file") {
    constexpr int kCalls = 70, kElements = 1000;  // more numbers than a block has
    Recorder recorder(meshscope::GlobalRank{0}, Level::values, 0);
    recorder.set_step(0);
    for (int i = 0; i < kCalls; ++i) {
        Event draft;
        draft.kind = EventKind::collective;
        draft.op = meshscope::CollectiveOp::all_reduce;
        draft.group = 0;
        draft.sequence = i;
        const int32_t event =
            trace::example::enter(recorder, draft, {"user.call", ""}, std::source_location::current());
        recorder.begin_collective(event, meshscope::Algorithm::none);
        std::vector<float> numbers(kElements, static_cast<float>(i));
        numbers.back() = 0.5F;
        recorder.add_snapshot(event, SnapshotKind::output, numbers);
        recorder.end_collective(event, 0);
    }
    std::vector<RankRecord> records;
    records.push_back(recorder.take());
    RunInfo info;
    info.mesh_shape = {1};
    info.mesh_names = {"shard"};
    info.mesh_ranks = {0};
    info.node_of_rank = {0};
    info.steps = 1;
    const TraceDatabase db(merge(info, {{"shard", {0}}}, std::move(records)));
    const QueryResult result = db.query(
        "SELECT b.collective, b.side, b.elements, count(*), sum(n.value) FROM buffers b, "
        "json_each(b.numbers) n GROUP BY 1 ORDER BY 1");
    REQUIRE(result.rows.size() == kCalls);
    for (int i = 0; i < kCalls; ++i) {
        INFO(i);
        const auto& row = result.rows[static_cast<std::size_t>(i)];
        CHECK(to_text(row[1]) == "output");
        CHECK(to_text(row[2]) == "1000");
        CHECK(to_text(row[3]) == "1000");
        CHECK(std::get<double>(row[4]) == 999.0 * i + 0.5);
    }
}

TEST_CASE("what is no number in JSON is null, and an infinity is what SQLite reads back as one") {
    const TraceDatabase db(example::merged());
    CHECK(to_text(db.value("SELECT number_list(x'0000803F0000C07F0000807F000080FF', x'0000003F', 0, 5)")) ==
          "[1, null, 9e999, -9e999, 0.5]");
    CHECK(std::holds_alternative<std::monostate>(db.value("SELECT number_list(x'0000803F', NULL, 0, 2)")));
    CHECK(std::holds_alternative<std::monostate>(db.value("SELECT number_list(x'0000803F', NULL, -1, 1)")));
}
