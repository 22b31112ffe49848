#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// Whether a pass over all events of the record takes longer than a part of a frame may: what is found in
/// such a record is remembered, since it does not change while it is shown. Cost: one addition a rank.
bool is_large(const trace::Trace& trace);

/// Which record, and which clock, something was found in: where the lists of every rank lie, how long they
/// are and when its last event ends. A record elsewhere, or of another length, is another one.
class RecordName {
  public:
    /// `clock`: null for what no clock has a part in. Cost: a few numbers a rank.
    RecordName(const trace::Trace& trace, const time::Clock* clock);
    bool names(const trace::Trace& trace, const time::Clock* clock) const;

  private:
    std::vector<int64_t> parts_;
};

/// The last `kept` things that were found in records, each with what else it depends on. One a thread.
template <class Key, class Found>
class Remembered {
  public:
    explicit Remembered(std::size_t kept) : kept_(kept) {}

    /// What `find` gave for this record, clock and key when it was last asked for, or gives now.
    template <class Find>
    std::shared_ptr<const Found> of(const trace::Trace& trace, const time::Clock* clock, const Key& key,
                                    const Find& find) {
        for (const Entry& entry : entries_)
            if (entry.key == key && entry.record.names(trace, clock)) return entry.found;
        auto found = std::make_shared<const Found>(find());
        if (entries_.size() >= kept_) entries_.erase(entries_.begin());
        entries_.push_back({key, RecordName(trace, clock), found});
        return found;
    }

  private:
    struct Entry {
        Key key;
        RecordName record;
        std::shared_ptr<const Found> found;
    };
    std::size_t kept_;
    std::vector<Entry> entries_;  ///< the oldest first
};

/// Events [first, last) of a rank's list, all of one step.
struct StepRun {
    int32_t step = 0;
    std::size_t first = 0, last = 0;
};

/// Where a step's events stand in a rank's list: runs in ascending order, one where the steps ascend. Found
/// once in a large record. Cost: then the rank's steps; else a pass over its events.
std::vector<StepRun> step_runs(const trace::Trace& trace, int32_t rank, int32_t step);

}  // namespace meshscope::view
