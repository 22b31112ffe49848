#include "core/scenario/modelled.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/base/error.h"
#include "core/time/exposed.h"
#include "core/trace/recorded.h"

namespace meshscope::scenario {
namespace {

constexpr std::array<std::string_view, 7> kFigures{
    "step_ms", "compute_ms", "communication_ms", "exposed_ms", "bubble_percent", "events_us", "hops_us"};

double milliseconds(int64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

/// From the first begin to the last end of the hops of one collective that its rank received; nothing where
/// it received none.
int64_t hops_ns(const trace::RankTrace& rank, const std::vector<time::Interval>& hops, int32_t event) {
    time::Interval span;
    bool found = false;
    for (std::size_t h = 0; h < rank.hops.size(); ++h) {
        if (rank.hops[h].event != event) continue;
        span.begin_ns = found ? std::min(span.begin_ns, hops[h].begin_ns) : hops[h].begin_ns;
        span.end_ns = found ? std::max(span.end_ns, hops[h].end_ns) : hops[h].end_ns;
        found = true;
    }
    return span.end_ns - span.begin_ns;
}

}  // namespace

std::span<const std::string_view> modelled_figures() {
    return kFigures;
}

bool is_of_events(std::string_view figure) {
    return figure == "events_us" || figure == "hops_us";
}

bool is_of_a_rank(std::string_view figure) {
    return !is_of_events(figure) && figure != "step_ms";
}

const time::Clock& ModelledClocks::clock(const time::Profile& profile) {
    if (trace_.info.level == trace::Level::off)
        throw InvalidArgument({"query.not_recorded",
                               {{"what", std::string("collectives, compute")},
                                {"level", std::string(name(trace_.info.level))},
                                {"least", std::string(name(trace::Level::collectives))}}});
    const auto found = played_.find(profile.name);
    if (found != played_.end()) return found->second;
    return played_.emplace(profile.name, time::modelled(trace_, profile)).first->second;
}

double ModelledClocks::of_step(const LessonNumber& number, const time::Clock& clock) const {
    const int32_t step = std::max(0, trace_.info.steps - 1);  // as run::summarize has it
    if (number.modelled == "step_ms") {
        const time::Interval span = time::span_of_step(trace_, clock, step);
        return milliseconds(span.end_ns - span.begin_ns);
    }
    if (number.modelled == "bubble_percent")
        return 100 * time::bubble(trace_, clock, number.rank, step, true).share();
    const time::Overlap overlap = time::overlap(trace_, clock, number.rank, step);
    if (number.modelled == "compute_ms") return milliseconds(overlap.compute_ns);
    return milliseconds(number.modelled == "exposed_ms" ? overlap.exposed_ns : overlap.communication_ns);
}

double ModelledClocks::of_events(const LessonNumber& number, const time::Clock& clock) const {
    int64_t ns = 0;
    for (const std::vector<trace::Cell>& row : database_.query(number.sql).rows) {
        const auto* rank = row.size() == 2 ? std::get_if<int64_t>(&row[0]) : nullptr;
        const auto* id = row.size() == 2 ? std::get_if<int64_t>(&row[1]) : nullptr;
        constexpr int64_t kMost = int64_t{1} << 31;
        if (!rank || !id || *rank < 0 || *rank >= kMost || *id < 0 || *id >= kMost)
            throw InvalidArgument({"scenario.modelled_rows", {{"id", number.id}}});
        const trace::Event& event = trace_.event(static_cast<int32_t>(*rank), static_cast<int32_t>(*id));
        const auto r = static_cast<std::size_t>(*rank);
        const time::Interval& whole = clock.events[r][static_cast<std::size_t>(event.id)];
        ns += number.modelled == "hops_us" ? hops_ns(trace_.ranks[r], clock.hops[r], event.id)
                                           : whole.end_ns - whole.begin_ns;
    }
    return static_cast<double>(ns) / 1e3;
}

std::string ModelledClocks::text(const LessonNumber& number) {
    const time::Clock& played = clock(number.hardware ? *number.hardware : hardware_);
    const double value = is_of_events(number.modelled) ? of_events(number, played) : of_step(number, played);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(number.decimals), value);
    return text.data();
}

}  // namespace meshscope::scenario
