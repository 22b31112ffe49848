#pragma once

#include <cstdint>

struct sqlite3;

namespace meshscope::trace {

/// What a connection for queries has beyond the tables and views of the file: the views `buffers`, one row
/// for each side of a collective whose numbers were kept, and (from version 4 of the schema on) `operands`,
/// one row for each operand of a kernel, and the function they are made of, number_list(block, next_block,
/// first, elements), which writes float32s (little endian, from number `first` of the first block on) as a
/// JSON array: "[1, 2.5]"; NaN as null, infinities as 9e999 and -9e999, as SQLite's own JSON has them. NULL
/// where the blocks do not reach so far. Temporary views: nothing of them is in any file. Returns SQLite's
/// result code.
int register_buffers(sqlite3* db, int32_t version);

}  // namespace meshscope::trace
