#include <algorithm>
#include <numeric>

#include "core/mesh/device_mesh.h"
#include "core/mesh/device_mesh_root.h"

namespace meshscope::mesh {

namespace {

constexpr int64_t kHead = 3;  // ranks that stand for a list too long to show

/// The same offsets, rising: the modes by falling stride.
Layout rising(const Layout& layout) {
    std::vector<size_t> order(layout.shape().size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return layout.stride()[a] > layout.stride()[b]; });
    std::vector<int64_t> shape, stride;
    for (const size_t mode : order) {
        shape.push_back(layout.shape()[mode]);
        stride.push_back(layout.stride()[mode]);
    }
    return {std::move(shape), std::move(stride)};
}

}  // namespace

RankExcerpt DeviceMesh::excerpt(const Layout& layout, int64_t base, int64_t most, bool sorted) const {
    RankExcerpt result{layout.numel(), {}, 0};
    // Explicit ranks were listed by someone, so there are not too many of them to list again.
    if (result.size <= most || !root_->table.empty()) {
        std::vector<int64_t> ranks = layout.offsets();
        for (int64_t& entry : ranks) entry = root_->rank_at(base + entry);
        if (sorted) std::sort(ranks.begin(), ranks.end());
        result.last = ranks.back();
        if (result.size > most) ranks.resize(static_cast<size_t>(std::min(kHead, result.size)));
        result.first = std::move(ranks);
        return result;
    }
    const Layout order = sorted ? rising(layout) : layout;
    for (int64_t i = 0; i < std::min(kHead, result.size); ++i) result.first.push_back(base + order.offset(i));
    result.last = base + order.offset(result.size - 1);
    return result;
}

RankExcerpt DeviceMesh::ranks_excerpt(GlobalRank asking, int64_t most) const {
    const Layout whole = collapse(layouts_);
    return excerpt(whole, base_of_view(whole, asking), most, false);
}

RankExcerpt DeviceMesh::group_excerpt(GlobalRank rank, int64_t mesh_dim, int64_t most) const {
    const Layout& layout = checked_layout(mesh_dim);
    return excerpt(layout, layout.base_of(position_inside(rank, "get_group")), most, true);
}

int64_t DeviceMesh::group_count(int64_t mesh_dim) const {
    return root_->size / checked_layout(mesh_dim).numel();
}

std::vector<RankExcerpt> DeviceMesh::group_excerpts(int64_t mesh_dim, int64_t groups, int64_t most) const {
    const Layout& layout = checked_layout(mesh_dim);
    const Layout starts = layout.complement(root_->size);
    std::vector<RankExcerpt> result;
    for (int64_t g = 0; g < std::min(groups, starts.numel()); ++g)
        result.push_back(excerpt(layout, starts.offset(g), most, true));
    return result;
}

}  // namespace meshscope::mesh
