// A trace whose checksums hold and whose content does not: cells of a real trace are replaced as the input
// says, the checksums made anew, and what still reads is played, exported and asked for its peaks. Behind the
// checksums of trace_file no mutation would ever get that far.
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
const std::array<Table, 16> kTables{{{"meta", "key"},
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
                                     {"parameter_run", "rank, ordinal"},
                                     {"snapshot", "rank, ordinal"}}};

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

/// The example's database, and every statement that inputs need, prepared once: the input's values are bound.
/// What an input costs is then what is under test, and not SQLite's compiler.
class Example {
  public:
    Example() : database_(Database::in_memory()) {
        trace::write_tables(database_, trace::example::merged());
        for (std::size_t t = 0; t < kTables.size(); ++t) {
            const std::string columns_of = "SELECT * FROM " + kTables[t].name + " LIMIT 0";
            const Statement columns(database_, columns_of);
            for (int c = 0; c < columns.columns(); ++c) columns_[t].push_back(columns.column_name(c));
        }
    }

    /// Reads the example as `bytes` change it, and puts it back as it was.
    void read_edited(std::string_view bytes);

  private:
    Statement& prepared(const std::string& sql) {
        std::unique_ptr<Statement>& statement = statements_[sql];
        if (!statement) statement = std::make_unique<Statement>(database_, sql);
        return *statement;
    }
    void edit(std::size_t t, Cursor& input);
    void sum_up(std::size_t t);
    std::optional<trace::Trace> read() const;

    Database database_;
    std::array<std::vector<std::string>, kTables.size()> columns_;
    std::map<std::string, std::unique_ptr<Statement>> statements_;
};

/// One cell (or one row) of the input's choice becomes what the input says.
void Example::edit(std::size_t t, Cursor& input) {
    const Table& table = kTables[t];
    const int64_t row = input.byte();
    const std::string where =
        " WHERE (" + table.key + ") = (SELECT " + table.key + " FROM " + table.name + " LIMIT 1 OFFSET ?1)";
    const std::size_t column = input.byte();
    const int kind = input.byte() % 6;
    const std::string& name = columns_[t][column % columns_[t].size()];
    const std::string sql = kind == 5 ? "DELETE FROM " + table.name + where
                                      : "UPDATE OR IGNORE " + table.name + " SET " + name + " = ?2" + where;
    Statement& statement = prepared(sql);
    statement.bind(0, row);
    std::string_view text;
    if (kind == 0) {
        statement.bind_null(1);
    } else if (kind == 1) {
        statement.bind(1, int64_t{input.byte()} - 8);  // small numbers are where ranks, ids and counts live
    } else if (kind == 2) {
        statement.bind(1, input.number());
    } else if (kind == 3) {
        text = input.take(input.byte());
        statement.bind(1, text);
    } else if (kind == 4) {
        text = input.take(input.byte());
        statement.bind(1, std::as_bytes(std::span(text)));
    }
    while (statement.step()) {
    }
}

void Example::sum_up(std::size_t t) {
    const Table& table = kTables[t];
    trace::TableReader rows(database_, table.name, table.key);
    while (rows.next_row())
        for (std::size_t c = 0; c < columns_[t].size(); ++c) rows.skip();
    Statement& statement = prepared("UPDATE checksum SET row_count = ?1, crc32c = ?2 WHERE section = ?3");
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

/// Nothing when it is refused.
std::optional<trace::Trace> Example::read() const {
    try {
        trace::Trace trace = trace::read_tables(database_);
        trace::validate(trace);
        return trace;
    } catch (const trace::Damage&) {
        return std::nullopt;
    } catch (const trace::sqlite::Failure&) {
        return std::nullopt;
    } catch (const InvalidArgument&) {
        return std::nullopt;
    }
}

void Example::read_edited(std::string_view bytes) {
    database_.exec("SAVEPOINT input");
    Cursor input(bytes);
    std::array<bool, kTables.size()> edited{};
    while (!input.at_end()) {
        const std::size_t t = input.byte() % kTables.size();
        edited[t] = true;
        try {
            edit(t, input);
        } catch (const trace::sqlite::Failure&) {  // a text as a row's number, say: that cell stays
        }
    }
    for (std::size_t t = 0; t < kTables.size(); ++t)
        if (edited[t]) sum_up(t);  // the sums of the others still hold
    if (const auto trace = read()) use(*trace);
    database_.exec("ROLLBACK TO input; RELEASE input");
}

}  // namespace

FUZZ_TARGET(trace_tables) {
    static Example example;
    if (input.size() > 512) return;
    example.read_edited(input);
}
