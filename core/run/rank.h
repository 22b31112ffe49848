#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/comm/faults.h"
#include "core/comm/stream_executor.h"
#include "core/parallel/strategy.h"
#include "core/run/checkpoint/load.h"
#include "core/run/checkpoint/save.h"
#include "core/run/finite.h"
#include "core/run/gather_to_rank0.h"
#include "core/run/groups.h"
#include "core/run/processes.h"
#include "core/run/run.h"
#include "core/run/sources.h"

namespace meshscope::run {

/// Whether step s is still run: asked by every rank, answered once, so that all stop together.
class StopVote {
  public:
    explicit StopVote(const std::atomic<bool>* cancel) : cancel_(cancel) {}
    bool goes_on(int32_t step);
    bool stopped() const { return stopped_; }

  private:
    const std::atomic<bool>* cancel_;
    std::mutex mutex_;
    int32_t decided_ = -1;  ///< the last step that was answered
    std::atomic<bool> stopped_ = false;
};

/// What all ranks of a run share, and where each leaves what it made. Written by rank r at index r only.
struct SharedRun {
    const scenario::Scenario& scenario;
    const RunOptions& options;
    const mesh::DeviceMesh& mesh;
    const GroupTable& groups;
    const parallel::InitialValues& weights;
    const Batches& batches;
    trace::Level level;
    comm::StreamExecutor::Mode executor_mode;
    int64_t epoch_ns;
    StopVote& vote;

    std::vector<trace::RankRecord>& records;  ///< [rank]
    std::vector<std::vector<double>>&
        losses;  ///< [rank][step]: mean over this rank's part; empty outside the mesh
    std::vector<std::vector<double>>& grad_norms;  ///< [rank][step]
    std::vector<NamedArray>& parameters;           ///< whole; each rank fills the elements it owns
    std::vector<int64_t>& wall_ns;                 ///< [rank]
    bool dry = false;  ///< on a device without memory, in groups without peers; no parameters are handed over
    const checkpoint::Checkpoint* resumed = nullptr;  ///< what the run goes on from; null: it begins anew
    const checkpoint::SavePlan* save = nullptr;       ///< null: nothing is saved
    /// [rank]; not null: a second run, which looks for the op that made NaN or Inf.
    std::vector<std::optional<NotFinite>>* not_finite = nullptr;
    std::vector<std::vector<Evaluated>>* evaluations = nullptr;  ///< [rank]; null: nobody wants to know
    std::vector<int32_t> node_of_rank = {};                      ///< run::node_of_rank
    bool checked = false;                                        ///< see RunOptions::checked
    /// [rank]: faults of the scenario that did not happen; null: nobody wants to know.
    std::vector<std::vector<comm::Faults::NeverCame>>* never_came = nullptr;
    /// Where ranks are processes: how they vote (the first rank of the mesh decides), and where this one
    /// leaves its parts of the parameters when it is not rank 0.
    Processes* processes = nullptr;
    std::vector<ParameterPart>* parts = nullptr;
    /// [rank]: why its part file is not whole; null: no part files are kept (RunOptions::parts).
    std::vector<std::optional<Message>>* part_failures = nullptr;
    int64_t run_id = 0;        ///< trace::PartHead::run
    std::string backend = {};  ///< its name as the record has it
};

/// One rank's whole life in a run: set-up, every step, hand-over. When it throws, what the rank had recorded
/// is handed over all the same.
void train_rank(comm::Transport& transport, SharedRun& shared);

}  // namespace meshscope::run
