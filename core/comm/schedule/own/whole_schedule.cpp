#include "core/comm/schedule/own/whole_schedule.h"

#include <algorithm>

#include "core/comm/schedule/card.h"

namespace meshscope::comm {
namespace {

WholeSchedule whole(const ScheduleCall& call, const StepsOfRank& say) {
    WholeSchedule made{.call = call, .ranks = {}, .rounds = 0};
    std::vector<Part> parts;
    set_even_parts(parts, call.elements / call.ranks, call.ranks);
    for (int32_t r = 0; r < call.ranks; ++r) {
        KeptSteps& kept = made.ranks.emplace_back();
        const ScheduleQuery query{.op = call.op,
                                  .ranks = call.ranks,
                                  .rank = r,
                                  .elements = call.elements,
                                  .element_bytes = call.element_bytes,
                                  .in_parts = parts,
                                  .out_parts = parts};
        made.rounds = kept.rounds = say(query, kept.keeper());
    }
    return made;
}

}  // namespace

WholeSchedule whole_schedule(const OwnAlgorithm& algorithm, int32_t ranks) {
    const own::Program& program = algorithm.proved(ranks);
    return whole(own::call_of(program),
                 [&](const ScheduleQuery& query, const StepSink& sink) { return program.say(query, sink); });
}

WholeSchedule whole_schedule(Algorithm algorithm, CollectiveOp op, int32_t ranks) {
    const auto cut = [&](int64_t elements) {
        return whole({.op = op, .ranks = ranks, .elements = elements},
                     [algorithm](const ScheduleQuery& query, const StepSink& sink) {
                         return say_steps(algorithm, query, sink);
                     });
    };
    WholeSchedule made = cut(ranks);
    if (op != CollectiveOp::all_reduce) return made;
    int64_t chunks = ranks;
    for (const Hop& hop : hops_of(made)) chunks = std::max<int64_t>(chunks, hop.chunk + 1);
    return chunks > ranks ? cut(chunks) : made;
}

std::vector<Hop> hops_of(const WholeSchedule& schedule) {
    std::vector<Hop> hops;
    for (int32_t r = 0; r < schedule.call.ranks; ++r)
        for (const KeptStep& each : schedule.ranks[static_cast<std::size_t>(r)].steps) {
            const Step& step = each.step;
            if (step.silent) continue;
            if (step.kind == Step::Kind::receive || step.kind == Step::Kind::reduce)
                hops.push_back({step.round, step.peer, r, step.chunk, step.elements,
                                step.kind == Step::Kind::reduce || step.is_added});
            if (step.kind == Step::Kind::reduce_many)
                for (int32_t peer = 0; peer < schedule.call.ranks; ++peer)
                    if (peer != r) hops.push_back({step.round, peer, r, step.chunk, step.elements, true});
        }
    std::ranges::stable_sort(hops, {}, [](const Hop& hop) { return std::pair(hop.round, hop.from); });
    return hops;
}

}  // namespace meshscope::comm
