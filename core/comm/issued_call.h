#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "core/base/diagnosis.h"
#include "core/base/ids.h"
#include "core/base/kinds.h"
#include "core/comm/parts.h"

namespace meshscope::comm {

/// A group as its members know it. Shared by the calls under way, which may outlive the group.
struct GroupInfo {
    int32_t index = 0;  ///< of the trace's group table
    std::string name;
    std::vector<GlobalRank> ranks;
    /// What Algorithm::own means in it: a file and its checksum; "": nothing.
    std::string own_algorithm = {};  // may be left out where one is made
};

/// A collective call, from the check of its arguments to its end: the executor reads it, the transport
/// explains hangs by it (Transport::begin_call), and the members compare it.
struct IssuedCall {
    CollectiveOp op = CollectiveOp::barrier;
    ReduceOp reduce_op = ReduceOp::none;
    DType dtype = DType::float32;
    Stream stream = Stream::compute;
    Phase phase = Phase::setup;
    Algorithm algorithm = Algorithm::none;
    int32_t sequence = -1;  ///< as trace::Event::sequence
    int32_t step = -1;
    int32_t peer = -1;         ///< group rank of the root or the other side; -1: none
    int64_t in_elements = 0;   ///< what this rank gives
    int64_t out_elements = 0;  ///< what it gets
    double factor = 1.0;
    std::source_location source;
    std::shared_ptr<const GroupInfo> group;
    bool waits = false;  ///< CallOptions::async_op is off: a send ends only when it was received

    // Its buffers; null where a rank gives or gets nothing. Who runs the call keeps the tensors behind them
    // alive; of a call that has ended they lead nowhere.
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::vector<Part> in_parts;   ///< by group rank; scatter, reduce_scatter, all_to_all
    std::vector<Part> out_parts;  ///< by group rank; gather, all_gather, all_to_all
    bool counts_named = false;    ///< the parts come from counts that the caller gave
};

/// What Transport::note is told of.
enum class CallMoment : uint8_t { begins, awaits_receipt, ends };

/// What a transport keeps of what it was told: the call under way and the one before it.
/// Cost: one copy of the call when it begins.
class CallLog {
  public:
    void note(CallMoment moment, const IssuedCall* call) {
        if (moment == CallMoment::ends) {
            // A receipt that was waited for belongs to a send that has ended: it does not become the last
            // call again.
            if (in_call_ && !receipt_) now_ = 1 - now_;
            in_call_ = receipt_ = false;
            return;
        }
        calls_[now_] = *call;
        in_call_ = true;
        receipt_ = moment == CallMoment::awaits_receipt;
    }
    /// Without a group: none.
    const IssuedCall& doing() const { return in_call_ ? calls_[now_] : kNone; }
    const IssuedCall& last() const { return calls_[1 - now_]; }

  private:
    static const IssuedCall kNone;
    std::array<IssuedCall, 2> calls_;
    std::size_t now_ = 0;
    bool in_call_ = false, receipt_ = false;
};

/// The same in words. Without a group: a report of no call.
CallReport report_of(const IssuedCall& call);

/// What is known of a rank, and for whom it waits (-1: nobody).
RankReport report_of(GlobalRank rank, RankState state, const CallLog& calls, int32_t waits_for);

/// For a transport between processes, after `peer` was not heard of for too long: what this rank was doing,
/// and that nothing is known of the others. DiagnosisKind::timeout, not certain.
Diagnosis timeout_diagnosis(GlobalRank rank, const CallLog& calls, GlobalRank peer, int32_t world_size);
/// The same after `peer` ended without making the call: DiagnosisKind::missing.
Diagnosis missing_diagnosis(GlobalRank rank, const CallLog& calls, GlobalRank peer, int32_t world_size);
/// The same after the connection to `peer` broke or its process was seen to end: DiagnosisKind::lost.
Diagnosis lost_diagnosis(GlobalRank rank, const CallLog& calls, GlobalRank peer, int32_t world_size);

}  // namespace meshscope::comm
