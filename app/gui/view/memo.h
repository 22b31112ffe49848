#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// Whether a pass over all events and hops of the record takes longer than a part of a frame may: what is
/// found in such a record is remembered, since it does not change while it is shown. Cost: two additions a
/// rank.
bool is_large(const trace::Trace& trace);

/// Which record, and which clock, something was found in: where the lists of every rank lie, how long they
/// are and when its last event ends. A record elsewhere, or of another length, is another one.
class RecordName {
  public:
    /// `clock`: null for what no clock has a part in. Cost: a few numbers a rank.
    RecordName(const trace::Trace& trace, const time::Clock* clock);
    bool names(const trace::Trace& trace, const time::Clock* clock) const;
    friend bool operator==(const RecordName&, const RecordName&) = default;

  private:
    std::vector<int64_t> parts_;
};

/// The last `kept` things that were found in records, each with what else it depends on.
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

/// What was found once and is asked for in every frame. Whoever draws the frames owns it and hands it to the
/// views (Input::memo); a view gives the same picture without one, only later. Not for several threads.
class Memo {
  public:
    /// The one object of this type, made of `arguments` when it is first asked for.
    template <class Kept, class... Arguments>
    Kept& the(Arguments&&... arguments) {
        std::shared_ptr<void>& place = kept_[std::type_index(typeid(Kept))];
        if (!place) place = std::make_shared<Kept>(std::forward<Arguments>(arguments)...);
        return *static_cast<Kept*>(place.get());
    }

  private:
    std::map<std::type_index, std::shared_ptr<void>> kept_;
};

/// What `find` gives, or gave before for this record, clock and key: of a large record the `kept` latest are
/// remembered where there is a memo.
template <class Found, class Key, class Find>
std::shared_ptr<const Found> found_once(Memo* memo, std::size_t kept, const trace::Trace& trace,
                                        const time::Clock* clock, const Key& key, const Find& find) {
    if (memo == nullptr || !is_large(trace)) return std::make_shared<const Found>(find());
    return memo->the<Remembered<Key, Found>>(kept).of(trace, clock, key, find);
}

/// Events [first, last) of a rank's list, all of one step.
struct StepRun {
    int32_t step = 0;
    std::size_t first = 0, last = 0;
};

/// Where a step's events stand in a rank's list: runs in ascending order, one where the steps ascend. Found
/// once in a large record. Cost: then the rank's steps; else a pass over its events.
std::vector<StepRun> step_runs(const trace::Trace& trace, int32_t rank, int32_t step, Memo* memo = nullptr);

}  // namespace meshscope::view
