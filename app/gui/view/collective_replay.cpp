#include "app/gui/view/collective_replay.h"

#include <algorithm>
#include <map>

namespace meshscope::view {
namespace {

float combine(ReduceOp op, float held, float came) {
    switch (op) {
        case ReduceOp::product:
            return held * came;
        case ReduceOp::min:
            return std::min(held, came);
        case ReduceOp::max:
            return std::max(held, came);
        default:
            return held + came;  // an average sums on the way and is divided at the end
    }
}

// Calls `round` with the first hop and the one past the last of every round.
template <class Round>
void each_round(const std::vector<HopState>& hops, const Round& round) {
    for (std::size_t begin = 0, end = 0; begin < hops.size(); begin = end) {
        while (end < hops.size() && hops[end].hop.round == hops[begin].hop.round) ++end;
        round(begin, end);
    }
}

}  // namespace

Replay::Replay(const trace::Trace& trace, const trace::CollectiveInstance& instance)
    : trace_(trace), instance_(instance) {
    const auto& first = event(0);
    state_.group = instance.group;
    state_.op = first.op;
    state_.reduce_op = first.reduce_op;
    state_.dtype = first.dtype;
    state_.ranks = instance.ranks;
    for (const int32_t r : instance.ranks) {
        const auto at = static_cast<std::size_t>(r);
        state_.nodes.push_back(at < trace.info.node_of_rank.size() ? trace.info.node_of_rank[at] : 0);
    }
    for (std::size_t m = 0; m < instance.ranks.size(); ++m)
        if (event(m).algorithm != Algorithm::none) state_.algorithm = event(m).algorithm;
    collect_hops();
    note_chunks();
    for (std::size_t m = 0; m < instance.ranks.size(); ++m) state_.buffers.push_back(buffer(m));
    trace_contributions();
}

CollectiveState Replay::run(const std::function<bool(const HopState&)>& landed) {
    each_round(state_.hops, [&](std::size_t begin, std::size_t end) {
        // As it stood before the round it is asked for only where sums are made of recorded numbers.
        const bool sums = std::any_of(
            state_.hops.begin() + static_cast<std::ptrdiff_t>(begin),
            state_.hops.begin() + static_cast<std::ptrdiff_t>(end),
            [](const HopState& h) { return h.hop.reduces != 0 && h.hop.values >= 0 && h.hop.n_pieces == 0; });
        const auto before = sums ? state_.buffers : std::vector<BufferState>{};
        for (std::size_t k = begin; k < end; ++k)
            if (landed(state_.hops[k])) land(state_.hops[k]);
        for (std::size_t k = begin; k < end; ++k) sum_in_rank_order(begin, end, k, before);
    });
    return std::move(state_);
}

const trace::Event& Replay::event(std::size_t member) const {
    return trace_.event(instance_.ranks[member], instance_.events[member]);
}
const trace::RankTrace& Replay::rank(std::size_t member) const {
    return trace_.ranks[static_cast<std::size_t>(instance_.ranks[member])];
}
const trace::Snapshot* Replay::snapshot(std::size_t member, trace::SnapshotKind kind) const {
    const auto of_event = std::ranges::equal_range(rank(member).snapshots, instance_.events[member], {},
                                                   &trace::Snapshot::event);
    const auto found = std::ranges::find(of_event, kind, &trace::Snapshot::kind);
    return found == of_event.end() ? nullptr : &*found;
}

void Replay::collect_hops() {
    std::map<int32_t, int32_t> member_of;
    for (std::size_t m = 0; m < instance_.ranks.size(); ++m)
        member_of[instance_.ranks[m]] = static_cast<int32_t>(m);
    for (std::size_t m = 0; m < instance_.ranks.size(); ++m)
        for (std::size_t i = 0; i < rank(m).hops.size(); ++i) {
            const auto& hop = rank(m).hops[i];
            if (hop.event != instance_.events[m] || !member_of.count(hop.src)) continue;
            HopState h;
            h.receiver = static_cast<int32_t>(m);
            h.sender = member_of[hop.src];
            h.index = static_cast<int32_t>(i);
            h.hop = hop;
            h.pieces = pieces_of(m, hop, h.sender);
            state_.hops.push_back(std::move(h));
            state_.rounds = std::max(state_.rounds, hop.round + 1);
        }
    std::stable_sort(state_.hops.begin(), state_.hops.end(),
                     [](const HopState& a, const HopState& b) { return a.hop.round < b.hop.round; });
}

// What a hop carries, as it is recorded. An all_to_all of one part names the part that its sender read; it is
// the sender's in the receiver's buffer.
std::vector<trace::HopPiece> Replay::pieces_of(std::size_t member, const trace::Hop& hop,
                                               int32_t sender) const {
    const auto& all = rank(member).pieces;
    if (hop.n_pieces > 0) {
        const auto first = all.begin() + hop.pieces;
        return {first, first + hop.n_pieces};
    }
    return {{state_.op == CollectiveOp::all_to_all ? sender : hop.chunk, hop.offset, hop.elements}};
}

// Pieces that stay what one rank gave: whose, their number tells.
bool Replay::keeps_origins() const {
    return state_.op == CollectiveOp::all_gather || state_.op == CollectiveOp::all_to_all;
}

// Pieces ascend by their chunks.
ChunkState* Replay::piece_of(std::size_t member, int32_t chunk) {
    std::vector<ChunkState>& pieces = state_.buffers[member].pieces;
    const auto found = std::ranges::lower_bound(pieces, chunk, {}, &ChunkState::chunk);
    return found != pieces.end() && found->chunk == chunk ? &*found : nullptr;
}

// Calls `see` with each piece of the receiver's buffer that the hop carries. A hop of one whole piece, as
// most are, does not look through the others.
template <class See>
void Replay::each_covered(const HopState& h, const See& see) {
    const auto receiver = static_cast<std::size_t>(h.receiver);
    const trace::HopPiece& carried = h.pieces.front();
    if (h.pieces.size() == 1 && carried.elements > 0)
        if (ChunkState* const p = piece_of(receiver, carried.chunk);
            p != nullptr && p->offset == carried.offset && p->elements == carried.elements && covers(h, *p))
            return see(*p);
    for (ChunkState& p : state_.buffers[receiver].pieces)
        if (covers(h, p)) see(p);
}

// The piece that a hop takes along, or null: the first that it names and that is not empty.
const ChunkState* Replay::source_of(const HopState& h) {
    const ChunkState* const named = piece_of(static_cast<std::size_t>(h.sender), h.pieces.front().chunk);
    if (named == nullptr || named->elements > 0 || h.hop.elements == 0) return named;
    for (const ChunkState& p : state_.buffers[static_cast<std::size_t>(h.sender)].pieces)
        if (p.elements > 0 && covers(h, p)) return &p;
    return named;
}

// Whose data each hop carries: all rounds played through once, senders as they stood before the round.
void Replay::trace_contributions() {
    const auto untouched = state_.buffers;
    each_round(state_.hops, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
            auto& h = state_.hops[k];
            h.from = member_bit(static_cast<std::size_t>(h.sender));
            h.from_count = 1;
            if (keeps_origins()) {  // whose they are, their numbers tell
                h.from = 0;
                h.from_count = 0;
                each_covered(h, [&h](const ChunkState& p) {
                    h.from |= member_bit(static_cast<std::size_t>(p.chunk));
                    ++h.from_count;
                });
            } else if (const ChunkState* source = source_of(h); source != nullptr && source->from_count > 0) {
                h.from = source->from;
                h.from_count = source->from_count;
            }
            if (h.hop.n_pieces > 0 || state_.op == CollectiveOp::all_reduce) continue;
            if (const ChunkState* target =
                    piece_of(static_cast<std::size_t>(h.receiver), h.pieces.front().chunk))
                h.pieces.front().offset = target->offset;
        }
        for (std::size_t k = begin; k < end; ++k) mark(state_.hops[k]);
    });
    state_.buffers = untouched;
}

void Replay::mark(const HopState& h) {
    each_covered(h, [&](ChunkState& p) {
        if (h.hop.reduces) {
            p.from |= h.from;
            p.from_count += h.from_count;
        } else if (keeps_origins()) {
            p.from = member_bit(static_cast<std::size_t>(p.chunk));
            p.from_count = 1;
        } else {
            p.from = h.from;
            p.from_count = h.from_count;
        }
    });
}

void Replay::land(HopState& h) {
    mark(h);
    h.landed = true;
    h.flying = false;
    h.progress = 1;
    state_.buffers[static_cast<std::size_t>(h.sender)].sent_bytes += h.hop.bytes;
    auto& b = state_.buffers[static_cast<std::size_t>(h.receiver)];
    const auto& values = rank(static_cast<std::size_t>(h.receiver)).values;
    if (h.hop.values < 0 || b.values.empty()) return;
    int64_t from = h.hop.values;
    for (const trace::HopPiece& piece : h.pieces) {
        for (int64_t i = 0; i < piece.elements && piece.offset >= 0; ++i) {
            const auto at = static_cast<std::size_t>(piece.offset + i);
            if (at >= b.values.size() || from + i >= static_cast<int64_t>(values.size())) break;
            const float came = values[static_cast<std::size_t>(from + i)];
            b.values[at] =
                h.hop.reduces && b.known[at] ? combine(state_.reduce_op, b.values[at], came) : came;
            b.known[at] = 1;
        }
        from += piece.elements;
    }
}

// Where one round brings a chunk from several ranks (direct), the engine adds in rank order, its own part
// in its own place; so does the replay, or the last bits would differ. Done once for each such chunk, at
// its first hop.
void Replay::sum_in_rank_order(std::size_t begin, std::size_t end, std::size_t k,
                               const std::vector<BufferState>& before) {
    const auto& first = state_.hops[k];
    if (!first.landed || !first.hop.reduces || first.hop.values < 0 || first.hop.n_pieces > 0) return;
    const auto same = [&](const HopState& h) {
        return h.landed && h.hop.reduces && h.receiver == first.receiver && h.hop.chunk == first.hop.chunk;
    };
    std::vector<const HopState*> parts;
    for (std::size_t i = begin; i < end; ++i)
        if (same(state_.hops[i])) {
            if (i < k) return;
            parts.push_back(&state_.hops[i]);
        }
    auto& b = state_.buffers[static_cast<std::size_t>(first.receiver)];
    const auto& held = before[static_cast<std::size_t>(first.receiver)];
    if (parts.size() < 2 || b.values.empty()) return;
    std::sort(parts.begin(), parts.end(),
              [](const HopState* x, const HopState* y) { return x->sender < y->sender; });
    const auto& values = rank(static_cast<std::size_t>(first.receiver)).values;
    for (int64_t i = 0; i < first.hop.elements; ++i) {
        const auto at = static_cast<std::size_t>(first.pieces.front().offset + i);
        if (at >= b.values.size()) return;
        bool started = false, own_added = !held.known[at];
        float sum = 0;
        const auto add = [&](float v) {
            sum = started ? combine(state_.reduce_op, sum, v) : v;
            started = true;
        };
        for (const auto* part : parts) {
            if (!own_added && part->sender > first.receiver) {
                add(held.values[at]);
                own_added = true;
            }
            add(values[static_cast<std::size_t>(part->hop.values + i)]);
        }
        if (!own_added) add(held.values[at]);
        b.values[at] = sum;
    }
}

}  // namespace meshscope::view
