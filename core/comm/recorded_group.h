#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/calling_group.h"
#include "core/comm/process_group.h"
#include "core/comm/stream_executor.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

/// What every group of ours does with a call, whether its bytes travel (TransportGroup) or not (DryGroup):
/// checks it, chooses the algorithm, enters the event, and queues it in the order of issue. So both write the
/// same record and let tensors go at the same moments.
///
/// Sequence numbers (trace::Event::sequence): collectives count 0, 1, 2 … in the group, the same on every
/// member. send and recv do not take part in that count, since only two members see them: the nth message
/// from a to b in this group has number n on both sides, whatever goes the other way.
class RecordedGroup : public ProcessGroup {
  public:
    int32_t size() const override { return static_cast<int32_t>(group_->ranks.size()); }
    GroupRank rank() const override { return GroupRank{group_->me}; }
    const std::vector<GlobalRank>& ranks() const override { return group_->ranks; }
    const std::string& name() const override { return group_->name; }
    const GroupOptions& options() const { return group_->options; }

    /// Throws what check_call and CallingGroup::accept throw, and where it waits what the call does. Cost:
    /// about 0.1 µs, without the collective.
    Work issue(const CollectiveCall& call) final;

  protected:
    /// `group`: all but `me`, as TransportGroup's; throws as it says.
    RecordedGroup(StreamExecutor& executor, std::shared_ptr<CallingGroup> group, trace::Recorder* recorder);

    /// What calls under way keep beside the CallingGroup, and let go of when they have ended.
    virtual std::shared_ptr<const void> kept() const { return nullptr; }

    StreamExecutor& executor_;
    trace::Recorder* recorder_;

  private:
    /// Checks the call and fills in `state` for it, but for what enter() does and the tensors.
    void prepare(const CollectiveCall& call, Work::State& state) const;
    /// Numbers the call, says where training stands, and enters it in the record.
    void enter(const CollectiveCall& call, Work::State& state);

    Algorithm algorithm_of(const CollectiveCall& call, const IssuedCall& checked) const;

    std::shared_ptr<const CallingGroup> group_;
    bool shares_memory_;
    int32_t next_sequence_ = 0;
    std::vector<int32_t> next_sent_;  ///< by group rank
    std::vector<int32_t> next_received_;
};

}  // namespace meshscope::comm
