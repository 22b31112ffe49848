#include "core/trace/query.h"

#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "core/trace/number_list.h"
#include "core/trace/recorded.h"
#include "core/trace/sqlite.h"
#include "core/trace/tables.h"

namespace meshscope::trace {
namespace {

using Clock = std::chrono::steady_clock;

/// SQLite instructions between two looks at the limits.
constexpr int kStride = 200;

/// What one running query has used.
struct Budget {
    QueryLimits limits;
    int64_t steps = 0;
    sqlite3_int64 bytes_before = 0;
    Clock::time_point begin = Clock::now();
    enum class End { none, steps, bytes, cancelled } end = End::none;
};

extern "C" int on_progress(void* data) {
    auto* budget = static_cast<Budget*>(data);
    budget->steps += kStride;
    if (budget->limits.cancel != nullptr && budget->limits.cancel->load())
        budget->end = Budget::End::cancelled;
    else if (budget->steps > budget->limits.steps ||
             Clock::now() - budget->begin > std::chrono::milliseconds(budget->limits.time_ms))
        budget->end = Budget::End::steps;
    else if (sqlite3_memory_used() - budget->bytes_before > budget->limits.bytes)
        budget->end = Budget::End::bytes;
    return budget->end == Budget::End::none ? 0 : 1;
}

/// A table that is empty in a record of a lower level, which does not mean that there was nothing.
struct Recorded {
    std::string_view table;
    const char* view;  ///< what a reader knows it as
    Level least;
};
constexpr Recorded kRecorded[] = {{"event", "collectives, compute", Level::collectives},
                                  {"dependency", "dependencies", Level::collectives},
                                  {"memory_change", "memory", Level::collectives},
                                  {"parameter_run", "parameters", Level::collectives},
                                  {"hop_block", "hops", Level::hops},
                                  {"hop_piece", "hop_pieces", Level::hops},
                                  {"snapshot", "buffers, operands", Level::values},
                                  {"value_block", "buffers, operands", Level::values}};

/// What a query may read of a record, and what it asked for that the record does not hold.
struct Doors {
    Level level = Level::values;
    const Recorded* lacking = nullptr;
};

/// Reading tables and calling functions is all that is allowed; PRAGMA, ATTACH and every change are not. Nor
/// is what was not recorded: unknown is not zero.
extern "C" int on_authorize(void* data, int action, const char* table, const char* name, const char*,
                            const char* view) {
    const auto is = [](const char* text, std::string_view word) { return text != nullptr && text == word; };
    switch (action) {
        case SQLITE_READ: {
            auto& doors = *static_cast<Doors*>(data);
            // One column of a view counts another table's rows: it alone is unknown, and reads as NULL.
            if (is(table, "collectives") && is(name, "hops") && doors.level < Level::hops)
                return SQLITE_IGNORE;
            if (is(table, "hop_block") && is(view, "collectives")) return SQLITE_OK;
            for (const Recorded& each : kRecorded)
                if (is(table, each.table) && each.least > doors.level) {
                    doors.lacking = &each;
                    return SQLITE_DENY;
                }
            return SQLITE_OK;
        }
        case SQLITE_SELECT:
        case SQLITE_RECURSIVE:
            return SQLITE_OK;
        case SQLITE_FUNCTION: {
            const std::string_view function = name != nullptr ? name : "";
            return function == "load_extension" || function == "fts3_tokenizer" || function == "sqlite_log"
                       ? SQLITE_DENY
                       : SQLITE_OK;
        }
        default:
            return SQLITE_DENY;
    }
}

std::string hex(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string text = "x'";
    for (const std::byte b : bytes)
        text.append(
            {kDigits[std::to_integer<std::size_t>(b) >> 4], kDigits[std::to_integer<std::size_t>(b) & 15]});
    return text + "'";
}

Cell cell(const sqlite::Statement& row, int i) {
    using Type = sqlite::Statement::Type;
    switch (row.type(i)) {
        case Type::integer:
            return row.integer(i);
        case Type::real:
            return row.real(i);
        case Type::text:
            return std::string(row.text(i));
        case Type::blob:
            return hex(row.blob(i));
        case Type::null:
            break;
    }
    return std::monostate{};
}

/// What keeping a row costs: texts that are longer than a short string's own buffer lie elsewhere.
int64_t kept_bytes(const std::vector<Cell>& row) {
    auto bytes = static_cast<int64_t>(sizeof row + row.size() * sizeof(Cell));
    for (const Cell& cell : row)
        if (const auto* text = std::get_if<std::string>(&cell);
            text && text->size() >= sizeof(std::string) / 2)
            bytes += static_cast<int64_t>(text->size()) + 1;
    return bytes;
}

/// Statements that change something. SQLite calls some of them mistakes before it asks whether they are
/// allowed
/// ("cannot modify collectives because it is a view"), which is no help.
bool wants_to_change(std::string_view sql) {
    constexpr std::string_view kBlank = " \t\r\n;(";
    const std::size_t begin = std::min(sql.find_first_not_of(kBlank), sql.size());
    std::string word(sql.substr(begin, sql.find_first_of(kBlank, begin) - begin));
    for (char& c : word)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    constexpr std::string_view kWords[] = {"INSERT",    "UPDATE",  "DELETE",  "REPLACE", "CREATE", "DROP",
                                           "ALTER",     "PRAGMA",  "ATTACH",  "DETACH",  "VACUUM", "BEGIN",
                                           "SAVEPOINT", "REINDEX", "ANALYZE", "COMMIT",  "RELEASE"};
    return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

}  // namespace

struct TraceDatabase::Impl {
    sqlite::Database database;
    Doors doors{};

    /// From here on the connection reads only, and only what is small enough.
    void close_doors() {
        int64_t largest = 0;
        for (const char* table : {"hop_block", "value_block"}) {
            sqlite::Statement row(database, std::string("SELECT max(length(data)) FROM ") + table);
            if (row.step()) largest = std::max(largest, row.integer(0));
        }
        sqlite::Statement level(database, "SELECT value FROM meta WHERE key = 'level'");
        if (level.step()) doors.level = static_cast<Level>(level.integer(0));
        sqlite3* db = database.raw();
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH,
                      static_cast<int>(std::max<int64_t>(512 << 10, largest + 4096)));
        sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 100'000);
        sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
        sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 50);
        sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
        database.exec("PRAGMA temp_store = MEMORY");
        sqlite::Statement version(database, "PRAGMA user_version");
        const auto number = version.step() ? static_cast<int32_t>(version.integer(0)) : 0;
        if (register_buffers(db, number) != SQLITE_OK)
            throw std::bad_alloc();  // nothing else can go wrong there
        // A table-valued function declares its columns when it is first used, which the authorizer below
        // would take for a change.
        database.exec("SELECT * FROM json_each(NULL); SELECT * FROM json_tree(NULL)");
        database.exec("PRAGMA query_only = ON");
        sqlite3_set_authorizer(db, on_authorize, &doors);
    }
};

QueryLimits generous_limits(const std::atomic<bool>* cancel) {
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    QueryLimits limits{.rows = kNone, .steps = kNone, .bytes = int64_t{2} << 30, .time_ms = 600'000};
    limits.cancel = cancel;
    return limits;
}

TraceDatabase::TraceDatabase(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
    impl_->close_doors();
}

TraceDatabase::TraceDatabase(const Trace& trace)
    : impl_(std::make_unique<Impl>(Impl{sqlite::Database::in_memory()})) {
    write_tables(impl_->database, trace);
    impl_->close_doors();
}

TraceDatabase TraceDatabase::open(const std::string& path) {
    return TraceDatabase(std::make_unique<Impl>(Impl{open_trace(path).database}));
}

TraceDatabase::TraceDatabase(TraceDatabase&&) noexcept = default;
TraceDatabase& TraceDatabase::operator=(TraceDatabase&&) noexcept = default;
TraceDatabase::~TraceDatabase() = default;

void TraceDatabase::query(std::string_view sql, const QueryLimits& limits,
                          const std::function<void(const std::vector<std::string>&)>& columns,
                          const std::function<void(const std::vector<Cell>&)>& row) const {
    sqlite3* db = impl_->database.raw();
    Budget budget{limits};
    budget.bytes_before = sqlite3_memory_used();
    impl_->doors.lacking = nullptr;
    sqlite3_progress_handler(db, kStride, on_progress, &budget);
    struct Off {  // whatever happens, the handler must not outlive the budget
        sqlite3* db;
        ~Off() { sqlite3_progress_handler(db, 0, nullptr, nullptr); }
    } off{db};
    try {
        sqlite::Statement statement(impl_->database, sql);
        if (statement.raw() == nullptr) throw InvalidArgument(Message{"query.empty", {}});
        if (!is_blank(statement.rest())) {
            // What follows may be a comment only: SQLite decides.
            const sqlite::Statement more(impl_->database, statement.rest());
            if (more.raw() != nullptr) throw InvalidArgument(Message{"query.more_than_one", {}});
        }
        const int count = statement.columns();
        std::vector<std::string> names;
        for (int i = 0; i < count; ++i) names.push_back(statement.column_name(i));
        columns(names);
        std::vector<Cell> cells(static_cast<std::size_t>(count));
        for (int64_t rows = 1; statement.step(); ++rows) {
            if (rows > limits.rows)
                throw InvalidArgument(Message{"query.too_many_rows", {{"rows", limits.rows}}});
            for (int i = 0; i < count; ++i) cells[static_cast<std::size_t>(i)] = cell(statement, i);
            row(cells);
            // A row a step: the machine may need few instructions for each and so seldom look.
            if (limits.cancel != nullptr && limits.cancel->load())
                throw Cancelled(Message{"query.cancelled", {}});
        }
    } catch (const sqlite::Failure& failure) {
        if (const Recorded* const lacking = impl_->doors.lacking)
            throw InvalidArgument(Message{"query.not_recorded",
                                          {{"what", std::string(lacking->view)},
                                           {"level", std::string(name(impl_->doors.level))},
                                           {"least", std::string(name(lacking->least))}}});
        const std::string reason = failure.what();
        if (budget.end == Budget::End::cancelled) throw Cancelled(Message{"query.cancelled", {}});
        if (budget.end == Budget::End::steps)
            throw InvalidArgument(Message{"query.too_long", {{"steps", budget.steps}}});
        if (budget.end == Budget::End::bytes || failure.code() == SQLITE_NOMEM ||
            failure.code() == SQLITE_TOOBIG)
            throw InvalidArgument(Message{"query.too_large", {{"bytes", limits.bytes}}});
        const bool denied =
            failure.code() == SQLITE_AUTH || failure.code() == SQLITE_READONLY || wants_to_change(sql);
        throw InvalidArgument(Message{denied ? "query.not_allowed" : "query.sql", {{"reason", reason}}});
    }
}

QueryResult TraceDatabase::query(std::string_view sql, const QueryLimits& limits) const {
    QueryResult result;
    int64_t bytes = 0;
    query(
        sql, limits, [&](const std::vector<std::string>& columns) { result.columns = columns; },
        [&](const std::vector<Cell>& row) {
            bytes += kept_bytes(row);
            if (bytes > limits.result_bytes)
                throw InvalidArgument(Message{"query.result_too_large", {{"bytes", limits.result_bytes}}});
            result.rows.push_back(row);
        });
    return result;
}

Cell TraceDatabase::value(std::string_view sql, const QueryLimits& limits) const {
    QueryResult result = query(sql, limits);
    if (result.rows.size() != 1 || result.columns.size() != 1)
        throw InvalidArgument(Message{"query.not_one_value",
                                      {{"rows", static_cast<int64_t>(result.rows.size())},
                                       {"columns", static_cast<int64_t>(result.columns.size())}}});
    return std::move(result.rows[0][0]);
}

QueryResult query(const Trace& trace, std::string_view sql, const QueryLimits& limits) {
    return TraceDatabase(trace).query(sql, limits);
}

std::string to_text(const Cell& cell) {
    if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    if (const auto* real = std::get_if<double>(&cell)) {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof digits, *real).ptr;
        std::string shown(digits, end);
        // "2" would read back as an integer.
        if (std::isfinite(*real) && shown.find_first_of(".e") == std::string::npos) shown += ".0";
        return shown;
    }
    return {};
}

}  // namespace meshscope::trace
