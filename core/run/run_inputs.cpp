#include "core/run/run_inputs.h"

#include "core/base/error.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/identity.h"
#include "core/run/no_data.h"

namespace meshscope::run {
namespace {

Checkpoints open_checkpoints(const scenario::Scenario& scenario, const RunOptions& options,
                             const nn::Model& model) {
    const bool again = options.resume == kResumeAuto;
    std::string resume = options.resume.empty() ? scenario.checkpoint.resume : options.resume;
    if (again) {
        resume = checkpoint::newest_before(scenario.checkpoint.folder, scenario.steps);
        if (resume.empty()) resume = scenario.checkpoint.resume;
    }
    Checkpoints checkpoints;
    if (resume.empty() && scenario.checkpoint.folder.empty()) return checkpoints;
    // The reader refused these beside [checkpoint]; a caller may still ask to resume.
    if (scenario.parallel.data == scenario::DataStrategy::ddp && scenario.parallel.ddp.join)
        throw InvalidArgument({"scenario.join_checkpoint", {}});
    if (scenario.parallel.data == scenario::DataStrategy::ddp &&
        scenario.parallel.ddp.hook == parallel::DdpHook::powersgd)
        throw InvalidArgument({"scenario.powersgd_checkpoint", {}});
    if (scenario.model.norm != nn::Norm::none) throw InvalidArgument({"scenario.norm_checkpoint", {}});
    const checkpoint::Identity identity = checkpoint::identity_of(scenario);
    if (!resume.empty())
        checkpoints.resumed =
            std::make_unique<const checkpoint::Checkpoint>(resume, identity, scenario, model);
    checkpoints.save = checkpoint::plan_saving(scenario, model, identity, checkpoints.resumed.get(), again);
    checkpoints.save.tell = options.tell;
    return checkpoints;
}

}  // namespace

RunInputs open_run_inputs(const scenario::Scenario& scenario, const RunOptions& options) {
    RunInputs inputs;
    if (!scenario.calls.empty()) {
        if (!options.resume.empty() && options.resume != kResumeAuto)
            throw InvalidArgument({"run.calls_resume", {}});
        inputs.drawn = std::make_unique<const NoWeights>();
        inputs.batches = std::make_unique<const NoBatches>();
        return inputs;
    }
    inputs.model = nn::make_model(scenario.model);
    inputs.checkpoints = open_checkpoints(scenario, options, *inputs.model);
    if (!inputs.checkpoints.resumed) inputs.drawn = open_weights(scenario, *inputs.model);
    inputs.batches = open_batches(scenario, *inputs.model);
    return inputs;
}

}  // namespace meshscope::run
