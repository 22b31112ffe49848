#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/event.h"

struct sqlite3;

namespace meshscope::trace {

/// The hops of one collective on one rank, packed: kHopBytes for each, little endian, in this order
///
///     offset  size  field                offset  size  field
///          0     4  round                    24     8  offset
///          4     4  src                      32     8  elements
///          8     4  dst                      40     8  bytes
///         12     4  chunk                    48     8  t_begin_ns
///         16     4  reduces (0 or 1)         56     8  t_end_ns
///         20     4  n_pieces                 64     8  values
///
/// All are signed two's complement. The event is not in it: the row that holds the blob names it. Nor is
/// where the pieces stand: they follow each other as the hops do.
inline constexpr std::size_t kHopBytes = 72;

/// Appends `hops` to `blob`.
void pack_hops(std::span<const Hop> hops, std::vector<std::byte>& blob);

/// The hop that begins at `bytes` (kHopBytes of them), of event `event`. Does not judge the numbers.
Hop unpack_hop(const std::byte* bytes, int32_t event);

/// Gives a connection the table-valued function hop_rows(blob): one row a hop, columns ordinal, round, src,
/// dst, chunk, reduces, offset, elements, bytes, t_begin_ns, t_end_ns, first_value. Bytes after the last
/// whole hop are ignored. Returns SQLite's result code.
int register_hop_rows(sqlite3* db);

}  // namespace meshscope::trace
