#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/declaration.h"

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

/// The enumerator whose word is `word`: its place in `words`, which name() of the enum spells.
template <class Enum>
Enum enumerator(std::span<const std::string_view> words, std::string_view word) {
    return static_cast<Enum>(std::ranges::find(words, word) - words.begin());
}

/// The words of the keys that take one of a few.
std::span<const std::string_view> model_kinds();
std::span<const std::string_view> norms();  ///< in nn::Norm's order, without `none`
std::span<const std::string_view> optimizer_kinds();
std::span<const std::string_view> data_kinds();
std::span<const std::string_view> data_strategies();  ///< the words of parallel::strategies()
std::span<const std::string_view> algorithms();
/// Whether [parallel] algorithm names a file, not one of these: a path, or a name that ends in .toml or .xml.
bool names_algorithm_file(std::string_view algorithm);
std::span<const std::string_view> tp_plans();
std::span<const std::string_view> context_methods();  ///< in ContextMethod's order
std::span<const std::string_view> levels();
std::span<const std::string_view> checkpoint_kinds();
std::span<const std::string_view> samplers();
/// In the order of nn::Recompute.
std::span<const std::string_view> recompute_kinds();
std::span<const std::string_view> views();
/// What the view `tensors` was called before it showed more than the rows that ranks keep; lessons may still.
inline constexpr std::string_view kOldNameOfTensors = "parameters";
/// views(), and the old name.
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
