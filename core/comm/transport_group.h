#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/comm/process_group.h"
#include "core/comm/recorded_group.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

/// A ProcessGroup whose collectives are our own algorithms over a Transport. One object a rank and group; it
/// may go before the executor does.
///
/// send and recv travel on a channel of their own, so a send that is issued before a collective on one rank
/// may meet a recv that is issued after it on the other.
///
/// With GroupOptions::checked, the members compare each call before its data move (see compare_calls.h): a
/// call that does not fit ends on every rank with the same DiagnosedError, and no wrong numbers come out.
/// What is recorded is the same with and without.
///
/// A send that waits ends when its receiver has its numbers. One that does not (isend) ends as soon as they
/// were copied (StreamExecutor::post_copy), and its span in the record shows that, not the receiver's time.
class TransportGroup final : public RecordedGroup {
  public:
    /// `index`: of the trace's group table. `name`: the mesh dim, or "world". `ranks`: the members,
    /// ascending, this rank among them. `channel`: the group's own; the same on all members and used by no
    /// other group (two channels of the transport, 2·value and 2·value+1, are taken). `recorder` may be null.
    /// Throws InvalidArgument: "comm.not_a_member", "comm.ranks_not_ascending", "comm.rank_outside_world".
    TransportGroup(StreamExecutor& executor, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                   Channel channel, trace::Recorder* recorder, GroupOptions options = {});
    ~TransportGroup() override;

  private:
    struct Members;  // what a running collective needs
};

}  // namespace meshscope::comm
