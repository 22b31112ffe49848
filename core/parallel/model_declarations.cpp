#include <array>
#include <string>

#include "core/mesh/mesh_offers.h"
#include "core/parallel/model_declaration.h"

namespace meshscope::parallel {

// Each stands in its folder's declaration.cpp, recomputation in recompute.cpp, the loss's mean in
// step_loss.cpp.
extern const ModelDeclaration kPipelineParallel, kTensorParallel, kContextParallel, kRecompute, kStepLoss;

std::span<const ModelDeclaration* const> model_declarations() {
    static constexpr auto kAll = std::to_array<const ModelDeclaration*>(
        {&kPipelineParallel, &kTensorParallel, &kContextParallel, &kRecompute, &kStepLoss});
    return kAll;
}

const ModelDeclaration* model_declaration(mesh::Role role) {
    for (const ModelDeclaration* const each : model_declarations())
        if (each->role == role) return each;
    return nullptr;
}

std::vector<Refusal> keys_without_dim(const StrategyUse& use, std::span<const StrategyKey> keys,
                                      mesh::Role role) {
    std::vector<Refusal> found;
    const std::string dim(name(role));
    for (const StrategyKey& key : keys)
        if (use.has(key.name))
            found.push_back({.key = std::string(key.name),
                             .message = {"scenario.key_needs_dim",
                                         {{"key", "parallel." + std::string(key.name)}, {"dim", dim}}},
                             .offers = {mesh::offer_of_new_dim(use.shape, use.names, dim)},
                             .of = Refusal::Of::key});
    return found;
}

}  // namespace meshscope::parallel
