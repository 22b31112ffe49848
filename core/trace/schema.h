#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace meshscope::trace {

/// "MScp" in the SQLite header: what `file` and SQLite's own tools see.
inline constexpr int32_t kApplicationId = 0x4D536370;
/// The schema's version, in the SQLite header as user_version. Grows with every change of schema(). 2 added
/// what each rank keeps of the parameters, 3 the pieces of hops that carry several, 4 the
/// operands of kernels among the snapshots.
inline constexpr int32_t kSchemaVersion = 4;
/// Numbers of a rank in one row of value_block: 256 KiB.
inline constexpr std::size_t kValuesABlock = 65536;

/// The statements that make a trace's tables and views, in order, as SQLite stores them. A file whose schema
/// is not this text, word by word, is damaged or made by someone else: nothing of it is run. `version`: as
/// files of that version have it.
std::vector<std::string> schema(int32_t version = kSchemaVersion);

/// The tables that carry data, in the order they are written; each has a checksum under its name.
std::vector<std::string> sections(int32_t version = kSchemaVersion);

}  // namespace meshscope::trace
