#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/offer.h"
#include "core/mesh/device_mesh.h"

namespace meshscope::mesh {

/// Offers of another size for one dim of the mesh, the nearest smaller and the nearest larger that `good`
/// accepts.
std::vector<Offer> offers_of_dim(const Shape& shape, std::size_t mesh_dim,
                                 const std::function<bool(int64_t)>& good);

/// The mesh with a dim of that name behind the others, of 2 ranks.
Offer offer_of_new_dim(const Shape& shape, const Names& names, const std::string& name);

/// The mesh with other data dims, in place of those it has; tp, pp and cp stay. One candidate for each of
/// `data_shapes`.
Offer offer_of_data_dims(const Shape& shape, const Names& names, const std::vector<Shape>& data_shapes,
                         const Names& data_names);

}  // namespace meshscope::mesh
