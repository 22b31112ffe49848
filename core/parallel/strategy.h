#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/comm/process_group.h"
#include "core/mesh/device_mesh.h"
#include "core/mesh/roles.h"
#include "core/nn/compute_event.h"
#include "core/nn/model.h"
#include "core/nn/tape.h"
#include "core/tensor/tensor.h"
#include "core/trace/recorder.h"

namespace meshscope::parallel {

using tensor::Tensor;

/// Looks at what the tapes of a rank compute, where somebody wants that (a search for the first NaN, say).
class TapeWatcher {
  public:
    virtual ~TapeWatcher() = default;
    /// The tapes made from now on belong to this step, micro-batch and phase.
    virtual void at(int32_t step, int32_t microbatch, Phase phase) = 0;
    /// A tape was made that will run there.
    virtual void watch(nn::Tape& tape) = 0;
    /// A tensor arrived from a neighbouring stage.
    virtual void received(const Tensor& from_elsewhere) = 0;
};

/// What a rank hands to a strategy. Nothing here is global; one object a rank, outliving the strategy.
struct RankContext {
    GlobalRank rank;
    const mesh::DeviceMesh* mesh = nullptr;
    /// This rank's group along each data dim of the mesh (replicate, shard), in mesh order, the last of them
    /// flattened with the cp dim where there is one: a data strategy sees these and nothing of tensor,
    /// pipeline or context parallelism.
    std::vector<comm::ProcessGroup*> groups;
    /// Its group along each other dim that has a role (tp, pp, cp); see along().
    std::map<mesh::Role, comm::ProcessGroup*> by_role;
    /// This rank's part of its shard group when that is cut into groups of so many neighbours: what an
    /// integer reshard_after_forward needs.
    std::map<int64_t, comm::ProcessGroup*> shard_parts;
    /// The same of its tp group, where as many neighbours share each key/value head.
    std::map<int64_t, comm::ProcessGroup*> tp_parts{};
    /// First and last stage of this rank's pipeline, where they share a parameter and lie on two ranks, this
    /// one among them.
    comm::ProcessGroup* embedding = nullptr;
    tensor::Allocator* allocator = nullptr;
    trace::Recorder* recorder = nullptr;  ///< may be null
    TapeWatcher* watcher = nullptr;       ///< may be null

    /// This rank's group along the mesh dim of that role, none of data; null: the mesh has no such dim.
    comm::ProcessGroup* along(mesh::Role role) const {
        const auto found = by_role.find(role);
        return found == by_role.end() ? nullptr : found->second;
    }
};

/// Where a pass through the model stands in its step.
struct Pass {
    int32_t step = 0;
    int32_t microbatch = 0;
    bool last = true;  ///< the step's last micro-batch: gradients travel now
};

/// Gives a parameter's first values, any part of them, to any rank.
class InitialValues {
  public:
    virtual ~InitialValues() = default;
    /// Elements [first, first + numbers.size()) of the whole parameter, row-major.
    virtual void read(const nn::Parameter& parameter, int64_t first, std::span<float> numbers) const = 0;
};

/// What the optimizer updates on this rank: a whole parameter or this rank's rows of it (perhaps none).
struct LocalParameter {
    const nn::Parameter* parameter = nullptr;
    Tensor value;
    int64_t first_element = 0;  ///< where `value` begins in the parameter (of Parameter::shape)
    bool owned = true;  ///< false: another rank answers for the same elements when the whole is collected
    /// Where replicas train apart (LocalSGD, DiLoCo): which of their copies this is. Copy 0 is the model; a
    /// checkpoint keeps all of them.
    int32_t copy = 0;
};

/// Something that a strategy carries from step to step beside the parameters, one array for each local
/// parameter (undefined: zeros), in their order and of their shapes, and the same on every copy.
struct KeptState {
    std::string name;  ///< "outer_momentum"
    std::vector<Tensor> arrays;
};

/// A way to train one model on many ranks, applied from outside: the model knows nothing of it. The training
/// loop calls, for each step and micro-batch: before_forward, attach, (forward, backward), after_backward;
/// then gradients, the optimizer, after_step.
///
/// A pipeline has one for each stage, and several micro-batches under way: it calls before_forward with last
/// false, then (when their time comes) before_backward, attach, backward, after_backward, the last of them
/// with last true, and reduce_gradients once at the end.
class Strategy {
  public:
    virtual ~Strategy() = default;

    /// Puts the first values in place; set-up collectives run here (step -1).
    virtual void load(const InitialValues& values) = 0;
    virtual void before_forward(const Pass& pass) = 0;
    /// What the model gets for x: mixed precision casts it. Called between before_forward and attach.
    virtual Tensor input(const Tensor& x) { return x; }
    /// Hangs the strategy's hooks on the tape of the pass that was announced.
    virtual void attach(nn::Tape& tape) = 0;
    virtual void after_backward(const Pass& pass) = 0;

    /// A forward without backward (torch.no_grad()) comes between two steps. What waits for a backward must
    /// not notice.
    virtual void before_evaluation(int32_t /*step*/) {}

    /// Only pipelines call these.
    ///
    /// A backward of an earlier forward comes; `pass.last`: the stage's last one, in which gradients may
    /// travel.
    virtual void before_backward(const Pass&) {}
    /// Sends the gradients that no backward has sent. (PyTorch's REDUCE_GRAD.)
    virtual void reduce_gradients() {}
    /// Makes the whole parameters and keeps them until reshard(). (UNSHARD and RESHARD.)
    virtual void unshard() {}
    virtual void reshard() {}

    /// Uneven inputs (torch.distributed.algorithms.join.Join): answers the collectives of a pass for which
    /// other ranks have a batch and this one has none.
    virtual void shadow(const Pass&) {}
    /// After the last step: whether this rank had a batch in it, and the highest data-parallel rank that had
    /// one. The ranks find that one by a collective; a dry run, where none carries numbers, takes it from
    /// here.
    virtual void finish(bool /*had_batch*/, GroupRank /*last_joiner*/) {}

    /// Fixed after load().
    virtual const std::vector<LocalParameter>& local_parameters() const = 0;
    /// One gradient for each local parameter, same order and count of elements, undefined of frozen ones;
    /// valid until after_step().
    virtual std::vector<Tensor> gradients() const = 0;
    /// The global 2-norm over the whole model of the gradients (torch.nn.utils.clip_grad_norm_). Every rank
    /// calls it.
    virtual double gradient_norm() = 0;
    /// optimizer.zero_grad(set_to_none=True).
    virtual void after_step() = 0;

    /// What the strategy learned in earlier steps and later steps depend on, bit for bit; a checkpoint keeps
    /// it. Nothing for most.
    virtual std::vector<int64_t> remembered() const { return {}; }
    /// Gives back what remembered() gave, after load() and before the first step.
    virtual void remember(std::span<const int64_t>) {}
    /// The arrays that a checkpoint keeps of it, each time under the same names; every rank calls it. What is
    /// restored is written into these same arrays, after remember().
    virtual std::vector<KeptState> kept() { return {}; }
};

using nn::ComputeEvent;

}  // namespace meshscope::parallel
