#include "core/trace/words.h"

namespace meshscope::trace {
namespace {

constexpr std::array<std::string_view, kVocabularies> kNames{"stream", "phase",     "op",      "reduce_op",
                                                             "dtype",  "algorithm", "category"};

template <class Enum>
std::optional<uint8_t> number(std::optional<Enum> value) {
    if (!value) return std::nullopt;
    return static_cast<uint8_t>(*value);
}

}  // namespace

std::string_view name(Vocabulary vocabulary) {
    return kNames[static_cast<std::size_t>(vocabulary)];
}

std::string_view word_of(Vocabulary vocabulary, uint8_t value) {
    switch (vocabulary) {
        case Vocabulary::stream:
            return name(static_cast<Stream>(value));
        case Vocabulary::phase:
            return name(static_cast<Phase>(value));
        case Vocabulary::op:
            return name(static_cast<CollectiveOp>(value));
        case Vocabulary::reduce_op:
            return name(static_cast<ReduceOp>(value));
        case Vocabulary::dtype:
            return name(static_cast<DType>(value));
        case Vocabulary::algorithm:
            return name(static_cast<Algorithm>(value));
        case Vocabulary::category:
            return name(static_cast<MemoryCategory>(value));
    }
    return "unknown";
}

std::optional<uint8_t> value_of(Vocabulary vocabulary, std::string_view word) {
    switch (vocabulary) {
        case Vocabulary::stream:
            return number(parse_stream(word));
        case Vocabulary::phase:
            return number(parse_phase(word));
        case Vocabulary::op:
            return number(parse_collective_op(word));
        case Vocabulary::reduce_op:
            return number(parse_reduce_op(word));
        case Vocabulary::dtype:
            return number(parse_dtype(word));
        case Vocabulary::algorithm:
            if (word == name(Algorithm::automatic)) return std::nullopt;  // a wish, never a record
            return number(parse_algorithm(word));
        case Vocabulary::category:
            return number(parse_memory_category(word));
    }
    return std::nullopt;
}

std::vector<Word> all_words() {
    std::vector<Word> all;
    for (int v = 0; v < kVocabularies; ++v) {
        const auto vocabulary = static_cast<Vocabulary>(v);
        for (uint8_t value = 0; word_of(vocabulary, value) != "unknown"; ++value)
            all.push_back({vocabulary, value});
    }
    return all;
}

std::array<std::vector<int64_t>, kVocabularies> word_numbers() {
    std::array<std::vector<int64_t>, kVocabularies> numbers;
    int64_t next = 0;
    for (const Word& word : all_words()) numbers[static_cast<std::size_t>(word.vocabulary)].push_back(next++);
    return numbers;
}

}  // namespace meshscope::trace
