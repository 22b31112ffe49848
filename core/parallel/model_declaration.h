#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mesh/roles.h"
#include "core/parallel/declaration.h"

namespace meshscope::parallel {

/// What a way of sharing one model out among ranks declares of itself: tensor, context or pipeline
/// parallelism, each along a mesh dim of its own; and recomputation, which needs none. Beside the data
/// strategies' declarations, this is where scenario files, docs/scenario.md's table of keys and the sandbox's
/// fields come from.
struct ModelDeclaration {
    std::optional<mesh::Role> role;  ///< of its mesh dim; none: it needs no dim
    std::span<const StrategyKey> keys;
    /// Settles in the options what follows from keys, mesh and model together, and says what it refuses.
    /// Called after all its keys were read: where there is a role when the mesh is known, with or without its
    /// dim; else after everything else of the scenario's strategy.
    std::vector<Refusal> (*settle)(StrategyOptions&, const StrategyUse&);
    std::string_view table = "parallel";  ///< where its keys stand
    /// Each of its ranks holds a part of the parameters. False: all of them, and gradients are averaged over
    /// its ranks as over data ranks, whose mesh dim its own is flattened into.
    bool cuts_parameters = false;
    /// What it goes together with depends on the data strategy: where that is not known, it is not read.
    bool asks_strategy = false;
    /// What a checkpoint's state of the strategy belongs to besides; see Declaration::state_word.
    std::string (*state_word)(const StrategyOptions&) = nullptr;  ///< null: nothing
    /// Message: why a model that is shared out so is not evaluated; "" where it is not shared out, or is.
    std::string_view (*no_evaluation)(const StrategyOptions&, const mesh::Names&) = nullptr;  ///< null: ""
};

/// All of them, in the order in which they are read.
std::span<const ModelDeclaration* const> model_declarations();

/// The one of a mesh dim; null for a data dim's role.
const ModelDeclaration* model_declaration(mesh::Role role);

/// Refuses those of the keys that are there: they mean something only on a mesh with a dim of that role.
std::vector<Refusal> keys_without_dim(const StrategyUse& use, std::span<const StrategyKey> keys,
                                      mesh::Role role);

}  // namespace meshscope::parallel
