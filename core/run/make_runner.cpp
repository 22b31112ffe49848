#include "core/run/make_runner.h"

#include "core/base/error.h"
#include "core/parallel/accumulate.h"
#include "core/parallel/data_parallel/data_parallel.h"
#include "core/parallel/ddp/ddp.h"
#include "core/parallel/fsdp1/fsdp1.h"
#include "core/parallel/fsdp2/fsdp2.h"
#include "core/parallel/pipeline/pipeline.h"
#include "core/parallel/single.h"
#include "core/parallel/sync_batch_norm/sync_batch_norm.h"
#include "core/parallel/zero/zero.h"
#include "core/parallel/zero/zero_redundancy.h"

namespace meshscope::run {
namespace {

using scenario::DataStrategy;
using scenario::Scenario;

/// What of the units lies in this model: a pipeline's stage has some of the modules only.
std::vector<std::vector<std::string>> units_in(nn::Model& model,
                                               std::vector<std::vector<std::string>> units) {
    for (std::vector<std::string>& unit : units)
        std::erase_if(unit, [&](const std::string& name) { return model.find(name) == nullptr; });
    std::erase_if(units, [](const std::vector<std::string>& unit) { return unit.empty(); });
    return units;
}

std::unique_ptr<parallel::Strategy> make_strategy(const Scenario& scenario,
                                                  const parallel::RankContext& context, nn::Model& model) {
    const Scenario::Parallel& p = scenario.parallel;
    switch (p.data) {
        case DataStrategy::none:
            // Ranks of a cp group see other tokens of the same samples: their gradients are averaged.
            if (context.cp) return std::make_unique<parallel::Ddp>(context, model, parallel::DdpOptions{});
            return std::make_unique<parallel::Single>(context, model);
        case DataStrategy::dp:
            break;  // no Strategy: its ranks are one process
        case DataStrategy::ddp: {
            parallel::DdpOptions options = p.ddp;
            options.bucket_cap_mb = p.bucket_cap_mb;
            if (scenario.model.norm == nn::Norm::sync_batch)
                parallel::convert_sync_batch_norm(context, model);
            return std::make_unique<parallel::Ddp>(context, model, options);
        }
        case DataStrategy::fsdp2: {
            parallel::Fsdp2Options options = p.fsdp2;
            options.units = units_in(model, p.units);
            options.pipeline = p.pipeline.has_value();
            options.precision = p.precision;
            return std::make_unique<parallel::Fsdp2>(context, model, std::move(options));
        }
        case DataStrategy::fsdp1: {
            parallel::Fsdp1Options options = p.fsdp1;
            options.units = p.units;
            return std::make_unique<parallel::Fsdp1>(context, model, std::move(options));
        }
        case DataStrategy::zero1:
        case DataStrategy::zero2:
        case DataStrategy::zero3: {
            if (p.zero_redundancy) {
                parallel::DdpOptions options;
                options.bucket_cap_mb = p.bucket_cap_mb;
                return std::make_unique<parallel::ZeroRedundancy>(context, model, options);
            }
            const auto stage = p.data == DataStrategy::zero1   ? parallel::ZeroStage::optimizer
                               : p.data == DataStrategy::zero2 ? parallel::ZeroStage::gradients
                                                               : parallel::ZeroStage::parameters;
            parallel::ZeroOptions options{p.bucket_cap_mb, p.fsdp1};
            options.units.units = p.units;
            return parallel::make_zero(context, model, stage, options);
        }
    }
    throw InvalidArgument({"run.unknown_strategy", {}});
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
    if (scenario.parallel.data == DataStrategy::dp) {
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
