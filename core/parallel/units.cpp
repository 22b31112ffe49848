#include "core/parallel/units.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace meshscope::parallel {
namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : "+") + name;
    return text;
}

/// Every module below `module`, itself first.
void collect(nn::Module& module, std::vector<nn::Module*>& found) {
    found.push_back(&module);
    for (nn::Module* child : module.children()) collect(*child, found);
}

/// Each module that owns a parameter of `unit` must lie inside of it.
void check_shared(nn::Model& model, const UnitPlan& unit) {
    std::vector<nn::Module*> inside, all;
    for (nn::Module* module : unit.modules) collect(*module, inside);
    collect(model, all);
    for (nn::Module* module : all) {
        if (std::ranges::find(inside, module) != inside.end()) continue;
        for (const nn::Parameter* parameter : module->own_parameters())
            if (std::ranges::find(unit.parameters, parameter) != unit.parameters.end())
                throw InvalidArgument(
                    {"parallel.shared_parameter",
                     {{"parameter", parameter->name}, {"unit", unit.name}, {"module", module->name()}}});
    }
}

int64_t elements_of(const nn::Module& module) {
    int64_t elements = 0;
    std::set<const nn::Parameter*> seen;
    for (const nn::Parameter* parameter : module.parameters())
        if (seen.insert(parameter).second) elements += tensor::count(parameter->shape);
    return elements;
}

/// Returns how many elements below `module` lie in units now.
int64_t wrap(nn::Module& module, int64_t min_elements, bool only_children,
             std::vector<std::vector<std::string>>& units) {
    const int64_t elements = elements_of(module);
    if (elements < min_elements) return 0;
    int64_t wrapped = 0;
    for (nn::Module* child : module.children()) wrapped += wrap(*child, min_elements, false, units);
    if (only_children || elements - wrapped < min_elements) return wrapped;
    units.push_back({module.name()});
    return elements;
}

}  // namespace

std::vector<UnitPlan> plan_units(nn::Model& model, const std::vector<std::vector<std::string>>& units,
                                 NoUnits none) {
    std::vector<std::vector<std::string>> names = units;
    if (names.empty() && none == NoUnits::layers)
        for (const std::string& name : model.default_units())
            if (model.find(name)) names.push_back({name});  // another pipeline stage has the others

    std::vector<UnitPlan> plans;
    std::set<const nn::Parameter*> taken;
    for (const std::vector<std::string>& unit : names) {
        UnitPlan plan{joined(unit), {}, {}, false};
        for (const std::string& name : unit) {
            nn::Module* module = model.find(name);
            if (!module) throw InvalidArgument({"parallel.no_such_module", {{"module", name}}});
            plan.modules.push_back(module);
            for (nn::Parameter* parameter : module->parameters())
                if (taken.insert(parameter).second) plan.parameters.push_back(parameter);
        }
        check_shared(model, plan);
        plans.push_back(std::move(plan));
    }
    UnitPlan root{"root", {&model}, {}, true};
    for (const auto& parameter : model.all_parameters())
        if (!taken.contains(parameter.get())) root.parameters.push_back(parameter.get());
    plans.push_back(std::move(root));
    return plans;
}

std::vector<std::vector<std::string>> units_by_size(nn::Model& model, int64_t min_elements) {
    std::vector<std::vector<std::string>> units;
    wrap(model, min_elements, true, units);
    return units;
}

void hang_hooks(const std::vector<nn::Module*>& modules, const UnitHooks& hooks) {
    for (nn::Module* module : modules) {
        module->hooks.pre_forward.push_back([call = hooks.pre_forward](nn::Module&) { call(); });
        module->hooks.post_forward.push_back([call = hooks.post_forward](nn::Module&) { call(); });
        module->hooks.pre_backward.push_back([call = hooks.pre_backward](nn::Module&) { call(); });
        module->hooks.post_backward.push_back([call = hooks.post_backward](nn::Module&) { call(); });
    }
}

}  // namespace meshscope::parallel
