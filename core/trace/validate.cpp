#include "core/trace/validate.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/trace/places.h"

namespace meshscope::trace {
namespace {

/// Where the check stands, so that a failure can name it.
struct At {
    const char* table;
    int64_t rank;
    int64_t index;

    void require(bool holds, const char* field) const {
        if (holds) return;
        throw InvalidArgument(Message{"trace.invalid",
                                      {{"table", std::string(table)},
                                       {"rank", rank},
                                       {"index", index},
                                       {"field", std::string(field)}}});
    }
};

template <class T>
int64_t count(const std::vector<T>& list) {
    return static_cast<int64_t>(list.size());
}

bool below(int64_t value, int64_t end) {
    return value >= 0 && value < end;
}

/// An enumerator that has a word.
template <class Enum>
bool named(Enum value) {
    return name(value) != "unknown";
}

/// first … first+elements lie in a table of `size` numbers; written so that no sum can overflow.
bool inside(int64_t first, int64_t elements, int64_t size) {
    return first >= 0 && elements >= 0 && first <= size && elements <= size - first;
}

void check_info(const Trace& trace) {
    const RunInfo& info = trace.info;
    const At at{"info", -1, 0};
    at.require(info.world_size >= 1, "world_size");
    at.require(count(trace.ranks) == info.world_size, "world_size");
    at.require(info.level <= Level::values, "level");
    at.require(info.steps >= 0, "steps");
    at.require(info.mesh_names.empty() || info.mesh_names.size() == info.mesh_shape.size(), "mesh_names");
    int64_t cells = 1;
    for (const int64_t extent : info.mesh_shape) {
        at.require(extent >= 1 && cells <= info.world_size / extent, "mesh_shape");
        cells *= extent;
    }
    at.require(info.mesh_ranks.empty() || count(info.mesh_ranks) == cells, "mesh_ranks");
    for (const int32_t rank : info.mesh_ranks) at.require(below(rank, info.world_size), "mesh_ranks");
    at.require(info.node_of_rank.empty() || count(info.node_of_rank) == info.world_size, "node_of_rank");
    for (const int32_t node : info.node_of_rank) at.require(node >= 0, "node_of_rank");
    at.require(!trace.strings.empty() && trace.strings.front().empty(), "strings");
}

void check_groups(const Trace& trace) {
    std::vector<int32_t> sorted;
    for (std::size_t g = 0; g < trace.groups.size(); ++g) {
        const At at{"groups", -1, static_cast<int64_t>(g)};
        sorted = trace.groups[g].ranks;
        std::sort(sorted.begin(), sorted.end());
        at.require(!sorted.empty(), "ranks");
        at.require(
            below(sorted.front(), trace.info.world_size) && below(sorted.back(), trace.info.world_size),
            "ranks");
        at.require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "ranks");
    }
}

void check_event(const Trace& trace, GroupPlaces& places, const Event& e, const At& at) {
    const int64_t strings = count(trace.strings);
    at.require(e.id == at.index, "id");
    at.require(e.kind <= EventKind::collective, "kind");
    at.require(named(e.stream), "stream");
    at.require(named(e.phase), "phase");
    at.require(named(e.op), "op");
    at.require(named(e.reduce_op), "reduce_op");
    at.require(named(e.dtype), "dtype");
    at.require(named(e.algorithm), "algorithm");
    at.require(e.prefetch <= 1, "prefetch");
    at.require(e.step >= -1, "step");
    at.require(e.name < strings, "name");
    at.require(e.unit < strings, "unit");
    at.require(e.rule < strings, "rule");
    at.require(e.source < strings, "source");
    at.require(e.peer == -1 || below(e.peer, trace.info.world_size), "peer");
    at.require(e.in_elements >= 0 && e.out_elements >= 0, "elements");
    at.require(e.padding >= 0, "padding");
    at.require(e.sent_bytes >= 0, "sent_bytes");
    at.require(e.flops >= 0 && e.touched_bytes >= 0, "flops");
    at.require(e.t_begin_ns <= e.t_end_ns, "t_end_ns");
    if (e.kind == EventKind::compute) {
        at.require(e.group == -1 && e.sequence == -1, "group");
    } else {
        at.require(below(e.group, count(trace.groups)), "group");
        at.require(e.sequence >= 0, "sequence");
        at.require(e.peer >= 0 || !is_point_to_point(e.op), "peer");
        at.require(places.of(e.group) >= 0, "group");
    }
}

/// Hops, snapshots and dependencies point at events and stand in their order.
void check_parts(const Trace& trace, const RankTrace& rank, int64_t r) {
    const int64_t events = count(rank.events);
    const auto is_collective = [&](int32_t event) {
        return below(event, events) &&
               rank.events[static_cast<std::size_t>(event)].kind == EventKind::collective;
    };
    int32_t before = 0;
    int64_t next_piece = 0;
    for (std::size_t i = 0; i < rank.hops.size(); ++i) {
        const Hop& h = rank.hops[i];
        const At at{"hops", r, static_cast<int64_t>(i)};
        at.require(is_collective(h.event) && h.event >= before, "event");
        before = h.event;
        at.require(h.round >= 0, "round");
        at.require(below(h.src, trace.info.world_size) && h.src != r, "src");
        at.require(h.dst == r, "dst");
        at.require(h.reduces <= 1, "reduces");
        at.require(h.offset >= 0, "offset");
        at.require(h.elements >= 0, "elements");
        at.require(h.bytes >= 0, "bytes");
        at.require(h.t_begin_ns <= h.t_end_ns, "t_end_ns");
        at.require(h.values == -1 || inside(h.values, h.elements, count(rank.values)), "values");
        at.require(h.pieces == (h.n_pieces == 0 ? -1 : next_piece), "pieces");
        at.require(inside(next_piece, h.n_pieces, count(rank.pieces)), "pieces");
        int64_t left = h.elements;
        for (const int64_t end = next_piece + h.n_pieces; next_piece < end; ++next_piece) {
            const HopPiece& piece = rank.pieces[static_cast<std::size_t>(next_piece)];
            at.require(piece.offset >= -1, "offset");
            at.require(piece.elements >= 0 && piece.elements <= left, "elements");
            left -= piece.elements;
        }
        at.require(h.n_pieces == 0 || left == 0, "elements");
    }
    At{"hops", r, count(rank.hops)}.require(next_piece == count(rank.pieces), "pieces");
    before = 0;
    for (std::size_t i = 0; i < rank.snapshots.size(); ++i) {
        const Snapshot& s = rank.snapshots[i];
        const At at{"snapshots", r, static_cast<int64_t>(i)};
        const bool is_operand = s.operand != 0;
        at.require(s.operand < trace.strings.size(), "operand");
        at.require(below(s.event, events) && is_collective(s.event) != is_operand && s.event >= before,
                   "event");
        before = s.event;
        at.require(s.kind <= SnapshotKind::output, "kind");
        at.require((is_operand && s.values == -1) || inside(s.values, s.elements, count(rank.values)),
                   "values");
        int64_t numbers = 0;
        at.require(s.rows >= 0 && s.columns >= 0 && !__builtin_mul_overflow(s.rows, s.columns, &numbers),
                   "rows");
        at.require(numbers == (is_operand ? s.elements : 0), "elements");
    }
    before = 0;
    for (std::size_t i = 0; i < rank.dependencies.size(); ++i) {
        const Dependency& d = rank.dependencies[i];
        const At at{"dependencies", r, static_cast<int64_t>(i)};
        at.require(below(d.event, events) && d.event >= before, "event");
        before = d.event;
        at.require(below(d.on, d.event), "on");
    }
}

void check_memory(const Trace& trace, const RankTrace& rank, int64_t r) {
    int64_t total = 0;
    for (std::size_t i = 0; i < rank.memory.size(); ++i) {
        const MemoryChange& m = rank.memory[i];
        const At at{"memory", r, static_cast<int64_t>(i)};
        at.require(m.after_event == -1 || below(m.after_event, count(rank.events)), "after_event");
        at.require(m.step >= -1, "step");
        at.require(named(m.phase), "phase");
        at.require(named(m.category), "category");
        at.require(m.label < trace.strings.size(), "label");
        at.require(!__builtin_add_overflow(total, m.delta_bytes, &total) && total >= 0, "delta_bytes");
    }
}

void check_parameters(const Trace& trace, const RankTrace& rank, int64_t r) {
    const auto strings = trace.strings.size();
    for (std::size_t i = 0; i < rank.parameters.size(); ++i) {
        const ParameterRun& p = rank.parameters[i];
        const At at{"parameters", r, static_cast<int64_t>(i)};
        at.require(p.parameter < strings, "parameter");
        at.require(p.unit < strings, "unit");
        at.require(p.padding <= 1 && (p.parameter != 0 || p.padding == 1), "padding");
        at.require(p.updated <= 1, "updated");
        int64_t numbers = 0, box = 0;
        at.require(p.rows >= 0 && p.columns >= 0 && !__builtin_mul_overflow(p.rows, p.columns, &numbers),
                   "rows");
        at.require(inside(p.first_row, p.n_rows, p.rows), "first_row");
        at.require(inside(p.first_column, p.n_columns, p.columns), "first_column");
        box = p.n_rows * p.n_columns;  // no more than `numbers`
        at.require(p.first >= 0 && p.elements >= 0, "elements");
        at.require(p.padding == 1 || inside(p.first, p.elements, box), "elements");
        at.require(p.first_in_shard >= 0, "first_in_shard");
    }
}

}  // namespace

void validate(const Trace& trace) {
    check_info(trace);
    check_groups(trace);
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const RankTrace& rank = trace.ranks[r];
        const auto number = static_cast<int64_t>(r);
        GroupPlaces places(trace, static_cast<int32_t>(r));
        for (std::size_t i = 0; i < rank.events.size(); ++i)
            check_event(trace, places, rank.events[i], {"events", number, static_cast<int64_t>(i)});
        check_parts(trace, rank, number);
        check_memory(trace, rank, number);
        check_parameters(trace, rank, number);
    }
}

}  // namespace meshscope::trace
