#include "core/trace/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "core/trace/hop_rows.h"

namespace meshscope::trace::sqlite {
namespace {

/// `path` as a file: URI, so that flags can be given with it.
std::string uri(const std::string& path, const char* flags) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out = "file:";
    // An empty authority keeps "//host/…" from being read as one.
    if (path.starts_with('/')) out += "//";
    for (const char c : path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("/._-~").find(c) != std::string_view::npos;
        const auto byte = static_cast<unsigned char>(c);
        if (plain)
            out += c;
        else
            (out += '%').append({kHex[byte >> 4], kHex[byte & 15]});
    }
    return out + "?" + flags;
}

/// Where the disk is full SQLite has a code for it and forgets errno; of other failures of the system it may
/// leave it to errno.
Failure failure_of(sqlite3* db, int code) {
    const int last = errno, primary = code & 0xFF;
    int system_error = 0;
    if (primary == SQLITE_FULL) system_error = ENOSPC;
    if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) {
        system_error = sqlite3_system_errno(db);
        if (system_error == 0) system_error = last;
    }
    return {code, sqlite3_errmsg(db), system_error};
}

}  // namespace

Database Database::open(const std::string& name, int flags) {
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
    Database database(raw);
    if (code != SQLITE_OK && raw == nullptr) throw Failure(code, sqlite3_errstr(code));
    if (code != SQLITE_OK) throw failure_of(raw, code);
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMaxLength);
    sqlite3_limit(raw, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    // A column that is misspelt in double quotes is an error, not a text.
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
    register_hop_rows(raw);
    return database;
}

Database Database::in_memory() {
    return open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY);
}

Database Database::for_writing(const std::string& path) {
    Database database = open(uri(path, "mode=rw"), SQLITE_OPEN_READWRITE);
    // DEFENSIVE forbids journal_mode=OFF, which is only dangerous for files one wants to keep.
    sqlite3_db_config(database.db_, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
    return database;
}

Database Database::read_only(const std::string& path) {
    Database database = open(uri(path, "mode=ro&immutable=1"), SQLITE_OPEN_READONLY);
    database.exec("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY");
    return database;
}

Database::Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}

Database& Database::operator=(Database&& other) noexcept {
    std::swap(db_, other.db_);
    return *this;
}

Database::~Database() {
    sqlite3_close_v2(db_);
}

void Database::exec(const std::string& sql) {
    const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) throw failure_of(db_, code);
}

void Database::close() {
    const int code = sqlite3_close(db_);
    if (code != SQLITE_OK) throw failure_of(db_, code);
    db_ = nullptr;
}

Statement::Statement(const Database& database, std::string_view sql) : db_(database.raw()) {
    const char* tail = sql.data();
    check(sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement_, &tail));
    rest_ = sql.substr(static_cast<std::size_t>(tail - sql.data()));
}

Statement::~Statement() {
    sqlite3_finalize(statement_);
}

void Statement::check(int code) const {
    if (code != SQLITE_OK) throw failure_of(db_, code);
}

void Statement::bind_null(int i) {
    check(sqlite3_bind_null(statement_, i + 1));
}
void Statement::bind(int i, int64_t value) {
    check(sqlite3_bind_int64(statement_, i + 1, value));
}
void Statement::bind(int i, double value) {
    check(sqlite3_bind_double(statement_, i + 1, value));
}
void Statement::bind(int i, std::string_view text) {
    // A null pointer would bind NULL, so "" needs an address.
    const char* data = text.data() != nullptr ? text.data() : "";
    check(sqlite3_bind_text64(statement_, i + 1, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Statement::bind(int i, std::span<const std::byte> blob) {
    if (blob.empty())
        check(sqlite3_bind_zeroblob(statement_, i + 1, 0));
    else
        check(sqlite3_bind_blob64(statement_, i + 1, blob.data(), blob.size(), SQLITE_STATIC));
}

bool Statement::step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) {
        const Failure failure(code, sqlite3_errmsg(db_));
        sqlite3_reset(statement_);
        throw failure;
    }
    check(sqlite3_reset(statement_));
    return false;
}

int Statement::columns() const {
    return sqlite3_column_count(statement_);
}

std::string Statement::column_name(int i) const {
    const char* name = sqlite3_column_name(statement_, i);
    return name != nullptr ? name : "";
}

Statement::Type Statement::type(int i) const {
    switch (sqlite3_column_type(statement_, i)) {
        case SQLITE_INTEGER:
            return Type::integer;
        case SQLITE_FLOAT:
            return Type::real;
        case SQLITE_TEXT:
            return Type::text;
        case SQLITE_BLOB:
            return Type::blob;
        default:
            return Type::null;
    }
}

int64_t Statement::integer(int i) const {
    return sqlite3_column_int64(statement_, i);
}
double Statement::real(int i) const {
    return sqlite3_column_double(statement_, i);
}

std::string_view Statement::text(int i) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, i));
    if (data == nullptr) return {};
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, i))};
}

std::span<const std::byte> Statement::blob(int i) const {
    const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, i));
    if (data == nullptr) return {};
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, i))};
}

}  // namespace meshscope::trace::sqlite
