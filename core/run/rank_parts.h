#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/checksum_transport.h"
#include "core/comm/faults.h"
#include "core/comm/process_group.h"
#include "core/comm/stream_executor.h"
#include "core/run/rank.h"
#include "core/tensor/device.h"
#include "core/trace/part_file.h"

namespace meshscope::run {

/// What lies between a rank and the world's transport: the faults that a scenario asks for, and over them, so
/// that they are found, the checksums of a checked run.
class RankTransport {
  public:
    /// `transport` outlives this.
    RankTransport(comm::Transport& transport, std::span<const comm::Fault> faults, int32_t round,
                  bool checked)
        : faults_(faults, transport.rank(), round), top_(&transport) {
        // On every rank, faults of its own or not: under it nobody meets at tables, and all must do the same.
        if (!faults.empty()) top_ = &faulty_.emplace(*top_, faults_);
        if (checked) top_ = &checksums_.emplace(*top_);
    }
    RankTransport(const RankTransport&) = delete;
    RankTransport& operator=(const RankTransport&) = delete;

    comm::Transport& top() { return *top_; }
    comm::Faults& faults() { return faults_; }

  private:
    comm::Faults faults_;
    std::optional<comm::FaultyTransport> faulty_;
    std::optional<comm::ChecksumTransport> checksums_;
    comm::Transport* top_;
};

/// What every rank of a run has, whether it trains or only makes calls: its record, its memory, its way to
/// the others, its process groups and its result. In the order it must be torn down from the end.
class RankParts {
  public:
    /// Ends the rank: every call it issued is run. Gives all that it made.
    RankResult finish();
    /// What it made up to a failure. A call that did not end has no end of its own: it stands until the last
    /// thing the rank recorded; one that did not begin stands there as a point.
    RankResult abandon() noexcept;

  protected:
    /// The plan, `control` and `transport` outlive it.
    RankParts(comm::Transport& transport, const RunPlan& plan, RunControl& control);
    ~RankParts() = default;

    /// Makes this rank's side of a process group of the table; lives as long as this.
    comm::ProcessGroup* join_group(int32_t index);
    /// Faults that happen where a rank enters a step, or a phase of it.
    void enter(int32_t step, Phase phase);
    /// Appends what was recorded since the last time to the rank's part file, where one is kept; when every
    /// collective that was issued has run.
    void append_part();

    const RunPlan& plan_;
    RunControl& control_;
    const scenario::Scenario& scenario_;  ///< the plan's
    GlobalRank rank_;
    RankResult result_;  ///< as far as it came; the record is the recorder's until the end
    trace::Recorder recorder_;
    std::unique_ptr<tensor::Device> device_;
    tensor::Allocator allocator_;
    RankTransport transport_;
    comm::StreamExecutor executor_;

  private:
    /// Tells a backend whose library makes the groups itself all that there will be.
    void announce_groups(comm::Transport& transport);
    void open_part();
    std::unique_ptr<comm::ProcessGroup> make_group(int32_t index, const std::string& name,
                                                   std::vector<GlobalRank> members);

    bool only_native_ = false;  ///< groups are the backend's own library's, whatever the scenario says
    std::vector<std::unique_ptr<comm::ProcessGroup>> groups_;
    std::optional<trace::PartWriter> part_;
    trace::Recorder::Mark in_part_;
    std::size_t losses_in_part_ = 0, grad_norms_in_part_ = 0;
};

}  // namespace meshscope::run
