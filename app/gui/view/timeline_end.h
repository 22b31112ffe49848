#pragma once

#include <cstdint>
#include <optional>

#include "app/gui/view/paint.h"
#include "app/gui/view/run_end.h"
#include "app/gui/view/timeline_layout.h"

namespace meshscope::view {

/// The bar of a call that had not ended: open at its right ("open"), or torn off there ("torn") where its
/// rank died in it; both with the numbers of `id`.
void open_event_bar(Painter& painter, const trace::Event& event, const Rect& box, bool torn, const Id& id);

/// Draws into a timeline how its run ended early: where it ends, who came to stand where, bars that never
/// ended, and nothing behind a death.
class TimelineEnd {
  public:
    /// The references must live as long as this.
    TimelineEnd(const Input& input, const RunEnd& end, const TimelineLayout& at, float scroll_y,
                Painter& painter)
        : in_(input),
          end_(end),
          at_(at),
          scroll_y_(scroll_y),
          p_(painter),
          broke_off_ns_(view::broke_off_ns(input.trace, input.clock, end)) {}

    /// The least length of a bar that never ended, so that its open end is seen.
    static constexpr float kLeast = 18;
    static constexpr float kMark = 9;  // the cross' circle, its radius

    /// A word on the ruler, before its numbers. A run that failed stood still for as long as waiting can be
    /// seen, to the end of the clock.
    void words();
    /// A line over all lanes where the run ends, and a cross at the lanes of those that did otherwise than
    /// the others, where they came to stand.
    void marks();
    /// The lanes of a rank behind its death: not idle, but gone.
    void gone(int32_t rank, float top, float height);
    /// When a rank died or stopped; nothing where it did neither: behind that nothing is drawn of it.
    std::optional<int64_t> gone_ns(int32_t rank) const;
    /// Up to when it is known what the rank did, as view::known_until_ns() tells it.
    int64_t known_until_ns(int32_t rank) const {
        return failed() ? gone_ns(rank).value_or(broke_off_ns_) : in_.clock.end_ns;
    }
    /// The bar of a call that had not ended: open at its right; of a rank that died in it torn off there.
    /// Returns where it stands.
    Rect open_bar(int32_t rank, const trace::Event& event, Rect box);

  private:
    float x(int64_t t) const { return at_.axis.x(t); }
    bool sees(int64_t t) const { return x(t) >= at_.axis.x0 - 1 && x(t) <= at_.axis.x1 + 1; }
    bool failed() const { return end_.kind == RunEnd::Kind::failed; }
    int64_t end_ns() const { return failed() ? in_.clock.end_ns : broke_off_ns_; }
    float mark_y(int32_t rank, float top) const;
    void mark(int32_t rank, float top);

    const Input& in_;
    const RunEnd& end_;
    const TimelineLayout& at_;
    float scroll_y_;
    Painter& p_;
    int64_t broke_off_ns_;
};

}  // namespace meshscope::view
