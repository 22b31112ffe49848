#include "core/trace/table_io.h"

#include <cmath>
#include <limits>
#include <utility>

namespace meshscope::trace {
namespace {

std::string insert_statement(const std::string& table, int columns) {
    std::string sql = "INSERT INTO " + table + " VALUES(?";
    for (int i = 1; i < columns; ++i) sql += ",?";
    return sql + ")";
}

using Type = sqlite::Statement::Type;

}  // namespace

void RowSum::add(std::string_view text) {
    tag(3);
    number(text.size());
    flush();
    crc_.add(text.data(), text.size());
}

void RowSum::add(std::span<const std::byte> blob) {
    tag(4);
    number(blob.size());
    flush();
    crc_.add(blob);
}

void RowSum::flush() {
    crc_.add(std::span(buffer_).first(used_));
    used_ = 0;
}

uint32_t RowSum::crc32c() {
    flush();
    return crc_.value();
}

TableWriter::TableWriter(const sqlite::Database& database, const std::string& table, int columns)
    : statement_(database, insert_statement(table, columns)), columns_(columns) {}

TableWriter& TableWriter::null() {
    statement_.bind_null(at_++);
    sum_.null();
    return *this;
}

TableWriter& TableWriter::add(int64_t value) {
    statement_.bind(at_++, value);
    sum_.add(value);
    return *this;
}

TableWriter& TableWriter::add(double value) {
    if (std::isnan(value)) return null();
    statement_.bind(at_++, value);
    sum_.add(value);
    return *this;
}

TableWriter& TableWriter::add(std::string_view text) {
    statement_.bind(at_++, text);
    sum_.add(text);
    return *this;
}

TableWriter& TableWriter::add(std::span<const std::byte> blob) {
    statement_.bind(at_++, blob);
    sum_.add(blob);
    return *this;
}

void TableWriter::end_row() {
    if (at_ != columns_) throw std::logic_error("a row has the wrong number of cells");
    at_ = 0;
    statement_.step();
    sum_.end_row();
}

TableReader::TableReader(const sqlite::Database& database, std::string table, const std::string& order)
    : statement_(database, "SELECT * FROM " + table + " ORDER BY " + order),
      table_(std::move(table)),
      columns_(statement_.columns()) {}

bool TableReader::next_row() {
    if (in_row_) {
        if (at_ != columns_) throw std::logic_error("a row was not read to its end");
        sum_.end_row();
    }
    at_ = 0;
    in_row_ = statement_.step();
    return in_row_;
}

int64_t TableReader::integer() {
    if (statement_.type(at_) != Type::integer) damaged();
    const int64_t value = statement_.integer(at_++);
    sum_.add(value);
    return value;
}

int64_t TableReader::integer(int64_t low, int64_t high) {
    const int64_t value = integer();
    if (value < low || value > high) damaged();
    return value;
}

int32_t TableReader::int32() {
    return static_cast<int32_t>(
        integer(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

bool TableReader::null() {
    if (statement_.type(at_) != Type::null) return false;
    ++at_;
    sum_.null();
    return true;
}

double TableReader::real() {
    if (statement_.type(at_) != Type::real) damaged();
    const double value = statement_.real(at_++);
    sum_.add(value);
    return value;
}

std::string_view TableReader::text() {
    if (statement_.type(at_) != Type::text) damaged();
    const std::string_view value = statement_.text(at_++);
    sum_.add(value);
    return value;
}

std::span<const std::byte> TableReader::blob() {
    if (statement_.type(at_) != Type::blob) damaged();
    const std::span<const std::byte> value = statement_.blob(at_++);
    sum_.add(value);
    return value;
}

void TableReader::skip() {
    switch (statement_.type(at_)) {
        case Type::null:
            null();
            break;
        case Type::integer:
            integer();
            break;
        case Type::real:
            real();
            break;
        case Type::text:
            text();
            break;
        case Type::blob:
            blob();
            break;
    }
}

}  // namespace meshscope::trace
