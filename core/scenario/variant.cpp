#include "core/scenario/variant.h"

#include <sstream>

#include "core/base/toml_text.h"
#include "core/scenario/read_table.h"
#include "core/scenario/readers.h"

namespace meshscope::scenario {

Scenario changed_scenario(const Scenario& scenario, const Variant& variant) {
    toml::table table = parse_toml(scenario.source, scenario.path);
    apply_variant(table, variant.id);
    std::ostringstream source;
    source << table;
    Scenario changed = read_table(table, scenario.path, source.str());
    // Without its steps it is no lesson, but it is run as one.
    if (!changed.checked && !scenario.steps_of_lesson.empty()) changed.checked = true;
    return changed;
}

std::set<std::string> number_names(const Scenario& scenario) {
    std::set<std::string> names;
    for (const LessonNumber& number : scenario.numbers) names.insert(number.id);
    for (const Variant& variant : scenario.variants)
        for (const LessonNumber& number : variant.numbers) names.insert(variant.id + "." + number.id);
    return names;
}

std::string variant_of(std::string_view number) {
    const std::size_t dot = number.find('.');
    return dot == std::string_view::npos ? "" : std::string(number.substr(0, dot));
}

}  // namespace meshscope::scenario
