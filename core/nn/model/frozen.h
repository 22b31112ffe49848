#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/model.h"

namespace meshscope::nn {

/// What one entry of a list of frozen things names: "blocks.0-2" the modules blocks.0, blocks.1 and blocks.2;
/// anything else is a module's or a parameter's own name. Empty where the range has no end after its start,
/// or more than kMostSize members.
std::vector<std::string> expand_range(const std::string& entry);

/// Freezes (Parameter::frozen) every parameter of the modules, and the parameters, that the entries name.
/// What a model does not have is passed over: of a pipeline's model, or one with fewer layers, some are
/// elsewhere.
void freeze(Model& model, const std::vector<std::string>& entries);

/// The first of the names that an entry stands for which the model does not have; "" where it is a range that
/// ends before it begins, nothing where the model has all. Cost: a search for each name that it has, and one
/// more.
std::optional<std::string> first_unknown(Model& model, const std::string& entry);

/// Whether the model has a module or a parameter of that name.
bool has_name(Model& model, const std::string& name);

}  // namespace meshscope::nn
