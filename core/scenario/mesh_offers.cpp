#include "core/scenario/mesh_offers.h"

#include <algorithm>

#include "core/mesh/roles.h"

namespace meshscope::scenario {
namespace {

Candidate mesh(std::vector<int64_t> shape, std::vector<std::string> names) {
    return {{"mesh.shape", std::move(shape)}, {"mesh.names", std::move(names)}};
}

}  // namespace

std::vector<Offer> offers_of_dim(const Scenario& s, std::size_t mesh_dim,
                                 const std::function<bool(int64_t)>& good) {
    const int64_t now = s.mesh_shape[mesh_dim];
    std::vector<Offer> offers(2);
    const auto add = [&](Offer& offer, int64_t n) {
        if (!good(n)) return;
        std::vector<int64_t> shape(s.mesh_shape.begin(), s.mesh_shape.end());
        shape[mesh_dim] = n;
        offer.candidates.push_back({{"mesh.shape", std::move(shape)}});
    };
    for (int64_t n = now - 1; n >= 1; --n) add(offers[0], n);
    for (int64_t n = now + 1; n <= 2 * now; ++n) add(offers[1], n);
    for (Offer& offer : offers) offer.candidates.resize(std::min<std::size_t>(offer.candidates.size(), 16));
    return offers;
}

Offer offer_of_new_dim(const Scenario& s, const std::string& name) {
    std::vector<int64_t> shape(s.mesh_shape.begin(), s.mesh_shape.end());
    std::vector<std::string> names = s.mesh_names;
    // A mesh of one rank needs no other dim.
    if (shape == std::vector<int64_t>{1}) return {{mesh({2}, {name})}};
    shape.push_back(2);
    names.push_back(name);
    return {{mesh(std::move(shape), std::move(names))}};
}

Offer offer_of_data_dims(const Scenario& s, const std::vector<std::vector<int64_t>>& shapes,
                         const std::vector<std::string>& names) {
    const std::vector<std::size_t> data = mesh::roles_of(s.mesh_names).data;
    Offer offer;
    for (const std::vector<int64_t>& sizes : shapes) {
        std::vector<int64_t> shape;
        std::vector<std::string> all;
        bool placed = false;
        const auto place = [&] {
            shape.insert(shape.end(), sizes.begin(), sizes.end());
            all.insert(all.end(), names.begin(), names.end());
            placed = true;
        };
        for (std::size_t d = 0; d < s.mesh_shape.size(); ++d) {
            const bool is_data = d >= s.mesh_names.size() || std::ranges::find(data, d) != data.end();
            if (is_data && !placed) place();
            if (is_data) continue;
            shape.push_back(s.mesh_shape[d]);
            all.push_back(s.mesh_names[d]);
        }
        if (!placed) place();
        offer.candidates.push_back(mesh(std::move(shape), std::move(all)));
    }
    return offer;
}

}  // namespace meshscope::scenario
