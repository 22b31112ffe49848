#pragma once

#include <vector>

#include "core/parallel/declaration.h"

namespace meshscope::parallel {

/// Refuses a pipeline of which some stage trains nothing: DDP, around each stage, has nothing to reduce
/// there, and PyTorch's refuses a module without a parameter that needs a gradient as it is made. At
/// `frozen`, else at what names LoRA's layers ("scenario.stage_untrained" {stage}).
void refuse_untrained_stages(const StrategyOptions& options, const StrategyUse& use,
                             std::vector<Refusal>& found);

}  // namespace meshscope::parallel
