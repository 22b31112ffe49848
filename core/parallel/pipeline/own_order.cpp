#include "core/parallel/pipeline/own_order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/base/joined.h"

namespace meshscope::parallel::pipeline {
namespace {

/// What is computed of a stage's micro-batch backward; forwards are alike in every schedule.
using Backwards = std::map<std::pair<int32_t, int32_t>, std::vector<std::string>>;

Backwards backwards_of(const std::vector<Slot>& row) {
    Backwards found;
    for (const Slot& slot : row)
        if (slot)
            for (const Action& action : parts_of(*slot))
                if (is_compute(action.kind) && action.kind != ActionKind::forward)
                    found[{action.stage, action.microbatch}].push_back(to_text(action));
    for (auto& [of, actions] : found) std::ranges::sort(actions);
    return found;
}

/// Where a rank runs a backward in one piece and the schedule has it in two, or the other way round.
void find_kinds(const Schedule& schedule, const Order& order, std::vector<Fault>& faults) {
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        const Backwards own = backwards_of(order[rank]);
        for (const auto& [of, wanted] : backwards_of(schedule.order[rank])) {
            const auto there = own.find(of);
            if (there == own.end() || there->second == wanted) continue;
            const std::vector<MessageArg> args{{"rank", static_cast<int64_t>(rank)},
                                               {"found", joined(there->second)},
                                               {"wanted", joined(wanted)},
                                               {"schedule", std::string(name(schedule.shape.kind))}};
            faults.push_back({{"pipeline.order_kind", args}, {}, static_cast<int32_t>(rank), -1});
        }
    }
}

}  // namespace

std::vector<Slot> parse_row(std::string_view text) {
    std::vector<Slot> row;
    while (!text.empty()) {
        const std::size_t end = text.find(',');
        Slot slot = parse_action(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (!slot) continue;
        for (const Action& part : parts_of(*slot))
            if (!is_compute(part.kind))
                throw InvalidArgument({"pipeline.order_compute", {{"action", to_text(part)}}});
        row.push_back(std::move(slot));
    }
    return row;
}

std::string row_text(const std::vector<Slot>& row) {
    std::vector<std::string> actions;
    for (const Slot& slot : row)
        if (slot) actions.push_back(to_text(*slot));
    return joined(actions);
}

std::vector<Stuck> circle_of(const ScheduleShape& shape, const Order& order) {
    const std::vector<Stuck> all = stuck_ranks({shape, order, rank_of_stage(shape)});
    if (all.empty()) return {};
    // From any of them: who waits is waited for in the end.
    std::vector<Stuck> way;
    for (auto at = all.begin(); at != all.end();
         at = std::ranges::find(all, way.back().other, &Stuck::rank)) {
        const auto seen = std::ranges::find(way, at->rank, &Stuck::rank);
        if (seen != way.end()) return {seen, way.end()};
        way.push_back(*at);
    }
    return way;
}

std::vector<Fault> faults_of_order(const ScheduleShape& shape, const Order& order) {
    Schedule schedule = make_schedule(shape);
    if (order.size() != schedule.order.size())
        return {{{"pipeline.order_rows",
                  {{"found", static_cast<int64_t>(order.size())}, {"ranks", int64_t{shape.ranks}}}},
                 {}}};
    std::vector<Fault> faults = faults_of({shape, order, schedule.rank_of_stage});
    if (!faults.empty() && faults.front().message.id == "pipeline.deadlock") {
        std::vector<Fault> of_circle;
        for (const Stuck& stuck : circle_of(shape, order))
            of_circle.push_back(*std::ranges::find(faults, stuck.rank, &Fault::rank));
        return of_circle;
    }
    if (faults.empty()) find_kinds(schedule, order, faults);
    return faults;
}

Schedule schedule_of(const PipelineOptions& options) {
    Schedule schedule = make_schedule(*options.shape);
    if (!options.order.empty()) schedule.order = options.order;
    return schedule;
}

int32_t most_in_flight(const Order& order) {
    int32_t most = 0;
    for (const std::vector<Slot>& row : order) {
        int32_t now = 0;
        for (const Slot& slot : row) {
            if (!slot) continue;
            for (const Action& action : parts_of(*slot)) {
                if (action.kind == ActionKind::forward) ++now;
                if (action.kind == ActionKind::backward || action.kind == ActionKind::weight_grad) --now;
                most = std::max(most, now);
            }
        }
    }
    return most;
}

}  // namespace meshscope::parallel::pipeline
