#pragma once

#include <cstdint>

#include "core/estimate/model_shape.h"
#include "core/scenario/plan_file.h"
#include "core/time/read_profile.h"

namespace meshscope::test {

/// What a plan of so many h100 is asked for a llama of 8 layers, two samples a GPU and step.
inline scenario::PlanFile small_plan(int64_t gpus, estimate::Stack stack = estimate::Stack::torchtitan) {
    scenario::PlanFile file;
    file.model = "small";
    file.spec.kind = "llama";
    file.spec.dim = 256;
    file.spec.hidden = 512;
    file.spec.layers = 8;
    file.spec.vocab = 1024;
    file.spec.seq = 4096;
    file.spec.heads = 8;
    file.spec.kv_heads = 4;
    estimate::Question& q = file.question;
    q.shape = *estimate::shape_of(file.spec);
    q.stack = stack;
    q.gpus = gpus;
    q.profile = time::named_profile("h100");
    q = estimate::settled(q, {.global_batch = 2 * gpus});
    return file;
}

}  // namespace meshscope::test
