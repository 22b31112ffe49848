#include "app/gui/session/cursor_moves.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/beats.h"
#include "app/gui/view/common.h"
#include "app/gui/view/paint.h"
#include "app/gui/view/parameters.h"
#include "app/gui/view/traffic.h"

namespace meshscope::session {
namespace {

constexpr double kToastSeconds = 4.4, kSliceSeconds = 0.48;

/// How long playing is on its way to what ends next, and rests there: about a second a hop or call, less for
/// a computation, of which a step has many.
struct Pace {
    double travel_s, rest_s;
};
constexpr Pace kCommunicationPace{0.6, 0.4}, kComputePace{0.3, 0.15};

int64_t clamp_time(const AppState& s, int64_t t) {
    const time::Clock* clock = shown_clock(s);
    return std::clamp<int64_t>(t, 0, clock != nullptr ? clock->end_ns : 0);
}

/// Calls visit(rank, event) for what each member of its group does of the same call; of an event that is no
/// collective for that event alone.
template <class Visit>
void for_each_part(const trace::Trace& trace, view::EventRef of, const Visit& visit) {
    const trace::Event& event = trace.event(of.rank, of.event);
    if (event.kind != trace::EventKind::collective || event.group < 0) return visit(of.rank, of.event);
    for (const int32_t rank : trace.groups[static_cast<size_t>(event.group)].ranks)
        for (const trace::Event& other : trace.ranks[static_cast<size_t>(rank)].events)
            if (view::same_collective(event, other)) visit(rank, other.id);
}

/// When the call that a lesson's step shows has ended on all its members, while it is the one selected.
std::optional<int64_t> shown_call_end(const AppState& s, const time::Clock& clock) {
    const Document& document = *s.document;
    if (s.view != view::ViewKind::collective || document.steps.empty()) return {};
    const auto& told = document.steps[static_cast<size_t>(s.lesson_step)].at;
    if (!told || s.selection.event_rank != told->rank || s.selection.event != told->event) return {};
    int64_t end = 0;
    for_each_part(*document.trace, *told, [&](int32_t rank, int32_t event) {
        end = std::max(end, clock.events[static_cast<size_t>(rank)][static_cast<size_t>(event)].end_ns);
    });
    return end;
}

Stretch next_stretch(const AppState& s, const time::Clock& clock) {
    const trace::Trace& trace = *s.document->trace;
    Stretch next;
    next.from_ns = next.to_ns = s.cursor.t_ns;
    next.beat = view::next_beat(trace, clock, s.cursor, view::focus_rank(trace, s.selection));
    next.to_ns = next.beat ? next.beat->t_ns : clock.end_ns;
    const bool computes =
        next.beat && !next.beat->hop &&
        trace.event(next.beat->event.rank, next.beat->event.event).kind == trace::EventKind::compute;
    const Pace pace = computes ? kComputePace : kCommunicationPace;
    next.travel_s = pace.travel_s;
    next.rest_s = pace.rest_s;
    return next;
}

void note_beat(AppState& s) {
    const trace::Trace& trace = *s.document->trace;
    s.beat = view::beat_at(trace, *shown_clock(s), s.cursor, view::focus_rank(trace, s.selection));
}

/// Goes on to the next beat, or rests there; one beat a call, so that no frame does the work of several.
void play(AppState& s, const time::Clock& clock, double seconds) {
    if (!s.stretch) s.stretch = next_stretch(s, clock);
    Stretch& x = *s.stretch;
    x.passed_s += seconds * s.speed;
    const bool arrived = s.reduced_motion || x.passed_s >= x.travel_s;
    const double part = arrived ? 1 : view::ease_in_out_cubic(static_cast<float>(x.passed_s / x.travel_s));
    s.cursor.t_ns = x.from_ns + std::llround(part * static_cast<double>(x.to_ns - x.from_ns));
    if (arrived) s.beat = x.beat;
    // What follows the call that a lesson's step shows is another step's.
    if (const auto end = shown_call_end(s, clock); arrived && end && x.from_ns < *end && x.to_ns >= *end) {
        s.cursor.t_ns = *end;
        if (x.beat && x.beat->t_ns > *end) s.beat.reset();
        s.stretch.reset();
        s.playing = false;
        return;
    }
    if (x.passed_s < x.travel_s + x.rest_s) return;
    s.stretch.reset();
    if (s.cursor.t_ns >= clock.end_ns) s.playing = false;
}

}  // namespace

void move_cursor(AppState& s, int64_t t) {
    s.glide.reset();
    s.stretch.reset();
    s.beat.reset();
    s.cursor.t_ns = clamp_time(s, t);
}

int64_t resting_time(const AppState& s) {
    return s.glide ? s.glide->to_ns : s.cursor.t_ns;
}

bool cursor_on_selected(const AppState& s, bool end_too) {
    const view::Selection& chosen = s.selection;
    if (!s.document || !chosen.event || !chosen.event_rank) return false;
    const trace::Trace& trace = *s.document->trace;
    const time::Clock& clock = *shown_clock(s);
    const int64_t t = resting_time(s);
    const auto within = [&](int32_t rank, int32_t event) {
        const time::Interval at = clock.events[static_cast<size_t>(rank)][static_cast<size_t>(event)];
        return at.begin_ns <= t && (t < at.end_ns || (t == at.end_ns && (end_too || at.begin_ns == t)));
    };
    bool stands = false;
    for_each_part(trace, {*chosen.event_rank, *chosen.event},
                  [&](int32_t rank, int32_t event) { stands = stands || within(rank, event); });
    return stands;
}

void move_selection(AppState& s, int rows, int columns) {
    const time::Clock* clock = shown_clock(s);
    if (clock == nullptr) return;
    const trace::Trace& trace = *s.document->trace;
    if (s.view == view::ViewKind::traffic) {
        const auto link =
            view::next_cell(trace, *clock, s.cursor, s.traffic, s.selection.cell, rows, columns);
        if (!link) return;
        s.selection.cell = link;
        s.selection.rank = s.selection.asking_rank = link->from.first;
    } else if (s.view == view::ViewKind::tensors && s.forms.in(view::Form::rows)) {
        const auto next = view::next_row(trace, s.selection, rows, columns);
        if (!next) return;
        s.selection.parameter = next->parameter;
        s.selection.row = next->row;
    }
}

void glide_to(AppState& s, int64_t t, double seconds) {
    t = clamp_time(s, t);
    s.playing = false;
    if (s.reduced_motion) {
        move_cursor(s, t);
        note_beat(s);
        return;
    }
    s.glide = Glide{s.cursor.t_ns, t, 0, seconds / std::max(s.speed, 0.1)};
}

int64_t carry_over(const AppState& s, const time::Clock& from, const time::Clock& to) {
    const int32_t rank = s.selection.rank.value_or(s.selection.asking_rank);
    auto ref = view::event_at(*s.document->trace, from, s.cursor, rank);
    // What is selected stays under the cursor, where it was.
    if (s.selection.event && s.selection.event_rank) {
        const time::Interval at = from.events[static_cast<size_t>(*s.selection.event_rank)]
                                             [static_cast<size_t>(*s.selection.event)];
        if (at.begin_ns <= s.cursor.t_ns && s.cursor.t_ns <= at.end_ns)
            ref = view::EventRef{*s.selection.event_rank, *s.selection.event};
    }
    if (!ref) return 0;
    const time::Interval a = from.events[static_cast<size_t>(ref->rank)][static_cast<size_t>(ref->event)];
    const time::Interval b = to.events[static_cast<size_t>(ref->rank)][static_cast<size_t>(ref->event)];
    const double whole = static_cast<double>(std::max<int64_t>(1, a.end_ns - a.begin_ns));
    const double done = std::clamp(static_cast<double>(s.cursor.t_ns - a.begin_ns) / whole, 0.0, 1.0);
    return b.begin_ns + std::llround(done * static_cast<double>(b.end_ns - b.begin_ns));
}

void start_playing(AppState& s) {
    const time::Clock* clock = shown_clock(s);
    if (clock == nullptr) return;
    if (s.cursor.t_ns >= clock->end_ns) move_cursor(s, 0);
    s.playing = true;
    s.stretch = next_stretch(s, *clock);
    // A mesh stands still: what happens next is seen where it happens.
    if (s.view != view::ViewKind::mesh) return;
    const auto& beat = s.stretch->beat;
    const trace::Trace& trace = *s.document->trace;
    const bool moves =
        beat && trace.event(beat->event.rank, beat->event.event).kind == trace::EventKind::collective;
    s.view = moves ? view::ViewKind::collective : view::ViewKind::timeline;
}

void tick(AppState& s, double seconds) {
    s.slice_age_s += seconds;
    if (s.toast && (s.toast->age_s += seconds) > kToastSeconds) s.toast.reset();
    const time::Clock* clock = shown_clock(s);
    if (clock == nullptr) return;
    if (s.glide) {
        Glide& g = *s.glide;
        g.passed_s += seconds;
        const double x = std::clamp(g.passed_s / g.lasts_s, 0.0, 1.0);
        s.cursor.t_ns = g.from_ns + std::llround(view::ease_in_out_cubic(static_cast<float>(x)) *
                                                 static_cast<double>(g.to_ns - g.from_ns));
        if (x >= 1) {
            s.glide.reset();
            note_beat(s);
        }
        return;
    }
    if (s.playing) play(s, *clock, seconds);
}

void show_step(AppState& s, int32_t step) {
    const time::Interval span = time::span_of_step(*s.document->trace, *shown_clock(s), step);
    if (span.end_ns <= span.begin_ns) return;
    s.range_begin_ns = span.begin_ns;
    s.range_end_ns = span.end_ns;
}

void follow_cursor(AppState& s) {
    if (s.range_end_ns <= s.range_begin_ns) return;
    const int64_t t = s.cursor.t_ns, span = s.range_end_ns - s.range_begin_ns, end = shown_clock(s)->end_ns;
    if (t >= s.range_begin_ns && t <= s.range_end_ns) return;
    const int64_t begin = t > s.range_end_ns ? t - span / 16 : t - span + span / 16;
    s.range_begin_ns = std::clamp<int64_t>(begin, 0, std::max<int64_t>(0, end - span));
    s.range_end_ns = s.range_begin_ns + span;
}

bool in_motion(const AppState& state) {
    return state.playing || state.glide || state.loading || state.toast || state.copy_view ||
           state.exporting || state.slice_age_s < kSliceSeconds;
}

}  // namespace meshscope::session
