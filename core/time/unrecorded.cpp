#include "core/time/unrecorded.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/comm/choice.h"
#include "core/comm/schedule/card.h"

namespace meshscope::time {
namespace {

constexpr int32_t kSpread = 16;     ///< ranks looked at that are spread over the group
constexpr int32_t kNodesLooked = 4;  ///< nodes whose first and last rank are looked at

std::set<int32_t> looked_at(const Unrecorded& collective) {
    std::set<int32_t> ranks;
    const int32_t p = collective.members;
    for (int64_t i = 0; i < kSpread; ++i) ranks.insert(static_cast<int32_t>(i * p / kSpread));
    for (const int32_t near : {0, 1, p - 2, p - 1}) ranks.insert(std::clamp(near, 0, p - 1));
    int32_t nodes = 1;
    for (std::size_t r = 1; r < collective.node_of.size() && nodes <= kNodesLooked; ++r)
        if (collective.node_of[r] != collective.node_of[r - 1]) {
            ranks.insert({static_cast<int32_t>(r - 1), static_cast<int32_t>(r)});
            ++nodes;
        }
    return ranks;
}

/// How long a port is busy: with messages' beginnings, and with their bytes.
struct Busy {
    int64_t latency_ns = 0;
    int64_t bytes_ns = 0;
    int64_t all() const { return latency_ns + bytes_ns; }
    void add(int64_t latency, int64_t whole) {
        latency_ns += latency;
        bytes_ns += whole - latency;
    }
};

class Rounds {
  public:
    Rounds(const Profile& profile, const Unrecorded& collective)
        : profile_(profile), collective_(collective), event_(*collective.event) {
        const int32_t p = collective_.members;
        elements_ = collective_.full_bytes / bytes_per_element(event_.dtype);
        // How a library moves its own collectives nobody tells: as well as the engine would.
        algorithm_ = event_.algorithm == Algorithm::native
                         ? comm::choose_algorithm(event_.op, Algorithm::automatic, p,
                                                  {.bytes = collective_.full_bytes, .shares_memory = false})
                         : event_.algorithm;
        comm::set_even_parts(parts_, elements_ / p, p);
        for (const int32_t rank : looked_at(collective_)) look(rank);
    }

    int64_t all_ns() const {
        Busy sum;
        int64_t seen = 0;
        for (const Busy& busy : busiest_) {
            seen += busy.all() > 0 ? 1 : 0;
            sum.latency_ns += busy.latency_ns;
            sum.bytes_ns += busy.bytes_ns;
        }
        if (seen == 0) return 0;
        const double all_rounds = static_cast<double>(busiest_.size()) / static_cast<double>(seen);
        const double ns = static_cast<double>(sum.latency_ns) + static_cast<double>(sum.bytes_ns) * sent_ratio();
        return std::llround(ns * all_rounds);
    }

  private:
    Link link(int32_t a, int32_t b) const {
        Link link = collective_.link;
        if (!collective_.node_of.empty())
            link.between_nodes = collective_.node_of[static_cast<std::size_t>(a)] !=
                                 collective_.node_of[static_cast<std::size_t>(b)];
        return link;
    }
    /// Of the bytes that the evenly cut schedule sends, as many as the record says.
    double sent_ratio() const {
        const bool by_parts = event_.op == CollectiveOp::all_gather ||
                              event_.op == CollectiveOp::reduce_scatter ||
                              event_.op == CollectiveOp::all_to_all;
        if (!by_parts || sent_bytes_ == 0 || collective_.sent_bytes == 0) return 1;
        return static_cast<double>(collective_.sent_bytes) / static_cast<double>(sent_bytes_);
    }

    void look(int32_t rank) {
        std::vector<Busy> sends, receives;
        int64_t sent = 0;
        const auto add = [&](std::vector<Busy>& port, const comm::Step& step, int32_t peer, bool adds) {
            if (step.silent) return;
            const auto round = static_cast<std::size_t>(step.round);
            if (round >= port.size()) port.resize(round + 1);
            const int64_t bytes = step.elements * bytes_per_element(event_.dtype);
            port[round].add(hop_ns(profile_, 0, link(rank, peer)),
                            hop_ns(profile_, bytes, link(rank, peer), adds));
        };
        const comm::ScheduleQuery query{.op = event_.op,
                                        .ranks = collective_.members,
                                        .rank = rank,
                                        .elements = elements_,
                                        .element_bytes = bytes_per_element(event_.dtype),
                                        .in_parts = parts_,
                                        .out_parts = parts_,
                                        .node_of = collective_.node_of,
                                        .own = collective_.own};
        const int32_t rounds = comm::say_steps(algorithm_, query, [&](const comm::Step& step) {
            using Kind = comm::Step::Kind;
            if (step.kind == Kind::send) {
                add(sends, step, step.peer, false);
                sent += step.elements * bytes_per_element(event_.dtype);
            } else if (step.kind == Kind::receive || step.kind == Kind::reduce) {
                add(receives, step, step.peer, step.kind == Kind::reduce);
            } else if (step.kind == Kind::reduce_many) {
                for (int32_t peer = 0; peer < collective_.members; ++peer)
                    if (peer != rank) add(receives, step, peer, true);
            }
        });
        sent_bytes_ = std::max(sent_bytes_, sent);
        busiest_.resize(std::max(busiest_.size(), static_cast<std::size_t>(rounds)));
        for (const std::vector<Busy>& port : {sends, receives})
            for (std::size_t round = 0; round < port.size(); ++round)
                if (port[round].all() > busiest_[round].all()) busiest_[round] = port[round];
    }

    const Profile& profile_;
    const Unrecorded& collective_;
    const trace::Event& event_;
    Algorithm algorithm_ = Algorithm::none;
    int64_t elements_ = 0;
    std::vector<comm::Part> parts_;
    std::vector<Busy> busiest_;  ///< by round
    int64_t sent_bytes_ = 0;     ///< the most that a rank sends
};

/// An all_to_all whose ranks each send all that they send to one other. A record without hops tells it by its
/// stream: of all all_to_alls only the exchange of a ring runs on p2p.
bool is_permute(const trace::Event& event) {
    return event.op == CollectiveOp::all_to_all && event.stream == Stream::p2p;
}

}  // namespace

int64_t unrecorded_ns(const Profile& profile, const Unrecorded& collective) {
    if (is_permute(*collective.event)) return hop_ns(profile, collective.sent_bytes, collective.link);
    if (is_point_to_point(collective.event->op))
        return hop_ns(profile, collective.full_bytes, collective.link);
    return Rounds(profile, collective).all_ns();
}

}  // namespace meshscope::time
