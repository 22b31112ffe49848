#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/comm/transport.h"
#include "core/run/plan.h"
#include "core/run/processes.h"
#include "core/run/rank_result.h"

namespace meshscope::run {

/// Whether step s is still run: asked by every rank, answered once, so that all stop together.
class StopVote {
  public:
    explicit StopVote(const std::atomic<bool>* cancel) : cancel_(cancel) {}
    bool goes_on(int32_t step);

  private:
    const std::atomic<bool>* cancel_;
    std::mutex mutex_;
    int32_t decided_ = -1;  ///< the last step that was answered
    bool stopped_ = false;
};

/// What the ranks of a run decide together while it lasts. One object for all ranks of this process.
struct RunControl {
    StopVote vote;
    int64_t epoch_ns = 0;            ///< time 0 of the record, on the steady clock
    int64_t run_id = 0;              ///< trace::PartHead::run
    Processes* processes = nullptr;  ///< where ranks are processes: how they vote; the mesh's first decides
};

/// One rank's whole life in a run: set-up, every step, and all that it made into `result`. When it throws,
/// what it had made up to then is there all the same.
void train_rank(comm::Transport& transport, const RunPlan& plan, RunControl& control, RankResult& result);

}  // namespace meshscope::run
