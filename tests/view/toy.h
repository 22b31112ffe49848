#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::test {

/// Writes traces by hand: collectives are played by textbook algorithms of this file's own (ring, direct,
/// tree), so that what a view rebuilds from hops is compared with the definition, not with the engine.
class TraceBuilder {
  public:
    TraceBuilder(std::vector<int64_t> mesh_shape, std::vector<std::string> names);

    int32_t add_group(std::string dim, std::vector<int32_t> ranks);
    /// One group a row of `dim`, over the whole mesh; returns their indices.
    std::vector<int32_t> add_dim_groups(std::size_t dim);

    struct Call {
        CollectiveOp op = CollectiveOp::all_reduce;
        ReduceOp reduce_op = ReduceOp::sum;
        Algorithm algorithm = Algorithm::ring;
        Stream stream = Stream::compute;
        Phase phase = Phase::forward;
        std::string unit;
        int32_t step = 0;
        bool prefetch = false;
        std::vector<std::vector<int32_t>> after;  ///< by group rank: events it depends on
        int32_t padding = 0;
    };
    /// Plays a collective on a group's members. inputs[g]: group rank g's numbers. Returns each member's
    /// event id.
    std::vector<int32_t> collective(int32_t group, const Call& call,
                                    const std::vector<std::vector<float>>& inputs);
    /// outputs of the latest collective(), by group rank, from the definition.
    const std::vector<std::vector<float>>& outputs() const { return outputs_; }

    int32_t compute(int32_t rank, const std::string& name, const std::string& unit, Phase phase,
                    int64_t flops, std::vector<int32_t> after = {}, int32_t step = 0);
    void allocate(int32_t rank, uint64_t id, int64_t bytes, MemoryCategory category, const std::string& label,
                  Phase phase = Phase::forward, int32_t step = 0);
    void release(int32_t rank, uint64_t id, Phase phase = Phase::forward, int32_t step = 0);

    trace::Trace take() { return std::move(trace_); }
    trace::Trace& trace() { return trace_; }

  private:
    trace::StringId intern(const std::string& text);
    trace::Trace trace_;
    std::vector<std::vector<float>> outputs_;
    std::vector<int32_t> sequences_;
};

/// One step of the toy model (Linear(10,10), ReLU, Linear(10,5)) under HSDP on mesh (2,2): collectives as
/// PyTorch issues them (AG 55→110, AG 33→66 | AG 33→66, AG 55→110, RS 66→33, AR 33, RS 110→55, AR 55), with
/// made-up numbers.
trace::Trace toy_hsdp();

/// The collective of one group of n ranks, each giving `elements` numbers (10·rank + i + 1).
trace::Trace one_collective(CollectiveOp op, Algorithm algorithm, int32_t n, int64_t elements,
                            ReduceOp reduce_op = ReduceOp::sum);

}  // namespace meshscope::test
