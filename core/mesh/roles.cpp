#include "core/mesh/roles.h"

#include <algorithm>

namespace meshscope::mesh {
namespace {

constexpr std::array<std::string_view, kRoles> kNames{"replicate", "shard", "tp", "pp", "cp"};

}  // namespace

std::string_view name(Role role) {
    return kNames[static_cast<std::size_t>(role)];
}

std::optional<Role> role_of(std::string_view dim_name) {
    const auto found = std::find(kNames.begin(), kNames.end(), dim_name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Role>(found - kNames.begin());
}

Roles roles_of(const Names& names) {
    Roles roles;
    for (std::size_t d = 0; d < names.size(); ++d) {
        const std::optional<Role> role = role_of(names[d]);
        if (!role) continue;
        roles.by_role[static_cast<std::size_t>(*role)] = d;
        if (is_data(*role)) roles.data.push_back(d);
    }
    for (std::size_t role = 0; role < kRoles; ++role)
        if (const auto dim = roles.by_role[role]; dim && !is_data(static_cast<Role>(role)))
            roles.model.push_back(*dim);
    return roles;
}

}  // namespace meshscope::mesh
