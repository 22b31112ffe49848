#include "core/parallel/step_runner.h"

#include "core/base/error.h"

namespace meshscope::parallel {

std::vector<float> StepRunner::evaluate(int32_t, const Tensor&, const Tensor&) {
    throw InvalidArgument({"run.evaluation_runner", {}});
}

}  // namespace meshscope::parallel
