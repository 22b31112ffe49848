#include "core/base/diagnosis.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "core/base/call_words.h"
#include "core/base/cause.h"
#include "core/base/json_text.h"

namespace meshscope {
namespace {

using nlohmann::ordered_json;

ordered_json call_json(const CallReport& call) {
    ordered_json made{{"op", call.op},
                      {"group", call.group},
                      {"group_ranks", call.group_ranks},
                      {"sequence", call.sequence},
                      {"step", call.step},
                      {"phase", call.phase},
                      {"source", call.source}};
    if (call.peer >= 0) made[call.op == "send" || call.op == "recv" ? "peer" : "root"] = call.peer;
    if (!call.reduce_op.empty()) made["reduce_op"] = call.reduce_op;
    if (!call.dtype.empty()) {
        made["dtype"] = call.dtype;
        made["in"] = call.in_elements;
        made["out"] = call.out_elements;
    }
    if (!call.in_counts.empty()) made["in_counts"] = call.in_counts;
    if (!call.out_counts.empty()) made["out_counts"] = call.out_counts;
    if (call.reduce_op == "premul_sum") made["factor"] = call.factor;
    if (!call.stream.empty()) made["stream"] = call.stream;
    if (!call.algorithm.empty()) made["algorithm"] = call.algorithm;
    return made;
}

}  // namespace

std::string_view name(DiagnosisKind value) {
    constexpr std::array<std::string_view, 7> kNames{"mismatch", "deadlock", "missing", "lost",
                                                     "stalled",  "corrupt",  "timeout"};
    return kNames.at(static_cast<std::size_t>(value));
}

std::string_view name(RankState value) {
    constexpr std::array<std::string_view, 7> kNames{"unknown",  "running", "in_call", "waiting",
                                                     "finished", "lost",    "stalled"};
    return kNames.at(static_cast<std::size_t>(value));
}

std::string to_json(const Diagnosis& d) {
    const CallReport& call = common_call(d);
    ordered_json made{{"kind", name(d.kind)}, {"certain", d.certain}};
    if (!call.op.empty()) {
        made["group"] = call.group;
        made["group_ranks"] = call.group_ranks;
        made["sequence"] = call.sequence;
    }
    if (!d.differs.empty()) made["differs"] = d.differs;
    made["culprits"] = d.culprits;
    if (!d.cycle.empty()) made["cycle"] = d.cycle;
    made["ranks"] = ordered_json::array();
    for (const RankReport& report : d.ranks) {
        ordered_json one{{"rank", report.rank}, {"state", name(report.state)}};
        if (report.waits_for >= 0) one["waits_for"] = report.waits_for;
        if (!report.missing.empty()) one["missing"] = report.missing;
        if (!report.call.op.empty()) one["call"] = call_json(report.call);
        if (!report.last.op.empty()) one["last"] = call_json(report.last);
        made["ranks"].push_back(std::move(one));
    }
    return json_text(made);
}

std::string failure_json(const std::exception& error) {
    const Message message = message_of(error);
    ordered_json made{{"id", message.id}, {"args", ordered_json::object()}};
    for (const MessageArg& arg : message.args)
        made["args"][arg.name] = std::visit([](const auto& value) { return ordered_json(value); }, arg.value);
    if (const auto* diagnosed = dynamic_cast<const DiagnosedError*>(&error))
        made["diagnosis"] = parse_json<ordered_json>(to_json(diagnosed->diagnosis()));
    return json_text(made);
}

DiagnosedError::DiagnosedError(Diagnosis diagnosis, GlobalRank rank, bool secondary)
    : DiagnosedError(sentence(diagnosis), diagnosis, rank, secondary) {}

DiagnosedError::DiagnosedError(Message message, Diagnosis diagnosis, GlobalRank rank, bool secondary)
    : CommError(std::move(message), rank, secondary), diagnosis_(std::move(diagnosis)) {}

std::shared_ptr<const DiagnosedError> diagnosed(const std::exception_ptr& error) {
    if (!error) return nullptr;
    try {
        std::rethrow_exception(error);
    } catch (const DiagnosedError& found) {
        return std::make_shared<const DiagnosedError>(found);
    } catch (...) {
        return nullptr;
    }
}

}  // namespace meshscope
