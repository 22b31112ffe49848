#include "core/mesh/mesh_offers.h"

#include <algorithm>

#include "core/mesh/roles.h"

namespace meshscope::mesh {
namespace {

Candidate candidate(Shape shape, Names names) {
    return {{"mesh.shape", std::move(shape)}, {"mesh.names", std::move(names)}};
}

}  // namespace

std::vector<Offer> offers_of_dim(const Shape& shape, std::size_t mesh_dim,
                                 const std::function<bool(int64_t)>& good) {
    const int64_t now = shape[mesh_dim];
    std::vector<Offer> offers(2);
    const auto add = [&](Offer& offer, int64_t n) {
        if (!good(n)) return;
        Shape other = shape;
        other[mesh_dim] = n;
        offer.candidates.push_back({{"mesh.shape", std::move(other)}});
    };
    for (int64_t n = now - 1; n >= 1; --n) add(offers[0], n);
    for (int64_t n = now + 1; n <= 2 * now; ++n) add(offers[1], n);
    for (Offer& offer : offers) offer.candidates.resize(std::min<std::size_t>(offer.candidates.size(), 16));
    return offers;
}

Offer offer_of_new_dim(const Shape& shape, const Names& names, const std::string& name) {
    // A mesh of one rank needs no other dim.
    if (shape == Shape{1}) return {{candidate({2}, {name})}};
    Shape longer = shape;
    Names more = names;
    longer.push_back(2);
    more.push_back(name);
    return {{candidate(std::move(longer), std::move(more))}};
}

Offer offer_of_data_dims(const Shape& shape, const Names& names, const std::vector<Shape>& data_shapes,
                         const Names& data_names) {
    const std::vector<std::size_t> data = roles_of(names).data;
    Offer offer;
    for (const Shape& sizes : data_shapes) {
        Shape made;
        Names all;
        bool placed = false;
        const auto place = [&] {
            made.insert(made.end(), sizes.begin(), sizes.end());
            all.insert(all.end(), data_names.begin(), data_names.end());
            placed = true;
        };
        for (std::size_t d = 0; d < shape.size(); ++d) {
            const bool is_data_dim = d >= names.size() || std::ranges::find(data, d) != data.end();
            if (is_data_dim && !placed) place();
            if (is_data_dim) continue;
            made.push_back(shape[d]);
            all.push_back(names[d]);
        }
        if (!placed) place();
        offer.candidates.push_back(candidate(std::move(made), std::move(all)));
    }
    return offer;
}

}  // namespace meshscope::mesh
