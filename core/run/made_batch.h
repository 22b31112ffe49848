#pragma once

#include <span>

#include "core/data/made_data.h"
#include "core/nn/model.h"
#include "core/scenario/scenario.h"

namespace meshscope::run {

/// The data set that [data] kind, samples and seed stand for, with the model's sizes.
data::MadeData made_data(const scenario::Scenario& scenario, const nn::Model& model);

/// Writes the samples of these numbers to x and y, of the model's types. Either may be undefined: a
/// pipeline's stage that does not need it.
void make_batch(const data::MadeData& data, std::span<const int64_t> samples, const tensor::Tensor& x,
                const tensor::Tensor& y);

}  // namespace meshscope::run
