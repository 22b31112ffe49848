#include "tests/run/golden_run.h"

namespace golden {

using namespace meshscope;

run::RunResult train(const std::string& name, const nlohmann::json& gold, const run::Backends& backends,
                     const run::RunOptions& options, const std::string& extra) {
    return run::run_scenario(scenario::parse_scenario(scenario_text(gold, name) + extra, name + ".toml"),
                             backends, options);
}

Outcome outcome_of(const run::RunResult& result) {
    Outcome outcome;
    const trace::Trace& trace = *result.trace;
    outcome.losses = trace.info.losses;
    outcome.grad_norms = trace.info.grad_norms;
    for (const run::NamedArray& array : result.parameters)
        outcome.parameters[array.name] = {array.shape, array.numbers};
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        for (const trace::Event& e : trace.ranks[r].events) {
            if (e.kind != trace::EventKind::collective) continue;
            outcome.collectives.push_back(
                {static_cast<int32_t>(r), e.step, std::string(name(e.op)),
                 trace.groups[static_cast<std::size_t>(e.group)].ranks, e.in_elements, e.out_elements,
                 std::string(name(e.dtype)),
                 e.reduce_op == ReduceOp::none ? "" : std::string(name(e.reduce_op))});
        }
    return outcome;
}

}  // namespace golden
