#pragma once

#include <memory>
#include <span>

#include "core/parallel/strategy.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// The first weights of a scenario: its safetensors file, or drawn from [model] seed. Checks every name and
/// shape against the model first. Throws InputError ("weights.missing", "weights.shape", "weights.unknown"
/// …), IoError.
std::unique_ptr<parallel::InitialValues> open_weights(const scenario::Scenario& scenario,
                                                      const nn::Model& model);

/// First values nobody looks at.
class NoWeights final : public parallel::InitialValues {
  public:
    void read(const nn::Parameter&, int64_t, std::span<float>) const override {}
};

/// The global batches of a scenario, one a step; any rank may read any rows.
class Batches {
  public:
    virtual ~Batches() = default;
    /// Rows [first_row, …) of step's x and y; the tensors say how many (dim 0), of the model's types.
    /// One of them may be undefined: a pipeline's stage that does not need it.
    virtual void read(int32_t step, int64_t first_row, const tensor::Tensor& x,
                      const tensor::Tensor& y) const = 0;
};

/// Batches nobody looks at.
class NoBatches final : public Batches {
  public:
    void read(int32_t, int64_t, const tensor::Tensor&, const tensor::Tensor&) const override {}
};

/// [data] file, or batches made from [data] kind and seed. Checks that every step's x and y are there with
/// the model's shapes and types, and every token in the vocabulary. Throws InputError ("data.missing",
/// "data.shape", "data.dtype", "data.token"), IoError.
std::unique_ptr<Batches> open_batches(const scenario::Scenario& scenario, const nn::Model& model);

}  // namespace meshscope::run
