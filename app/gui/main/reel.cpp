#include "app/gui/main/reel.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/common.h"

namespace meshscope::gui {
namespace {

/// The run in front, as beats are looked for in it.
struct Run {
    explicit Run(const session::AppState& state)
        : trace(*state.document->trace),
          clock(*session::shown_clock(state)),
          rank(view::focus_rank(trace, state.selection)),
          call(state.view == view::ViewKind::collective ? view::selected_event(trace, state.selection)
                                                        : nullptr) {}
    /// The next beat up to `end_ns`; where one call is on show, of that call.
    std::optional<view::Beat> next(int64_t t_ns, int64_t end_ns) const {
        auto beat = view::next_beat(trace, clock, {t_ns}, rank);
        while (beat && beat->t_ns <= end_ns && !is_on_show(*beat))
            beat = view::next_beat(trace, clock, {beat->t_ns}, rank);
        return beat && beat->t_ns <= end_ns ? beat : std::nullopt;
    }
    bool is_on_show(const view::Beat& beat) const {
        if (call == nullptr) return true;
        const trace::Event& event = trace.event(beat.event.rank, beat.event.event);
        return event.kind == call->kind && event.op == call->op && event.unit == call->unit &&
               event.step == call->step && event.phase == call->phase;
    }

    const trace::Trace& trace;
    const time::Clock& clock;
    int32_t rank;
    const trace::Event* call;  ///< null: not one alone is on show
};

/// What ends in the span, in order; nothing where it is more than `most`.
std::optional<std::vector<view::Beat>> beats_in(const Run& run, time::Interval span, int most) {
    std::vector<view::Beat> beats;
    for (auto beat = run.next(span.begin_ns, span.end_ns); beat; beat = run.next(beat->t_ns, span.end_ns)) {
        if (static_cast<int>(beats.size()) >= most) return std::nullopt;
        beats.push_back(*beat);
    }
    return beats;
}

void tell(Reel& reel, const view::Beat& beat, int from) {
    reel.beats.push_back(beat);
    reel.told_from.push_back(from);
}

/// From beat to beat: most of a beat's frames on the way, the others at rest.
void rest_at(Reel& reel, const std::vector<view::Beat>& beats, time::Interval span, int still, int frames,
             int frames_per_s) {
    std::vector<int64_t> stops;
    for (const view::Beat& beat : beats) stops.push_back(beat.t_ns);
    if (stops.back() < span.end_ns) stops.push_back(span.end_ns);
    reel.cursor_ns.assign(static_cast<std::size_t>(still), span.begin_ns);
    int64_t from = span.begin_ns;
    const int moving = frames - still, count = static_cast<int>(stops.size());
    for (int i = 0; i < count; ++i) {
        const int first = moving * i / count, end = moving * (i + 1) / count, all = end - first;
        const double most = std::min(0.4 * all, kMostRestSeconds * frames_per_s);
        const int travel = std::max(1, all - static_cast<int>(most));
        const int64_t to = stops[static_cast<std::size_t>(i)];
        for (int frame = 1; frame <= all; ++frame) {
            const double part = std::min(1.0, static_cast<double>(frame) / travel);
            reel.cursor_ns.push_back(from + std::llround(part * static_cast<double>(to - from)));
        }
        from = to;
        if (static_cast<std::size_t>(i) < beats.size())
            tell(reel, beats[static_cast<std::size_t>(i)], still + first + travel - 1);
    }
}

}  // namespace

std::optional<std::size_t> Reel::told_at(int frame) const {
    const auto after = std::ranges::upper_bound(told_from, frame);
    if (after == told_from.begin()) return std::nullopt;
    return static_cast<std::size_t>(after - told_from.begin()) - 1;
}

Reel even_reel(time::Interval span, int still, int frames) {
    Reel reel;
    const int moving = frames - still;
    const auto length = static_cast<double>(span.end_ns - span.begin_ns);
    for (int frame = 0; frame < frames; ++frame) {
        const double part =
            frame < still || moving <= 0 ? 0.0 : static_cast<double>(frame - still + 1) / moving;
        reel.cursor_ns.push_back(span.begin_ns + std::llround(part * length));
    }
    return reel;
}

Reel still_reel(const session::AppState& state) {
    const Run run(state);
    Reel reel;
    const auto beat = view::beat_at(run.trace, run.clock, state.cursor, run.rank);
    if (beat && run.is_on_show(*beat)) tell(reel, *beat, 0);
    return reel;
}

Reel paused_reel(const session::AppState& state, time::Interval span, int still, int frames,
                 int frames_per_s) {
    const Run run(state);
    const int moving = frames - still;
    const auto most = static_cast<int>(moving / (kBeatSeconds * frames_per_s));
    const auto beats = beats_in(run, span, most);
    Reel reel;
    const auto begins = view::beat_at(run.trace, run.clock, {span.begin_ns}, run.rank);
    if (begins && run.is_on_show(*begins)) tell(reel, *begins, 0);
    if (beats && !beats->empty()) {
        rest_at(reel, *beats, span, still, frames, frames_per_s);
        return reel;
    }
    reel.cursor_ns = even_reel(span, still, frames).cursor_ns;
    const int each = std::max(1, static_cast<int>(kCaptionSeconds * frames_per_s));
    for (int at = still + each; at < frames; at += each) {
        const int64_t now = reel.cursor_ns[static_cast<std::size_t>(at)],
                      before = reel.cursor_ns[static_cast<std::size_t>(at - each)];
        auto beat = run.next(before + (now - before) / 2, now);
        if (!beat) beat = run.next(before, now);
        if (beat) tell(reel, *beat, at);
    }
    return reel;
}

}  // namespace meshscope::gui
