#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "core/base/diagnosis.h"
#include "core/base/ids.h"
#include "core/base/kinds.h"

namespace meshscope::comm {

/// A group as its members know it. Shared by the calls under way, which may outlive the group.
struct GroupInfo {
    int32_t index = 0;  ///< of the trace's group table
    std::string name;
    std::vector<GlobalRank> ranks;
};

/// What a rank is about to do, in fixed-size words that cost nothing to make: for the transport, which must
/// explain why a rank does not go on (Transport::begin_call), and for comparing calls across ranks.
struct CallInfo {
    std::shared_ptr<const GroupInfo> group;
    CollectiveOp op = CollectiveOp::barrier;
    ReduceOp reduce_op = ReduceOp::none;
    DType dtype = DType::float32;
    Stream stream = Stream::compute;
    Phase phase = Phase::setup;
    Algorithm algorithm = Algorithm::none;
    int32_t sequence = -1;  ///< as trace::Event::sequence
    int32_t step = -1;
    int32_t peer = -1;  ///< group rank of the root or the other side; -1: none
    int64_t in_elements = 0, out_elements = 0;
    double factor = 1.0;
    std::source_location source;
};

/// The same in words. Without a group: a report of no call.
CallReport report_of(const CallInfo& call);

/// What is known of a rank: the call it is in and the one it finished last (either without a group: none),
/// and for whom it waits (-1: nobody). For transports that keep what begin_call and end_call said.
RankReport report_of(GlobalRank rank, RankState state, const CallInfo& call, const CallInfo& last,
                     int32_t waits_for);

/// For a transport between processes, after `peer` was not heard of for too long: what this rank was doing,
/// and that nothing is known of the others. DiagnosisKind::timeout, not certain.
Diagnosis timeout_diagnosis(GlobalRank rank, const CallInfo& call, const CallInfo& last, GlobalRank peer,
                            int32_t world_size);
/// The same after `peer` ended without making the call: DiagnosisKind::missing.
Diagnosis missing_diagnosis(GlobalRank rank, const CallInfo& call, const CallInfo& last, GlobalRank peer,
                            int32_t world_size);
/// The same after the connection to `peer` broke or its process was seen to end: DiagnosisKind::lost.
Diagnosis lost_diagnosis(GlobalRank rank, const CallInfo& call, const CallInfo& last, GlobalRank peer,
                         int32_t world_size);

}  // namespace meshscope::comm
