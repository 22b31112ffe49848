#pragma once

#include "core/parallel/strategy.h"
#include "core/run/sources.h"

namespace meshscope::run {

/// First values nobody looks at.
class NoWeights final : public parallel::InitialValues {
  public:
    void read(const nn::Parameter&, int64_t, std::span<float>) const override {}
};

/// Batches nobody looks at.
class NoBatches final : public Batches {
  public:
    void read(int32_t, int64_t, const tensor::Tensor&, const tensor::Tensor&) const override {}
};

}  // namespace meshscope::run
