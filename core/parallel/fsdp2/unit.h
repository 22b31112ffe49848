#pragma once

#include <string>
#include <vector>

#include "core/parallel/fsdp2/divide.h"
#include "core/parallel/fsdp2/shard.h"
#include "core/parallel/mixed_precision.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

class Unit;

/// What all units of a rank share: which gather's buffer still lives, which scatter is still under way.
struct UnitComm {
    comm::ProcessGroup* shard = nullptr;      ///< null: one rank a shard group, nothing is gathered
    comm::ProcessGroup* replicate = nullptr;  ///< HSDP's all_reduce; null for a 1-D mesh
    MixedPrecision precision;
    GradientDivide divide;
    bool cpu_offload = false;
    /// Forward keeps the last gather's buffer until the next one was copied out, so the two may overlap.
    Tensor previous_gather;
    int32_t previous_copy_out = -1;
    /// At most one reduce_scatter input is alive: the next one first waits for this.
    comm::Work scatter;
    Tensor scatter_input;
    Unit* reducing = nullptr;  ///< whose gradients that scatter carries
};

/// FSDP2's parameter group: the parameters of one unit, sharded together and gathered together.
///
/// Frozen parameters are gathered with the others and leave no gradient: a reduce_scatter carries trained
/// ones alone, and where there are none nothing is reduced.
///
/// With an integer reshard_after_forward each rank keeps 1/k of every parameter's padded rows between forward
/// and backward, cut from the gathered whole, and backward gathers among k neighbours.
///
/// Offloaded to the CPU, shards, their gradients and the optimizer's state lie in the host's memory: a shard
/// is copied to the device before it is gathered ("fsdp2.h2d"), a reduced gradient to the host ("fsdp2.d2h",
/// on the stream of its reduction, as PyTorch).
///
/// Life in a step: sharded → unshard() (all_gather issued) → wait_for_unshard() (copied out: parameters
/// usable) → reshard() after forward → the same again before backward → reduce_gradients() → sharded. Source:
/// torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py.
class Unit {
  public:
    /// `part`: the neighbours that gather for backward; null: the whole shard group does.
    Unit(std::string name, std::vector<nn::Parameter*> parameters, const RankContext& context, UnitComm& comm,
         comm::ProcessGroup* part = nullptr);

    const std::string& name() const { return name_; }
    bool empty() const { return sharded_.empty(); }
    bool trains() const { return trained_local_ > 0; }
    void load(const InitialValues& values);
    void append_local(std::vector<LocalParameter>& local, bool owned) const;

    /// Issues the all_gather unless the parameters are whole already or a gather is under way.
    void unshard(std::string_view rule, bool prefetch);
    /// Makes the parameters whole; `forward` keeps the buffer for overlap as PyTorch does.
    void wait_for_unshard(bool forward);
    /// Frees the whole parameters.
    void reshard();
    /// The same behind forward: where there is a `part`, this rank's part of each stays.
    void reshard_after_forward();

    /// Takes the parameters' gradients: reduce_scatter over the shard group, then all_reduce over the
    /// replicate group, both as UnitComm::divide says. Returns without waiting. Without `all_reduce` the
    /// scattered gradients wait for a later call, which adds them to its own.
    void reduce_gradients(bool all_reduce = true);
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
        Tensor padded;          ///< rows_per_rank rows, of which the first are `local`
        Tensor local;           ///< this rank's rows, perhaps none
        Tensor grad;            ///< gradient of `local`
        Tensor whole{};         ///< all padded rows, while the unit is whole
        Tensor post_forward{};  ///< this rank's part of `whole` between forward and backward
        Tensor kept{};          ///< sum of earlier micro-batches, where it is not in the parameter's own grad
    };
    int64_t shard_ranks() const { return comm_.shard ? comm_.shard->size() : 1; }
    int64_t shard_rank() const { return comm_.shard ? comm_.shard->rank().value : 0; }
    void copy_out(const Tensor& gathered);
    Tensor on_device(const Sharded& s);
    int64_t part_padding() const;
    Tensor copy_gradients_in();
    void keep(Sharded& s);
    void wait_for_scatter();
    void divide(const Tensor& numbers, float by, Stream stream);
    void add_partial(const Tensor& reduced);
    void settle();
    void take_gradients(const Tensor& reduced, Stream stream);

    std::string name_;
    RankContext context_;
    UnitComm& comm_;
    comm::ProcessGroup* part_;
    std::vector<Sharded> sharded_;
    int64_t local_elements_ = 0;    ///< of this rank's part on the wire, padding included
    int64_t padding_elements_ = 0;  ///< of this rank's part
    // Of the trained parameters, whose gradients travel:
    int64_t trained_local_ = 0;    ///< elements of this rank's part, padding included
    int64_t trained_padding_ = 0;  ///< of this rank's part
    int64_t trained_whole_ = 0;    ///< no padding
    bool whole_ = false;
    comm::Work gather_;  ///< under way, not waited for yet
    Tensor gather_buffer_;
    bool gather_of_parts_ = false;
    bool in_parts_ = false;        ///< post_forward holds what backward gathers
    comm::Work reduction_;         ///< the all_reduce, under way
    Tensor reduced_;               ///< what the last collective of the reduction leaves
    bool reduces_partly_ = false;  ///< that is no gradient yet: replicas are still to be summed
    Tensor partial_;               ///< scattered in earlier micro-batches, not all-reduced
};

}  // namespace meshscope::parallel
