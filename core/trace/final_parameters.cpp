#include "core/trace/final_parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/json_text.h"

namespace meshscope::trace {
namespace {

using nlohmann::json;

/// The product of the extents; -1 beyond kMostFinalNumbers.
int64_t count(const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (const int64_t extent : shape) {
        if (extent < 0 || extent > kMostFinalNumbers) return -1;
        n *= extent;
        if (n > kMostFinalNumbers) return -1;
    }
    return n;
}

/// The numbers of one parameter; false when it holds something else.
bool read_numbers(const json& from, std::vector<float>& to) {
    for (const json& number : from) {
        if (!number.is_number()) return false;
        const auto value = number.get<double>();
        if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) return false;
        to.push_back(static_cast<float>(value));
    }
    return true;
}

bool read_shape(const json& from, std::vector<int64_t>& to) {
    for (const json& extent : from) {
        const std::optional<int64_t> n = json_whole<int64_t>(extent);
        if (!n) return false;
        to.push_back(*n);
    }
    return true;
}

bool is_parameter(const json& entry) {
    return entry.is_object() && entry.size() == 3 && entry.contains("name") && entry["name"].is_string() &&
           entry.contains("shape") && entry["shape"].is_array() && entry.contains("numbers") &&
           entry["numbers"].is_array();
}

}  // namespace

void keep_parameters(RunInfo& info, std::vector<FinalParameter> parameters) {
    info.parameters.clear();
    int64_t numbers = 0;
    for (const FinalParameter& parameter : parameters) {
        numbers += static_cast<int64_t>(parameter.numbers.size());
        if (numbers > kMostFinalNumbers || !std::all_of(parameter.numbers.begin(), parameter.numbers.end(),
                                                        [](float x) { return std::isfinite(x); }))
            return;
    }
    info.parameters = std::move(parameters);
}

std::string parameters_json(const std::vector<FinalParameter>& parameters) {
    nlohmann::ordered_json root = nlohmann::ordered_json::array();
    for (const FinalParameter& p : parameters) {
        // As doubles: what JSON and SQL read is one, and a float is one exactly.
        nlohmann::ordered_json numbers = nlohmann::ordered_json::array();
        for (const float x : p.numbers) numbers.push_back(static_cast<double>(x));
        root.push_back({{"name", p.name}, {"shape", p.shape}, {"numbers", std::move(numbers)}});
    }
    return json_text(root);
}

std::optional<std::vector<FinalParameter>> parameters_from_json(std::string_view text) {
    const json root = parse_json<json>(text);
    if (!root.is_array() || root.empty()) return std::nullopt;
    std::vector<FinalParameter> found;
    int64_t numbers = 0;
    for (const json& entry : root) {
        FinalParameter p;
        if (!is_parameter(entry) || !read_shape(entry["shape"], p.shape) ||
            !read_numbers(entry["numbers"], p.numbers))
            return std::nullopt;
        p.name = entry["name"].get<std::string>();
        numbers += static_cast<int64_t>(p.numbers.size());
        if (count(p.shape) != static_cast<int64_t>(p.numbers.size()) || numbers > kMostFinalNumbers)
            return std::nullopt;
        found.push_back(std::move(p));
    }
    return found;
}

}  // namespace meshscope::trace
