#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace meshscope::scenario {

/// The enumerator whose word is `word`: its place in `words`, which name() of the enum spells.
template <class Enum>
Enum enumerator(std::span<const std::string_view> words, std::string_view word) {
    return static_cast<Enum>(std::ranges::find(words, word) - words.begin());
}

/// The words of the keys that take one of a few.
std::span<const std::string_view> model_kinds();
std::span<const std::string_view> norms();  ///< in nn::Norm's order, without `none`
std::span<const std::string_view> activations();    ///< in nn::Activation's order
std::span<const std::string_view> qk_norms();       ///< in nn::QkNorm's order
std::span<const std::string_view> norm_places();    ///< in nn::NormPlace's order
std::span<const std::string_view> rope_scalings();  ///< in tensor::RopeScaling::Kind's order
std::span<const std::string_view> rope_pairs();
std::span<const std::string_view> optimizer_kinds();
std::span<const std::string_view> data_kinds();
std::span<const std::string_view> data_strategies();  ///< the words of parallel::strategies()
std::span<const std::string_view> algorithms();
/// Whether [parallel] algorithm names a file, not one of these: a path, or a name that ends in .toml or .xml.
bool names_algorithm_file(std::string_view algorithm);
/// The hardware profiles inside the program.
std::span<const std::string_view> profiles();
std::span<const std::string_view> levels();
std::span<const std::string_view> checkpoint_kinds();
std::span<const std::string_view> train_dtypes();
std::span<const std::string_view> memory_ops();     ///< in nn::Ops' order
std::span<const std::string_view> memory_pieces();  ///< in nn::Pieces' order
std::span<const std::string_view> samplers();
std::span<const std::string_view> views();
/// views(), and what they were called before.
std::span<const std::string_view> words_of_views();
/// The forms of a view that a lesson's step can name, by core/base/forms.def; none where it has one alone.
std::span<const std::string_view> forms_of(std::string_view view);
std::span<const std::string_view> quiz_kinds();
std::span<const std::string_view> call_ops();
std::span<const std::string_view> call_works();
std::span<const std::string_view> call_fills();       ///< in CallFill's order, without `values`
std::span<const std::string_view> call_reduce_ops();  ///< in ReduceOp's order, without `none`
std::span<const std::string_view> dtypes();           ///< in DType's order
std::span<const std::string_view> fault_kinds();      ///< in comm::FaultKind's order
std::span<const std::string_view> fault_fields();     ///< in comm::FaultField's order

}  // namespace meshscope::scenario
