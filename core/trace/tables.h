#pragma once

#include <string>

#include "core/trace/sqlite.h"
#include "core/trace/trace.h"

namespace meshscope::trace {

/// Every part of a trace in the order in which the file holds it. Writing and reading must agree on it:
/// strings stand before what names them, events before what points at them.
template <class Parts>
void each_part(Parts& parts) {
    parts.meta();
    parts.vocabulary();
    parts.strings();
    parts.mesh();
    parts.groups();
    parts.steps();
    parts.rank_info();
    parts.events();
    parts.dependencies();
    parts.hops();
    parts.pieces();
    parts.values();
    parts.memory();
    parts.parameters();
}

/// Makes schema() in an empty data base and fills it with the trace, in one transaction. Throws
/// sqlite::Failure.
void write_tables(sqlite::Database& database, const Trace& trace);

/// Reads them back. Throws Damage when anything differs from what write_tables wrote, sqlite::Failure when
/// SQLite finds the file corrupt. Does not call validate().
Trace read_tables(const sqlite::Database& database);

/// Opens a file as read_trace() does and keeps it open. Throws what read_trace throws.
struct OpenTrace {
    sqlite::Database database;
    Trace trace;
};
OpenTrace open_trace(const std::string& path);

}  // namespace meshscope::trace
