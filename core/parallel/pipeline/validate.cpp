#include "core/parallel/pipeline/validate.h"

#include "core/base/error.h"
#include "core/parallel/pipeline/simulate.h"

namespace meshscope::parallel::pipeline {
namespace {

/// What a stage has done of a micro-batch.
struct Seen {
    bool forward = false, input = false, weight = false;
};

class Check {
  public:
    explicit Check(const Schedule& schedule)
        : schedule_(schedule),
          seen_(static_cast<std::size_t>(schedule.shape.stages()) *
                static_cast<std::size_t>(schedule.shape.microbatches)) {}

    void run() {
        const auto ranks = static_cast<int64_t>(schedule_.order.size());
        if (ranks != schedule_.shape.ranks)
            throw InvalidArgument(
                {"pipeline.ranks", {{"found", ranks}, {"ranks", int64_t{schedule_.shape.ranks}}}});
        for (std::size_t rank = 0; rank < schedule_.order.size(); ++rank)
            for (std::size_t slot = 0; slot < schedule_.order[rank].size(); ++slot)
                if (const Slot& action = schedule_.order[rank][slot]) {
                    rank_ = static_cast<int32_t>(rank);
                    slot_ = static_cast<int64_t>(slot);
                    if (action->parts.empty()) see(*action);
                    for (const Action& part : action->parts) see(part);
                }
        for (int32_t stage = 0; stage < schedule_.shape.stages(); ++stage)
            for (int32_t m = 0; m < schedule_.shape.microbatches; ++m) {
                const Seen& seen = seen_[index(stage, m)];
                const char* missing = !seen.forward ? "F" : !seen.input ? "B" : !seen.weight ? "W" : nullptr;
                if (missing)
                    throw InvalidArgument(
                        {"pipeline.missing",
                         {{"action", std::to_string(stage) + missing + std::to_string(m)},
                          {"rank", int64_t{schedule_.rank_of_stage[static_cast<std::size_t>(stage)]}}}});
            }
        simulate(schedule_);
    }

  private:
    std::size_t index(int32_t stage, int32_t microbatch) const {
        return static_cast<std::size_t>(stage) * static_cast<std::size_t>(schedule_.shape.microbatches) +
               static_cast<std::size_t>(microbatch);
    }

    [[noreturn]] void fail(const char* id, const Action& action, std::vector<MessageArg> more = {}) const {
        std::vector<MessageArg> args{{"rank", int64_t{rank_}}, {"slot", slot_}, {"action", to_text(action)}};
        args.insert(args.end(), more.begin(), more.end());
        throw InvalidArgument({id, std::move(args)});
    }

    void see(const Action& action) {
        if (!is_compute(action.kind)) return;
        const ScheduleShape& shape = schedule_.shape;
        if (action.stage < 0 || action.stage >= shape.stages())
            fail("pipeline.no_such_stage", action, {{"last", int64_t{shape.stages() - 1}}});
        if (action.microbatch < 0 || action.microbatch >= shape.microbatches)
            fail("pipeline.no_such_microbatch", action, {{"last", int64_t{shape.microbatches - 1}}});
        const int32_t home = schedule_.rank_of_stage[static_cast<std::size_t>(action.stage)];
        if (home != rank_) fail("pipeline.wrong_rank", action, {{"home", int64_t{home}}});
        Seen& seen = seen_[index(action.stage, action.microbatch)];
        switch (action.kind) {
            case ActionKind::forward:
                return mark(seen.forward, true, action, "");
            case ActionKind::input_grad:
                return mark(seen.input, seen.forward, action, "F");
            case ActionKind::weight_grad:
                return mark(seen.weight, seen.input, action, "I");
            default:
                mark(seen.input, seen.forward, action, "F");
                mark(seen.weight, true, action, "");
        }
    }

    void mark(bool& done, bool ready, const Action& action, const char* needs) {
        if (done) fail("pipeline.twice", action);
        if (!ready)
            fail("pipeline.too_early", action,
                 {{"needs", std::to_string(action.stage) + needs + std::to_string(action.microbatch)}});
        done = true;
    }

    const Schedule& schedule_;
    std::vector<Seen> seen_;
    int32_t rank_ = 0;
    int64_t slot_ = 0;
};

}  // namespace

void validate(const Schedule& schedule) {
    Check(schedule).run();
}

}  // namespace meshscope::parallel::pipeline
