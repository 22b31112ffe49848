#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/scenario/offer.h"
#include "core/scenario/scenario.h"

namespace meshscope::scenario {

/// Offers of another size for one dim of the mesh, the nearest smaller and the nearest larger that `good`
/// accepts.
std::vector<Offer> offers_of_dim(const Scenario& s, std::size_t mesh_dim,
                                 const std::function<bool(int64_t)>& good);

/// The mesh with a dim of that name behind the others, of 2 ranks.
Offer offer_of_new_dim(const Scenario& s, const std::string& name);

/// The mesh with other data dims, in place of those it has; tp, pp and cp stay. One candidate for each shape.
Offer offer_of_data_dims(const Scenario& s, const std::vector<std::vector<int64_t>>& shapes,
                         const std::vector<std::string>& names);

}  // namespace meshscope::scenario
