#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace meshscope::scenario {

/// Whether this version can do what a key asks for.
enum class KeySupport : unsigned char {
    now,
    later  ///< a key of the format whose strategy or model is not built yet: refused with a message of its
           ///< own
};

/// One key a scenario file may hold. This table is the reader's and the document's (docs/scenario.md; a test
/// compares).
struct Key {
    std::string_view table;  ///< "train"; "" for the top; "lesson.step" for [[lesson.step]]
    std::string_view name;
    std::string_view type;      ///< as the document prints it: "integer", "number", "string" …
    std::string_view fallback;  ///< as the document prints it: "required", "1", "(none)" …
    KeySupport support = KeySupport::now;
};

/// Every key, in the order of the document. Keys whose type is "table" or "tables" open the table called
/// `table.name`.
std::span<const Key> keys();

/// The keys of one table; empty for a table that does not exist.
std::vector<Key> keys_of(std::string_view table);

}  // namespace meshscope::scenario
