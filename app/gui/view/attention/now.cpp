// Attention at the cursor: what each rank does, whose keys and values it has, what is on its way.
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/view/attention/scene.h"
#include "app/gui/view/event_times.h"

namespace meshscope::view {
namespace {

/// When a rank goes on to the buffers that came with its exchanges: each has come, and what is computed with
/// those before it is done.
std::vector<int64_t> in_use_from(const Input& input, const AttentionRank& rank) {
    std::vector<int64_t> from;
    int64_t used = 0;  // until when those so far are
    const auto use = [&](std::size_t place) {
        const AttentionBlock& block = rank.blocks[place];
        for (const int32_t id : {block.event, block.merge})
            if (id >= 0) used = std::max(used, time_of(input.clock, rank.rank, id).end_ns);
    };
    for (std::size_t place = 0; place < rank.blocks.size(); ++place)
        if (rank.blocks[place].turn == 0) use(place);
    for (std::size_t i = 0; i < rank.exchanges.size() && i < rank.comes.size(); ++i) {
        const bool open = std::ranges::find(rank.open, rank.exchanges[i]) != rank.open.end();
        const int64_t come = time_of(input.clock, rank.rank, rank.exchanges[i]).end_ns;
        from.push_back(open ? std::numeric_limits<int64_t>::max() : std::max(used, come));
        if (rank.comes[i] >= 0) use(static_cast<std::size_t>(rank.comes[i]));
    }
    return from;
}

/// How far a call's message to this rank has come: 0 … 1, by its hop where the record has one.
float arrived(const Input& input, int32_t rank, int32_t event) {
    for (const trace::Hop& hop : hops_of(input.trace, rank, event))
        if (hop.elements > 0)
            return share_of(time_of(input.trace, input.clock, rank, hop), input.cursor.t_ns);
    return share_done(input, rank, event);
}

void flights_of(const Input& input, const AttentionScene& scene, bool gradients,
                std::vector<AttentionFlight>& flights) {
    for (std::size_t to = 0; to < scene.n(); ++to) {
        const AttentionRank& rank = scene.ranks[to];
        const auto& calls = gradients ? rank.home : rank.exchanges;
        const auto& origins = gradients ? rank.gradients : rank.comes;
        const std::vector<int64_t> use = gradients ? std::vector<int64_t>() : in_use_from(input, rank);
        for (std::size_t i = 0; i < calls.size() && i < origins.size(); ++i) {
            if (origins[i] < 0) continue;
            if (input.cursor.t_ns < time_of(input.clock, rank.rank, calls[i]).begin_ns) continue;
            const float share = arrived(input, rank.rank, calls[i]);
            const bool rests = share >= 1 && !gradients && input.cursor.t_ns < use[i];
            if (share >= 1 && !rests) continue;
            // The one from whom it comes held it with the exchange before.
            for (std::size_t from = 0; from < scene.n(); ++from) {
                const auto& theirs = gradients ? scene.ranks[from].gradients : scene.ranks[from].comes;
                const int32_t had =
                    i == 0 ? static_cast<int32_t>(from) : (i - 1 < theirs.size() ? theirs[i - 1] : -1);
                if (had == origins[i])
                    flights.push_back({from, to, static_cast<std::size_t>(origins[i]), share, gradients});
            }
        }
    }
}

}  // namespace

AttentionNow attention_now(const Input& input, const AttentionScene& scene, std::size_t place) {
    using Doing = AttentionNow::Doing;
    const AttentionRank& rank = scene.ranks[place];
    AttentionNow now;
    bool all_done = true, begun = false;
    const auto look = [&](const AttentionBlock& block, int32_t keys) {
        if (block.event < 0) return;
        const float share = share_done(input, rank.rank, block.event);
        now.flops +=
            static_cast<int64_t>(std::llround(static_cast<double>(block.flops) * static_cast<double>(share)));
        const float merged = block.merge < 0 ? share : share_done(input, rank.rank, block.merge);
        begun = begun || share > 0;
        all_done = all_done && share >= 1 && merged >= 1;
        if (share > 0 && share < 1) now = {Doing::computes, keys, share, -1, now.flops};
        if (block.merge >= 0 && merged > 0 && merged < 1) now = {Doing::merges, keys, merged, -1, now.flops};
    };
    for (std::size_t keys = 0; keys < rank.blocks.size(); ++keys)
        look(rank.blocks[keys], static_cast<int32_t>(keys));
    for (const AttentionBlock& block : rank.unplaced) look(block, -1);
    if (now.doing == Doing::before) {
        for (const auto* calls : {&rank.exchanges, &rank.home})
            for (const int32_t id : *calls) {
                const bool open = std::ranges::find(rank.open, id) != rank.open.end();
                const float share = share_done(input, rank.rank, id);
                begun = begun || share > 0;
                all_done = all_done && share >= 1 && !open;
            }
        if (begun) now.doing = !all_done ? Doing::waits : scene.broke_off ? Doing::ended : Doing::done;
    }
    // Whose buffer is in use.
    if (scene.way != AttentionWay::ring) return now;
    now.here = static_cast<int32_t>(place);
    const std::vector<int64_t> use = in_use_from(input, rank);
    for (std::size_t i = 0; i < use.size(); ++i)
        if (input.cursor.t_ns >= use[i]) now.here = rank.comes[i];
    if (now.here < 0) now.here = now.block;  // the record has no hops
    return now;
}

std::vector<AttentionFlight> attention_flights(const Input& input, const AttentionScene& scene) {
    std::vector<AttentionFlight> flights;
    if (scene.way != AttentionWay::ring && scene.way != AttentionWay::gather) return flights;
    if (scene.way == AttentionWay::ring) flights_of(input, scene, false, flights);
    if (scene.backward) flights_of(input, scene, true, flights);
    return flights;
}

std::vector<std::size_t> attention_held(const Input& input, const AttentionScene& scene, std::size_t place) {
    const AttentionRank& rank = scene.ranks[place];
    std::vector<std::size_t> held;
    const auto landed = [&](const trace::Hop& hop) {
        return input.cursor.t_ns >= time_of(input.trace, input.clock, rank.rank, hop).end_ns;
    };
    for (std::size_t origin = 0; origin < scene.n(); ++origin) {
        bool here = origin == place;
        for (const int32_t call : rank.exchanges)
            here = here || share_done(input, rank.rank, call) >= 1 ||
                   std::ranges::any_of(hops_of(input.trace, rank.rank, call), [&](const trace::Hop& hop) {
                       return hop.chunk == static_cast<int32_t>(origin) && landed(hop);
                   });
        if (here) held.push_back(origin);
    }
    return held;
}

}  // namespace meshscope::view
