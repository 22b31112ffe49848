#include "core/time/hops.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/direct_all_reduce.h"
#include "core/base/double_tree.h"
#include "core/base/node_levels.h"
#include "core/base/pipeline.h"

namespace meshscope::time {

std::vector<int64_t> time_hops(std::span<TimedHop> hops, int32_t members, int64_t begin_ns) {
    const auto distance = [members](const TimedHop& hop) { return (hop.dst - hop.src + members) % members; };
    std::vector<TimedHop*> order;
    order.reserve(hops.size());
    for (TimedHop& hop : hops) order.push_back(&hop);
    std::stable_sort(order.begin(), order.end(), [&distance](const TimedHop* a, const TimedHop* b) {
        return std::tuple(a->round, distance(*a), a->src) < std::tuple(b->round, distance(*b), b->src);
    });

    const auto p = static_cast<size_t>(members);
    std::vector<int64_t> send_free(p, begin_ns);
    std::vector<int64_t> receive_free(p, begin_ns);
    std::vector<int64_t> holds(p, begin_ns);  // when a member had received all of the rounds before
    for (size_t i = 0; i < order.size(); ++i) {
        TimedHop& hop = *order[i];
        if (i > 0 && order[i - 1]->round != hop.round) holds = receive_free;
        const auto src = static_cast<size_t>(hop.src);
        const auto dst = static_cast<size_t>(hop.dst);
        hop.time.begin_ns = std::max({holds[src], send_free[src], receive_free[dst]});
        hop.time.end_ns = hop.time.begin_ns + hop.duration_ns;
        send_free[src] = hop.time.end_ns;
        receive_free[dst] = hop.time.end_ns;
    }
    for (size_t i = 0; i < p; ++i) send_free[i] = std::max(send_free[i], receive_free[i]);
    return send_free;
}

namespace {

int64_t cut(int64_t n, int64_t parts) {
    return (n + parts - 1) / parts;
}

/// Inside nodes, between them, and back: two kinds of link.
int64_t two_level_ns(const Profile& profile, const Unrecorded& collective, int64_t elements,
                     int64_t element_bytes) {
    const NodeLevels levels(collective.members, collective.node_of);
    const int64_t inside = cut(elements, levels.smallest), between = cut(inside, levels.n_nodes());
    const Link near{false, 1};
    const auto hop = [&](int64_t n, Link link, bool reduces) {
        return hop_ns(profile, n * element_bytes, link, reduces);
    };
    return (levels.largest - 1) * (hop(inside, near, true) + hop(inside, near, false)) +
           (levels.n_nodes() - 1) *
               (hop(between, collective.link, true) + hop(between, collective.link, false));
}

/// Parts that the first place of the folded reduce_scatter adds: all of its places' but its own, pairs
/// counting two.
int64_t halved_parts(int64_t places, int64_t pairs) {
    int64_t parts = 0;
    for (int64_t d = 1; d < places; d *= 2) parts += d + std::min(d, pairs);
    return parts;
}

}  // namespace

int64_t formula_ns(const Profile& profile, const Unrecorded& collective) {
    const trace::Event& event = *collective.event;
    const int64_t others = collective.members - 1;
    const int64_t rounds = std::bit_width(static_cast<uint64_t>(others));  // ⌈lg p⌉
    const int64_t n = collective.full_bytes;
    const int64_t part = n / collective.members;
    const bool tree = event.algorithm == Algorithm::tree;
    // Those that pair ranks by bits: 2^steps places, and the rest folded into them.
    const int64_t steps = std::bit_width(static_cast<uint64_t>(collective.members)) - 1;
    const int64_t places = int64_t{1} << steps;
    const int64_t folds = places == collective.members ? 0 : 1;
    int64_t hops = others, moved = collective.sent_bytes, reduced = 0;
    const int64_t element_bytes = bytes_per_element(event.dtype), elements = n / element_bytes;
    switch (event.op) {
        case CollectiveOp::all_reduce:
            if (event.algorithm == Algorithm::tree || event.algorithm == Algorithm::star) {
                reduced = (tree ? rounds : others) * n;
                hops = 2 * (tree ? rounds : others);
                moved = 2 * reduced;
            } else if (event.algorithm == Algorithm::recursive_doubling) {
                hops = steps + 2 * folds;
                moved = hops * n;
                reduced = (steps + folds) * n;
            } else if (event.algorithm == Algorithm::halving_doubling) {
                hops = 2 * steps + 2 * folds;
                reduced = n / places * (places - 1) + folds * n;
                moved = 2 * reduced;
            } else if (event.algorithm == Algorithm::double_tree) {
                const DoubleTree trees(collective.members);
                const int32_t chunks = pipeline_chunks(cut(elements, 2), element_bytes);
                hops = 2 * trees.rounds(chunks);
                moved = hops * cut(cut(elements, 2), chunks) * element_bytes;
                reduced = moved / 2;
            } else if (event.algorithm == Algorithm::two_level) {
                return two_level_ns(profile, collective, elements, element_bytes);
            } else if (event.algorithm == Algorithm::direct &&
                       n <= direct_one_round_bytes(collective.members)) {
                reduced = others * n;
            } else {
                hops = 2 * others;
                reduced = others * part;
            }
            break;
        case CollectiveOp::reduce_scatter:
            reduced = others * part;
            if (event.algorithm == Algorithm::recursive_halving) {
                hops = steps + 2 * folds;
                reduced = halved_parts(places, collective.members - places) * part + folds * n;
                moved = reduced + folds * part;
            }
            break;
        case CollectiveOp::broadcast:
            if (event.algorithm == Algorithm::ring_pipeline) {
                const int32_t chunks = pipeline_chunks(elements, element_bytes);
                hops = others - 1 + chunks;
                moved = hops * cut(elements, chunks) * element_bytes;
                break;
            }
            if (event.algorithm == Algorithm::scatter_all_gather) {
                hops = rounds + others;
                moved = 2 * others * cut(elements, collective.members) * element_bytes;
                break;
            }
            [[fallthrough]];
        case CollectiveOp::reduce:
            hops = tree ? rounds : others;
            moved = hops * n;
            if (event.op == CollectiveOp::reduce) reduced = moved;
            break;
        case CollectiveOp::gather:
        case CollectiveOp::scatter:
            moved = others * part;
            break;
        case CollectiveOp::barrier:
            if (tree) hops = 2 * rounds;
            moved = 0;
            break;
        case CollectiveOp::send:
        case CollectiveOp::recv:
            hops = 1;
            moved = n;
            break;
        case CollectiveOp::all_gather:
        case CollectiveOp::all_to_all:
            if (event.algorithm == Algorithm::recursive_doubling || event.algorithm == Algorithm::bruck)
                hops = rounds;
            break;
    }
    const int64_t latency = hop_ns(profile, 0, collective.link);
    const int64_t sums =
        hop_ns(profile, reduced, collective.link, true) - hop_ns(profile, reduced, collective.link);
    return hops * latency + hop_ns(profile, moved, collective.link) - latency + sums;
}

}  // namespace meshscope::time
