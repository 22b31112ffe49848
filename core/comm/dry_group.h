#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/comm/recorded_group.h"
#include "core/comm/stream_executor.h"
#include "core/comm/transport.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

/// The transport of a rank that runs alone: it knows who and how many it is, and moves nothing. Whoever asks
/// it to carry bytes gets CommError ("comm.dry_transport": rank).
class DryTransport final : public Transport {
  public:
    DryTransport(GlobalRank rank, int32_t world_size) : Transport(rank, world_size) {}
    /// Predicts what threads do.
    Abilities abilities() override { return {.shares_memory = true}; }
    Ticket post(GlobalRank dst, Channel channel, Bytes data) override;
    void receive_together(std::span<const Expected> messages, Channel channel,
                          const ConsumeTogether& consume) override;
    void wait(Ticket) override {}
    bool done(Ticket) override { return true; }
    void withdraw() noexcept override {}
    void give_up() noexcept override {}
};

/// A ProcessGroup without peers: a call is checked, recorded and queued as a TransportGroup does it, and when
/// its turn comes it has ended. The bytes on the wire come from the algorithm's card (cost()). So any one
/// rank of any world can be run alone, and writes the record that it would write among the others
/// (Level::collectives; no hops).
///
/// Numbers: floating point buffers stay as they are. Integers (counts, orders, shapes: what code on the host
/// reads) come out as if every member had given what this one gives, up to kControlElements elements; a recv
/// leaves its output.
class DryGroup final : public RecordedGroup {
  public:
    static constexpr int64_t kControlElements = int64_t{1} << 16;
    /// `executor` must be of a DryTransport; the rest as TransportGroup's.
    DryGroup(StreamExecutor& executor, int32_t index, std::string name, std::vector<GlobalRank> ranks,
             trace::Recorder* recorder, GroupOptions options = {});

  private:
    struct Members;
};

}  // namespace meshscope::comm
