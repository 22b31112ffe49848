#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/crc32c.h"
#include "core/trace/sqlite.h"

namespace meshscope::trace {

/// The checksum of a table: CRC-32C over every cell of every row in primary-key order. A cell is one tag byte
/// and, by tag: 0 null, nothing; 1 integer, 8 bytes; 2 real, 8 bytes (IEEE 754); 3 text and 4 blob, length (8
/// bytes), then the bytes; a row ends with tag 5. Integers are little endian.
class RowSum {
  public:
    void null() { tag(0); }
    void add(int64_t value) {
        tag(1);
        number(static_cast<uint64_t>(value));
    }
    void add(double value) {
        tag(2);
        number(std::bit_cast<uint64_t>(value));
    }
    void add(std::string_view text);
    void add(std::span<const std::byte> blob);
    void end_row() {
        tag(5);
        ++rows_;
    }
    uint32_t crc32c();
    int64_t rows() const { return rows_; }

  private:
    /// A tag with a number behind it is the longest cell that is not summed up at once.
    static constexpr std::size_t kLongest = 9;
    void tag(unsigned char which) {
        if (used_ + kLongest > buffer_.size()) flush();
        buffer_[used_++] = static_cast<std::byte>(which);
    }
    /// After tag(), which has seen to the room.
    void number(uint64_t bits) {
        for (int i = 0; i < 8; ++i)  // compilers make one store of it
            buffer_[used_ + static_cast<std::size_t>(i)] = static_cast<std::byte>((bits >> (8 * i)) & 0xFFU);
        used_ += 8;
    }
    void flush();
    std::array<std::byte, 4096> buffer_;  ///< the first `used_` are not in the sum yet
    std::size_t used_ = 0;
    Crc32c crc_;
    int64_t rows_ = 0;
};

/// Writes the rows of one table with one prepared statement, and sums them up. Cells come in the order of the
/// columns.
class TableWriter {
  public:
    TableWriter(const sqlite::Database& database, const std::string& table, int columns);

    TableWriter& null();
    TableWriter& add(int64_t value);
    TableWriter& add(double value);  ///< NaN is stored as NULL, as SQLite does
    TableWriter& add(std::string_view text);
    TableWriter& add(std::span<const std::byte> blob);
    void end_row();
    RowSum& sum() { return sum_; }

  private:
    sqlite::Statement statement_;
    int columns_;
    int at_ = 0;
    RowSum sum_;
};

/// What is wrong with a table: its name.
struct Damage {
    std::string section;
};

/// Reads the rows of one table in primary-key order and sums them up. Every cell is read or skipped, in the
/// order of the columns; a cell of another type or out of range throws Damage.
class TableReader {
  public:
    TableReader(const sqlite::Database& database, std::string table, const std::string& order);

    bool next_row();
    int64_t integer();
    /// A number from `low` to `high`.
    int64_t integer(int64_t low, int64_t high);
    int32_t int32();
    bool null();  ///< true and consumed when the cell is NULL
    double real();
    std::string_view text();
    std::span<const std::byte> blob();
    void skip();  ///< a cell that is derived from others: summed up, not looked at
    [[noreturn]] void damaged() const { throw Damage{table_}; }
    RowSum& sum() { return sum_; }

  private:
    sqlite::Statement statement_;
    std::string table_;
    int columns_;
    int at_ = 0;
    bool in_row_ = false;
    RowSum sum_;
};

}  // namespace meshscope::trace
