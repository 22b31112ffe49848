#include "core/parallel/pipeline/simulate.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"

namespace meshscope::parallel::pipeline {
namespace {

/// What stands done: (stage, micro-batch, step), step 0 = forward, 1 = input gradient, 2 = weight gradient.
using Done = std::array<int32_t, 3>;

std::vector<Done> needs(const Action& action, int32_t stages) {
    const int32_t s = action.stage, m = action.microbatch;
    switch (action.kind) {
        case ActionKind::forward:
            return s == 0 ? std::vector<Done>{} : std::vector<Done>{{s - 1, m, 0}};
        case ActionKind::weight_grad:
            return {{s, m, 1}};
        default:
            return s + 1 == stages ? std::vector<Done>{{s, m, 0}}
                                   : std::vector<Done>{{s, m, 0}, {s + 1, m, 1}};
    }
}

std::vector<Done> gives(const Action& action) {
    const int32_t s = action.stage, m = action.microbatch;
    switch (action.kind) {
        case ActionKind::forward:
            return {{s, m, 0}};
        case ActionKind::input_grad:
            return {{s, m, 1}};
        case ActionKind::weight_grad:
            return {{s, m, 2}};
        default:
            return {{s, m, 1}, {s, m, 2}};
    }
}

/// The action of the schedule that gives this.
std::string text_of(const Done& done, const Schedule& schedule) {
    for (const std::vector<Slot>& row : schedule.order)
        for (const Slot& slot : row)
            if (slot)
                for (const Action& part : parts_of(*slot))
                    if (is_compute(part.kind) && std::ranges::count(gives(part), done) > 0)
                        return to_text(part);
    constexpr std::array<std::string_view, 3> kWords{"F", "B", "W"};
    return std::to_string(done[0]) + std::string(kWords[static_cast<std::size_t>(done[2])]) +
           std::to_string(done[1]);
}

/// Plays the schedule as far as it goes; `duration` says how long an action takes. Enters in `stuck` which
/// ranks could not go on.
template <class Duration>
Timeline play(const Schedule& schedule, const Duration& duration, std::vector<Stuck>& stuck) {
    const auto ranks = static_cast<int32_t>(schedule.order.size());
    const int32_t stages = schedule.shape.stages();
    Timeline timeline;
    timeline.ranks.resize(schedule.order.size());
    std::map<Done, double> ended;
    std::map<Done, std::vector<int32_t>> waiting;  // which ranks stand before an action that needs this
    std::vector<std::size_t> next(schedule.order.size(), 0);
    std::set<int32_t> runnable;
    for (int32_t rank = 0; rank < ranks; ++rank) runnable.insert(rank);

    const auto first_missing = [&](const Action& action) -> std::optional<Done> {
        for (const Action& part : parts_of(action))
            for (const Done& need : needs(part, stages))
                if (!ended.contains(need)) return need;
        return std::nullopt;
    };
    while (!runnable.empty()) {
        const int32_t rank = *runnable.begin();
        runnable.erase(runnable.begin());
        const auto r = static_cast<std::size_t>(rank);
        const std::vector<Slot>& order = schedule.order[r];
        std::vector<Span>& done = timeline.ranks[r];
        for (; next[r] < order.size(); ++next[r]) {
            const Slot& slot = order[next[r]];
            if (!slot || !(is_compute(slot->kind) || slot->kind == ActionKind::overlap_f_b)) continue;
            if (const auto missing = first_missing(*slot)) {
                waiting[*missing].push_back(rank);
                break;
            }
            double begin = done.empty() ? 0 : done.back().end;
            for (const Action& part : parts_of(*slot))
                for (const Done& need : needs(part, stages)) begin = std::max(begin, ended.at(need));
            const double end = begin + duration(*slot);
            done.push_back({*slot, begin, end});
            timeline.makespan = std::max(timeline.makespan, end);
            for (const Action& part : parts_of(*slot))
                for (const Done& given : gives(part)) {
                    ended.emplace(given, end);
                    if (const auto found = waiting.find(given); found != waiting.end()) {
                        runnable.insert(found->second.begin(), found->second.end());
                        waiting.erase(found);
                    }
                }
        }
    }
    for (std::size_t r = 0; r < next.size(); ++r)
        if (next[r] < schedule.order[r].size()) {
            const Action& action = *schedule.order[r][next[r]];
            const Done missing = *first_missing(action);
            stuck.push_back({static_cast<int32_t>(r), static_cast<int64_t>(next[r]), to_text(action),
                             text_of(missing, schedule),
                             schedule.rank_of_stage[static_cast<std::size_t>(missing[0])]});
        }
    double work = 0;
    for (const auto& rank : timeline.ranks)
        for (const Span& span : rank) work += span.end - span.begin;
    if (timeline.makespan > 0)
        timeline.bubble_share = 1 - work / (timeline.makespan * static_cast<double>(ranks));
    return timeline;
}

/// The whole of it. Throws InvalidArgument ("pipeline.deadlock") where that is not to be had.
template <class Duration>
Timeline play(const Schedule& schedule, const Duration& duration) {
    std::vector<Stuck> stuck;
    Timeline timeline = play(schedule, duration, stuck);
    if (stuck.empty()) return timeline;
    throw InvalidArgument(
        {"pipeline.deadlock",
         {{"rank", int64_t{stuck[0].rank}}, {"action", stuck[0].action}, {"waits_for", stuck[0].waits_for}}});
}

}  // namespace

std::vector<Action> parts_of(const Action& action) {
    return action.parts.empty() ? std::vector{action} : action.parts;
}

double Durations::of(const Action& action) const {
    switch (action.kind) {
        case ActionKind::forward:
            return forward;
        case ActionKind::input_grad:
            return input_grad;
        case ActionKind::weight_grad:
            return weight_grad;
        case ActionKind::backward:
            return input_grad + weight_grad;
        case ActionKind::overlap_f_b: {
            double sum = 0;
            for (const Action& part : action.parts) sum += of(part);
            return sum;
        }
        default:
            return 0;
    }
}

Timeline simulate(const Schedule& schedule, const Durations& durations) {
    return play(schedule, [&](const Action& action) { return durations.of(action); });
}

Schedule pairs_apart(Schedule schedule) {
    for (std::vector<Slot>& row : schedule.order) {
        std::vector<Slot> apart;
        for (const Slot& slot : row) {
            if (!slot || slot->parts.empty())
                apart.push_back(slot);
            else
                apart.insert(apart.end(), slot->parts.begin(), slot->parts.end());
        }
        row = std::move(apart);
    }
    return schedule;
}

std::vector<Stuck> stuck_ranks(const Schedule& schedule) {
    std::vector<Stuck> stuck;
    play(
        schedule, [](const Action&) { return 1.0; }, stuck);
    return stuck;
}

std::vector<std::vector<Slot>> in_slots(const Schedule& schedule) {
    const Timeline timeline = play(schedule, [](const Action&) { return 1.0; });
    std::vector<std::vector<Slot>> order(timeline.ranks.size());
    for (std::size_t r = 0; r < order.size(); ++r)
        for (const Span& span : timeline.ranks[r]) {
            order[r].resize(static_cast<std::size_t>(span.begin));
            order[r].emplace_back(span.action);
        }
    return order;
}

}  // namespace meshscope::parallel::pipeline
