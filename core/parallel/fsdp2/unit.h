#pragma once

#include <string>
#include <vector>

#include "core/parallel/fsdp2/shard.h"
#include "core/parallel/mixed_precision.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// What all units of a rank share: which gather's buffer still lives, which scatter is still under way.
struct UnitComm {
    comm::ProcessGroup* shard = nullptr;      ///< null: one rank a shard group, nothing is gathered
    comm::ProcessGroup* replicate = nullptr;  ///< HSDP's all_reduce; null for a 1-D mesh
    MixedPrecision precision;
    /// Forward keeps the last gather's buffer until the next one was copied out, so the two may overlap.
    Tensor previous_gather;
    int32_t previous_copy_out = -1;
    /// At most one reduce_scatter input is alive: the next one first waits for this.
    comm::Work scatter;
    Tensor scatter_input;
};

/// FSDP2's parameter group: the parameters of one unit, sharded together and gathered together.
///
/// Life in a step: sharded → unshard() (all_gather issued) → wait_for_unshard() (copied out: parameters
/// usable) → reshard() after forward → the same again before backward → reduce_gradients() → sharded. Source:
/// torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py.
class Unit {
  public:
    Unit(std::string name, std::vector<nn::Parameter*> parameters, const RankContext& context,
         UnitComm& comm);

    const std::string& name() const { return name_; }
    bool empty() const { return sharded_.empty(); }
    void load(const InitialValues& values);
    void append_local(std::vector<LocalParameter>& local, bool owned) const;

    /// Issues the all_gather unless the parameters are whole already or a gather is under way.
    void unshard(std::string_view rule, bool prefetch);
    /// Makes the parameters whole; `forward` keeps the buffer for overlap as PyTorch does.
    void wait_for_unshard(bool forward);
    /// Frees the whole parameters.
    void reshard();

    /// Takes the parameters' gradients: reduce_scatter over the shard group (AVG), then all_reduce over the
    /// replicate group (AVG). Returns without waiting. `reshard_first` frees the whole parameters before the
    /// gradients travel.
    void reduce_gradients(bool reshard_first);
    /// A backward whose gradients stay here: where they are reduced in another type than they are computed
    /// in, micro-batches are summed in that one.
    void keep_gradients();
    /// Waits for what reduce_gradients issued and throws away a gather nobody waited for.
    void finish_backward();

    /// The gradient of each parameter's local rows; defined after the reduction.
    std::vector<Tensor> gradients() const;
    void drop_gradients();

  private:
    struct Sharded {
        nn::Parameter* parameter;
        RowCut cut;
        int64_t row_elements;
        Tensor padded;  ///< rows_per_rank rows, of which the first are `local`
        Tensor local;   ///< this rank's rows, perhaps none
        Tensor grad;    ///< gradient of `local`
        Tensor kept{};  ///< sum of earlier micro-batches, where it is not in the parameter's own grad
    };
    int64_t shard_ranks() const { return comm_.shard ? comm_.shard->size() : 1; }
    int64_t shard_rank() const { return comm_.shard ? comm_.shard->rank().value : 0; }
    void copy_out(const Tensor& gathered);
    Tensor copy_gradients_in();
    void keep(Sharded& s);
    void take_gradients(const Tensor& reduced);

    std::string name_;
    RankContext context_;
    UnitComm& comm_;
    std::vector<Sharded> sharded_;
    int64_t local_elements_ = 0;    ///< of this rank's part on the wire, padding included
    int64_t padding_elements_ = 0;  ///< of this rank's part
    int64_t whole_elements_ = 0;    ///< of the unit's parameters, no padding
    bool whole_ = false;
    comm::Work gather_;  ///< under way, not waited for yet
    Tensor gather_buffer_;
    comm::Work reduction_;  ///< the last collective of the reduction
    Tensor reduced_;        ///< what it leaves, where that is not float32
};

}  // namespace meshscope::parallel
