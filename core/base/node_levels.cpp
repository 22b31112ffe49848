#include "core/base/node_levels.h"

#include <algorithm>
#include <map>

namespace meshscope {

NodeLevels::NodeLevels(int32_t members, std::span<const int32_t> node_of) {
    const bool known =
        static_cast<int32_t>(node_of.size()) == members &&
        std::any_of(node_of.begin(), node_of.end(), [&](int32_t n) { return n != node_of[0]; });
    int32_t block = 1;
    while (static_cast<int64_t>(block) * block < members) block *= 2;
    std::map<int32_t, int32_t> index_of;
    for (int32_t m = 0; m < members; ++m) {
        const int32_t name = known ? node_of[static_cast<std::size_t>(m)] : m / block;
        const auto [at, is_new] = index_of.try_emplace(name, n_nodes());
        if (is_new) nodes.emplace_back();
        std::vector<int32_t>& on = nodes[static_cast<std::size_t>(at->second)];
        node.push_back(at->second);
        place.push_back(static_cast<int32_t>(on.size()));
        on.push_back(m);
    }
    smallest = members;
    for (const auto& on : nodes) {
        largest = std::max(largest, static_cast<int32_t>(on.size()));
        smallest = std::min(smallest, static_cast<int32_t>(on.size()));
    }
}

}  // namespace meshscope
