#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/mesh/device_mesh.h"

namespace meshscope::mesh {

/// What the ranks along a mesh dim share out: the batch (replicate, shard), the insides of layers (tp), the
/// layers (pp), the sequence (cp).
enum class Role : uint8_t { replicate, shard, tp, pp, cp };

std::string_view name(Role role);

/// The role that a dim's name has, torchtitan's words; none for any other name.
std::optional<Role> role_of(std::string_view dim_name);

inline constexpr std::size_t kRoles = 5;

/// A mesh's dims by role.
struct Roles {
    std::vector<std::size_t> data;   ///< replicate and shard dims, in mesh order
    std::vector<std::size_t>
        model;  ///< those of the other roles, which share out the model, in the roles' order
    std::array<std::optional<std::size_t>, kRoles> by_role;

    std::optional<std::size_t> of(Role role) const { return by_role[static_cast<std::size_t>(role)]; }
};

/// By the dims' names; dims without a role stand nowhere. O(names).
Roles roles_of(const Names& names);

/// Whether a rank of `role` works on samples of its own: replicate and shard.
inline bool is_data(Role role) {
    return role == Role::replicate || role == Role::shard;
}

}  // namespace meshscope::mesh
