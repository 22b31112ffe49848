#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/scenario/section.h"
#include "core/scenario/variant.h"

namespace meshscope::scenario {

/// [[lesson.variant]]: which keys each changes and how it must end. `root` is the whole file, whose keys they
/// are. Reports unknown keys with the nearest one, keys that cannot be taken away because they are not there,
/// ids twice, and variants that change nothing. Profiles' files are relative to `folder`.
std::vector<Variant> read_variants(const Section& root, const Section& lesson, const std::string& folder);

/// Changes the table of a scenario file as its variant `id` says, and takes the lesson out of it.
void apply_variant(toml::table& root, const std::string& id);

/// The `id` of an entry of a list, "" when it cannot be used (reported). `seen` holds those of its list; with
/// `free_text` any words will do.
std::string read_id(const Section& entry, std::set<std::string>& seen, bool free_text = false);

/// [[lesson.number]] tables of `section`: ids, and the SQL or the figure of the modelled clock that each is.
/// Reports keys that mean nothing to a number of its kind. Profiles' files are relative to `folder`.
std::vector<LessonNumber> read_number_tables(const Section& section, const std::string& folder);

}  // namespace meshscope::scenario
