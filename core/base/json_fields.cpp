#include "core/base/json_fields.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/base/json_text.h"
#include "core/base/text.h"

namespace meshscope {
namespace {

/// As "type.…" of the catalogue spells them.
std::string_view type_name(const nlohmann::json& value) {
    switch (value.type()) {
        case nlohmann::json::value_t::object:
            return "table";
        case nlohmann::json::value_t::array:
            return "array";
        case nlohmann::json::value_t::string:
            return "string";
        case nlohmann::json::value_t::boolean:
            return "boolean";
        case nlohmann::json::value_t::number_float:
            return "float";
        default:
            return "integer";
    }
}

std::string text_of(double value) {
    std::ostringstream out;
    out << value;
    return plain_exponent(out.str());
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& object, std::string file, std::vector<Diagnostic>& found,
                       std::string within)
    : object_(&object), file_(std::move(file)), found_(&found), within_(std::move(within)) {}

const nlohmann::json* JsonFields::node(std::string_view field) const {
    const auto found = object_->find(std::string(field));
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonFields::has(std::string_view field) const {
    return node(field) != nullptr;
}

bool JsonFields::is_false(std::string_view field) const {
    const nlohmann::json* const value = node(field);
    return value != nullptr && *value == false;
}

void JsonFields::report(Message message, Message hint) const {
    found_->push_back({std::move(message), {file_, 0, 0, -1}, std::move(hint)});
}

void JsonFields::wrong_type(std::string_view field, std::string_view wanted,
                            const nlohmann::json& found) const {
    report(
        {"scenario.wrong_type",
         {{"key", full(field)}, {"wanted", std::string(wanted)}, {"found", std::string(type_name(found))}}});
}

bool JsonFields::require(std::string_view field, std::string_view wanted_id) const {
    if (has(field)) return true;
    report({"config.missing", {{"field", full(field)}}}, {std::string(wanted_id), {}});
    return false;
}

std::optional<int64_t> JsonFields::whole(std::string_view field, int64_t least, int64_t most) const {
    const nlohmann::json* const value = node(field);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer()) {
        wrong_type(field, "integer", *value);
        return std::nullopt;
    }
    const std::optional<int64_t> n = json_whole<int64_t>(*value);
    if (n && *n >= least && *n <= most) return n;
    report({"scenario.out_of_range", {{"key", full(field)}, {"value", value->dump()}}},
           {"scenario.hint.range", {{"least", least}, {"most", most}}});
    return std::nullopt;
}

std::optional<double> JsonFields::number(std::string_view field, double above, double most) const {
    const nlohmann::json* const value = node(field);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) {
        wrong_type(field, "number", *value);
        return std::nullopt;
    }
    const auto x = value->get<double>();
    if (x > above && x <= most) return x;
    report({"scenario.out_of_range", {{"key", full(field)}, {"value", text_of(x)}}},
           {"scenario.hint.range_above", {{"least", text_of(above)}, {"most", text_of(most)}}});
    return std::nullopt;
}

std::optional<bool> JsonFields::boolean(std::string_view field) const {
    const nlohmann::json* const value = node(field);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    wrong_type(field, "boolean", *value);
    return std::nullopt;
}

std::optional<std::string> JsonFields::text(std::string_view field) const {
    const nlohmann::json* const value = node(field);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return value->get<std::string>();
    wrong_type(field, "string", *value);
    return std::nullopt;
}

std::optional<std::vector<std::string>> JsonFields::texts(std::string_view field) const {
    const nlohmann::json* const value = node(field);
    if (value == nullptr) return std::nullopt;
    std::vector<std::string> all;
    bool fine = value->is_array();
    if (fine)
        for (const nlohmann::json& each : *value) {
            fine = fine && each.is_string();
            if (fine) all.push_back(each.get<std::string>());
        }
    if (fine) return all;
    wrong_type(field, "array of strings", *value);
    return std::nullopt;
}

std::optional<JsonFields> JsonFields::object(std::string_view field) const {
    const nlohmann::json* const value = node(field);
    if (value == nullptr) return std::nullopt;
    if (value->is_object()) return JsonFields(*value, file_, *found_, full(field) + ".");
    wrong_type(field, "table", *value);
    return std::nullopt;
}

}  // namespace meshscope
