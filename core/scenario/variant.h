#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/time/profile.h"

namespace meshscope::scenario {

struct Scenario;
struct Estimated;

/// A number that a lesson's texts speak of, asked of a run: of its record by SQL, or of its modelled clock;
/// or estimated of a model that no run here can hold.
struct LessonNumber {
    std::string id, sql;
    SourcePosition at = {};  ///< where the SQL stands, or the id where there is none
    std::string modelled =
        {};                ///< what of the modelled clock: one of modelled_figures(); "": the SQL's answer
    int32_t rank = 0;      ///< of whom, where a figure is a rank's
    int32_t decimals = 1;  ///< shown of a figure
    std::optional<time::Profile> hardware = {};  ///< of that clock; none: the scenario's
    std::shared_ptr<const Estimated> estimate = {};  ///< instead of both; estimated.h
};

/// One key of the scenario that a variant changes.
struct VariantChange {
    std::string key;    ///< dotted, as in mesh.shape
    std::string value;  ///< as TOML: "[2, 3]"; "" = the key is taken away
};

/// A lesson's scenario with some keys changed, to be run too: what breaks, and what a learner may change.
struct Variant {
    std::string id;                      ///< "break", "change" …
    std::vector<VariantChange> changes;  ///< what is taken away, then what is set
    std::string ends;  ///< the message id of the error it must end with; "": it runs to its end
    std::vector<LessonNumber> numbers;  ///< of the changed run; {{break.gathers}} in the texts
    SourcePosition at = {};             ///< where it stands in the file
};

/// The scenario as its variant changes it: the same file with the variant's keys set and taken away, read as
/// any scenario is; without lesson, questions and checks, which speak of the unchanged run. Its calls are
/// checked where the lesson's are. Throws InputError as parse_scenario does, mistakes standing where the
/// variant wrote them. Cost: reading the file once more.
Scenario changed_scenario(const Scenario& scenario, const Variant& variant);

/// What {{…}} may name in a lesson's texts: its own numbers, and those of its variants as {{break.gathers}}.
std::set<std::string> number_names(const Scenario& scenario);

/// "break" of {{break.gathers}}; "" for a number of the lesson's own run.
std::string variant_of(std::string_view number);

}  // namespace meshscope::scenario
