#include "app/gui/session/cursor_moves.h"

#include <algorithm>
#include <cmath>

#include "app/gui/view/common.h"
#include "app/gui/view/parameters.h"
#include "app/gui/view/traffic.h"

namespace meshscope::session {
namespace {

constexpr double kToastSeconds = 4.4, kSliceSeconds = 0.48;

int64_t clamp_time(const AppState& s, int64_t t) {
    const time::Clock* clock = shown_clock(s);
    return std::clamp<int64_t>(t, 0, clock != nullptr ? clock->end_ns : 0);
}

}  // namespace

void move_cursor(AppState& s, int64_t t) {
    s.glide.reset();
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
    if (within(*chosen.event_rank, *chosen.event)) return true;
    const trace::Event& event = trace.event(*chosen.event_rank, *chosen.event);
    if (event.kind != trace::EventKind::collective || event.group < 0) return false;
    for (const int32_t rank : trace.groups[static_cast<size_t>(event.group)].ranks)
        for (const trace::Event& other : trace.ranks[static_cast<size_t>(rank)].events)
            if (view::same_collective(event, other) && within(rank, other.id)) return true;
    return false;
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
    } else if (s.view == view::ViewKind::parameters) {
        const auto next = view::next_row(trace, s.selection, rows, columns);
        if (!next) return;
        s.selection.parameter = next->parameter;
        s.selection.row = next->row;
    }
}

void glide_to(AppState& s, int64_t t, double seconds) {
    t = clamp_time(s, t);
    s.playing = false;
    if (s.reduced_motion) return move_cursor(s, t);
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

void tick(AppState& s, double seconds) {
    s.slice_age_s += seconds;
    if (s.toast && (s.toast->age_s += seconds) > kToastSeconds) s.toast.reset();
    const time::Clock* clock = shown_clock(s);
    if (clock == nullptr) return;
    if (s.glide) {
        Glide& g = *s.glide;
        g.passed_s += seconds;
        const double x = std::clamp(g.passed_s / g.lasts_s, 0.0, 1.0);
        // ease-in-out cubic
        const double y = x < 0.5 ? 4 * x * x * x : 1 - std::pow(-2 * x + 2, 3) / 2;
        s.cursor.t_ns = g.from_ns + std::llround(y * static_cast<double>(g.to_ns - g.from_ns));
        if (x >= 1) s.glide.reset();
        return;
    }
    if (s.playing) {
        const double rate = playing_rate(*s.document->trace, *clock) * s.speed;
        s.cursor.t_ns =
            std::min(clock->end_ns, s.cursor.t_ns + std::max<int64_t>(1, std::llround(rate * seconds)));
        if (s.cursor.t_ns >= clock->end_ns) s.playing = false;
    }
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

double playing_rate(const trace::Trace& trace, const time::Clock& clock) {
    std::vector<int64_t> hops;
    for (size_t rank = 0; rank < trace.ranks.size() && rank < 4; ++rank) {
        for (const time::Interval& hop : clock.hops[rank]) {
            if (hop.end_ns > hop.begin_ns) hops.push_back(hop.end_ns - hop.begin_ns);
        }
    }
    if (hops.empty()) return std::max(1.0, static_cast<double>(clock.end_ns) / 10.0);
    const auto middle = hops.begin() + static_cast<std::ptrdiff_t>(hops.size() / 2);
    std::nth_element(hops.begin(), middle, hops.end());
    return static_cast<double>(*middle) / 0.32;
}

bool in_motion(const AppState& state) {
    return state.playing || state.glide || state.loading || state.toast || state.copy_view ||
           state.exporting || state.slice_age_s < kSliceSeconds;
}

}  // namespace meshscope::session
