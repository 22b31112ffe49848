#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// The most that a size of a model (dim, hidden, vocab, seq …) may be.
inline constexpr int64_t kMostSize = 1 << 20;

/// Reads [model] into `scenario`, whose folder is set. The sizes are taken over all together, or, where one
/// of them is wrong (which is reported, with the nearest possible values), none of them.
void read_model(const Section& root, const Section& model, Scenario& scenario);

/// Whether [model] could be read, so that make_model() can build it.
bool model_is_known(const Scenario& scenario);

/// Reads [data]; the model is read already.
void read_data(const Section& root, Scenario& scenario);

}  // namespace meshscope::scenario
