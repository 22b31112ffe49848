#include "core/base/kinds.h"

#include <array>

namespace meshscope {
namespace {

constexpr std::array<std::string_view, 6> kDTypes{"float32", "bfloat16", "int32",
                                                  "int64",   "uint8",    "float16"};
constexpr std::array<std::string_view, 11> kOps{"broadcast",  "reduce",  "all_reduce",     "gather",
                                                "all_gather", "scatter", "reduce_scatter", "all_to_all",
                                                "send",       "recv",    "barrier"};
constexpr std::array<std::string_view, 10> kReduceOps{"none", "sum",  "product", "min",  "max",
                                                      "avg",  "band", "bor",     "bxor", "premul_sum"};
constexpr std::array<std::string_view, 6> kStreams{"compute",    "all_gather", "reduce_scatter",
                                                   "all_reduce", "copy",       "p2p"};
constexpr std::array<std::string_view, 5> kPhases{"setup", "forward", "backward", "optimizer", "evaluation"};
constexpr std::array<std::string_view, kAlgorithms> kAlgorithmWords{
    "none",
#define MESHSCOPE_ALGORITHM(word) #word,
#include "core/base/algorithms.def"
#undef MESHSCOPE_ALGORITHM
    "auto", "native", "own"};
constexpr std::array<std::string_view, kMemoryCategories> kCategories{
    "parameters",      "sharded_parameters", "unsharded_parameters", "gradients",
    "optimizer_state", "activations",        "communication",        "inputs",
    "temporaries",     "offloaded"};

template <class Enum, std::size_t N>
std::string_view word_of(const std::array<std::string_view, N>& words, Enum value) {
    const auto i = static_cast<std::size_t>(value);
    return i < N ? words[i] : std::string_view("unknown");
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const std::array<std::string_view, N>& words, std::string_view word) {
    for (std::size_t i = 0; i < N; ++i)
        if (words[i] == word) return static_cast<Enum>(i);
    return std::nullopt;
}

}  // namespace

std::string_view name(DType value) {
    return word_of(kDTypes, value);
}
std::string_view name(CollectiveOp value) {
    return word_of(kOps, value);
}
std::string_view name(ReduceOp value) {
    return word_of(kReduceOps, value);
}
std::string_view name(Stream value) {
    return word_of(kStreams, value);
}
std::string_view name(Phase value) {
    return word_of(kPhases, value);
}
std::string_view name(Algorithm value) {
    return word_of(kAlgorithmWords, value);
}
std::string_view name(MemoryCategory value) {
    return word_of(kCategories, value);
}

std::optional<DType> parse_dtype(std::string_view word) {
    return value_of<DType>(kDTypes, word);
}
std::optional<CollectiveOp> parse_collective_op(std::string_view word) {
    return value_of<CollectiveOp>(kOps, word);
}
std::optional<ReduceOp> parse_reduce_op(std::string_view word) {
    return value_of<ReduceOp>(kReduceOps, word);
}
std::optional<Stream> parse_stream(std::string_view word) {
    return value_of<Stream>(kStreams, word);
}
std::optional<Phase> parse_phase(std::string_view word) {
    return value_of<Phase>(kPhases, word);
}
std::optional<Algorithm> parse_algorithm(std::string_view word) {
    return value_of<Algorithm>(kAlgorithmWords, word);
}
std::optional<MemoryCategory> parse_memory_category(std::string_view word) {
    return value_of<MemoryCategory>(kCategories, word);
}

}  // namespace meshscope
