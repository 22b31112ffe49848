#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/mesh/answer.h"

namespace meshscope::mesh {

/// A member of PyTorch's DeviceMesh that answers with a value instead of another mesh.
struct ValueMember {
    std::string_view name;
    bool called = true;      ///< a method, with brackets behind it; else a property
    bool takes_dim = false;  ///< get_group("dp"), size(0)
    bool of_rank = false;    ///< each rank gets another
};

/// size, ndim, shape, mesh, mesh_dim_names, get_rank, get_local_rank, get_coordinate, get_group,
/// get_all_groups; nullptr for any other name.
const ValueMember* find_value_member(std::string_view name);

/// What can be asked of a mesh, as Python writes it: for who wrote something else.
std::string what_can_be_asked();

/// What the asking rank gets of a value question whose mesh could be made; lists of more than `most` ranks
/// are cut. Throws InvalidArgument where PyTorch raises: for a dim that there is not, or one that must be
/// named, and for a rank outside that asks for its group. Cost: that of the mesh's own functions.
Value value_for(const Derived& derived, GlobalRank asking, int64_t most);

/// As Python prints it, a long list of ranks by its ends: (0, 1), [0, 1, 2, … 1023] (1024).
std::string value_text(const Value& value);

/// "[0, 1, 2, … 1023] (1024)".
std::string excerpt_text(const RankExcerpt& ranks);

/// Throws what value_for() would throw for any rank: of the dim. `of` is the mesh that is asked.
void check_value_dim(const DeviceMesh& of, const Question& question);

}  // namespace meshscope::mesh
