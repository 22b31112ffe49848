#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/process_group.h"
#include "core/nn/optim/optimizer.h"
#include "core/parallel/step_runner.h"
#include "core/run/checkpoint/layout.h"
#include "core/run/checkpoint/manifest.h"
#include "core/run/checkpoint/save_plan.h"
#include "core/scenario/scenario.h"
#include "core/trace/recorder.h"

namespace meshscope::run::checkpoint {

/// What a rank has in its hands when a checkpoint is due.
struct RankState {
    parallel::StepRunner* runner = nullptr;
    const nn::Optimizer* optimizer = nullptr;  ///< slot i is local parameter i
    /// Whether this rank saves its part of a parameter (of several ranks with the same numbers one does).
    std::function<bool(const parallel::LocalParameter&)> answers_for;
    std::span<const double> losses, grad_norms;  ///< this rank's, of the steps of this run
    std::vector<parallel::KeptState> kept = {};  ///< the saver asks the runner for it
};

/// One rank's side of saving. Every rank of `group` (all that train) makes the same calls.
///
/// The ranks first tell each other their layouts (an all_gather). Kind "sharded": each rank then writes what
/// it answers for to a file of its own; rank 0 writes the manifest and gives the folder its name. Kind
/// "rank0": every array is gathered to rank 0, which writes one file. A barrier ends both: no rank goes on
/// before the checkpoint is complete.
///
/// What is not finite is not saved: whoever resumed it would go on with NaN, and `keep` would let a good one
/// go for it. Rank 0 tells so, once ("checkpoint.not_finite").
///
/// A rank that cannot write throws IoError ("checkpoint.save_failed", "checkpoint.save_failed_kept": path,
/// reason, what is still whole): that ends the run, and the checkpoints made before stay as they were.
class Saver {
  public:
    /// All live longer than the saver; `recorder` may be null. Throws InputError ("checkpoint.folder_taken").
    Saver(const SavePlan& plan, comm::ProcessGroup& group, tensor::Allocator& allocator,
          trace::Recorder* recorder);

    /// Saves when the number of steps done is a multiple of `every`.
    void after_step(int32_t steps_done, const RankState& state);
    /// Saves what the last step left, unless that was saved already.
    void finish(int32_t steps_done, const RankState& state);
    /// Whether the last save was none because something was not finite: on every rank the same.
    bool refused() const { return refused_; }

  private:
    void save(int32_t steps_done, const RankState& state);
    void refuse_to_save(int32_t steps_done);
    void save_sharded(const std::string& folder, const RankState& state, const std::vector<Layout>& layouts,
                      Manifest& manifest) const;
    void save_on_rank0(const std::string& folder, const RankState& state, const std::vector<Layout>& layouts,
                       Manifest& manifest) const;
    void describe(Manifest& manifest, int32_t steps_done, const std::vector<Layout>& layouts) const;
    Layout layout_of(const RankState& state) const;
    /// Every rank's words, by group rank.
    std::vector<std::vector<int64_t>> exchange(std::span<const int64_t> words) const;
    /// On rank 0: the whole array whose pieces the ranks hold as `mine`; elsewhere nothing.
    std::vector<float> gather(const std::vector<Layout>& layouts, std::size_t parameter, int32_t copy,
                              std::span<const tensor::Tensor> mine) const;
    bool is_root() const { return group_.rank() == GroupRank{0}; }

    const SavePlan& plan_;
    comm::ProcessGroup& group_;
    tensor::Allocator& allocator_;
    trace::Recorder* recorder_;
    int32_t saved_;  ///< steps done at the last save
    bool refused_ = false, told_ = false;
};

}  // namespace meshscope::run::checkpoint
