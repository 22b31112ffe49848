#include <algorithm>
#include <bit>
#include <cmath>

#include "core/trace/trace.h"

namespace meshscope::trace {
namespace {

bool same_number(double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

bool same_value(float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

template <class T, class Same>
bool same_list(const std::vector<T>& a, const std::vector<T>& b, const Same& same) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
}

bool same_info(const RunInfo& a, const RunInfo& b) {
    return a.failure == b.failure && a.title_en == b.title_en && a.title_zh == b.title_zh &&
           a.scenario == b.scenario && a.algorithm_file == b.algorithm_file &&
           a.algorithm_text == b.algorithm_text && a.scenario_path == b.scenario_path &&
           a.backend == b.backend && a.engine_version == b.engine_version && a.level == b.level &&
           a.world_size == b.world_size && a.mesh_shape == b.mesh_shape && a.mesh_names == b.mesh_names &&
           a.mesh_ranks == b.mesh_ranks && a.node_of_rank == b.node_of_rank && a.steps == b.steps &&
           same_list(a.losses, b.losses, same_number) && same_list(a.grad_norms, b.grad_norms, same_number) &&
           same_list(a.parameters, b.parameters, [](const FinalParameter& x, const FinalParameter& y) {
               return x.name == y.name && x.shape == y.shape && same_list(x.numbers, y.numbers, same_value);
           });
}

struct SameRank {
    bool times;

    bool operator()(const Event& a, const Event& b) const {
        return a.id == b.id && a.step == b.step && a.kind == b.kind && a.stream == b.stream &&
               a.phase == b.phase && a.op == b.op && a.reduce_op == b.reduce_op && a.dtype == b.dtype &&
               a.algorithm == b.algorithm && a.prefetch == b.prefetch && a.microbatch == b.microbatch &&
               a.name == b.name && a.unit == b.unit && a.rule == b.rule && a.source == b.source &&
               a.group == b.group && a.sequence == b.sequence && a.peer == b.peer && a.padding == b.padding &&
               a.in_elements == b.in_elements && a.out_elements == b.out_elements &&
               a.sent_bytes == b.sent_bytes && a.flops == b.flops && a.touched_bytes == b.touched_bytes &&
               (!times ||
                (a.t_issue_ns == b.t_issue_ns && a.t_begin_ns == b.t_begin_ns && a.t_end_ns == b.t_end_ns));
    }
    bool operator()(const Dependency& a, const Dependency& b) const {
        return a.event == b.event && a.on == b.on;
    }
    bool operator()(const Hop& a, const Hop& b) const {
        return a.event == b.event && a.round == b.round && a.src == b.src && a.dst == b.dst &&
               a.chunk == b.chunk && a.reduces == b.reduces && a.offset == b.offset &&
               a.elements == b.elements && a.bytes == b.bytes && a.values == b.values &&
               a.n_pieces == b.n_pieces && a.pieces == b.pieces &&
               (!times || (a.t_begin_ns == b.t_begin_ns && a.t_end_ns == b.t_end_ns));
    }
    bool operator()(const HopPiece& a, const HopPiece& b) const {
        return a.chunk == b.chunk && a.offset == b.offset && a.elements == b.elements;
    }
    bool operator()(const Snapshot& a, const Snapshot& b) const {
        return a.event == b.event && a.kind == b.kind && a.values == b.values && a.elements == b.elements &&
               a.operand == b.operand && a.rows == b.rows && a.columns == b.columns;
    }
    bool operator()(const MemoryChange& a, const MemoryChange& b) const {
        return a.after_event == b.after_event && a.step == b.step && a.phase == b.phase &&
               a.category == b.category && a.label == b.label && a.allocation == b.allocation &&
               a.delta_bytes == b.delta_bytes && (!times || a.t_ns == b.t_ns);
    }
    bool operator()(const ParameterRun& a, const ParameterRun& b) const {
        return a.parameter == b.parameter && a.unit == b.unit && a.padding == b.padding &&
               a.updated == b.updated && a.rows == b.rows && a.columns == b.columns &&
               a.first_row == b.first_row && a.n_rows == b.n_rows && a.first_column == b.first_column &&
               a.n_columns == b.n_columns && a.first == b.first && a.elements == b.elements &&
               a.first_in_shard == b.first_in_shard;
    }
    bool operator()(const RankTrace& a, const RankTrace& b) const {
        return same_list(a.events, b.events, *this) && same_list(a.dependencies, b.dependencies, *this) &&
               same_list(a.hops, b.hops, *this) && same_list(a.pieces, b.pieces, *this) &&
               same_list(a.snapshots, b.snapshots, *this) && same_list(a.memory, b.memory, *this) &&
               same_list(a.parameters, b.parameters, *this) && same_list(a.values, b.values, same_value);
    }
};

}  // namespace

bool identical(const Trace& a, const Trace& b, Ignore ignore) {
    const auto same_group = [](const Group& x, const Group& y) {
        return x.mesh_dim == y.mesh_dim && x.ranks == y.ranks;
    };
    return same_info(a.info, b.info) && a.strings == b.strings && same_list(a.groups, b.groups, same_group) &&
           same_list(a.ranks, b.ranks, SameRank{ignore == Ignore::nothing});
}

}  // namespace meshscope::trace
