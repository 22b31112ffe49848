#pragma once

#include "core/estimate/job.h"

namespace meshscope::test {

/// Llama 3.1 8B under FSDP2 on eight GPUs, as torchtitan trains it.
inline estimate::Job llama_8b() {
    estimate::Job job;
    estimate::Shape& shape = job.shape;
    shape.layers = 32;
    shape.dim = 4096;
    shape.hidden = 14336;
    shape.heads = 32;
    shape.kv_heads = 8;
    shape.head_dim = 128;
    shape.vocab = 128256;
    shape.seq = 8192;
    job.layout.shards = 8;
    job.layout.zero = 3;
    job.micro_batch = 2;
    job.compiled = true;
    return job;
}

}  // namespace meshscope::test
