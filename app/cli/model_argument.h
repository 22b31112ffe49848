#pragma once

#include <string>

#include "core/scenario/named_model.h"

namespace meshscope::cli {

using ModelArgument = scenario::NamedModel;

/// A model as a command line names it. Throws UsageError "cli.model.bad_name" {name} for what is no such
/// name, else what scenario::named_model() throws.
ModelArgument model_argument(const std::string& name);

}  // namespace meshscope::cli
