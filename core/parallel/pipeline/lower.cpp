#include "core/parallel/pipeline/lower.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/parallel/pipeline/simulate.h"

namespace meshscope::parallel::pipeline {
namespace {

const std::vector<Action>& parts_of(const Action& action, std::vector<Action>& single) {
    if (!action.parts.empty()) return action.parts;
    single.assign(1, action);
    return single;
}

/// When each stage of a rank computes, to be asked for later and later moments.
class NextStages {
  public:
    explicit NextStages(const std::vector<Slot>& compute) {
        std::vector<Action> single;
        for (std::size_t i = 0; i < compute.size(); ++i) {
            if (!compute[i]) continue;
            const std::vector<Action>& parts = parts_of(*compute[i], single);
            for (std::size_t p = 0; p < parts.size(); ++p) uses_[parts[p].stage].push_back({i, p});
        }
    }

    /// The next `count` different stages that compute from `first` on, in the order of their turns. A pair is
    /// taken whole, so there may be one more.
    std::vector<int32_t> from(std::size_t first, int32_t count) {
        std::vector<std::pair<Use, int32_t>> coming;
        for (auto& [stage, uses] : uses_) {
            while (!uses.empty() && uses.front().first < first) uses.pop_front();
            if (!uses.empty()) coming.emplace_back(uses.front(), stage);
        }
        std::ranges::sort(coming);
        std::vector<int32_t> stages;
        std::size_t latest = 0;  // the action that the last of them comes from
        for (const auto& [use, stage] : coming) {
            if (std::cmp_greater_equal(stages.size(), count) && use.first != latest) break;
            latest = use.first;
            stages.push_back(stage);
        }
        return stages;
    }

  private:
    using Use = std::pair<std::size_t, std::size_t>;  ///< action, part of it
    std::map<int32_t, std::deque<Use>> uses_;         ///< by stage
};

/// (kind, stage, micro-batch): what a rank has done or was given to do.
using Key = std::array<int32_t, 3>;

Key key(ActionKind kind, int32_t stage, int32_t microbatch) {
    return {static_cast<int32_t>(kind), stage, microbatch};
}

/// The walk round the ranks that puts sends and receives in place.
class SendRecv {
  public:
    SendRecv(const std::vector<Actions>& compute, const std::vector<int32_t>& rank_of_stage)
        : compute_(compute), rank_of_stage_(rank_of_stage), result_(compute.size()), done_(compute.size()) {}

    std::vector<Actions> run() {
        std::vector<std::size_t> next(compute_.size(), 0);
        std::vector<Action> single;
        for (bool left = true; left;) {
            bool progress = false;
            left = false;
            for (std::size_t rank = 0; rank < compute_.size(); ++rank) {
                if (next[rank] == compute_[rank].size()) continue;
                left = true;
                const Action& action = compute_[rank][next[rank]];
                const std::vector<Action>& parts = parts_of(action, single);
                if (!std::ranges::all_of(parts, [&](const Action& part) { return ready(part, rank); }))
                    continue;
                result_[rank].push_back(action);
                for (const Action& part : parts) finish(part, rank);
                ++next[rank];
                progress = true;
            }
            if (left && !progress) report_stuck(next);
        }
        return std::move(result_);
    }

  private:
    int32_t last() const { return static_cast<int32_t>(rank_of_stage_.size()) - 1; }
    int32_t home(int32_t stage) const { return rank_of_stage_[static_cast<std::size_t>(stage)]; }
    bool has(std::size_t rank, ActionKind kind, int32_t stage, int32_t microbatch) const {
        return done_[rank].contains(key(kind, stage, microbatch));
    }

    bool ready(const Action& action, std::size_t rank) const {
        const int32_t s = action.stage, m = action.microbatch;
        if (action.kind == ActionKind::forward && s != 0)
            return has(rank, ActionKind::recv_f, s, m) || has(rank, ActionKind::forward, s - 1, m);
        if ((action.kind == ActionKind::input_grad || action.kind == ActionKind::backward) && s != last())
            return has(rank, ActionKind::recv_b, s, m) || has(rank, ActionKind::input_grad, s + 1, m) ||
                   has(rank, ActionKind::backward, s + 1, m);
        return true;
    }

    void add(int32_t rank, ActionKind kind, int32_t stage, int32_t microbatch) {
        result_[static_cast<std::size_t>(rank)].push_back({kind, stage, microbatch, {}});
        done_[static_cast<std::size_t>(rank)].insert(key(kind, stage, microbatch));
    }

    void finish(const Action& action, std::size_t rank) {
        const int32_t s = action.stage, m = action.microbatch, here = static_cast<int32_t>(rank);
        done_[rank].insert(key(action.kind, s, m));
        if (action.kind == ActionKind::forward && s != last() && home(s + 1) != here) {
            add(here, ActionKind::send_f, s, m);
            add(home(s + 1), ActionKind::recv_f, s + 1, m);
        }
        const bool backward = action.kind == ActionKind::input_grad || action.kind == ActionKind::backward;
        if (backward && s != 0 && home(s - 1) != here) {
            add(here, ActionKind::send_b, s, m);
            add(home(s - 1), ActionKind::recv_b, s - 1, m);
        }
    }

    [[noreturn]] void report_stuck(const std::vector<std::size_t>& next) const {
        std::vector<Action> single;
        for (std::size_t rank = 0; rank < next.size(); ++rank) {
            if (next[rank] == compute_[rank].size()) continue;
            const Action& action = compute_[rank][next[rank]];
            for (const Action& part : parts_of(action, single)) {
                if (ready(part, rank)) continue;
                const bool forward = part.kind == ActionKind::forward;
                throw InvalidArgument(
                    {"pipeline.deadlock",
                     {{"rank", static_cast<int64_t>(rank)},
                      {"action", to_text(action)},
                      {"waits_for", std::to_string(part.stage + (forward ? -1 : 1)) + (forward ? "F" : "B") +
                                        std::to_string(part.microbatch)}}});
            }
        }
        // Not reached: a rank that is left and could go on would have.
        throw InvalidArgument(
            {"pipeline.deadlock",
             {{"rank", int64_t{-1}}, {"action", std::string()}, {"waits_for", std::string()}}});
    }

    const std::vector<Actions>& compute_;
    const std::vector<int32_t>& rank_of_stage_;
    std::vector<Actions> result_;
    std::vector<std::set<Key>> done_;
};

}  // namespace

Actions add_unshard_reshard(const std::vector<Slot>& compute, int32_t max_active_stages) {
    std::set<int32_t> active;
    Actions actions;
    NextStages next(compute);
    for (std::size_t i = 0; i < compute.size(); ++i) {
        if (!compute[i]) continue;
        const std::vector<int32_t> wanted = next.from(i, max_active_stages);
        const std::set<int32_t> before = active;
        for (const int32_t stage : before)
            if (std::ranges::find(wanted, stage) == wanted.end()) {
                active.erase(stage);
                actions.push_back({ActionKind::reshard, stage, -1, {}});
            }
        for (const int32_t stage : wanted)
            if (active.insert(stage).second) actions.push_back({ActionKind::unshard, stage, -1, {}});
        actions.push_back(*compute[i]);
    }
    for (const int32_t stage : active) actions.push_back({ActionKind::reshard, stage, -1, {}});
    return actions;
}

Actions add_reduce_grad(const Actions& actions, int32_t microbatches) {
    Actions result;
    std::map<int32_t, int32_t> finished;  // weight gradients by stage
    std::vector<Action> single;
    for (const Action& action : actions) {
        result.push_back(action);
        for (const Action& part : parts_of(action, single))
            if ((part.kind == ActionKind::backward || part.kind == ActionKind::weight_grad) &&
                ++finished[part.stage] == microbatches)
                result.push_back({ActionKind::reduce_grad, part.stage, -1, {}});
    }
    return result;
}

Actions merge_bw(const std::vector<Slot>& compute) {
    Actions actions;
    for (const Slot& slot : compute) {
        if (!slot) continue;
        Action* const before = actions.empty() ? nullptr : &actions.back();
        if (before && before->kind == ActionKind::input_grad && slot->kind == ActionKind::weight_grad &&
            before->stage == slot->stage && before->microbatch == slot->microbatch)
            before->kind = ActionKind::backward;
        else
            actions.push_back(*slot);
    }
    return actions;
}

std::vector<Actions> add_send_recv(const std::vector<Actions>& compute,
                                   const std::vector<int32_t>& rank_of_stage) {
    return SendRecv(compute, rank_of_stage).run();
}

std::vector<Actions> add_send_recv_in_time(const std::vector<Actions>& compute, const Schedule& schedule) {
    const Timeline timeline = simulate(schedule);
    const auto& home = schedule.rank_of_stage;
    /// Ranks do what has the smaller time first; at one time transfers come before computes.
    struct Timed {
        double time = 0;
        int32_t sender = -1;  ///< of a transfer; -1 for the rank's own
        Action action;
    };
    std::vector<std::vector<Timed>> own(compute.size()), transfers(compute.size());
    for (std::size_t rank = 0; rank < compute.size(); ++rank) {
        const std::vector<Span>& spans = timeline.ranks[rank];
        std::size_t next = 0;
        for (const Action& action : compute[rank]) {
            // What is no compute goes with the next one.
            const double end = spans.empty() ? 0 : spans.back().end;
            const bool computes = is_compute(action.kind) || action.kind == ActionKind::overlap_f_b;
            own[rank].push_back({next < spans.size() ? spans[next].begin : end, -1, action});
            if (computes) ++next;
        }
    }
    for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank)
        for (const Span& span : timeline.ranks[rank]) {
            std::vector<Action> single;
            for (const Action& part : parts_of(span.action, single)) {
                const bool forward = part.kind == ActionKind::forward;
                const int32_t to = part.stage + (forward ? 1 : -1);
                if (part.kind == ActionKind::weight_grad || to < 0 || to >= schedule.shape.stages()) continue;
                const auto receiver = static_cast<std::size_t>(home[static_cast<std::size_t>(to)]);
                if (receiver == rank) continue;
                const auto sender = static_cast<int32_t>(rank);
                transfers[rank].push_back(
                    {span.end,
                     sender,
                     {forward ? ActionKind::send_f : ActionKind::send_b, part.stage, part.microbatch, {}}});
                transfers[receiver].push_back(
                    {span.end,
                     sender,
                     {forward ? ActionKind::recv_f : ActionKind::recv_b, to, part.microbatch, {}}});
            }
        }
    std::vector<Actions> result(compute.size());
    for (std::size_t rank = 0; rank < compute.size(); ++rank) {
        // Stable: transfers of one sender at one moment keep the order of its actions on both sides.
        std::ranges::stable_sort(transfers[rank], {},
                                 [](const Timed& t) { return std::pair(t.time, t.sender); });
        std::size_t t = 0;
        for (const Timed& mine : own[rank]) {
            for (; t < transfers[rank].size() && transfers[rank][t].time <= mine.time; ++t)
                result[rank].push_back(transfers[rank][t].action);
            result[rank].push_back(mine.action);
        }
        for (; t < transfers[rank].size(); ++t) result[rank].push_back(transfers[rank][t].action);
    }
    return result;
}

std::vector<Actions> lower(const Schedule& schedule, const Lowering& lowering) {
    std::vector<Actions> ranks;
    for (const std::vector<Slot>& slots : schedule.order) {
        Actions actions;
        if (lowering.unshard) {
            actions = add_unshard_reshard(slots, lowering.max_active_stages);
        } else {
            for (const Slot& slot : slots)
                if (slot) actions.push_back(*slot);
        }
        ranks.push_back(lowering.reduce_grad ? add_reduce_grad(actions, schedule.shape.microbatches)
                                             : std::move(actions));
    }
    return lowering.in_time ? add_send_recv_in_time(ranks, schedule)
                            : add_send_recv(ranks, schedule.rank_of_stage);
}

}  // namespace meshscope::parallel::pipeline
