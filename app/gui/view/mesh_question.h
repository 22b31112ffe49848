#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/mesh_view.h"
#include "core/mesh/answer.h"

namespace meshscope::view {

/// The mesh a picture shows and the questions in its slice box: shared by the three mesh pictures.
struct MeshQuestion {
    std::optional<mesh::DeviceMesh> mesh;
    mesh::Shape shape;
    mesh::Names names;                  ///< as shown: unnamed dims are "dim 0", …
    std::vector<int64_t> ranks;         ///< row-major
    std::vector<int32_t> node_of_rank;  ///< empty when another mesh than the run's is shown
    int32_t asking = 0;
    bool sliced = false;            ///< a slice was asked for and allowed
    std::vector<std::size_t> kept;  ///< its mesh dims, in order
    std::optional<mesh::DeviceMesh> slice;
    std::optional<mesh::Derived> value;  ///< mesh.get_group("dp"): `slice` is what it was asked of
    std::optional<Message> error;        ///< the refusal of the mesh or of the question
    bool unreadable = false;             ///< it is not PyTorch's: the box's text is no question
    std::string expression;  ///< mesh["replicate", "shard"]: the last question, or the one refused

    /// The row-major index of a rank, or -1.
    int64_t index_of(int64_t rank) const;
    Token hue(std::size_t dim) const;
    Stroke stroke(std::size_t dim) const;
};
MeshQuestion mesh_question(const Input& input, const MeshOptions& options);

class Painter;
/// The error box: inset, cross, the exception's type, its exact text in mono, then the plain sentence. Gives
/// the y below.
float mesh_error(Painter& painter, const Message& error, Point at, float width);

}  // namespace meshscope::view
