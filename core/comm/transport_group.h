#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/process_group.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

/// A ProcessGroup whose collectives are our own algorithms over a Transport. One object a rank and group; it
/// may go before the executor does.
///
/// Sequence numbers (trace::Event::sequence): collectives count 0, 1, 2 … in the group, the same on every
/// member. send and recv do not take part in that count, since only two members see them: the nth message
/// from a to b in this group has number n on both sides, whatever goes the other way. They also travel on a
/// channel of their own, so a send that is issued before a collective on one rank may meet a recv that is
/// issued after it on the other.
///
/// send is buffered: it ends as soon as its numbers were copied (StreamExecutor::post_copy), and its span in
/// the record shows that, not the receiver's time.
class TransportGroup final : public ProcessGroup {
  public:
    /// `index`: of the trace's group table. `name`: the mesh dim, or "world". `ranks`: the members,
    /// ascending, this rank among them. `channel`: the group's own; the same on all members and used by no
    /// other group (two channels of the transport, 2·value and 2·value+1, are taken). `recorder` may be null.
    /// `algorithm` is what calls get that name none; see choose_algorithm for ops that do not have it. Throws
    /// InvalidArgument: "comm.not_a_member", "comm.ranks_not_ascending", "comm.rank_outside_world".
    TransportGroup(StreamExecutor& executor, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                   Channel channel, trace::Recorder* recorder, Algorithm algorithm = Algorithm::ring);
    /// The same, in the order of the layers; `transport` must be the executor's.
    TransportGroup(Transport& transport, int32_t index, std::string name, std::vector<GlobalRank> ranks,
                   Channel channel, trace::Recorder* recorder, StreamExecutor& executor,
                   Algorithm algorithm = Algorithm::ring);
    ~TransportGroup() override;

    int32_t size() const override;
    GroupRank rank() const override;
    const std::vector<GlobalRank>& ranks() const override;
    const std::string& name() const override { return name_; }
    Algorithm algorithm() const { return algorithm_; }

    /// Throws what check_call throws. Cost: about 1 µs and two small allocations, without the collective.
    Work issue(CollectiveCall call) override;

  private:
    struct Members;  // what a running collective needs; shared with those under way

    StreamExecutor& executor_;
    int32_t index_;
    std::string name_;
    std::shared_ptr<const Members> members_;
    trace::Recorder* recorder_;
    Algorithm algorithm_;
    int32_t next_sequence_ = 0;
    std::vector<int32_t> next_sent_;  ///< by group rank
    std::vector<int32_t> next_received_;
};

}  // namespace meshscope::comm
