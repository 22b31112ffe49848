#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/nn/model.h"

namespace meshscope::parallel {

/// The parameters that travel together, and the modules around whose work they do.
struct UnitPlan {
    std::string name;  ///< "layers.0", "layers.0+layers.3", "root"
    std::vector<nn::Module*> modules;
    std::vector<nn::Parameter*> parameters;  ///< in the modules' order; perhaps none
    bool is_root = false;
};

/// What no list of units means.
enum class NoUnits : uint8_t {
    layers,    ///< the model's default units
    root_only  ///< the root alone, with all parameters: a size that no module reaches
};

/// Cuts a model into units by module names, one list a unit; of an empty list `none` says what it means. A
/// parameter belongs to the first unit that reaches it, and what none reaches to the root, which stands last.
///
/// A parameter that several modules share (an embedding tied to the head) must lie in a unit that holds all
/// of them: another unit could find it freed. Throws InvalidArgument ("parallel.no_such_module",
/// "parallel.shared_parameter").
std::vector<UnitPlan> plan_units(nn::Model& model, const std::vector<std::vector<std::string>>& units,
                                 NoUnits none = NoUnits::layers);

/// FSDP1's size_based_auto_wrap_policy: from the leaves up, a module becomes a unit when its parameters that
/// are in no unit yet count at least `min_elements`. Returns names for plan_units; inner modules stand before
/// those around them. Source: torch/distributed/fsdp/wrap.py, _recursive_wrap.
std::vector<std::vector<std::string>> units_by_size(nn::Model& model, int64_t min_elements);

/// What a unit does around the work of each of its modules.
struct UnitHooks {
    std::function<void()> pre_forward, post_forward, pre_backward, post_backward;
};

/// Hangs them on every module of the unit, behind the hooks that hang there already.
void hang_hooks(const std::vector<nn::Module*>& modules, const UnitHooks& hooks);

}  // namespace meshscope::parallel
