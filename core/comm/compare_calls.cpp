#include "core/comm/compare_calls.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "core/comm/fingerprint.h"

namespace meshscope::comm {
namespace {

/// All members' fingerprints, by group rank, and what is wrong with them.
class Comparison {
  public:
    explicit Comparison(std::vector<Fingerprint> all) : all_(std::move(all)) {}

    /// Whether the calls fit together.
    bool fits() const {
        for (const Fingerprint& each : all_)
            if (each.hash() != all_[0].hash()) return false;
        return all_[0].op() != CollectiveOp::all_to_all || n_unfit().empty();
    }

    Diagnosis diagnosis(std::span<const GlobalRank> ranks) const {
        Diagnosis d;
        d.kind = DiagnosisKind::mismatch;
        const std::vector<bool> odd = odd_ones();
        std::size_t usual = 0;
        while (usual + 1 < odd.size() && odd[usual]) ++usual;
        for (std::size_t r = 0; r < all_.size(); ++r) {
            RankReport report;
            report.rank = ranks[r].value;
            report.state = RankState::in_call;
            report.call = all_[r].report();
            d.ranks.push_back(std::move(report));
            if (odd[r]) d.culprits.push_back(ranks[r].value);
            for (const char* aspect : all_[r].differences(all_[usual]))
                if (std::find(d.differs.begin(), d.differs.end(), aspect) == d.differs.end())
                    d.differs.emplace_back(aspect);
        }
        if (d.differs.empty()) d.differs.emplace_back("splits");  // only all_to_all's do not fit
        return d;
    }

  private:
    /// Those that are not of the largest class of equal calls; all of them when two classes are the largest.
    std::vector<bool> odd_ones() const {
        const std::size_t p = all_.size();
        std::vector<bool> odd(p, true);
        std::vector<std::size_t> size(p, 0);
        for (std::size_t r = 0; r < p; ++r)
            for (const Fingerprint& other : all_) size[r] += other.hash() == all_[r].hash() ? 1 : 0;
        const std::size_t most = *std::max_element(size.begin(), size.end());
        if (most == p) return odd_by_splits();
        const auto of_largest = static_cast<std::size_t>(std::count(size.begin(), size.end(), most));
        if (of_largest != most) return odd;
        for (std::size_t r = 0; r < p; ++r) odd[r] = size[r] != most;
        return odd;
    }

    /// all_to_all: by rank, with how many others it does not agree on what they exchange; empty when all do.
    std::vector<std::size_t> n_unfit() const {
        const std::size_t p = all_.size();
        std::vector<std::size_t> n(p, 0);
        bool any = false;
        for (std::size_t a = 0; a < p; ++a)
            for (std::size_t b = 0; b < p; ++b)
                if (a != b && all_[a].in_part(b) != all_[b].out_part(a)) {
                    ++n[a];
                    ++n[b];
                    any = true;
                }
        if (!any) n.clear();
        return n;
    }

    std::vector<bool> odd_by_splits() const {
        const std::vector<std::size_t> n = n_unfit();
        std::vector<bool> odd(all_.size(), false);
        if (n.empty()) return odd;
        const std::size_t most = *std::max_element(n.begin(), n.end());
        for (std::size_t r = 0; r < n.size(); ++r) odd[r] = n[r] == most;
        return odd;
    }

    std::vector<Fingerprint> all_;
};

/// The two calls of a pair that does not fit.
Diagnosis diagnosis_of_two(const Fingerprint& mine, GlobalRank me, const Fingerprint& theirs,
                           GlobalRank them) {
    Diagnosis d;
    d.kind = DiagnosisKind::mismatch;
    for (const char* aspect : theirs.differences(mine)) d.differs.emplace_back(aspect);
    d.ranks = {RankReport{them.value, RankState::in_call, theirs.report(), {}, -1},
               RankReport{me.value, RankState::in_call, mine.report(), {}, -1}};
    if (me < them) std::swap(d.ranks[0], d.ranks[1]);
    for (const RankReport& report : d.ranks) d.culprits.push_back(report.rank);
    return d;
}

}  // namespace

CallComparison::CallComparison(Transport& transport, std::span<const GlobalRank> ranks, int32_t me,
                               Channel channel, const IssuedCall& call)
    : mine_(Fingerprint(call, me).bytes()),
      wire_(transport, ranks, me, channel.of_fingerprints(), DType::uint8, nullptr, -1) {
    const auto bytes = static_cast<int64_t>(mine_.size());
    const int32_t p = wire_.size();
    // Each begins with its neighbour, so that not all knock at rank 0 first.
    for (int32_t i = 1; i < p; ++i) wire_.post(wire_.of(me + i), mine_.data(), bytes);
    std::vector<Fingerprint> all(static_cast<std::size_t>(p));
    all[static_cast<std::size_t>(me)] = Fingerprint(mine_);
    for (int32_t i = 1; i < p; ++i) {
        const int32_t from = wire_.of(me - i);
        wire_.receive(from, {0, 0, 0, bytes, false}, [&](const std::byte* data) {
            all[static_cast<std::size_t>(from)] =
                Fingerprint(std::vector<std::byte>(data, data + static_cast<std::ptrdiff_t>(bytes)));
        });
        // Two that do not even mean the same group cannot wait for the same others: told at once.
        const Fingerprint& theirs = all[static_cast<std::size_t>(from)];
        const Fingerprint& own = all[static_cast<std::size_t>(me)];
        if (!theirs.same_group(own)) {
            const GlobalRank self = ranks[static_cast<std::size_t>(me)];
            throw DiagnosedError(diagnosis_of_two(own, self, theirs, ranks[static_cast<std::size_t>(from)]),
                                 self);
        }
    }
    const Comparison comparison(std::move(all));
    if (!comparison.fits())
        throw DiagnosedError(comparison.diagnosis(ranks), ranks[static_cast<std::size_t>(me)]);
}

void CallComparison::finish() {
    wire_.wait_all();
}

std::vector<std::byte> fingerprint_of(const IssuedCall& call, int32_t me) {
    return Fingerprint(call, me).bytes();
}

void compare_with_send(Transport& transport, std::span<const GlobalRank> ranks, int32_t me, Channel channel,
                       const IssuedCall& recv) {
    const Fingerprint mine(recv, me);
    Fingerprint theirs;
    const GlobalRank from = ranks[static_cast<std::size_t>(recv.peer)];
    transport.receive(from, channel.of_fingerprints(), static_cast<int64_t>(mine.bytes().size()),
                      [&](Transport::Bytes data) {
                          theirs = Fingerprint(std::vector<std::byte>(data.begin(), data.end()));
                      });
    if (theirs.hash() == mine.hash()) return;
    const GlobalRank self = ranks[static_cast<std::size_t>(me)];
    throw DiagnosedError(diagnosis_of_two(mine, self, theirs, from), self);
}

}  // namespace meshscope::comm
