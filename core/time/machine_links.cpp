#include "core/time/machine_links.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace meshscope::time {

MachineLinks::MachineLinks(const trace::Trace& trace, const Profile& profile) : trace_(trace) {
    if (profile.node_bytes_per_s > 0) count_sharers();
}

/// How many groups of its mesh dim cross the border of a node that it crosses too: the most over its nodes.
void MachineLinks::count_sharers() {
    std::map<std::pair<std::string, int32_t>, int32_t> crossing;  // (dim, node) → groups
    std::vector<std::set<int32_t>> nodes_of_group;
    for (const trace::Group& group : trace_.groups) {
        std::set<int32_t>& on = nodes_of_group.emplace_back();
        for (const int32_t rank : group.ranks) on.insert(machine(rank));
        if (on.size() < 2) continue;
        for (const int32_t node : on) ++crossing[{group.mesh_dim, node}];
    }
    for (std::size_t g = 0; g < trace_.groups.size(); ++g) {
        int32_t& most = sharers_.emplace_back(1);
        if (nodes_of_group[g].size() < 2) continue;
        for (const int32_t node : nodes_of_group[g])
            most = std::max(most, crossing[{trace_.groups[g].mesh_dim, node}]);
    }
}

int32_t MachineLinks::machine(int32_t rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < trace_.info.node_of_rank.size() ? trace_.info.node_of_rank[at] : 0;
}

Link MachineLinks::link(int32_t group, int32_t a, int32_t b) const {
    const auto at = static_cast<std::size_t>(group);
    return {machine(a) != machine(b), at < sharers_.size() ? sharers_[at] : 1};
}

}  // namespace meshscope::time
