#include "core/base/recorded_failure.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"

namespace meshscope {
namespace {

using nlohmann::json;

std::optional<MessageValue> value_of(const json& from) {
    if (const auto whole = json_whole<int64_t>(from)) return *whole;
    if (from.is_number()) return from.get<double>();
    if (from.is_string()) return from.get<std::string>();
    if (!from.is_array()) return {};
    std::vector<int64_t> list;
    for (const json& item : from) {
        const auto whole = json_whole<int64_t>(item);
        if (!whole) return {};
        list.push_back(*whole);
    }
    return list;
}

std::optional<DiagnosisKind> kind_of(const json& diagnosis) {
    const auto found = diagnosis.find("kind");
    if (found == diagnosis.end() || !found->is_string()) return {};
    constexpr std::array<DiagnosisKind, 7> kKinds{
        DiagnosisKind::mismatch, DiagnosisKind::deadlock, DiagnosisKind::missing, DiagnosisKind::lost,
        DiagnosisKind::stalled,  DiagnosisKind::corrupt,  DiagnosisKind::timeout};
    for (const DiagnosisKind kind : kKinds)
        if (name(kind) == found->get<std::string>()) return kind;
    return {};
}

std::vector<int32_t> ranks_of(const json& diagnosis) {
    std::vector<int32_t> ranks;
    const auto found = diagnosis.find("culprits");
    if (found == diagnosis.end() || !found->is_array()) return ranks;
    for (const json& item : *found)
        if (const auto rank = json_whole<int32_t>(item); rank && *rank >= 0) ranks.push_back(*rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

}  // namespace

std::optional<RecordedFailure> read_failure(const std::string& text) {
    if (text.empty()) return {};
    const json read = parse_json<json>(text);
    if (!read.is_object()) return {};
    const auto id = read.find("id");
    if (id == read.end() || !id->is_string()) return {};
    RecordedFailure failure;
    failure.message.id = id->get<std::string>();
    if (const auto args = read.find("args"); args != read.end() && args->is_object())
        for (const auto& [name, from] : args->items())
            if (auto value = value_of(from)) failure.message.args.push_back({name, std::move(*value)});
    if (const auto diagnosis = read.find("diagnosis"); diagnosis != read.end() && diagnosis->is_object()) {
        failure.kind = kind_of(*diagnosis);
        failure.culprits = ranks_of(*diagnosis);
    }
    return failure;
}

}  // namespace meshscope
