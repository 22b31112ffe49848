#include "core/base/diagnosis.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "core/base/cause.h"

namespace meshscope {
namespace {

using nlohmann::ordered_json;

template <class Numbers>
std::string joined(const Numbers& numbers, const char* separator = ", ") {
    std::string text;
    for (const auto n : numbers) text += (text.empty() ? "" : separator) + std::to_string(n);
    return text;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

const RankReport* report_of(const Diagnosis& d, int32_t rank) {
    for (const RankReport& report : d.ranks)
        if (report.rank == rank) return &report;
    return nullptr;
}

bool is_culprit(const Diagnosis& d, int32_t rank) {
    return std::find(d.culprits.begin(), d.culprits.end(), rank) != d.culprits.end();
}

/// The call that the diagnosis is about: the first that somebody is in.
const CallReport& common_call(const Diagnosis& d) {
    static const CallReport kNone;
    for (const RankReport& report : d.ranks)
        if (!report.call.op.empty()) return report.call;
    return kNone;
}

/// "0, 2 made X; 1 made Y" without the word: "0, 2: X; 1: Y".
std::string calls(const Diagnosis& d) {
    std::string text;
    for (const RankReport& report : d.ranks)
        text += (text.empty() ? "" : "; ") + std::to_string(report.rank) + ": " + describe(report.call);
    return text;
}

Message mismatch_sentence(const Diagnosis& d) {
    const CallReport& call = common_call(d);
    Message message{"diagnosis.mismatch_tie",
                    {{"group", call.group},
                     {"members", "[" + joined(call.group_ranks) + "]"},
                     {"sequence", int64_t{call.sequence}},
                     {"differs", joined(d.differs)}}};
    std::vector<int32_t> rest;
    const RankReport* odd = nullptr;
    const RankReport* usual = nullptr;
    for (const RankReport& report : d.ranks) {
        if (is_culprit(d, report.rank)) {
            if (odd == nullptr) odd = &report;
        } else {
            rest.push_back(report.rank);
            if (usual == nullptr) usual = &report;
        }
    }
    if (odd == nullptr || usual == nullptr) {
        message.args.push_back({"calls", calls(d)});
        return message;
    }
    message.id = "diagnosis.mismatch";
    message.args.push_back({"odd", joined(d.culprits)});
    message.args.push_back({"n_odd", static_cast<int64_t>(d.culprits.size())});
    message.args.push_back({"odd_call", describe(odd->call)});
    message.args.push_back({"rest", joined(rest)});
    message.args.push_back({"n_rest", static_cast<int64_t>(rest.size())});
    message.args.push_back({"rest_call", describe(usual->call)});
    return message;
}

Message deadlock_sentence(const Diagnosis& d) {
    std::string waits, details;
    for (std::size_t i = 0; i < d.cycle.size(); ++i) {
        const int32_t rank = d.cycle[i], next = d.cycle[(i + 1) % d.cycle.size()];
        const std::string edge = std::to_string(rank) + " → " + std::to_string(next);
        waits += (i == 0 ? "" : ", ") + edge;
        const RankReport* report = report_of(d, rank);
        details += (i == 0 ? "" : "; ") + edge + ": " + describe(report ? report->call : CallReport{});
    }
    std::vector<int32_t> ring = d.cycle;
    if (!ring.empty()) ring.push_back(ring.front());
    return {"comm.deadlock", {{"waits", waits}, {"cycle", joined(ring, " → ")}, {"details", details}}};
}

/// Who waits for the culprit, in which call, and what the culprit did last.
Message waited_for_sentence(const Diagnosis& d, const char* id) {
    int64_t waiter = -1;
    std::string doing = describe(CallReport{}), last = doing;
    const int32_t peer = d.culprits.empty() ? -1 : d.culprits.front();
    for (const RankReport& report : d.ranks)
        if (report.waits_for >= 0 && is_culprit(d, report.waits_for)) {
            waiter = report.rank;
            // A send has ended when its numbers were copied; that they are taken is waited for later.
            doing = describe(report.call.op.empty() ? report.last : report.call);
            break;
        }
    if (const RankReport* report = report_of(d, peer))
        last = describe(report->call.op.empty() ? report->last : report->call);
    return {id,
            {{"rank", waiter},
             {"peer", int64_t{peer}},
             {"peers", joined(d.culprits)},
             {"n_peers", static_cast<int64_t>(d.culprits.size())},
             {"doing", doing},
             {"last", last}}};
}

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

std::string signature(const CallReport& call) {
    if (call.op.empty()) return "–";
    std::string inside;
    const auto add = [&inside](const std::string& word) { inside += (inside.empty() ? "" : ", ") + word; };
    if (call.peer >= 0)
        add((call.op == "send" ? "to " : call.op == "recv" ? "from " : "root ") + std::to_string(call.peer));
    if (!call.reduce_op.empty()) add(call.reduce_op);
    if (call.reduce_op == "premul_sum") add("factor " + to_text(MessageValue{call.factor}));
    if (!call.dtype.empty()) {
        add(call.dtype);
        add("in " + std::to_string(call.in_elements));
        add("out " + std::to_string(call.out_elements));
    }
    if (!call.in_counts.empty()) add("in counts [" + joined(call.in_counts) + "]");
    if (!call.out_counts.empty()) add("out counts [" + joined(call.out_counts) + "]");
    return call.op + "(" + inside + ")";
}

std::string describe(const CallReport& call) {
    if (call.op.empty()) return signature(call);
    std::string text = signature(call) + " #" + std::to_string(call.sequence) + " of " + call.group + " [" +
                       joined(call.group_ranks) + "]";
    if (!call.phase.empty()) text += ", step " + std::to_string(call.step) + " " + call.phase;
    if (!call.source.empty()) text += ", " + call.source;
    return text;
}

Message sentence(const Diagnosis& d) {
    switch (d.kind) {
        case DiagnosisKind::mismatch:
            return mismatch_sentence(d);
        case DiagnosisKind::deadlock:
            return deadlock_sentence(d);
        case DiagnosisKind::missing:
            return waited_for_sentence(d, "comm.peer_finished");
        case DiagnosisKind::lost:
            return waited_for_sentence(d, "diagnosis.lost");
        case DiagnosisKind::stalled:
            return waited_for_sentence(d, "diagnosis.stalled");
        case DiagnosisKind::corrupt:
            return waited_for_sentence(d, "diagnosis.corrupt");
        case DiagnosisKind::timeout:
            break;
    }
    return waited_for_sentence(d, "diagnosis.timeout");
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
        if (!report.call.op.empty()) one["call"] = call_json(report.call);
        if (!report.last.op.empty()) one["last"] = call_json(report.last);
        made["ranks"].push_back(std::move(one));
    }
    return made.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string failure_json(const std::exception& error) {
    const Message message = message_of(error);
    ordered_json made{{"id", message.id}, {"args", ordered_json::object()}};
    for (const MessageArg& arg : message.args)
        made["args"][arg.name] = std::visit([](const auto& value) { return ordered_json(value); }, arg.value);
    if (const auto* diagnosed = dynamic_cast<const DiagnosedError*>(&error))
        made["diagnosis"] = ordered_json::parse(to_json(diagnosed->diagnosis()));
    return made.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
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
