#include "core/base/call_words.h"

#include <cstddef>

#include "core/base/joined.h"
#include "core/base/rank_set.h"

namespace meshscope {
namespace {

/// What is shown of a list of counts; JSON has all.
constexpr std::size_t kShownCounts = 8;

/// "2, 2, 3": counts by group rank; of many, equal ones in a row as "2 ×5".
std::string counts_text(const std::vector<int64_t>& counts) {
    const bool fold = counts.size() > kShownCounts;
    std::vector<std::string> parts;
    for (std::size_t first = 0; first < counts.size();) {
        std::size_t end = first + 1;
        while (fold && end < counts.size() && counts[end] == counts[first]) ++end;
        parts.push_back(std::to_string(counts[first]) +
                        (end - first > 1 ? " ×" + std::to_string(end - first) : ""));
        first = end;
    }
    if (parts.size() > kShownCounts) {
        parts.resize(kShownCounts - 1);
        parts.push_back("… (" + std::to_string(counts.size()) + ")");
    }
    return joined(parts);
}

/// Whether a group has no name but the list of its ranks, as one that new_group made of a list.
bool is_named_by_ranks(const CallReport& call) {
    return call.group.starts_with('[');
}

}  // namespace

std::string group_text(const CallReport& call) {
    return is_named_by_ranks(call) ? "[" + ranks_text(call.group_ranks) + "]" : call.group;
}

std::string origin(const CallReport& call) {
    std::string text;
    if (!call.phase.empty()) text += ", step " + std::to_string(call.step) + " " + call.phase;
    if (!call.source.empty()) text += ", " + call.source;
    return text;
}

const CallReport& common_call(const Diagnosis& d) {
    static const CallReport kNone;
    for (const RankReport& report : d.ranks)
        if (!report.call.op.empty()) return report.call;
    return kNone;
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
    if (!call.in_counts.empty()) add("in counts [" + counts_text(call.in_counts) + "]");
    if (!call.out_counts.empty()) add("out counts [" + counts_text(call.out_counts) + "]");
    return call.op + "(" + inside + ")";
}

std::string describe(const CallReport& call) {
    if (call.op.empty()) return signature(call);
    return signature(call) + " #" + std::to_string(call.sequence) + " of " + group_text(call) +
           (is_named_by_ranks(call) ? "" : " [" + ranks_text(call.group_ranks) + "]") + origin(call);
}

}  // namespace meshscope
