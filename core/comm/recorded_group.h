#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/comm/call_check.h"
#include "core/comm/process_group.h"
#include "core/comm/stream_executor.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

/// What is said of a group beside its members; the same on all of them.
struct GroupOptions {
    /// What calls get that name none; see choose_algorithm for ops that do not have it.
    Algorithm algorithm = Algorithm::ring;
    /// Which node each member stands on, by group rank, for two-level algorithms; empty: NodeLevels' rule.
    std::vector<int32_t> node_of = {};
    /// Whether the members compare each call before its data move.
    bool checked = false;
};

/// What every group of ours does with a call, whether its bytes travel (TransportGroup) or not (DryGroup):
/// checks it, chooses the algorithm, enters the event, and queues it in the order of issue. So both write the
/// same record and let tensors go at the same moments.
///
/// Sequence numbers (trace::Event::sequence): collectives count 0, 1, 2 … in the group, the same on every
/// member. send and recv do not take part in that count, since only two members see them: the nth message
/// from a to b in this group has number n on both sides, whatever goes the other way.
class RecordedGroup : public ProcessGroup {
  public:
    int32_t size() const override { return static_cast<int32_t>(ranks_.size()); }
    GroupRank rank() const override { return GroupRank{me_}; }
    const std::vector<GlobalRank>& ranks() const override { return ranks_; }
    const std::string& name() const override { return name_; }
    const GroupOptions& options() const { return *options_; }

    /// Throws what check_call throws. Cost: about 0.2 µs, without the collective.
    Work issue(CollectiveCall call) final;

  protected:
    /// As TransportGroup's; throws as it says.
    RecordedGroup(StreamExecutor& executor, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                  trace::Recorder* recorder, GroupOptions options);

    /// Outlives the group where a queued call keeps it.
    std::shared_ptr<const void> shared_options() const { return options_; }

    /// What is to be done when the call's turn comes: `state.call` (its event is state.event; -1 when nothing
    /// is recorded; otherwise it must be begun and ended). May keep things in state.kept.
    virtual std::function<void()> runner(Work::State& state, Algorithm algorithm) = 0;

    StreamExecutor& executor_;
    trace::Recorder* recorder_;

  private:
    /// Fills in what `checked` says for reports, but for the group.
    void describe(CheckedCall& checked, const CollectiveCall& call, Algorithm algorithm,
                  int32_t sequence) const;

    std::shared_ptr<const GroupInfo> info_;
    int32_t index_;
    std::string name_;
    std::vector<GlobalRank> ranks_;
    int32_t me_ = 0;
    std::shared_ptr<const GroupOptions> options_;
    int32_t next_sequence_ = 0;
    std::vector<int32_t> next_sent_;  ///< by group rank
    std::vector<int32_t> next_received_;
};

}  // namespace meshscope::comm
