#include "core/run/dry.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/diagnosis.h"

namespace meshscope::run {
namespace {

using trace::Event;

/// What all members of a collective must say alike, in the words of a diagnosis. A buffer's size is told by
/// the side that every member has.
using Signature = std::array<std::pair<const char*, int64_t>, 5>;

Signature signature_of(const Event& e) {
    int64_t elements = e.in_elements;
    if (e.op == CollectiveOp::broadcast) elements = std::max(e.in_elements, e.out_elements);
    if (e.op == CollectiveOp::scatter || e.op == CollectiveOp::recv) elements = e.out_elements;
    return {{{"op", is_point_to_point(e.op) ? -1 : static_cast<int64_t>(e.op)},
             {"root", is_point_to_point(e.op) ? -1 : e.peer},
             {"reduce_op", static_cast<int64_t>(e.reduce_op)},
             {"dtype", e.op == CollectiveOp::barrier ? -1 : static_cast<int64_t>(e.dtype)},
             {"count", elements}}};
}

class Walk {
  public:
    explicit Walk(const trace::Trace& trace)
        : trace_(trace), next_(trace.ranks.size()), at_(trace.ranks.size()) {
        for (std::size_t r = 0; r < trace.ranks.size(); ++r)
            for (const Event& e : trace.ranks[r].events)
                if (e.kind == trace::EventKind::collective) next_[r].push_back(&e);
    }

    void run() {
        // Whoever was met may let others go on; ranks that are looked at again are few.
        std::vector<int32_t> ready;
        for (int32_t r = 0; r < size(); ++r) ready.push_back(r);
        while (!ready.empty()) {
            const int32_t rank = ready.back();
            ready.pop_back();
            const Event* const mine = current(rank);
            if (mine == nullptr) continue;
            if (is_eager(*mine)) {
                eager_[{mine->group, rank, mine->peer}].push_back(mine);
                ++at_[static_cast<std::size_t>(rank)];
                ready.insert(ready.end(), {rank, mine->peer});  // who may stand there already
                continue;
            }
            const std::vector<int32_t> met = meet(rank, *mine);
            for (const int32_t each : met) ++at_[static_cast<std::size_t>(each)];
            ready.insert(ready.end(), met.begin(), met.end());
        }
        explain();
    }

  private:
    int32_t size() const { return static_cast<int32_t>(next_.size()); }
    /// The call that a rank is in; null when it has made all.
    const Event* current(int32_t rank) const {
        const auto r = static_cast<std::size_t>(rank);
        return at_[r] < next_[r].size() ? next_[r][at_[r]] : nullptr;
    }
    const std::vector<int32_t>& members(const Event& e) const {
        return trace_.groups[static_cast<std::size_t>(e.group)].ranks;
    }
    bool is_eager(const Event& e) const { return e.op == CollectiveOp::send && e.stream == Stream::p2p; }

    /// Who can go on when `rank` looks whether its call has met the others': itself among them, or nobody.
    std::vector<int32_t> meet(int32_t rank, const Event& mine) {
        if (mine.op == CollectiveOp::recv) {
            auto& waiting = eager_[{mine.group, mine.peer, rank}];
            if (!waiting.empty()) {
                compare_two(mine.peer, *waiting.front(), rank, mine);
                waiting.erase(waiting.begin());
                return {rank};
            }
        }
        if (is_point_to_point(mine.op)) {
            const Event* const theirs = current(mine.peer);
            if (theirs == nullptr || theirs->op == mine.op || !is_point_to_point(theirs->op) ||
                is_eager(*theirs) || theirs->group != mine.group || theirs->peer != rank)
                return {};
            compare_two(mine.peer, *theirs, rank, mine);
            return {rank, mine.peer};
        }
        for (const int32_t member : members(mine)) {
            const Event* const theirs = current(member);
            if (theirs == nullptr || is_point_to_point(theirs->op) || theirs->group != mine.group) return {};
        }
        compare_all(members(mine));
        return members(mine);
    }

    CallReport report_of(const Event& e) const {
        CallReport call;
        call.op = name(e.op);
        const trace::Group& group = trace_.groups[static_cast<std::size_t>(e.group)];
        call.group = group.mesh_dim;
        call.group_ranks = group.ranks;
        call.sequence = e.sequence;
        call.peer = e.peer;
        if (e.reduce_op != ReduceOp::none) call.reduce_op = name(e.reduce_op);
        if (e.op != CollectiveOp::barrier) call.dtype = name(e.dtype);
        call.in_elements = e.in_elements;
        call.out_elements = e.out_elements;
        call.stream = name(e.stream);
        call.phase = name(e.phase);
        call.step = e.step;
        call.source = trace_.text(e.source);
        return call;
    }
    RankReport report_of(int32_t rank, RankState state, int32_t waits_for = -1) const {
        RankReport report;
        report.rank = rank;
        report.state = state;
        report.waits_for = waits_for;
        if (const Event* const e = current(rank))
            report.call = report_of(*e);
        else if (const Event* const sent = unreceived(rank))
            report.call = report_of(*sent);
        if (const auto r = static_cast<std::size_t>(rank); at_[r] > 0)
            report.last = report_of(*next_[r][at_[r] - 1]);
        return report;
    }

    /// What a rank that has made all its calls has sent and nobody received; null: nothing.
    const Event* unreceived(int32_t rank) const {
        for (const auto& [pair, sends] : eager_)
            if (pair[1] == rank && !sends.empty()) return sends.front();
        return nullptr;
    }

    [[noreturn]] static void fail(Diagnosis d) {
        const GlobalRank first{d.culprits.empty() ? 0 : d.culprits.front()};
        throw DiagnosedError(std::move(d), first);
    }

    /// As Fingerprint::differences: of calls of different ops nothing else is compared.
    static void add_differences(const Signature& a, const Signature& b, std::vector<std::string>& to) {
        const std::size_t compared = a[0].second != b[0].second ? 1 : a.size();
        for (std::size_t i = 0; i < compared; ++i)
            if (a[i].second != b[i].second && std::find(to.begin(), to.end(), a[i].first) == to.end())
                to.emplace_back(a[i].first);
    }

    void compare_two(int32_t a, const Event& of_a, int32_t b, const Event& of_b) const {
        Diagnosis d;
        add_differences(signature_of(of_a), signature_of(of_b), d.differs);
        if (d.differs.empty()) return;
        d.culprits = {std::min(a, b), std::max(a, b)};
        for (const int32_t rank : d.culprits) {
            RankReport report = report_of(rank, RankState::in_call);
            report.call = report_of(rank == a ? of_a : of_b);
            d.ranks.push_back(std::move(report));
        }
        fail(std::move(d));
    }

    /// As CallComparison: the odd ones are those outside of the largest class; all, where two are the
    /// largest.
    void compare_all(const std::vector<int32_t>& ranks) const {
        std::map<Signature, int64_t> classes;
        for (const int32_t rank : ranks) ++classes[signature_of(*current(rank))];
        if (classes.size() == 1) return;
        const auto by_size = [](const auto& a, const auto& b) { return a.second < b.second; };
        const auto most = std::max_element(classes.begin(), classes.end(), by_size);
        const bool tie = std::count_if(classes.begin(), classes.end(),
                                       [&](const auto& each) { return each.second == most->second; }) > 1;
        Diagnosis d;
        for (const int32_t rank : ranks) {
            const Signature signature = signature_of(*current(rank));
            if (tie || signature != most->first) d.culprits.push_back(rank);
            add_differences(signature, most->first, d.differs);
            d.ranks.push_back(report_of(rank, RankState::in_call));
        }
        fail(std::move(d));
    }

    /// The rank that must act before this one goes on; -1: it has made all its calls, and all were received.
    int32_t waits_for(int32_t rank) const {
        const Event* const mine = current(rank);
        if (mine == nullptr) {
            const Event* const sent = unreceived(rank);
            return sent != nullptr ? sent->peer : -1;
        }
        if (is_point_to_point(mine->op)) return mine->peer;
        for (const int32_t member : members(*mine)) {
            const Event* const theirs = current(member);
            if (theirs == nullptr || is_point_to_point(theirs->op) || theirs->group != mine->group)
                return member;
        }
        return -1;
    }

    Diagnosis told(DiagnosisKind kind) const {
        Diagnosis d;
        d.kind = kind;
        for (int32_t r = 0; r < size(); ++r) {
            const int32_t peer = waits_for(r);
            d.ranks.push_back(report_of(r, peer >= 0 ? RankState::waiting : RankState::finished, peer));
        }
        return d;
    }

    /// Nobody can go on: somebody waits for a rank that has ended, or some wait in a ring.
    void explain() const {
        Diagnosis d = told(DiagnosisKind::missing);
        for (RankReport& report : d.ranks) {
            const int32_t peer = report.waits_for;
            if (peer < 0 || waits_for(peer) >= 0) continue;
            report.missing = {peer};
            if (const Event* const mine = current(report.rank);
                mine != nullptr && !is_point_to_point(mine->op))
                for (const int32_t member : members(*mine))
                    if (member != peer && waits_for(member) < 0) report.missing.push_back(member);
            std::sort(report.missing.begin(), report.missing.end());
            d.culprits.insert(d.culprits.end(), report.missing.begin(), report.missing.end());
        }
        std::sort(d.culprits.begin(), d.culprits.end());
        d.culprits.erase(std::unique(d.culprits.begin(), d.culprits.end()), d.culprits.end());
        if (!d.culprits.empty()) fail(std::move(d));
        for (int32_t r = 0; r < size(); ++r) {
            if (waits_for(r) < 0) continue;
            std::vector<int32_t> chain;
            int32_t at = r;
            for (; std::find(chain.begin(), chain.end(), at) == chain.end(); at = waits_for(at))
                chain.push_back(at);
            chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), at));
            std::rotate(chain.begin(), std::min_element(chain.begin(), chain.end()), chain.end());
            Diagnosis ring = told(DiagnosisKind::deadlock);
            ring.cycle = ring.culprits = chain;
            std::sort(ring.culprits.begin(), ring.culprits.end());
            fail(std::move(ring));
        }
    }

    const trace::Trace& trace_;
    std::vector<std::vector<const Event*>> next_;  ///< by rank: its calls, in order
    std::vector<std::size_t> at_;                  ///< by rank: how many of them it has behind it
    std::map<std::array<int32_t, 3>, std::vector<const Event*>>
        eager_;  ///< (group, from, to): not yet received
};

}  // namespace

void check_dry_calls(const trace::Trace& trace) {
    Walk(trace).run();
}

}  // namespace meshscope::run
