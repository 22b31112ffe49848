#include "core/parallel/pipeline/validate.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/parallel/pipeline/simulate.h"

namespace meshscope::parallel::pipeline {
namespace {

/// Where an action stands.
struct Place {
    int32_t rank = -1;
    int64_t slot = -1;
    bool is() const { return rank >= 0; }
};

/// What a stage does of a micro-batch, and where: F, the input gradient and the weight gradient. (B is both.)
struct Seen {
    Place forward, input, weight;
};

class Check {
  public:
    explicit Check(const Schedule& schedule)
        : schedule_(schedule),
          seen_(static_cast<std::size_t>(schedule.shape.stages()) *
                static_cast<std::size_t>(schedule.shape.microbatches)) {}

    std::vector<Fault> run() {
        const auto ranks = static_cast<int64_t>(schedule_.order.size());
        if (ranks != schedule_.shape.ranks)
            return {{{"pipeline.ranks", {{"found", ranks}, {"ranks", int64_t{schedule_.shape.ranks}}}}, {}}};
        for_each([&](const Action& action, const Place& at) { note(action, at); });
        for_each([&](const Action& action, const Place& at) { note_stray(action, at); });
        for_each([&](const Action& action, const Place& at) { check_order(action, at); });
        find_missing();
        if (faults_.empty()) find_stuck();
        // What stands nowhere comes behind what does.
        std::ranges::stable_sort(faults_, {}, [](const Fault& f) {
            return std::pair(f.rank, f.slot < 0 ? std::numeric_limits<int64_t>::max() : f.slot);
        });
        return std::move(faults_);
    }

  private:
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (std::size_t rank = 0; rank < schedule_.order.size(); ++rank)
            for (std::size_t slot = 0; slot < schedule_.order[rank].size(); ++slot)
                if (const Slot& action = schedule_.order[rank][slot]) {
                    const Place at{static_cast<int32_t>(rank), static_cast<int64_t>(slot)};
                    if (action->parts.empty() && is_compute(action->kind)) visit(*action, at);
                    for (const Action& part : action->parts)
                        if (is_compute(part.kind)) visit(part, at);
                }
    }

    bool is_there(const Action& action) const {
        return action.stage >= 0 && action.stage < schedule_.shape.stages() && action.microbatch >= 0 &&
               action.microbatch < schedule_.shape.microbatches;
    }
    Seen& seen(int32_t stage, int32_t microbatch) {
        return seen_[static_cast<std::size_t>(stage) *
                         static_cast<std::size_t>(schedule_.shape.microbatches) +
                     static_cast<std::size_t>(microbatch)];
    }
    int32_t home(int32_t stage) const { return schedule_.rank_of_stage[static_cast<std::size_t>(stage)]; }

    void fault(std::string id, const Action& action, const Place& at, std::vector<MessageArg> more = {}) {
        std::vector<MessageArg> args{
            {"rank", int64_t{at.rank}}, {"slot", at.slot}, {"action", to_text(action)}};
        args.insert(args.end(), more.begin(), more.end());
        if (id == "pipeline.wrong_rank") args.push_back({"row", int64_t{home(action.stage)} + 1});
        faults_.push_back({{id, args}, {id + ".right", args}, at.rank, at.slot});
    }

    void note(const Action& action, const Place& at) {
        const ScheduleShape& shape = schedule_.shape;
        if (action.stage < 0 || action.stage >= shape.stages())
            return fault("pipeline.no_such_stage", action, at, {{"last", int64_t{shape.stages() - 1}}});
        if (!is_there(action))
            return fault("pipeline.no_such_microbatch", action, at,
                         {{"last", int64_t{shape.microbatches - 1}}});
        if (home(action.stage) != at.rank) return;
        if (!mark(action, at)) fault("pipeline.twice", action, at);
    }

    /// It may stand for one that is missing where it belongs: that is one mistake, not two.
    void note_stray(const Action& action, const Place& at) {
        if (!is_there(action) || home(action.stage) == at.rank) return;
        fault("pipeline.wrong_rank", action, at, {{"home", int64_t{home(action.stage)}}});
        mark(action, at);
    }

    /// False where some of it was there already.
    bool mark(const Action& action, const Place& at) {
        Seen& of = seen(action.stage, action.microbatch);
        bool fresh = true;
        const auto enter = [&](Place& place) {
            fresh = fresh && !place.is();
            if (!place.is()) place = at;
        };
        if (action.kind == ActionKind::forward) enter(of.forward);
        if (action.kind == ActionKind::input_grad || action.kind == ActionKind::backward) enter(of.input);
        if (action.kind == ActionKind::weight_grad || action.kind == ActionKind::backward) enter(of.weight);
        return fresh;
    }

    /// On its own rank; across ranks nobody says what comes first.
    void check_order(const Action& action, const Place& at) {
        if (action.kind == ActionKind::forward || !is_there(action)) return;
        const Seen& of = seen(action.stage, action.microbatch);
        const bool weight = action.kind == ActionKind::weight_grad;
        const Place& needs = weight ? of.input : of.forward;
        if (!needs.is() || needs.rank != at.rank || needs.slot < at.slot) return;
        if (weight && of.weight.slot != at.slot) return;  // told as twice
        const Action needed{
            weight ? ActionKind::input_grad : ActionKind::forward, action.stage, action.microbatch, {}};
        if (needs.slot > at.slot) fault("pipeline.too_early", action, at, {{"needs", to_text(needed)}});
    }

    void find_missing() {
        for (int32_t stage = 0; stage < schedule_.shape.stages(); ++stage)
            for (int32_t m = 0; m < schedule_.shape.microbatches; ++m) {
                const Seen& of = seen(stage, m);
                const bool lacks_input = !of.input.is(), lacks_weight = !of.weight.is();
                if (!of.forward.is()) missing({ActionKind::forward, stage, m, {}}, {});
                if (lacks_input || lacks_weight)
                    missing({!lacks_weight  ? ActionKind::input_grad
                             : !lacks_input ? ActionKind::weight_grad
                                            : ActionKind::backward,
                             stage,
                             m,
                             {}},
                            lacks_input ? of.forward : of.input);
            }
    }

    /// It belongs behind what it needs, where that is there.
    void missing(const Action& action, const Place& behind) {
        const int32_t rank = home(action.stage);
        const std::vector<MessageArg> args{
            {"action", to_text(action)}, {"rank", int64_t{rank}}, {"row", int64_t{rank} + 1}};
        const bool placed = behind.rank == rank;
        faults_.push_back({{"pipeline.missing", args},
                           {placed ? "pipeline.missing.right" : "pipeline.missing.right_row", args},
                           rank,
                           placed ? behind.slot : -1});
    }

    /// What a rank waits for stands on another behind something that waits too.
    void find_stuck() {
        const std::vector<Stuck> all = stuck_ranks(schedule_);
        for (const Stuck& stuck : all) {
            const int32_t other = stuck.other;
            const auto there = std::ranges::find(all, other, &Stuck::rank);
            const std::vector<MessageArg> args{{"rank", int64_t{stuck.rank}},
                                               {"action", stuck.action},
                                               {"waits_for", stuck.waits_for},
                                               {"other", int64_t{other}},
                                               {"before", there == all.end() ? stuck.action : there->action}};
            // Where it is the other's next action, only what that waits for helps.
            const bool behind = there != all.end() && there->action != stuck.waits_for;
            faults_.push_back({{"pipeline.deadlock", {args.begin(), args.begin() + 3}},
                               {behind ? "pipeline.deadlock.right" : "pipeline.deadlock.right_next", args},
                               stuck.rank,
                               stuck.slot});
        }
    }

    const Schedule& schedule_;
    std::vector<Seen> seen_;
    std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> faults_of(const Schedule& schedule) {
    return Check(schedule).run();
}

void validate(const Schedule& schedule) {
    const std::vector<Fault> found = faults_of(schedule);
    if (!found.empty()) throw InvalidArgument(found.front().message);
}

}  // namespace meshscope::parallel::pipeline
