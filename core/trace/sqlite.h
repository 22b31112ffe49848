#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace meshscope::trace::sqlite {

/// SQLite said no. Only within this module: its callers turn it into the error that fits.
class Failure : public std::runtime_error {
  public:
    Failure(int code, const std::string& text, int system_error = 0)
        : std::runtime_error(text), code_(code), system_error_(system_error) {}
    int code() const { return code_; }
    /// errno, where it was the system that said no; else 0.
    int system_error() const { return system_error_; }

  private:
    int code_, system_error_;
};

/// A connection. Move-only; closes itself. hop_rows() (see hop_rows.h) is registered on every one.
class Database {
  public:
    /// A new data base in memory.
    static Database in_memory();
    /// A new data base in the empty file `path`: no journal and no syncing, because the file is thrown away
    /// when writing fails.
    static Database for_writing(const std::string& path);
    /// An existing file that nobody changes, opened as untrusted: no locks, no extra files, nothing of its
    /// schema runs.
    static Database read_only(const std::string& path);

    Database(Database&& other) noexcept;
    Database& operator=(Database&& other) noexcept;
    ~Database();

    /// Runs statements that give no rows. Throws Failure.
    void exec(const std::string& sql);
    /// Closes and reports what closing flushed. Throws Failure.
    void close();
    sqlite3* raw() const { return db_; }
    explicit operator bool() const { return db_ != nullptr; }

  private:
    explicit Database(sqlite3* db) : db_(db) {}
    static Database open(const std::string& name, int flags);
    sqlite3* db_;
};

/// A prepared statement; `sql` must outlive rest(). Parameters and columns count from 0. All calls throw
/// Failure.
class Statement {
  public:
    Statement(const Database& database, std::string_view sql);
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement();

    void bind_null(int i);
    void bind(int i, int64_t value);
    void bind(int i, double value);
    /// The bytes must stay until step() returns.
    void bind(int i, std::string_view text);
    void bind(int i, std::span<const std::byte> blob);

    /// True: a row is there. False: at the end; the statement is reset and may be bound and run again.
    bool step();

    enum class Type : uint8_t { null, integer, real, text, blob };
    int columns() const;
    std::string column_name(int i) const;
    Type type(int i) const;
    int64_t integer(int i) const;
    double real(int i) const;
    /// Valid until the next step().
    std::string_view text(int i) const;
    std::span<const std::byte> blob(int i) const;
    /// Null when the SQL was blank.
    sqlite3_stmt* raw() const { return statement_; }
    /// What stood behind the first statement.
    std::string_view rest() const { return rest_; }

  private:
    void check(int code) const;
    sqlite3* db_;
    sqlite3_stmt* statement_ = nullptr;
    std::string_view rest_;
};

/// No text, blob or row of a trace is longer: a lying length in a hostile file cannot ask for more.
inline constexpr int kMaxLength = 64 << 20;

}  // namespace meshscope::trace::sqlite
