#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/process_group.h"
#include "core/comm/stream_executor.h"
#include "core/run/rank.h"
#include "core/run/rank_transport.h"
#include "core/tensor/device.h"
#include "core/trace/part_file.h"

namespace meshscope::run {

/// What every rank of a run has, whether it trains or only makes calls: its record, its memory, its way to
/// the others and its process groups. In the order it must be torn down from the end.
class RankParts {
  public:
    /// Ends the rank: every call it issued is run, faults that never came are handed over. Gives the record.
    trace::RankRecord finish();
    /// What was recorded up to a failure. A call that did not end has no end of its own: it stands until the
    /// last thing the rank recorded; one that did not begin stands there as a point.
    trace::RankRecord abandon() noexcept;

  protected:
    RankParts(comm::Transport& transport, SharedRun& shared);
    ~RankParts() = default;

    /// Makes this rank's side of a process group of the table; lives as long as this.
    comm::ProcessGroup* join_group(int32_t index);
    /// Faults that happen where a rank enters a step, or a phase of it.
    void enter(int32_t step, Phase phase);
    /// Appends what was recorded since the last time to the rank's part file, where one is kept; when every
    /// collective that was issued has run.
    void append_part();

    SharedRun& shared_;
    const scenario::Scenario& scenario_;
    GlobalRank rank_;
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

/// Lets a rank run, and leaves in `record` what it recorded, also when it throws.
template <class Rank>
void live(Rank& rank, trace::RankRecord& record) {
    try {
        rank.run();
        record = rank.finish();
    } catch (...) {
        record = rank.abandon();
        throw;
    }
}

}  // namespace meshscope::run
