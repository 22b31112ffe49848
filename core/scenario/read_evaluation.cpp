#include "core/scenario/readers.h"

#include <algorithm>
#include <limits>

#include "core/mesh/roles.h"

namespace meshscope::scenario {
namespace {

constexpr int64_t kMostSamples = int64_t{1} << 24;  ///< each rank keeps a loss of each

/// Where there is nothing to evaluate on, or nobody who could.
void refuse_combinations(const Section& eval, const Scenario& s) {
    if (!s.data_file.empty()) eval.report_key("samples", {"scenario.eval_file", {}});
    if (s.parallel.pipeline) eval.report_key("every", {"scenario.eval_pipeline", {}});
    const parallel::Declaration& strategy = parallel::declaration(s.parallel.data);
    if (strategy.one_process) eval.report_key("every", {"scenario.eval_dp", {}});
    if (const int64_t agrees = strategy.agrees_every != nullptr ? strategy.agrees_every(s.parallel) : 1;
        eval.sure("every") && (agrees == 0 || s.evaluation.every % agrees != 0))
        eval.report("every", {agrees == 0 ? "scenario.eval_apart" : "scenario.eval_between",
                              {{"strategy", std::string(strategy.word)}, {"steps", agrees}}});
    if (strategy.is(&parallel::Declaration::uneven_inputs, s.parallel))
        eval.report_key("every", {"scenario.eval_join", {}});
    if (mesh::roles_of(s.mesh_names).cp) eval.report_key("every", {"scenario.eval_context", {}});
}

}  // namespace

void read_evaluation(const Section& root, Scenario& s) {
    const Section eval = root.section("eval");
    if (!eval.present()) return;
    eval.require("every");
    eval.require("samples");
    const int64_t last = root.section("train").sure("steps") ? s.steps : std::numeric_limits<int32_t>::max();
    s.evaluation.every = static_cast<int32_t>(eval.integer("every", {1, last}).value_or(0));
    s.evaluation.samples = eval.integer("samples", {1, kMostSamples}).value_or(0);
    const int64_t micro_batch = s.global_batch / data_parallel_size(s) / s.accumulate;
    s.evaluation.batch = eval.integer("batch", {1, kMostSamples}).value_or(std::max<int64_t>(1, micro_batch));
    refuse_combinations(eval, s);
}

}  // namespace meshscope::scenario
