#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/kinds.h"

namespace meshscope::trace {

/// The vocabularies of a file: its table `word` lists them, rows name a word by its number. So a file reads
/// the same when a later version has more words, and SQL can show them.
enum class Vocabulary : uint8_t { stream, phase, op, reduce_op, dtype, algorithm, category };
inline constexpr int kVocabularies = 7;
std::string_view name(Vocabulary vocabulary);

/// The word of the enumerator `value` of a vocabulary; "unknown" beyond the last.
std::string_view word_of(Vocabulary vocabulary, uint8_t value);
/// The enumerator of a word; nothing when this version does not know it.
std::optional<uint8_t> value_of(Vocabulary vocabulary, std::string_view word);

/// One row of the table.
struct Word {
    Vocabulary vocabulary;
    uint8_t value;
};

/// Every word this version knows; its place in the list is its number in the files it writes.
std::vector<Word> all_words();

/// [vocabulary][enumerator] → number, for all_words().
std::array<std::vector<int64_t>, kVocabularies> word_numbers();

}  // namespace meshscope::trace
