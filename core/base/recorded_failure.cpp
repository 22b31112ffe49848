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

/// Whole numbers from 0 on; others are left out.
std::vector<int32_t> ranks_at(const json& from, const char* key) {
    std::vector<int32_t> ranks;
    const auto found = from.find(key);
    if (found == from.end() || !found->is_array()) return ranks;
    for (const json& item : *found)
        if (const auto rank = json_whole<int32_t>(item); rank && *rank >= 0) ranks.push_back(*rank);
    return ranks;
}

std::vector<int32_t> in_order(std::vector<int32_t> ranks) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

std::string text_at(const json& from, const char* key) {
    const auto found = from.find(key);
    return found != from.end() && found->is_string() ? found->get<std::string>() : "";
}

template <class Whole>
Whole whole_at(const json& from, const char* key, Whole other) {
    const auto found = from.find(key);
    return found == from.end() ? other : json_whole<Whole>(*found).value_or(other);
}

CallReport call_at(const json& from, const char* key) {
    CallReport call;
    const auto found = from.find(key);
    if (found == from.end() || !found->is_object()) return call;
    const json& read = *found;
    call.op = text_at(read, "op");
    call.group = text_at(read, "group");
    call.group_ranks = ranks_at(read, "group_ranks");
    call.sequence = whole_at<int32_t>(read, "sequence", -1);
    call.peer = whole_at<int32_t>(read, read.contains("root") ? "root" : "peer", -1);
    call.reduce_op = text_at(read, "reduce_op");
    call.dtype = text_at(read, "dtype");
    call.in_elements = whole_at<int64_t>(read, "in", 0);
    call.out_elements = whole_at<int64_t>(read, "out", 0);
    call.stream = text_at(read, "stream");
    call.algorithm = text_at(read, "algorithm");
    call.phase = text_at(read, "phase");
    call.step = whole_at<int32_t>(read, "step", -1);
    call.source = text_at(read, "source");
    return call;
}

/// "unknown" also for a state that this version does not know.
RankState state_of(const std::string& word) {
    for (const RankState state : {RankState::running, RankState::in_call, RankState::waiting,
                                  RankState::finished, RankState::lost, RankState::stalled})
        if (name(state) == word) return state;
    return RankState::unknown;
}

std::vector<RankReport> reports_of(const json& diagnosis) {
    std::vector<RankReport> reports;
    const auto found = diagnosis.find("ranks");
    if (found == diagnosis.end() || !found->is_array()) return reports;
    for (const json& item : *found) {
        if (!item.is_object()) continue;
        RankReport report;
        report.rank = whole_at<int32_t>(item, "rank", -1);
        if (report.rank < 0 || (!reports.empty() && reports.back().rank >= report.rank)) continue;
        report.state = state_of(text_at(item, "state"));
        report.waits_for = whole_at<int32_t>(item, "waits_for", -1);
        report.missing = in_order(ranks_at(item, "missing"));
        report.call = call_at(item, "call");
        report.last = call_at(item, "last");
        reports.push_back(std::move(report));
    }
    return reports;
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
        failure.culprits = in_order(ranks_at(*diagnosis, "culprits"));
        if (const auto certain = diagnosis->find("certain"); certain != diagnosis->end())
            failure.certain = !certain->is_boolean() || certain->get<bool>();
        if (const auto differs = diagnosis->find("differs");
            differs != diagnosis->end() && differs->is_array())
            for (const json& aspect : *differs)
                if (aspect.is_string()) failure.differs.push_back(aspect.get<std::string>());
        failure.cycle = ranks_at(*diagnosis, "cycle");
        failure.ranks = reports_of(*diagnosis);
    }
    failure.unrecorded = in_order(ranks_at(read, "unrecorded"));
    return failure;
}

std::string with_unrecorded(const std::string& text, const std::vector<int32_t>& ranks) {
    auto failure = parse_json<nlohmann::ordered_json>(text);
    if (!failure.is_object()) return text;
    failure["unrecorded"] = ranks;
    return json_text(failure);
}

}  // namespace meshscope
