#pragma once

#include <algorithm>
#include <optional>
#include <set>
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
/// elsewhere. Cost: O((modules + names) · log names).
void freeze(Model& model, const std::vector<std::string>& entries);

/// Whether one of the parameters at least is trained.
template <class Parameters>
bool any_trained(const Parameters& parameters) {
    return std::ranges::any_of(parameters, [](const auto& parameter) { return !parameter->frozen; });
}

/// What entries can name: the model's modules and parameters.
std::set<std::string> names_in(const Model& model);

/// The linear layers of a kind of model that may have adapters, by the last parts of their names: "wq". All
/// but the head, each once, in the model's order. Throws InvalidArgument ("model.unknown_kind").
std::vector<std::string> adaptable_layers(const std::string& kind);

/// The first of the names that an entry stands for which is not among the known ones; "" where it is a range
/// that ends before it begins, nothing where all are. Cost: a search for each name that is known, and one
/// more.
std::optional<std::string> first_unknown(const std::set<std::string>& known, const std::string& entry);

}  // namespace meshscope::nn
