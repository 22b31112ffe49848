// What a diagnosis says to a person: one sentence of each kind.
#include <algorithm>
#include <array>
#include <utility>

#include "core/base/call_words.h"
#include "core/base/diagnosis.h"
#include "core/base/joined.h"
#include "core/base/rank_set.h"

namespace meshscope {
namespace {

/// What a sentence shows of a list of calls, or of waits; JSON has all.
constexpr std::size_t kShown = 8;

/// "0 → 1 → 2 → 0"; the middle of a long ring is left out.
std::string ring_text(const std::vector<int32_t>& cycle) {
    constexpr std::size_t kLongest = 12, kFirst = 6, kLast = 2;
    std::string text;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        if (cycle.size() > kLongest && i == kFirst) {
            text += "… → ";
            i = cycle.size() - kLast;
        }
        text += std::to_string(cycle[i]) + " → ";
    }
    return cycle.empty() ? text : text + std::to_string(cycle.front());
}

const RankReport* report_of(const Diagnosis& d, int32_t rank) {
    for (const RankReport& report : d.ranks)
        if (report.rank == rank) return &report;
    return nullptr;
}

bool is_culprit(const Diagnosis& d, int32_t rank) {
    return std::find(d.culprits.begin(), d.culprits.end(), rank) != d.culprits.end();
}

/// Whether a rank waits for a culprit.
bool is_waited_for(const Diagnosis& d) {
    return std::ranges::any_of(d.ranks, [&](const RankReport& report) {
        return report.waits_for >= 0 && is_culprit(d, report.waits_for);
    });
}

bool is_same_turn(const CallReport& a, const CallReport& b) {
    return a.group == b.group && a.sequence == b.sequence && a.group_ranks == b.group_ranks;
}

/// Some ranks that make the same call, and that call in words.
struct Callers {
    std::vector<int32_t> ranks;
    std::string call;
};

/// Who makes which call, of the culprits or of the others; a call of the turn that is spoken of does not name
/// its group and number again.
std::vector<Callers> callers(const Diagnosis& d, const CallReport& turn, bool culprits) {
    std::vector<Callers> all;
    for (const RankReport& report : d.ranks) {
        if (is_culprit(d, report.rank) != culprits) continue;
        const std::string text = is_same_turn(report.call, turn)
                                     ? signature(report.call) + origin(report.call)
                                     : describe(report.call);
        const auto known =
            std::find_if(all.begin(), all.end(), [&](const Callers& each) { return each.call == text; });
        if (known == all.end())
            all.push_back({{report.rank}, text});
        else
            known->ranks.push_back(report.rank);
    }
    return all;
}

std::vector<int32_t> ranks_of(const std::vector<Callers>& all) {
    std::vector<int32_t> ranks;
    for (const Callers& each : all) ranks.insert(ranks.end(), each.ranks.begin(), each.ranks.end());
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

/// "0, 2: X; 1: Y".
std::string calls_text(const std::vector<Callers>& all) {
    std::string text;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all.size() > kShown && i + 1 == kShown) return text + "; …";
        text += (text.empty() ? "" : "; ") + ranks_text(all[i].ranks) + ": " + all[i].call;
    }
    return text;
}

/// Whether the calls of two ranks meet, and nothing is said of the other members: a message's, or calls of
/// different groups.
bool concerns_two(const Diagnosis& d, const CallReport& call) {
    return d.ranks.size() == 2 && (call.group_ranks.size() != 2 || call.op == "send" || call.op == "recv");
}

/// The odd ones first, each kind of call once: with two of 128 ranks astray one wants to know which two.
Message mismatch_sentence(const Diagnosis& d) {
    const CallReport& call = common_call(d);
    if (concerns_two(d, call))
        return {"diagnosis.mismatch_two",
                {{"first", int64_t{d.ranks[0].rank}},
                 {"second", int64_t{d.ranks[1].rank}},
                 {"differs", joined(d.differs)},
                 {"calls", std::to_string(d.ranks[0].rank) + ": " + describe(d.ranks[0].call) + "; " +
                               std::to_string(d.ranks[1].rank) + ": " + describe(d.ranks[1].call)}}};
    Message message{"diagnosis.mismatch_tie",
                    {{"group", group_text(call)},
                     {"members", rank_list(call.group_ranks)},
                     {"n_members", static_cast<int64_t>(call.group_ranks.size())},
                     {"sequence", int64_t{call.sequence}},
                     {"differs", joined(d.differs)}}};
    const std::vector<Callers> odd = callers(d, call, true), usual = callers(d, call, false);
    if (odd.empty() || usual.empty()) {
        message.args.push_back({"calls", calls_text(odd.empty() ? usual : odd)});
        return message;
    }
    const std::vector<int32_t> rest = ranks_of(usual);
    // A rooted op's own call differs on its root; odd ones may differ from each other.
    const auto in_words = [](const std::vector<Callers>& all) {
        return all.size() == 1 ? all[0].call : "(" + calls_text(all) + ")";
    };
    message.id = "diagnosis.mismatch";
    message.args.push_back({"odd", rank_list(d.culprits)});
    message.args.push_back({"n_odd", static_cast<int64_t>(d.culprits.size())});
    message.args.push_back({"odd_call", in_words(odd)});
    message.args.push_back({"rest", rank_list(rest)});
    message.args.push_back({"n_rest", static_cast<int64_t>(rest.size())});
    message.args.push_back({"rest_call", in_words(usual)});
    return message;
}

Message deadlock_sentence(const Diagnosis& d) {
    std::string waits, details;
    for (std::size_t i = 0; i < d.cycle.size(); ++i) {
        const int32_t rank = d.cycle[i], next = d.cycle[(i + 1) % d.cycle.size()];
        const std::string edge = std::to_string(rank) + " → " + std::to_string(next);
        waits += (i == 0 ? "" : ", ") + edge;
        if (d.cycle.size() > kShown && i + 1 >= kShown) {
            if (i + 1 == kShown) details += "; …";
            continue;
        }
        const RankReport* report = report_of(d, rank);
        details += (i == 0 ? "" : "; ") + edge + ": " + describe(report ? report->call : CallReport{});
    }
    return {"comm.deadlock", {{"waits", waits}, {"cycle", ring_text(d.cycle)}, {"details", details}}};
}

/// What a rank was doing, or did last; "" where that is not known.
std::string doings(const Diagnosis& d, int32_t rank) {
    const RankReport* const report = report_of(d, rank);
    if (report == nullptr) return "";
    const CallReport& call = report->call.op.empty() ? report->last : report->call;
    return call.op.empty() ? "" : describe(call);
}

/// The same of several, each with its number: "2: X; 3: Y".
std::string doings(const Diagnosis& d, const std::vector<int32_t>& ranks) {
    if (ranks.size() == 1) return doings(d, ranks.front());
    std::vector<Callers> all;
    for (const int32_t rank : ranks) {
        std::string text = doings(d, rank);
        if (text.empty()) continue;
        const auto known = std::ranges::find(all, text, &Callers::call);
        if (known == all.end())
            all.push_back({{rank}, std::move(text)});
        else
            known->ranks.push_back(rank);
    }
    return calls_text(all);
}

/// With what was known last of a rank, if anything: {known, last}.
Message with_last(Message message, std::string last) {
    message.args.push_back({"known", int64_t{last.empty() ? 0 : 1}});
    message.args.push_back({"last", std::move(last)});
    return message;
}

/// Who waits for the culprit, in which call, and what the culprit did last.
Message waited_for_sentence(const Diagnosis& d, const char* id) {
    int64_t waiter = -1;
    std::string doing = describe(CallReport{});
    const int32_t peer = d.culprits.empty() ? -1 : d.culprits.front();
    for (const RankReport& report : d.ranks)
        if (report.waits_for >= 0 && is_culprit(d, report.waits_for)) {
            waiter = report.rank;
            doing = describe(report.call);
            break;
        }
    return with_last({id,
                      {{"rank", waiter},
                       {"peer", int64_t{peer}},
                       {"peers", rank_list(d.culprits)},
                       {"n_peers", static_cast<int64_t>(d.culprits.size())},
                       {"doing", doing}}},
                     doings(d, peer));
}

/// Ranks that wait in vain in the same call for the same ones.
struct Wait {
    std::vector<int32_t> ranks, missing;
    std::string op, call;  ///< the call in words
};

std::vector<Wait> waits_in_vain(const Diagnosis& d) {
    std::vector<Wait> waits;
    for (const RankReport& report : d.ranks) {
        std::vector<int32_t> missing = report.missing;
        if (missing.empty() && report.waits_for >= 0 && is_culprit(d, report.waits_for)) missing = d.culprits;
        if (missing.empty()) continue;
        std::string call = describe(report.call);
        const auto same = std::ranges::find_if(
            waits, [&](const Wait& wait) { return wait.missing == missing && wait.call == call; });
        if (same == waits.end())
            waits.push_back({{report.rank}, std::move(missing), report.call.op, std::move(call)});
        else
            same->ranks.push_back(report.rank);
    }
    return waits;
}

const char* id_of_wait(const Wait& wait) {
    if (wait.op == "send") return "comm.never_received";
    return wait.op == "recv" ? "comm.never_sent" : "comm.peer_finished";
}

/// One wait, or several that have nothing to do with each other.
Message missing_sentence(const Diagnosis& d) {
    const std::vector<Wait> waits = waits_in_vain(d);
    if (waits.empty()) return waited_for_sentence(d, "comm.peer_finished");
    if (waits.size() == 1) {
        const Wait& wait = waits.front();
        return with_last({id_of_wait(wait),
                          {{"rank", int64_t{wait.ranks.front()}},
                           {"waiting", rank_list(wait.ranks)},
                           {"peer", int64_t{wait.missing.front()}},
                           {"peers", rank_list(wait.missing)},
                           {"n_peers", static_cast<int64_t>(wait.missing.size())},
                           {"doing", wait.call}}},
                         doings(d, wait.missing));
    }
    std::vector<int32_t> waiting;
    std::string details;
    for (std::size_t i = 0; i < waits.size(); ++i) {
        waiting.insert(waiting.end(), waits[i].ranks.begin(), waits[i].ranks.end());
        if (waits.size() > kShown && i + 1 >= kShown) {
            if (i + 1 == kShown) details += "; …";
            continue;
        }
        details += (i == 0 ? "" : "; ") + ranks_text(waits[i].ranks) + " → " + ranks_text(waits[i].missing) +
                   ": " + waits[i].call;
    }
    std::ranges::sort(waiting);
    return with_last({"comm.peers_finished",
                      {{"waiting", rank_list(waiting)},
                       {"peers", rank_list(d.culprits)},
                       {"n_peers", static_cast<int64_t>(d.culprits.size())},
                       {"details", details}}},
                     doings(d, d.culprits));
}

}  // namespace

Message sentence(const Diagnosis& d) {
    switch (d.kind) {
        case DiagnosisKind::mismatch:
            return mismatch_sentence(d);
        case DiagnosisKind::deadlock:
            return deadlock_sentence(d);
        case DiagnosisKind::missing:
            return missing_sentence(d);
        case DiagnosisKind::lost:
            return waited_for_sentence(d, "diagnosis.lost");
        case DiagnosisKind::stalled:
            return waited_for_sentence(d, is_waited_for(d) ? "diagnosis.stalled" : "diagnosis.stalled_alone");
        case DiagnosisKind::corrupt:
            return waited_for_sentence(d, "diagnosis.corrupt");
        case DiagnosisKind::timeout:
            break;
    }
    return waited_for_sentence(d, "diagnosis.timeout");
}

bool tells_of_missing(const std::string& id) {
    constexpr std::array<std::string_view, 4> kIds{"comm.peer_finished", "comm.peers_finished",
                                                   "comm.never_received", "comm.never_sent"};
    return std::ranges::find(kIds, id) != kIds.end();
}

bool is_seen_between_ranks(const std::string& id) {
    constexpr std::array<std::string_view, 7> kIds{
        "comm.deadlock",        "comm.calls_differ", "comm.size_mismatch", "comm.operation_timeout",
        "comm.receipt_timeout", "mpi.timeout",       "nccl.timeout"};
    return id.starts_with("diagnosis.") || tells_of_missing(id) || std::ranges::find(kIds, id) != kIds.end();
}

}  // namespace meshscope
