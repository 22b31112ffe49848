#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/fsdp1/flat_layout.h"
#include "core/parallel/mixed_precision.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// The rule ids under which the collectives of flat units are recorded.
struct FlatRules {
    std::string_view unshard_forward, unshard_backward, prefetch_forward, prefetch_backward;
    std::string_view reduce_scatter, all_reduce_replicas, all_reduce, grad_norm;
};

/// What all flat units of a rank share.
struct FlatComm {
    comm::ProcessGroup* shard = nullptr;      ///< null: nothing is cut (NO_SHARD)
    comm::ProcessGroup* replicate = nullptr;  ///< hybrid sharding's replicas, or NO_SHARD's whole group
    const FlatRules* rules = nullptr;
    MixedPrecision precision;
    /// A gradient is divided by `predivide` before it is summed and by `postdivide` after: both near the
    /// root of the number of ranks, so that neither the parts nor the sum leave float16's range.
    float predivide = 1.0F, postdivide = 1.0F;

    /// torch's DefaultState: predivide doubles while it divides n and n / predivide is greater.
    /// 2 → 2, 1; 3 → 2, 1.5; 4 → 2, 2; 8 → 4, 2.
    void divide_by(int64_t ranks);
};

/// FSDP1's FlatParamHandle: a unit's parameters as one flat array, of which each rank keeps a shard.
///
/// Of a unit that is frozen whole nothing is reduced. Where only some of its parameters are, all gradients
/// are computed and reduced, since they are one array, and those of frozen ones thrown away
/// (Parameter::in_trained_flat).
///
/// Unlike FSDP2's unit nothing is copied after the gather: its output is the memory that the parameters are
/// views of. Life: sharded → unshard() → wait_for_unshard() → reshard() → the same for backward →
/// reduce_gradients() → settle(). Source: torch/distributed/fsdp/_flat_param.py, _runtime_utils.py.
class FlatUnit {
  public:
    /// `alignment` in elements. An empty unit does nothing.
    FlatUnit(std::string name, std::vector<nn::Parameter*> parameters, const RankContext& context,
             const FlatComm& comm, int64_t alignment);

    const std::string& name() const { return name_; }
    bool empty() const { return parameters_.empty(); }
    bool trains() const { return trains_; }

    void load(const InitialValues& values);
    /// One entry a piece; `owned` as LocalParameter says.
    void append_local(std::vector<LocalParameter>& local, bool owned) const;

    /// Issues the all_gather. False, and nothing done, when the parameters are whole or on their way.
    bool unshard(std::string_view rule, bool prefetch);
    void wait_for_unshard();
    /// Frees the whole parameters. False, and nothing done, when they are not there or nothing is cut.
    bool reshard();

    /// Takes the parameters' gradients into one flat array and issues their reduction; returns without
    /// waiting. Throws InvalidArgument "parallel.no_gradient" when backward did not reach one of them.
    void reduce_gradients();
    /// Ends a reduction that was issued: waits, divides, adds to what earlier micro-batches left.
    void settle();
    /// Throws away a gather that nobody came for.
    void drop_stale_gather();

    /// One gradient a piece.
    void append_gradients(std::vector<Tensor>& gradients) const;
    void drop_gradients();

  private:
    int64_t rank() const { return comm_.shard ? comm_.shard->rank().value : 0; }
    void point_parameters_at(const Tensor& flat);
    Tensor flatten_gradients();
    Tensor cast_shard() const;

    std::string name_;
    std::vector<nn::Parameter*> parameters_;
    RankContext context_;
    const FlatComm& comm_;
    FlatLayout layout_;
    std::vector<FlatLayout::Piece> pieces_;
    Tensor shard_;  ///< this rank's part; all of it when nothing is cut
    Tensor flat_;   ///< whole, while it is there
    bool whole_ = false;
    bool trains_ = false;  ///< at least one parameter is not frozen
    comm::Work gather_;
    comm::Work reduction_;  ///< the last collective of the reduction under way
    Stream reduction_stream_ = Stream::reduce_scatter;
    Tensor reduced_;  ///< what it leaves
    Tensor grad_;     ///< this rank's part of the gradient
};

}  // namespace meshscope::parallel
