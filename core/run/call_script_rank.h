#pragma once

#include <vector>

#include "core/run/rank_parts.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// A rank of a scenario that trains nothing: it makes the scenario's [[call]]s in the order of the file, each
/// ended before the next begins, as PyTorch's calls with async_op=False. All of it is step 0, phase forward.
///
/// Each call's buffers are its own, taken before it and let go after it (memory category communication). The
/// rule of a collective is "call." and its op, its unit the call's label; work is a compute event of its name
/// that goes through a buffer of so many bytes.
class CallScriptRank final : public RankParts {
  public:
    CallScriptRank(comm::Transport& transport, const RunPlan& plan, RunControl& control);

    /// Makes all calls. Throws what they throw.
    void run();

  private:
    bool takes_part(std::size_t call) const;
    void make(std::size_t call);
    void collective(const scenario::Call& call, comm::ProcessGroup& group);
    void message(const scenario::Call& call, comm::ProcessGroup& group);
    void send_eagerly(const scenario::Call& call, comm::ProcessGroup& group);
    void work(const scenario::Call& call);
    tensor::Tensor filled(const scenario::Call& call);
    tensor::Tensor buffer(const scenario::Call& call, int64_t elements);

    std::vector<comm::ProcessGroup*> groups_;  ///< by call; null where this rank is no member
};

}  // namespace meshscope::run
