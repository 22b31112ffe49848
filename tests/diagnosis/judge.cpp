#include "tests/diagnosis/judge.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

namespace meshscope::diagnosis {
namespace {

/// A line of the file that the mistakes stand in, or of that of the calls which they are put together from.
bool is_line_of_a_mistake(const std::string& source) {
    return source.starts_with("tests/diagnosis/mistakes.cpp:") || source.starts_with("tests/diagnosis/calls.h:");
}

/// What is missing, word by word.
class Lacks {
  public:
    void unless(bool holds, const std::string& what) {
        if (!holds) words_ += (words_.empty() ? "" : "; ") + what;
    }
    const std::string& words() const { return words_; }

  private:
    std::string words_;
};

std::string list(const std::vector<int32_t>& numbers) {
    std::ostringstream out;
    for (const int32_t number : numbers) out << ' ' << number;
    return out.str();
}

void judge_mismatch(const Mistake& mistake, const Diagnosis& d, int32_t n, int32_t odd, Lacks& lacks) {
    lacks.unless(std::ranges::find(d.differs, mistake.differs) != d.differs.end(),
                 "does not name " + mistake.differs);
    std::vector<int32_t> expected{odd};
    if (n == 2) expected = {0, 1};
    const bool right = mistake.pair ? d.culprits.size() == 2 : d.culprits == expected;
    lacks.unless(right, "blames" + list(d.culprits));
    for (const RankReport& report : d.ranks) {
        lacks.unless(!report.call.source.empty(), "no line of rank " + std::to_string(report.rank));
        const std::string& op = report.rank == odd ? mistake.odd_op : mistake.right_op;
        lacks.unless(op.empty() || report.call.op == op,
                     "rank " + std::to_string(report.rank) + " in " + report.call.op);
    }
}

void judge_deadlock(const Mistake& mistake, const Diagnosis& d, int32_t n, Lacks& lacks) {
    const auto length = static_cast<int32_t>(d.cycle.size());
    lacks.unless(mistake.ring ? length == mistake.ring(n) : length >= 2, "the ring is" + list(d.cycle));
    for (std::size_t i = 0; i < d.cycle.size(); ++i) {
        const RankReport* const report = report_of(d, d.cycle[i]);
        if (report == nullptr) {
            lacks.unless(false, "no report of rank " + std::to_string(d.cycle[i]));
            continue;
        }
        lacks.unless(report->waits_for == d.cycle[(i + 1) % d.cycle.size()], "whom they wait for");
        lacks.unless(report->state == RankState::waiting, "that they wait");
        lacks.unless(!report->call.op.empty(), "an op");
        lacks.unless(is_line_of_a_mistake(report->call.source), "a line");
    }
    lacks.unless(std::set<int32_t>(d.cycle.begin(), d.cycle.end()).size() == d.cycle.size(), "a ring");
}

void judge_missing(const Diagnosis& d, int32_t odd, Lacks& lacks) {
    lacks.unless(std::ranges::find(d.culprits, odd) != d.culprits.end(), "blames" + list(d.culprits));
    const RankReport* const report = report_of(d, odd);
    lacks.unless(report != nullptr && report->state == RankState::finished, "that the rank has ended");
    bool waited_for = false;
    for (const RankReport& each : d.ranks) waited_for |= each.waits_for == odd && !each.call.op.empty();
    lacks.unless(waited_for, "who waits for it, and in what");
}

/// A process knows its own call, and whom it waits for.
void judge_timeout(const Diagnosis& d, int32_t rank, const Diagnosis* exact, Lacks& lacks) {
    lacks.unless(!d.certain, "that it cannot know");
    const RankReport* const mine = report_of(d, rank);
    if (mine == nullptr || exact == nullptr) return lacks.unless(false, "a report of itself");
    lacks.unless(mine->state == RankState::waiting, "that it waits");
    lacks.unless(d.culprits == std::vector<int32_t>{mine->waits_for}, "blames" + list(d.culprits));
    lacks.unless(mine->waits_for >= 0 && mine->waits_for != rank, "whom it waits for");
    lacks.unless(!mine->call.op.empty() && is_line_of_a_mistake(mine->call.source), "its call");
    // On threads a ring is found while ranks outside of it may still run; those in it are where they stay.
    if (std::ranges::find(exact->cycle, rank) == exact->cycle.end()) return;
    const RankReport& truly = *report_of(*exact, rank);
    lacks.unless(mine->waits_for == truly.waits_for,
                 "waits for" + list({mine->waits_for}) + ", not" + list({truly.waits_for}));
    lacks.unless(mine->call.op == truly.call.op && mine->call.source == truly.call.source,
                 "is in " + mine->call.op + " at " + mine->call.source);
}

}  // namespace

const RankReport* report_of(const Diagnosis& d, int32_t rank) {
    const auto found = std::ranges::find(d.ranks, rank, &RankReport::rank);
    return found == d.ranks.end() ? nullptr : &*found;
}

std::string lacking(const Mistake& mistake, const Diagnosis& d, int32_t n, int32_t odd) {
    Lacks lacks;
    lacks.unless(d.kind == mistake.kind, "is called " + std::string(name(d.kind)));
    lacks.unless(d.certain, "certainty");
    if (!lacks.words().empty()) return lacks.words();
    if (d.kind == DiagnosisKind::mismatch) judge_mismatch(mistake, d, n, odd, lacks);
    if (d.kind == DiagnosisKind::deadlock) judge_deadlock(mistake, d, n, lacks);
    if (d.kind == DiagnosisKind::missing) judge_missing(d, odd, lacks);
    return lacks.words();
}

/// A time-out of its own, or another rank's.
static bool is_timeout(const std::string& words) {
    return words.find("timeout(") != std::string::npos;
}

std::string lacking_on_process(const Mistake& mistake, const Outcome& outcome, int32_t rank, int32_t n,
                               int32_t odd, const Diagnosis* exact) {
    const std::string& words = outcome.words[static_cast<std::size_t>(rank)];
    const auto& told = outcome.told[static_cast<std::size_t>(rank)];
    if (mistake.ends && words.empty()) return "";  // it had nothing more to do
    Lacks lacks;
    const bool ring = mistake.kind == DiagnosisKind::deadlock;
    const bool named = mistake.kind == DiagnosisKind::mismatch ? words.starts_with("diagnosis.mismatch")
                       : ring                                  ? is_timeout(words)
                              : tells_of_missing(words.substr(0, words.find('(')));
    lacks.unless(named, "says: " + words);
    if (told && ring) {
        lacks.unless(told->kind == DiagnosisKind::timeout, "is called " + std::string(name(told->kind)));
        judge_timeout(*told, rank, exact, lacks);
    } else if (told) {
        lacks.unless(lacking(mistake, *told, n, odd).empty(), lacking(mistake, *told, n, odd));
    }
    return lacks.words();
}

std::optional<Diagnosis> on_threads(const Mistake& mistake, int32_t n, int32_t odd) {
    const Outcome exact = run_program("threads", {n}, true, [&](Place& p) { mistake.program(p, odd); });
    for (const auto& told : exact.told)
        if (told) return told;
    return std::nullopt;
}

}  // namespace meshscope::diagnosis
