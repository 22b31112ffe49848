#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// One value of a result: NULL, INTEGER, REAL or TEXT. A BLOB is given as text, x'0AFF'.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

struct QueryResult {
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows;
};

/// What a query may use. The defaults suit lessons and checks, whose SQL comes from files of unknown people.
struct QueryLimits {
    int64_t rows = 10'000;
    int64_t steps = 200'000'000;  ///< instructions of SQLite's virtual machine; a second or a few
    int64_t bytes = 256 << 20;    ///< of memory
    int64_t time_ms = 30'000;
    int64_t result_bytes = 64 << 20;  ///< of rows that a QueryResult keeps; a result handed over has none
    /// Looked at all the time; once it is true the query ends with Cancelled "query.cancelled".
    const std::atomic<bool>* cancel = nullptr;
};

/// No limits but memory and time, for queries that a user types.
QueryLimits generous_limits(const std::atomic<bool>* cancel = nullptr);

/// A trace as a data base to ask: the tables and views that docs/trace.md describes. Nothing can be changed
/// through it, no file and no other data base can be reached. One thread at a time.
class TraceDatabase {
  public:
    /// A copy in memory. Cost: about 2 µs an event.
    explicit TraceDatabase(const Trace& trace);
    /// A file, verified as read_trace() does and then asked where it lies. Throws what read_trace throws.
    static TraceDatabase open(const std::string& path);
    TraceDatabase(TraceDatabase&&) noexcept;
    TraceDatabase& operator=(TraceDatabase&&) noexcept;
    ~TraceDatabase();

    /// Runs one SELECT. Throws InvalidArgument
    ///   "query.sql" {reason}            SQLite does not understand it
    ///   "query.not_allowed" {reason}    anything but reading this trace
    ///   "query.not_recorded" {what, level, least}  the record's level does not hold it
    ///   "query.empty", "query.more_than_one"
    ///   "query.too_many_rows" {rows}, "query.too_long" {steps}, "query.too_large" {bytes}: a limit was
    ///   reached; "query.result_too_large" {bytes} likewise
    /// and Cancelled "query.cancelled" when limits.cancel was set.
    QueryResult query(std::string_view sql, const QueryLimits& limits = {}) const;

    /// The same, handing over row by row, so that no result is too large; `columns` comes once, before the
    /// first row.
    void query(std::string_view sql, const QueryLimits& limits,
               const std::function<void(const std::vector<std::string>&)>& columns,
               const std::function<void(const std::vector<Cell>&)>& row) const;

    /// The only value of a query's only row. Throws also "query.not_one_value" {rows, columns}.
    Cell value(std::string_view sql, const QueryLimits& limits = {}) const;

  private:
    struct Impl;
    explicit TraceDatabase(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// One query of a trace in memory. Several: make a TraceDatabase.
QueryResult query(const Trace& trace, std::string_view sql, const QueryLimits& limits = {});

/// A cell as people read it: NULL is "", reals have the fewest digits that read back the same.
std::string to_text(const Cell& cell);

}  // namespace meshscope::trace
