#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/calling_group.h"
#include "core/comm/last_call.h"
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
    /// about 0.1 µs, without the collective; two thirds of that where it runs at once
    /// (CallOptions::async_op), and less than half where it is the call that ran last, again.
    Work issue(const CollectiveCall& call) final;

  protected:
    /// `group`: all but `me`, as TransportGroup's; throws as it says.
    RecordedGroup(StreamExecutor& executor, std::shared_ptr<CallingGroup> group, trace::Recorder* recorder);

    /// What calls under way keep beside the CallingGroup, and let go of when they have ended.
    virtual std::shared_ptr<const void> kept() const { return nullptr; }

    StreamExecutor& executor_;
    trace::Recorder* recorder_;

  private:
    /// Run a call where it is issued, nothing being under way: one of which nothing is known, and one that is
    /// the last one again.
    void run_first(const CollectiveCall& call);
    void run_again();
    /// Checks the call and fills in `state` for it, but for what enter() does and the tensors.
    void prepare(const CollectiveCall& call, Work::State& state) const;
    /// Numbers the call and enters it in the record. Gives its event; null at Level::off.
    const trace::Event* enter(const CollectiveCall& call, Work::State& state);
    /// Gives the call its number, and says where training stands.
    void number(CheckedCall& call);

    Algorithm algorithm_of(const CollectiveCall& call, const CheckedCall& checked) const;
    int64_t wording() const { return recorder_ != nullptr ? recorder_->wording() : 0; }

    std::shared_ptr<const CallingGroup> group_;
    bool shares_memory_;
    // Of calls that run where they are issued.
    Work::State at_once_;   ///< used again
    LastCall last_;         ///< the one in at_once_, when it has run and no other call came between
    trace::Event entered_;  ///< its event as it was entered, where it has one
    int64_t wording_ = 0;   ///< Recorder::wording() then
    int32_t next_sequence_ = 0;
    std::vector<int32_t> next_sent_;  ///< by group rank
    std::vector<int32_t> next_received_;
};

}  // namespace meshscope::comm
