#include "core/trace/store.h"

#include <sys/stat.h>

#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/trace/old_pieces.h"
#include "core/trace/query.h"
#include "core/trace/validate.h"
#include "tests/test.h"
#include "tests/trace/example.h"
#include "tests/trace/folder.h"

using namespace meshscope;
using namespace meshscope::trace;
using example::Folder;
using namespace std::string_literals;

namespace {

/// The id of what reading `path` throws, "" when it reads; sets `read` then.
std::string reading(const std::string& path, std::optional<Trace>* read = nullptr) {
    try {
        Trace trace = read_trace(path);
        if (read != nullptr) *read = std::move(trace);
        return "";
    } catch (const InputError& e) {
        return e.message().id;
    } catch (const IoError& e) {
        return e.message().id;
    }
}

/// Runs SQL on a file as any SQLite tool would.
void tamper(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
    const std::string why = sqlite3_errmsg(db);
    sqlite3_close(db);
    INFO(sql << ": " << why);
    REQUIRE(code == SQLITE_OK);
}

/// A file of version 3 from one of version 4 that holds no operand.
const std::string kSnapshotsOfVersion3 =
    "CREATE TEMP TABLE kept AS SELECT rank, ordinal, event, kind, first_value, elements FROM snapshot; "
    "DELETE FROM snapshot; PRAGMA writable_schema = ON; "
    "UPDATE sqlite_schema SET sql = replace(sql, ', operand INTEGER, \"rows\" INTEGER, columns INTEGER', '') "
    "WHERE name = 'snapshot'; PRAGMA writable_schema = RESET; "
    "INSERT INTO snapshot SELECT * FROM kept; PRAGMA user_version = 3; ";

}  // namespace

TEST_CASE("a trace read back is the trace that was written") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    for (const Level level : {Level::collectives, Level::hops, Level::values}) {
        const Trace trace = example::merged(level);
        write_trace(trace, path);
        CHECK(identical(read_trace(path), trace));
    }
    Trace large = example::large(4, 2000, 3);
    large.info.losses[3] = std::numeric_limits<double>::quiet_NaN();
    large.info.losses[4] = std::numeric_limits<double>::infinity();
    large.ranks[1].values[5] = std::numeric_limits<float>::quiet_NaN();
    large.ranks[1].values[6] = -0.0F;
    large.info.title_en = "null \0 inside, \xff\xfe not UTF-8, quote ' \""s;
    write_trace(large, path);
    CHECK(identical(read_trace(path), large));
    CHECK(folder.files() == 1);

    Trace bare;
    bare.strings = {""};
    bare.ranks.resize(1);
    write_trace(bare, path);
    CHECK(identical(read_trace(path), bare));
}

TEST_CASE("identical sees every difference, and only times when told to look away") {
    const Trace a = example::merged();
    Trace b = a;
    CHECK(identical(a, b));
    b.ranks[1].events[0].t_end_ns += 1;
    b.ranks[0].hops[0].t_begin_ns -= 1;
    b.ranks[0].memory[0].t_ns += 5;
    CHECK_FALSE(identical(a, b));
    CHECK(identical(a, b, Ignore::times));
    b.ranks[0].values[0] = std::nextafter(b.ranks[0].values[0], 9.0F);
    CHECK_FALSE(identical(a, b, Ignore::times));
    b = a;
    b.ranks[1].parameters[1].padding = 0;
    CHECK_FALSE(identical(a, b));
}

TEST_CASE("a file says what it is in its SQLite header") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    write_trace(example::merged(), path);
    const std::string bytes = example::content(path);
    CHECK(bytes.substr(0, 16) == std::string("SQLite format 3\0", 16));
    CHECK(bytes.substr(68, 4) == "MScp");
    CHECK(bytes.substr(60, 4) == std::string("\0\0\0\4", 4));
    write_trace(example::large(2, 10, 1), folder.file("b"));
    write_trace(example::large(2, 10, 1), folder.file("c"));
    CHECK(example::content(folder.file("b")) == example::content(folder.file("c")));
}

TEST_CASE("paths with every kind of character work") {
    const Folder folder;
    for (const char* name : {"a b%20?x=1#y.mscope", "轨迹.mscope", "'quote\".mscope", "a&immutable=0"}) {
        write_trace(example::merged(), folder.file(name));
        CHECK(reading(folder.file(name)).empty());
    }
}

TEST_CASE("a trace whose scenario has a NUL in its path is refused: the name before it is another file's") {
    const Folder folder;
    Trace trace = example::merged();
    trace.info.scenario_path = "/etc/x.toml\0y/s.toml"s;
    write_trace(trace, folder.file("a.mscope"));
    CHECK(reading(folder.file("a.mscope")) == "trace.damaged");
}

TEST_CASE("files that are no traces are refused by what they are") {
    const Folder folder;
    example::put(folder.file("empty"), "");
    CHECK(reading(folder.file("empty")) == "trace.empty");
    example::put(folder.file("json"), "{\"traceEvents\": []}");
    CHECK(reading(folder.file("json")) == "trace.foreign");
    example::put(folder.file("zeros"), std::string(100000, '\0'));
    CHECK(reading(folder.file("zeros")) == "trace.foreign");
    CHECK(reading(folder.path.string()) == "trace.not_a_file");
    CHECK(reading(folder.file("none")) == "trace.cannot_open");
    tamper(folder.file("other.db"), "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    CHECK(reading(folder.file("other.db")) == "trace.foreign");
    tamper(folder.file("pretends.db"),
           "CREATE TABLE event(x); PRAGMA application_id = 1297310576; PRAGMA user_version = 1");
    CHECK(reading(folder.file("pretends.db")) == "trace.damaged");
    REQUIRE(mkfifo(folder.file("fifo").c_str(), 0600) == 0);
    CHECK(reading(folder.file("fifo")) == "trace.not_a_file");
}

TEST_CASE("a file of a later version names both versions") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    write_trace(example::merged(), path);
    tamper(path, "PRAGMA user_version = 7");
    try {
        read_trace(path);
        FAIL("it was read");
    } catch (const InputError& e) {
        CHECK(describe(e.message()) == "trace.newer_version(file_version=7, tool_version=4)");
        CHECK(e.diagnostics().front().position.file == path);
    }
}

TEST_CASE("a file of version 1 is read: it lacks who keeps what") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    Trace trace = example::merged(Level::hops);
    REQUIRE_FALSE(trace.ranks[0].parameters.empty());
    write_trace(trace, path);
    // The older file: without the table, its view and its checksum.
    tamper(path,
           kSnapshotsOfVersion3 +
               "DROP VIEW parameters; DROP TABLE parameter_run; DROP VIEW hop_pieces; DROP TABLE hop_piece; "
               "DELETE FROM checksum WHERE section IN ('parameter_run', 'hop_piece'); "
               "PRAGMA user_version = 1");
    for (RankTrace& rank : trace.ranks) rank.parameters.clear();
    CHECK(identical(read_trace(path), trace));
    CHECK(reading(path).empty());
    // A file that says 1 and holds what came later, or says 2 and lacks it, is damaged.
    tamper(path, "PRAGMA user_version = 2");
    CHECK(reading(path) == "trace.damaged");
    write_trace(example::merged(), path);
    tamper(path, "PRAGMA user_version = 1");
    CHECK(reading(path) == "trace.damaged");
}

TEST_CASE("a file of version 3 is read: its buffers are collectives' alone") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    const Trace trace = example::merged();
    write_trace(trace, path);
    // The checksum of the narrower table, as docs/trace.md has it: tag and value of each cell, tag 5 a row.
    Crc32c sum;
    const std::byte number{1}, end_of_row{5};
    for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank)
        for (std::size_t i = 0; i < trace.ranks[rank].snapshots.size(); ++i) {
            const Snapshot& s = trace.ranks[rank].snapshots[i];
            REQUIRE(s.operand == 0);
            for (const auto cell : {static_cast<int64_t>(rank), static_cast<int64_t>(i), int64_t{s.event},
                                    static_cast<int64_t>(s.kind), s.values, s.elements}) {
                sum.add(&number, 1);
                sum.add(&cell, sizeof cell);  // little endian, as the machines that run tests are
            }
            sum.add(&end_of_row, 1);
        }
    tamper(path, kSnapshotsOfVersion3 + "UPDATE checksum SET crc32c = " + std::to_string(sum.value()) +
                     " WHERE section = 'snapshot'");
    CHECK(identical(read_trace(path), trace));
    const TraceDatabase db = TraceDatabase::open(path);
    CHECK(std::get<int64_t>(db.value("SELECT count(*) FROM buffers")) == 4);
    CHECK_THROWS_AS(db.query("SELECT * FROM operands"), Error);
}

TEST_CASE("an operand's shape is kept always, its numbers where they are few, and wrong ones are refused") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    const auto record = [](Level level) {
        Recorder r(GlobalRank{0}, level, 0);
        const int32_t event = r.begin_compute("linear", "net1");
        const std::vector<float> x{1, 2, 3, 4, 5, 6}, y{-1, 0.5F};
        r.add_operand(event, SnapshotKind::input, "x", 2, 3, x);
        r.add_operand(event, SnapshotKind::input, "weight", 1, kMaxRecordedValues + 1, {});
        r.add_operand(event, SnapshotKind::output, "y", 2, 1, y);
        r.end_compute(event);
        r.add_operand(-1, SnapshotKind::output, "y", 2, 1, y);
        std::vector<RankRecord> records;
        records.push_back(r.take());
        records.push_back({});
        return records;
    };
    CHECK(record(Level::hops)[0].snapshots.empty());
    const Trace trace = merge(example::info(), example::groups(), record(Level::values));
    write_trace(trace, path);
    CHECK(identical(read_trace(path), trace));
    const TraceDatabase db = TraceDatabase::open(path);
    std::string rows;
    for (const auto& row : db.query("SELECT rank, kernel, operand, side, \"rows\", columns, elements, "
                                    "ifnull(numbers, 'none') FROM operands")
                               .rows) {
        for (const auto& cell : row) rows += to_text(cell) + " ";
        rows += "| ";
    }
    CHECK(rows ==
          "0 0 x input 2 3 6 [1, 2, 3, 4, 5, 6] | 0 0 weight input 1 1025 1025 none | "
          "0 0 y output 2 1 2 [-1, 0.5] | ");
    CHECK(std::get<int64_t>(db.value("SELECT count(*) FROM buffers")) == 0);

    const auto refused = [&](const std::function<void(Snapshot&)>& change) {
        std::vector<RankRecord> records = record(Level::values);
        change(records[0].snapshots[0]);
        try {
            merge(example::info(), example::groups(), std::move(records));
        } catch (const InvalidArgument& e) {
            if (e.message().id != "trace.invalid") return e.message().id;
            return to_text(*e.message().find("table")) + "." + to_text(*e.message().find("field"));
        }
        return std::string("taken");
    };
    CHECK(refused([](Snapshot&) {}) == "taken");
    CHECK(refused([](Snapshot& s) { s.rows = 3; }) == "snapshots.elements");
    CHECK(refused([](Snapshot& s) { s.rows = -2, s.columns = -3; }) == "snapshots.rows");
    CHECK(refused([](Snapshot& s) { s.values = 5; }) == "snapshots.values");
    CHECK(refused([](Snapshot& s) { s.operand = 99; }) == "snapshots.operand");
    // Without a name it would be a collective's buffer.
    CHECK(refused([](Snapshot& s) { s.operand = 0; }) == "snapshots.event");
}

TEST_CASE("the pieces of a hop stand in a view of their own, and wrong ones are refused") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    const Trace trace = example::large(2, 4, 2);
    write_trace(trace, path);
    std::string rows;
    const QueryResult found = query(read_trace(path),
                                    "SELECT rank, hop, ordinal, chunk, offset, elements FROM hop_pieces "
                                    "WHERE collective = 1 ORDER BY rank, hop, ordinal");
    for (const auto& row : found.rows) {
        for (const auto& cell : row) {
            const auto* number = std::get_if<int64_t>(&cell);
            rows += (number != nullptr ? std::to_string(*number) : "-") + " ";
        }
        rows += "| ";
    }
    CHECK(rows == "0 1 0 1 4 3 | 0 1 1 0 - 1 | 1 1 0 1 4 3 | 1 1 1 0 - 1 | ");

    const auto wrong = [&](const std::function<void(RankTrace&)>& change) -> std::string {
        Trace changed = trace;
        change(changed.ranks[0]);
        try {
            validate(changed);
        } catch (const InvalidArgument& error) {
            return describe(error.message());
        }
        return ""s;
    };
    CHECK(wrong([](RankTrace&) {}).empty());
    CHECK(wrong([](RankTrace& r) { r.pieces[0].elements = 4; }).find("field=elements") != std::string::npos);
    CHECK(wrong([](RankTrace& r) { r.pieces[0].elements = 2; }).find("field=elements") != std::string::npos);
    CHECK(wrong([](RankTrace& r) { r.pieces[1].offset = -2; }).find("field=offset") != std::string::npos);
    CHECK(wrong([](RankTrace& r) { r.pieces.pop_back(); }).find("field=pieces") != std::string::npos);
    CHECK(wrong([](RankTrace& r) { r.pieces.push_back({}); }).find("field=pieces") != std::string::npos);
    CHECK(wrong([](RankTrace& r) { r.hops[1].n_pieces = -1; }).find("field=pieces") != std::string::npos);
}

TEST_CASE("Bruck's hops of older files get the pieces that they carried") {
    const auto hop = [](int32_t src, int32_t chunk, int64_t offset, int64_t elements) {
        Hop made;
        made.src = src;
        made.dst = 0;
        made.chunk = chunk;
        made.offset = offset;
        made.elements = elements;
        return made;
    };
    Trace trace;
    trace.groups.push_back({"world", {0, 1, 2, 3, 4}});
    Event event;
    event.algorithm = Algorithm::bruck;
    event.op = CollectiveOp::all_gather;
    event.group = 0;
    event.out_elements = 10;
    trace.ranks.resize(1);
    RankTrace& rank = trace.ranks[0];
    rank.events.assign(2, event);
    rank.events[1].op = CollectiveOp::all_to_all;
    rank.hops = {hop(1, 1, 2, 2), hop(4, 4, 8, 6)};
    rank.hops.push_back(hop(3, 3, 6, 4));  // d = 2: slots 2 (of rank 3) and 3 (of rank 2)
    rank.hops.push_back(hop(4, 4, 8, 4));  // d = 1: slots 1 (of rank 4) and 3, which passes through
    rank.hops[2].event = rank.hops[3].event = 1;
    name_old_pieces(trace);
    CHECK(rank.hops[0].n_pieces == 0);
    std::string said;
    for (const HopPiece& piece : rank.pieces)
        said += std::to_string(piece.chunk) + "@" + std::to_string(piece.offset) + "+" +
                std::to_string(piece.elements) + " ";
    CHECK(said == "4@8+2 0@0+4 3@6+2 2@4+2 4@8+2 2@-1+2 ");
    CHECK((rank.hops[1].pieces == 0 && rank.hops[2].pieces == 2 && rank.hops[3].pieces == 4));
}

TEST_CASE("a file cut anywhere is refused, and as cut") {
    const Folder folder;
    const std::string path = folder.file("a.mscope"), cut = folder.file("cut");
    write_trace(example::merged(), path);
    const std::string bytes = example::content(path);
    for (std::size_t size = 1; size < bytes.size(); size += size < 200 ? 1 : 509) {
        INFO("cut to " << size << " of " << bytes.size());
        example::put(cut, bytes.substr(0, size));
        REQUIRE(reading(cut) == "trace.cut");
    }
    example::put(cut, bytes + "x");
    CHECK(reading(cut) == "trace.damaged");
}

TEST_CASE("a flipped bit is seen, or changes nothing that is read") {
    const Folder folder;
    const std::string path = folder.file("a.mscope"), flipped = folder.file("flipped");
    const Trace trace = example::merged();
    write_trace(trace, path);
    std::string bytes = example::content(path);
    // All of the header and the schema's first page, then a stride that is prime to everything.
    int64_t seen = 0, harmless = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += bit < 100 * 8 ? 1 : 311) {
        const char old = bytes[bit / 8];
        bytes[bit / 8] = static_cast<char>(old ^ (1 << (bit % 8)));
        example::put(flipped, bytes);
        bytes[bit / 8] = old;
        std::optional<Trace> read;
        INFO("bit " << bit % 8 << " of byte " << bit / 8);
        if (reading(flipped, &read).empty()) {
            REQUIRE(identical(*read, trace));
            ++harmless;
        } else {
            ++seen;
        }
    }
    CHECK(seen > 100);
    CHECK(harmless > 0);  // unused space within pages: else the file would be all checksum
}

TEST_CASE("what a SQLite tool changes in a trace is named by its table") {
    const Folder folder;
    const std::string good = folder.file("good"), bad = folder.file("bad");
    write_trace(example::merged(), good);
    const auto damaged = [&](const std::string& sql) {
        std::filesystem::copy_file(good, bad, std::filesystem::copy_options::overwrite_existing);
        tamper(bad, sql);
        try {
            read_trace(bad);
        } catch (const InputError& e) {
            return e.message().id == "trace.damaged" ? to_text(*e.message().find("section")) : e.message().id;
        }
        return std::string("accepted");
    };
    CHECK(damaged("UPDATE event SET in_elements = 3 WHERE rank = 0 AND id = 1") == "event");
    CHECK(damaged("UPDATE event SET op = 10000") == "event");
    CHECK(damaged("UPDATE event SET unit = -1") == "event");
    CHECK(damaged("UPDATE event SET t_end_ns = 'soon' WHERE id = 2") == "event");
    CHECK(damaged("DELETE FROM event WHERE rank = 1 AND id = 2") == "event");
    CHECK(damaged("UPDATE event SET rank = 5 WHERE rank = 1 AND id = 2") == "event");
    CHECK(damaged("UPDATE string SET text = 'net9' WHERE text = 'net1'") == "string");
    CHECK(damaged("UPDATE hop_block SET data = zeroblob(72 * 2) WHERE rank = 0") == "hop_block");
    CHECK(damaged("UPDATE hop_block SET data = zeroblob(71), hops = 1 WHERE rank = 0") == "hop_block");
    CHECK(damaged("UPDATE value_block SET data = zeroblob(length(data))") == "value_block");
    CHECK(damaged("UPDATE rank_info SET peak_bytes = 1") == "rank_info");  // derived, and still guarded
    CHECK(damaged("UPDATE memory_change SET total_bytes = 1") == "memory_change");
    CHECK(damaged("UPDATE parameter_run SET first = 1") == "parameter_run");
    CHECK(damaged("UPDATE parameter_run SET padding = 2") == "parameter_run");
    CHECK(damaged("UPDATE step_info SET loss = 0.5") == "step_info");
    CHECK(damaged("UPDATE meta SET value = 2000000000 WHERE key = 'world_size'") == "meta");
    CHECK(damaged("DELETE FROM checksum WHERE section = 'event'") == "checksum");
    CHECK(damaged("DROP VIEW losses; CREATE VIEW losses AS SELECT 0 AS step, 0.0 AS loss") == "schema");
    CHECK(damaged("CREATE TABLE more(x)") == "schema");
    CHECK(damaged(
              "DROP TABLE dependency; CREATE VIEW dependency AS WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL "
              "SELECT i + 1 FROM c) SELECT i, i, i, i FROM c") == "schema");
}

TEST_CASE("a disk that is full leaves the old trace as it was") {
    const Folder folder;
    const std::string path = folder.file("a.mscope");
    const Trace trace = example::merged();
    write_trace(trace, path);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    std::string ids;
    for (const rlim_t limit : {0, 3000, 40000, 200000}) {
        rlimit small = before;
        small.rlim_cur = limit;
        REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
        try {
            write_trace(example::large(2, 3000, 1), path);
            ids += "written ";
        } catch (const IoError& e) {
            ids += e.message().id + " ";
        }
    }
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(ids == "file.too_large file.too_large file.too_large file.too_large ");
    CHECK(identical(read_trace(path), trace));
    CHECK(folder.files() == 1);
    CHECK_THROWS_AS(write_trace(trace, folder.file("none/a")), IoError);
}
