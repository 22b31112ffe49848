#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/variant.h"

namespace meshscope::sandbox {

/// One key with another value: dotted, as it stands in the file (mesh.shape, [2, 3]); "" takes it away.
/// Of an array of tables (faults.rank) its first is meant, and is made when there is none.
using Change = scenario::VariantChange;

/// The text of a scenario with some keys changed: everything else stays as it was written, comments and all.
/// Tables that become empty stay. Throws InputError where `text` is no TOML, InvalidArgument
/// ("sandbox.no_value") where a value is none. Cost: the text is parsed a few times a change.
std::string changed_text(std::string_view text, const std::vector<Change>& changes);

/// The text without what speaks of one run: lesson, quizzes, checks; the comments right above them go too.
/// Throws InputError where `text` is no TOML.
std::string without_lesson(std::string_view text);

/// Which of the two a saved file is.
enum class SaveForm : unsigned char {
    whole,  ///< as it was written, comments and order too
    brief   ///< only what is not said by a default; in the order of docs/scenario.md, without comments
};

/// What is saved of a scenario's text: without lesson; its relative paths, which were meant from
/// `from_folder`, still lead to the same files from `to_folder`. Throws InputError where `text` is no TOML.
std::string saved_text(std::string_view text, SaveForm form, const std::string& from_folder,
                       const std::string& to_folder);

}  // namespace meshscope::sandbox
