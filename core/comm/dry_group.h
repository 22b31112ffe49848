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
    DryTransport(GlobalRank rank, int32_t world_size) : rank_(rank), world_size_(world_size) {}
    GlobalRank rank() const override { return rank_; }
    int32_t world_size() const override { return world_size_; }
    /// Predicts what threads do.
    bool shares_memory() const override { return true; }
    Ticket post(GlobalRank dst, Channel channel, Bytes data) override;
    void receive(GlobalRank src, Channel channel, int64_t bytes, const Consume& consume) override;
    void wait(Ticket) override {}
    bool done(Ticket) override { return true; }
    void withdraw() noexcept override {}
    void give_up() noexcept override {}

  private:
    GlobalRank rank_;
    int32_t world_size_;
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
