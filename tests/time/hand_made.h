#pragma once

#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::test {

/// Writes a trace by hand, so that a test's numbers can be worked out on paper.
class HandMade {
  public:
    explicit HandMade(int32_t ranks) {
        trace.info.world_size = ranks;
        trace.info.level = trace::Level::hops;
        trace.strings = {""};
        trace.ranks.resize(static_cast<size_t>(ranks));
    }

    int32_t group(std::vector<int32_t> ranks) {
        trace.groups.push_back({"world", std::move(ranks)});
        return static_cast<int32_t>(trace.groups.size()) - 1;
    }

    trace::StringId text(const std::string& words) {
        trace.strings.push_back(words);
        return static_cast<trace::StringId>(trace.strings.size() - 1);
    }

    trace::RankTrace& rank(int32_t r) { return trace.ranks[static_cast<size_t>(r)]; }

    trace::Event& event(int32_t r, int32_t id) { return rank(r).events[static_cast<size_t>(id)]; }

    int32_t compute(int32_t r, int64_t flops, int64_t touched_bytes = 0, int32_t step = 0) {
        trace::Event event;
        event.flops = flops;
        event.touched_bytes = touched_bytes;
        return add(r, event, step);
    }

    /// The event of one member; its hops come apart.
    int32_t collective(int32_t r, CollectiveOp op, int32_t group, int32_t sequence,
                       Stream stream = Stream::all_gather, int32_t peer = -1, int32_t step = 0) {
        trace::Event event;
        event.kind = trace::EventKind::collective;
        event.stream = stream;
        event.op = op;
        event.group = group;
        event.sequence = sequence;
        event.peer = peer;
        return add(r, event, step);
    }

    void hop(int32_t event_of_dst, int32_t round, int32_t src, int32_t dst, int64_t bytes) {
        trace::Hop hop;
        hop.event = event_of_dst;
        hop.round = round;
        hop.src = src;
        hop.dst = dst;
        hop.bytes = bytes;
        rank(dst).hops.push_back(hop);
    }

    void depend(int32_t r, int32_t event, int32_t on) { rank(r).dependencies.push_back({event, on}); }

    /// A ring collective on all of a group's members: `rounds` rounds, each member sends `bytes` to the next
    /// one. Returns the members' event ids by position.
    std::vector<int32_t> ring(CollectiveOp op, int32_t group_index, int32_t sequence, int32_t rounds,
                              int64_t bytes, Stream stream = Stream::all_gather, int32_t step = 0) {
        const std::vector<int32_t> ranks = trace.groups[static_cast<size_t>(group_index)].ranks;
        std::vector<int32_t> ids;
        for (const int32_t r : ranks) {
            ids.push_back(collective(r, op, group_index, sequence, stream, -1, step));
            event(r, ids.back()).algorithm = Algorithm::ring;
            event(r, ids.back()).sent_bytes = rounds * bytes;
        }
        for (int32_t round = 0; round < rounds; ++round) {
            for (size_t i = 0; i < ranks.size(); ++i) {
                const size_t next = (i + 1) % ranks.size();
                hop(ids[next], round, ranks[i], ranks[next], bytes);
            }
        }
        return ids;
    }

    trace::Trace trace;

  private:
    int32_t add(int32_t r, trace::Event event, int32_t step) {
        event.id = static_cast<int32_t>(rank(r).events.size());
        event.step = step;
        event.phase = Phase::forward;
        rank(r).events.push_back(event);
        return event.id;
    }
};

}  // namespace meshscope::test
