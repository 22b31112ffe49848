#include "core/run/make_runner.h"

#include "core/parallel/accumulate.h"
#include "core/parallel/data_parallel/data_parallel.h"
#include "core/parallel/declaration.h"
#include "core/parallel/pipeline/pipeline.h"
#include "core/parallel/sync_batch_norm/sync_batch_norm.h"

namespace meshscope::run {
namespace {

using scenario::Scenario;

std::unique_ptr<parallel::Strategy> make_strategy(const Scenario& scenario,
                                                  const parallel::RankContext& context, nn::Model& model) {
    parallel::StrategyOptions options = scenario.parallel;
    options.in_pipeline = scenario.parallel.pipeline.has_value();
    if (scenario.model.norm == nn::Norm::sync_batch) parallel::convert_sync_batch_norm(context, model);
    return parallel::declaration(scenario.parallel.data).make(context, model, options);
}

}  // namespace

std::unique_ptr<parallel::StepRunner> make_runner(const Scenario& scenario,
                                                  const parallel::RankContext& context, nn::Model& model,
                                                  const ModelParallel& cuts, int64_t rows) {
    const auto parallelize = [&scenario, &context, cuts](nn::Model& part) {
        if (cuts.tensor) cuts.tensor->apply(part);
        if (cuts.context) cuts.context->apply(part);
        nn::checkpoint_layers(part, scenario.recompute);
        return make_strategy(scenario, context, part);
    };
    const auto& shape = scenario.parallel.pipeline;
    if (parallel::declaration(scenario.parallel.data).make == nullptr) {
        nn::checkpoint_layers(model, scenario.recompute);
        return std::make_unique<parallel::DataParallel>(context, model, rows, scenario.accumulate);
    }
    if (!shape)
        return std::make_unique<parallel::Accumulate>(context, model, parallelize(model),
                                                      scenario.accumulate);
    return std::make_unique<parallel::pipeline::Pipeline>(
        context, parallel::pipeline::make_schedule(*shape),
        parallel::pipeline::Microbatch{rows / shape->microbatches, scenario.parallel.precision.param},
        [&] { return nn::make_model(scenario.model); }, parallelize);
}

}  // namespace meshscope::run
