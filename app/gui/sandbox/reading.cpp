#include "app/gui/sandbox/reading.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "app/gui/sandbox/edit_text.h"
#include "app/gui/sandbox/toml_text.h"
#include "core/base/toml_text.h"
#include "core/scenario/readers.h"

namespace meshscope::sandbox {
namespace {

/// Where a key and its value stand.
struct Place {
    std::string key;
    toml::source_region name, value;
};

bool before(const toml::source_position& a, const toml::source_position& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
}
bool holds(const toml::source_region& region, const toml::source_position& at) {
    return !before(at, region.begin) && before(at, region.end);
}

/// All keys, tables before what is in them; of an array of tables the first.
void collect(const toml::table& table, const std::string& path, std::vector<Place>& places,
             std::map<std::string, std::string>& values) {
    for (const auto& [key, node] : table) {
        const std::string full = (path.empty() ? "" : path + ".") + std::string(key.str());
        places.push_back({full, key.source(), node.source()});
        if (const toml::table* child = node.as_table()) {
            collect(*child, full, places, values);
            continue;
        }
        values[full] = value_text(node);
        const toml::array* array = node.as_array();
        if (array != nullptr && !array->empty() && (*array)[0].is_table())
            collect(*(*array)[0].as_table(), full, places, values);
    }
}

/// The innermost key at whose name or value the mistake stands; else the one that its message names.
std::string key_of(const std::vector<Place>& places, const Diagnostic& diagnostic) {
    const toml::source_position at{static_cast<toml::source_index>(std::max(0, diagnostic.position.line)),
                                   static_cast<toml::source_index>(std::max(0, diagnostic.position.column))};
    std::string found;
    if (at.line > 0)
        for (const Place& place : places)
            if (holds(place.value, at) || holds(place.name, at)) {
                // The whole of a table is no place of its own: a key that is missing in it is said there.
                if (place.key.size() >= found.size()) found = place.key;
            }
    if (found.find('.') != std::string::npos) return found;
    const MessageValue* named = diagnostic.message.find("key");
    const std::string* key = named != nullptr ? std::get_if<std::string>(named) : nullptr;
    return key != nullptr && key->find('.') != std::string::npos ? *key : "";
}

/// Of what only predictions take; a run refuses it too (run::plan_run()), but of a file that is edited it is
/// told at its key.
void refuse_predicted_only(const scenario::Scenario& scenario, const toml::table& root,
                           const std::string& path) {
    if (scenario.ops.ops == nn::Ops::fused) return;
    const toml::source_position at = root["memory"]["ops"].node()->source().begin;
    throw InputError(
        {{{"run.memory_ops", {}}, {path, static_cast<int>(at.line), static_cast<int>(at.column), -1}, {}}});
}

std::vector<Place> places_of(const toml::table& root) {
    std::vector<Place> places;
    std::map<std::string, std::string> values;
    collect(root, "", places, values);
    return places;
}

}  // namespace

const std::string& Reading::value(const std::string& key) const {
    static const std::string kNone;
    const auto found = values.find(key);
    return found == values.end() ? kNone : found->second;
}

Reading read_text(std::string_view text, const std::string& path) {
    Reading reading;
    std::vector<Place> places;
    try {
        toml::table root = scenario::parse_table(text, path);
        const bool was_lesson = root["lesson"]["step"].is_array();
        root.erase("lesson");
        root.erase("quiz");
        root.erase("check");
        collect(root, "", places, reading.values);
        scenario::Scenario scenario = scenario::read_table(root, path, without_lesson(text));
        // Without its steps it is no lesson, but it is run as one.
        if (!scenario.checked && was_lesson) scenario.checked = true;
        reading.read = std::make_shared<const scenario::Scenario>(std::move(scenario));
        refuse_predicted_only(*reading.read, root, path);
        reading.scenario = reading.read;
    } catch (const InputError& error) {
        for (const Diagnostic& diagnostic : error.diagnostics())
            reading.mistakes.push_back({key_of(places, diagnostic), diagnostic});
    } catch (const Error& error) {
        reading.mistakes.push_back({"", {error.message(), {path, 0, 0, -1}, {}}});
    }
    return reading;
}

Mistake locate(std::string_view text, const Diagnostic& diagnostic) {
    try {
        return {key_of(places_of(parse_toml(text, "")), diagnostic), diagnostic};
    } catch (const InputError&) {
        return {"", diagnostic};
    }
}

}  // namespace meshscope::sandbox
