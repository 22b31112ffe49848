#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/view/mesh_question.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// A column of the mesh's table: its words, one for all ranks that read the same.
struct MeshCells {
    std::string head;
    Token hue = Token::text;
    std::vector<std::string> words;
    std::vector<std::string> shorts;  ///< a shorter spelling of each, where the full one is too wide; or none
    std::vector<std::size_t> of;      ///< by row: its place in `words`
};

/// Rank, coordinate, nested list, one group a dim of the mesh or its slice, local coordinate. `covered`: a
/// question is open, and groups and slices stand as "?". The question holds a mesh and no error. What was
/// found last stays in the memo for as long as the mesh, the slice and the words are the same. Cost: O(ranks · mesh
/// dims), and a nested list for each different one.
std::shared_ptr<const std::vector<MeshCells>> mesh_cells(const Painter& painter, const MeshQuestion& question,
                                                         bool covered, Memo* memo);

}  // namespace meshscope::view
