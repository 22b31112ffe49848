#pragma once

#include <functional>
#include <vector>

#include "app/gui/view/collective_state.h"

namespace meshscope::view {

/// Plays one recorded collective again, hop by hop: the buffers as they were cut, what stood in them at the
/// start, and what each hop brought. Nothing is computed that the trace does not hold but the sums, which are
/// made in the engine's order.
class Replay {
  public:
    Replay(const trace::Trace& trace, const trace::CollectiveInstance& instance);

    /// Lets the hops land that `landed` names, in order of rounds, and gives the state away.
    CollectiveState run(const std::function<bool(const HopState&)>& landed);

    /// Before run(): the hops, whose times the caller may fill in.
    CollectiveState& state() { return state_; }
    const trace::Event& event(std::size_t member) const;
    const trace::RankTrace& rank(std::size_t member) const;
    /// A member's recorded input or output, or null.
    const trace::Snapshot* snapshot(std::size_t member, trace::SnapshotKind kind) const;

  private:
    void collect_hops();
    void note_chunks();
    std::vector<ChunkState> cut(std::size_t member, int64_t elements) const;
    std::vector<ChunkState> cut_by_hops(std::size_t member, int64_t elements) const;
    BufferState buffer(std::size_t m) const;
    void fill_own(std::size_t m, BufferState& b) const;
    bool holds_source(std::size_t m) const;
    bool keeps_origins() const;
    std::vector<trace::HopPiece> pieces_of(std::size_t member, const trace::Hop& hop, int32_t sender) const;
    template <class See>
    void each_covered(const HopState& h, const See& see);
    ChunkState* piece_of(std::size_t member, int32_t chunk);
    const ChunkState* source_of(const HopState& h);
    void trace_contributions();
    void mark(const HopState& h);
    void land(HopState& h);
    void sum_in_rank_order(std::size_t begin, std::size_t end, std::size_t k,
                           const std::vector<BufferState>& before);

    const trace::Trace& trace_;
    const trace::CollectiveInstance& instance_;
    CollectiveState state_;
    std::vector<ChunkState> chunks_;  ///< that the hops name, ascending
};

}  // namespace meshscope::view
