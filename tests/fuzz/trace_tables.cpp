// A trace whose checksums hold and whose content does not: cells of a real trace are replaced as the input
// says, the checksums made anew, and what still reads is played, exported and asked for its peaks. Behind the
// checksums of trace_file no mutation would ever get that far.
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/memory/ledger.h"
#include "core/time/clock.h"
#include "core/time/profile.h"
#include "core/trace/export.h"
#include "core/trace/table_io.h"
#include "core/trace/tables.h"
#include "core/trace/validate.h"
#include "tests/fuzz/target.h"
#include "tests/trace/example.h"

namespace {

using namespace meshscope;
using trace::sqlite::Database;
using trace::sqlite::Statement;

struct Table {
    std::string name;
    std::string key;  ///< its primary key's columns
};
const std::array<Table, 15> kTables{{{"meta", "key"},
                                     {"word", "id"},
                                     {"string", "id"},
                                     {"mesh_dim", "id"},
                                     {"mesh_cell", "id"},
                                     {"process_group", "id"},
                                     {"group_member", "group_id, group_rank"},
                                     {"step_info", "id"},
                                     {"rank_info", "id"},
                                     {"event", "rank, id"},
                                     {"dependency", "rank, ordinal"},
                                     {"hop_block", "rank, event"},
                                     {"value_block", "rank, ordinal"},
                                     {"memory_change", "rank, ordinal"},
                                     {"parameter_run", "rank, ordinal"}}};

/// Takes numbers and texts off the input; what is not there is 0.
class Cursor {
  public:
    explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
    bool at_end() const { return bytes_.empty(); }
    uint8_t byte() { return static_cast<uint8_t>(take(1).empty() ? 0 : last_[0]); }
    int64_t number() {
        int64_t value = 0;
        const std::string_view eight = take(8);
        std::memcpy(&value, eight.data(), eight.size());
        return value;
    }
    std::string_view take(std::size_t n) {
        last_ = bytes_.substr(0, n);
        bytes_.remove_prefix(last_.size());
        return last_;
    }

  private:
    std::string_view bytes_;
    std::string_view last_;
};

/// One cell (or one row) of the input's choice becomes what the input says.
void edit(const Database& database, const Table& table, Cursor& input) {
    const int64_t row = input.byte();
    const std::string where = " WHERE (" + table.key + ") = (SELECT " + table.key + " FROM " + table.name +
                              " LIMIT 1 OFFSET " + std::to_string(row) + ")";
    const int column = input.byte();
    const int kind = input.byte() % 6;
    if (kind == 5) {
        Statement statement(database, "DELETE FROM " + table.name + where);
        while (statement.step()) {
        }
        return;
    }
    const std::string columns_of = "SELECT * FROM " + table.name + " LIMIT 0";
    const Statement columns(database, columns_of);
    const std::string name = columns.column_name(column % columns.columns());
    const std::string sql = "UPDATE OR IGNORE " + table.name + " SET " + name + " = ?1" + where;
    Statement statement(database, sql);
    std::string_view text;
    if (kind == 0) {
        statement.bind_null(0);
    } else if (kind == 1) {
        statement.bind(0, int64_t{input.byte()} - 8);  // small numbers are where ranks, ids and counts live
    } else if (kind == 2) {
        statement.bind(0, input.number());
    } else if (kind == 3) {
        text = input.take(input.byte());
        statement.bind(0, text);
    } else {
        text = input.take(input.byte());
        statement.bind(0, std::as_bytes(std::span(text)));
    }
    while (statement.step()) {
    }
}

void sum_up(const Database& database, const Table& table) {
    trace::TableReader rows(database, table.name, table.key);
    const std::string columns_of = "SELECT * FROM " + table.name + " LIMIT 0";
    const int columns = Statement(database, columns_of).columns();
    while (rows.next_row())
        for (int c = 0; c < columns; ++c) rows.skip();
    Statement statement(database, "UPDATE checksum SET row_count = ?1, crc32c = ?2 WHERE section = ?3");
    statement.bind(0, rows.sum().rows());
    statement.bind(1, int64_t{rows.sum().crc32c()});
    statement.bind(2, std::string_view(table.name));
    while (statement.step()) {
    }
}

/// Everything that looks at a trace which was found to be in order.
void use(const trace::Trace& trace) {
    trace::write_perfetto(trace, [](std::string_view) {});
    for (int32_t rank = 0; rank < static_cast<int32_t>(trace.ranks.size()); ++rank)
        static_cast<void>(memory::peak(trace, rank));
    static_cast<void>(time::measured(trace));
    try {
        static_cast<void>(time::modelled(trace, time::classroom()));
    } catch (const InvalidArgument&) {  // a trace that was not recorded whole cannot be played again
    }
}

void read_edited(Database& database, std::string_view bytes) {
    Cursor input(bytes);
    while (!input.at_end()) {
        try {
            edit(database, kTables[input.byte() % kTables.size()], input);
        } catch (const trace::sqlite::Failure&) {  // a text as a row's number, say: that cell stays
        }
    }
    for (const Table& table : kTables) sum_up(database, table);
    std::optional<trace::Trace> trace;
    try {
        trace = trace::read_tables(database);
        trace::validate(*trace);
    } catch (const trace::Damage&) {
        return;
    } catch (const trace::sqlite::Failure&) {
        return;
    } catch (const InvalidArgument&) {
        return;
    }
    use(*trace);
}

Database example_database() {
    Database database = Database::in_memory();
    trace::write_tables(database, trace::example::merged());
    return database;
}

}  // namespace

FUZZ_TARGET(trace_tables) {
    static Database database = example_database();
    if (input.size() > 512) return;
    database.exec("SAVEPOINT input");
    read_edited(database, input);
    database.exec("ROLLBACK TO input; RELEASE input");
}
