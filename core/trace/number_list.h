#pragma once

struct sqlite3;

namespace meshscope::trace {

/// What a connection for queries has beyond the tables and views of the file: the view `buffers`, one row for
/// each side of a collective whose numbers were kept, and the function it is made of,
/// number_list(block, next_block, first, elements), which writes float32s (little endian, from number `first`
/// of the first block on) as a JSON array: "[1, 2.5]"; NaN as null, infinities as 9e999 and -9e999, as
/// SQLite's own JSON has them. NULL where the blocks do not reach so far. A temporary view: nothing of it is
/// in any file. Returns SQLite's result code.
int register_buffers(sqlite3* db);

}  // namespace meshscope::trace
