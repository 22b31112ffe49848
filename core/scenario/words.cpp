#include "core/scenario/words.h"

#include <array>
#include <string>
#include <vector>

#include "core/base/kinds.h"
#include "core/base/view_words.h"
#include "core/parallel/declaration.h"
#include "core/time/read_profile.h"

namespace meshscope::scenario {
namespace {

constexpr std::array<std::string_view, 4> kModels{"toy", "mlp", "gpt", "llama"};
constexpr std::array<std::string_view, 2> kNorms{"batch", "sync_batch"};
constexpr std::array<std::string_view, 4> kActivations{"silu", "gelu", "gelu_tanh", "relu"};
constexpr std::array<std::string_view, 3> kQkNorms{"none", "head", "width"};
constexpr std::array<std::string_view, 3> kNormPlaces{"before", "after", "both"};
constexpr std::array<std::string_view, 3> kRopeScalings{"none", "linear", "llama3"};
constexpr std::array<std::string_view, 2> kRopePairs{"neighbours", "halves"};
constexpr std::array<std::string_view, 3> kOptimizers{"sgd", "adam", "adamw"};
constexpr std::array<std::string_view, 2> kData{"regression", "tokens"};
constexpr std::array<std::string_view, 4> kLevels{"off", "collectives", "hops", "values"};
constexpr std::array<std::string_view, 2> kSamplers{"contiguous", "distributed"};
constexpr std::array<std::string_view, 2> kCheckpoints{"sharded", "rank0"};
/// kViewNames and what they were called before.
constexpr auto kViewsAndOldNames = [] {
    std::array<std::string_view, kViewNames.size() + 1> all;
    std::ranges::copy(kViewNames, all.begin());
    all.back() = kOldNameOfTensors;
    return all;
}();
constexpr std::array<std::string_view, 7> kFaults{"kill",     "delay", "stall", "corrupt",
                                                  "mismatch", "skip",  "repeat"};
constexpr std::array<std::string_view, 5> kFaultFields{"op", "root", "reduce_op", "dtype", "count"};
constexpr std::array<std::string_view, 12> kCallOps{"broadcast",  "reduce",  "all_reduce",     "gather",
                                                    "all_gather", "scatter", "reduce_scatter", "all_to_all",
                                                    "barrier",    "send",    "recv",           "send_recv"};
constexpr std::array<std::string_view, 3> kCallWorks{"read", "download", "write"};
constexpr std::array<std::string_view, 3> kCallFills{"arange", "rank", "ones"};
constexpr std::array<std::string_view, 4> kQuizzes{"number", "choice", "ranks", "order"};

}  // namespace

std::span<const std::string_view> model_kinds() {
    return kModels;
}
std::span<const std::string_view> train_dtypes() {
    static constexpr std::string_view kTypes[] = {"float32", "bfloat16"};
    return kTypes;
}
std::span<const std::string_view> memory_ops() {
    static constexpr std::string_view kOps[] = {"fused", "pytorch"};
    return kOps;
}
std::span<const std::string_view> memory_pieces() {
    static constexpr std::string_view kPieces[] = {"composed", "kernel"};
    return kPieces;
}
std::span<const std::string_view> norms() {
    return kNorms;
}
std::span<const std::string_view> activations() {
    return kActivations;
}
std::span<const std::string_view> qk_norms() {
    return kQkNorms;
}
std::span<const std::string_view> norm_places() {
    return kNormPlaces;
}
std::span<const std::string_view> rope_scalings() {
    return kRopeScalings;
}
std::span<const std::string_view> rope_pairs() {
    return kRopePairs;
}
std::span<const std::string_view> optimizer_kinds() {
    return kOptimizers;
}
std::span<const std::string_view> data_kinds() {
    return kData;
}
std::span<const std::string_view> data_strategies() {
    static const std::vector<std::string_view> kWords = [] {
        std::vector<std::string_view> words;
        for (const parallel::Declaration* const strategy : parallel::strategies())
            words.push_back(strategy->word);
        return words;
    }();
    return kWords;
}
std::span<const std::string_view> algorithms() {
    // All but `none`, which is no choice, and `own`, which a file's name stands for.
    static const auto kWords = [] {
        std::array<std::string_view, kAlgorithms - 2> words;
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = name(static_cast<Algorithm>(i + 1));
        return words;
    }();
    return kWords;
}
std::span<const std::string_view> profiles() {
    static const std::vector<std::string> kNames = time::profile_names();
    static const std::vector<std::string_view> kWords(kNames.begin(), kNames.end());
    return kWords;
}
bool names_algorithm_file(std::string_view algorithm) {
    return algorithm.ends_with(".toml") || algorithm.ends_with(".xml") ||
           algorithm.find('/') != std::string_view::npos;
}
std::span<const std::string_view> levels() {
    return kLevels;
}
std::span<const std::string_view> samplers() {
    return kSamplers;
}
std::span<const std::string_view> checkpoint_kinds() {
    return kCheckpoints;
}
std::span<const std::string_view> views() {
    return kViewNames;
}
std::span<const std::string_view> words_of_views() {
    return kViewsAndOldNames;
}
std::span<const std::string_view> forms_of(std::string_view view) {
    const auto first = std::ranges::find(kViewNamesOfForms, view);
    const auto count = std::ranges::count(kViewNamesOfForms, view);
    return std::span(kFormNames)
        .subspan(static_cast<std::size_t>(first - kViewNamesOfForms.begin()),
                 static_cast<std::size_t>(count));
}
std::span<const std::string_view> fault_kinds() {
    return kFaults;
}
std::span<const std::string_view> fault_fields() {
    return kFaultFields;
}
std::span<const std::string_view> call_ops() {
    return kCallOps;
}
std::span<const std::string_view> call_works() {
    return kCallWorks;
}
std::span<const std::string_view> call_fills() {
    return kCallFills;
}
std::span<const std::string_view> call_reduce_ops() {
    // All but `none`, which reduces nothing.
    static const auto kWords = [] {
        std::array<std::string_view, 9> words;
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = name(static_cast<ReduceOp>(i + 1));
        return words;
    }();
    return kWords;
}
std::span<const std::string_view> dtypes() {
    static const auto kWords = [] {
        std::array<std::string_view, 6> words;
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = name(static_cast<DType>(i));
        return words;
    }();
    return kWords;
}
std::span<const std::string_view> quiz_kinds() {
    return kQuizzes;
}

}  // namespace meshscope::scenario
