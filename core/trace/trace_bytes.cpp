#include "core/trace/trace_bytes.h"

#include <sqlite3.h>

#include <cstddef>
#include <memory>
#include <new>

#include "core/trace/sqlite.h"
#include "core/trace/tables.h"

namespace meshscope::trace {

std::string trace_bytes(const Trace& trace) {
    try {
        sqlite::Database database = sqlite::Database::in_memory();
        write_tables(database, trace);
        sqlite3_int64 size = 0;
        const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> made(
            sqlite3_serialize(database.raw(), "main", &size, 0), sqlite3_free);
        if (!made) throw std::bad_alloc();
        return {reinterpret_cast<const char*>(made.get()), static_cast<std::size_t>(size)};
    } catch (const sqlite::Failure&) {
        throw std::bad_alloc();  // nothing else can fail in memory
    }
}

}  // namespace meshscope::trace
