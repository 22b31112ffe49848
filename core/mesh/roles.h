#pragma once

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

/// A mesh's dims by role.
struct Roles {
    std::vector<std::size_t> data;  ///< replicate and shard dims, in mesh order
    std::optional<std::size_t> tp, pp, cp;
};

/// By the dims' names; dims without a role stand in none of the lists. O(names).
Roles roles_of(const Names& names);

/// Whether a rank of `role` works on samples of its own: replicate and shard.
inline bool is_data(Role role) {
    return role == Role::replicate || role == Role::shard;
}

}  // namespace meshscope::mesh
