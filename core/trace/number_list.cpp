#include "core/trace/number_list.h"

#include <sqlite3.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "core/trace/event.h"
#include "core/trace/schema.h"

namespace meshscope::trace {
namespace {

constexpr int64_t kFloatBytes = 4;

/// Numbers that lie one behind the other in two blobs.
class TwoBlocks {
  public:
    TwoBlocks(sqlite3_value* first, sqlite3_value* second)
        : data_{static_cast<const unsigned char*>(sqlite3_value_blob(first)),
                static_cast<const unsigned char*>(sqlite3_value_blob(second))},
          n_{sqlite3_value_bytes(first) / kFloatBytes, sqlite3_value_bytes(second) / kFloatBytes} {}

    int64_t size() const { return n_[0] + n_[1]; }
    float at(int64_t i) const {
        const unsigned char* const b =
            i < n_[0] ? data_[0] + i * kFloatBytes : data_[1] + (i - n_[0]) * kFloatBytes;
        return std::bit_cast<float>(static_cast<uint32_t>(b[0]) | static_cast<uint32_t>(b[1]) << 8U |
                                    static_cast<uint32_t>(b[2]) << 16U | static_cast<uint32_t>(b[3]) << 24U);
    }

  private:
    const unsigned char* data_[2];
    int64_t n_[2];
};

void append(std::string& text, float number) {
    if (std::isnan(number)) {
        text += "null";
    } else if (std::isinf(number)) {
        text += number > 0 ? "9e999" : "-9e999";
    } else {
        char digits[32];
        text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    }
}

extern "C" void number_list(sqlite3_context* out, int, sqlite3_value** arguments) {
    const TwoBlocks blocks(arguments[0], arguments[1]);
    const int64_t first = sqlite3_value_int64(arguments[2]), n = sqlite3_value_int64(arguments[3]);
    if (first < 0 || n < 0 || n > kMaxRecordedValues || first > blocks.size() - n)
        return sqlite3_result_null(out);
    try {
        std::string text = "[";
        for (int64_t i = 0; i < n; ++i) {
            if (i > 0) text += ", ";
            append(text, blocks.at(first + i));
        }
        text += ']';
        sqlite3_result_text64(out, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(out);  // no exception may pass through SQLite
    }
}

std::string views(int32_t version) {
    const std::string each = std::to_string(kValuesABlock);
    const auto block = [&](const char* next) {
        return "(SELECT v.data FROM value_block v WHERE v.rank = s.rank AND v.ordinal = s.first_value / " +
               each + next + ")";
    };
    const std::string side = "CASE s.kind WHEN 0 THEN 'input' ELSE 'output' END AS side, ";
    const std::string numbers = "s.elements AS elements, number_list(" + block("") + ", " + block(" + 1") +
                                ", s.first_value % " + each + ", s.elements) AS numbers FROM snapshot s";
    const std::string buffers =
        "CREATE TEMP VIEW buffers AS SELECT s.rank AS rank, s.event AS collective, " + side + numbers;
    if (version < 4) return buffers;
    return buffers +
           " WHERE s.operand = 0;"
           "CREATE TEMP VIEW operands AS SELECT s.rank AS rank, s.event AS kernel, "
           "(SELECT text FROM string WHERE id = s.operand) AS operand, " +
           side + "s.\"rows\" AS \"rows\", s.columns AS columns, " + numbers + " WHERE s.operand <> 0";
}

}  // namespace

int register_buffers(sqlite3* db, int32_t version) {
    const int code = sqlite3_create_function_v2(db, "number_list", 4,
                                                SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                                nullptr, number_list, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return code;
    return sqlite3_exec(db, views(version).c_str(), nullptr, nullptr, nullptr);
}

}  // namespace meshscope::trace
