// Multi-shift double-ring all-reduce: up to eight rings, in both directions at once, over neighbours and over
// ranks further apart, each with its own part of the buffer.
//
// A shift is a number s < p/2 that has no divisor in common with p (1 alone where p is 2): the ranks 0, s,
// 2s, … modulo p are a ring through all. The first four shifts are taken. For each there are two rings, one
// the other way around; the buffer is cut as torch.chunk cuts, a part for each of the R rings (one where p is
// 2), and each ring cuts its part in p chunks, again so. Every ring is a ring all_reduce, all of them in the
// same rounds:
//   rounds 0 … p-2:    a rank sends one chunk on each ring to the ring's next rank, and adds what comes
//   rounds p-1 … 2p-3: the finished chunks travel around
//
// Steps 2(p-1), with R messages each way. Bytes a rank sends: as the ring, 2n(p-1)/p where p·R divides n, but
// over R different links: where every pair has a link of its own, as inside a node without a switch, in an
// R-th of the time. Cost 2R(p-1)·α + 2n(p-1)/p·β + n(p-1)/p·γ through one port, 2(p-1)·α + (2n(p-1)/p·β +
// n(p-1)/p·γ)/R over R links. Order of reduction: each part as the ring's, ranks counted around its own ring;
// bfloat16 is rounded at each hop. Source: the rings of Patarasu and Yuan 2009; coprime shifts as in Wang et
// al., "TopoOpt: Co-optimizing Network Topology and Parallelization Strategy for Distributed Training Jobs",
// NSDI 2023.
#include <numeric>

#include "core/comm/schedule/card.h"
#include "core/comm/schedule/cards/ring.h"

namespace meshscope::comm::cards {
namespace {

/// What one of the rings goes through, and what it carries.
struct Track {
    std::vector<int32_t> ranks;
    std::vector<Part> chunks;
    int32_t first_chunk = 0;  ///< the number of its chunk 0
};

std::vector<Track> tracks_of(const Steps& steps) {
    constexpr std::size_t kMostShifts = 4;
    const int32_t p = steps.p();
    std::vector<int32_t> shifts{1};
    for (int32_t s = 2; 2 * s < p && shifts.size() < kMostShifts; ++s)
        if (std::gcd(s, p) == 1) shifts.push_back(s);

    std::vector<Track> tracks;
    for (const int32_t shift : shifts)
        for (const int32_t way : {1, -1}) {
            if (p == 2 && way < 0) continue;  // the same ring
            Track& track = tracks.emplace_back();
            for (int32_t i = 0; i < p; ++i) track.ranks.push_back(steps.of(way * shift * i % p));
        }
    const std::vector<Part> parts = chunk_parts(steps.n(), static_cast<int32_t>(tracks.size()));
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        tracks[i].chunks = chunk_parts(parts[i].elements, p);
        for (Part& chunk : tracks[i].chunks) chunk.first += parts[i].first;
        tracks[i].first_chunk = static_cast<int32_t>(i) * p;
    }
    return tracks;
}

void double_ring_all_reduce(Steps& steps) {
    const int32_t p = steps.p();
    steps.rounds(2 * (p - 1));
    const std::vector<Track> tracks = tracks_of(steps);
    struct Going {
        Ring ring;
        RingNames reduces, gathers;
    };
    std::vector<Going> rings;
    for (const Track& track : tracks)
        rings.push_back({Ring(steps, track.ranks, track.chunks),
                         {0, track.first_chunk, 1},
                         {p - 1, track.first_chunk, 1}});
    for (int32_t s = 0; s < p - 1; ++s) {
        for (Going& each : rings) each.ring.send_to_reduce(s, each.reduces);
        for (Going& each : rings) each.ring.reduce(s, each.reduces);
    }
    for (const Going& each : rings) steps.finish(each.ring.own());
    for (int32_t s = 0; s < p - 1; ++s) {
        for (Going& each : rings) each.ring.send_to_gather(s, each.gathers);
        for (Going& each : rings) each.ring.receive(s, each.gathers);
    }
}

}  // namespace

AlgorithmCard double_ring() {
    return {Algorithm::double_ring, {{CollectiveOp::all_reduce, double_ring_all_reduce}}, {}};
}

}  // namespace meshscope::comm::cards
