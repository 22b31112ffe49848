#include "core/nn/module.h"

namespace meshscope::nn {

std::vector<Parameter*> Module::parameters() const {
    std::vector<Parameter*> all = parameters_;
    for (const Module* child : children_) {
        const std::vector<Parameter*> theirs = child->parameters();
        all.insert(all.end(), theirs.begin(), theirs.end());
    }
    return all;
}

}  // namespace meshscope::nn
