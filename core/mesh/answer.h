#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/message.h"
#include "core/mesh/device_mesh.h"

namespace meshscope::mesh {

/// What one rank reads from a mesh: what the command prints and the window shows. Copies of DeviceMesh's
/// answers, so that a caller needs no further question.
struct Answer {
    GlobalRank asking;
    Shape shape;
    Names names;                 ///< empty when unnamed
    std::vector<int64_t> ranks;  ///< row-major over `shape`, as the asking rank sees them
    std::optional<std::vector<int64_t>>
        coordinate;                            ///< nothing for a rank outside; then the two below are empty
    std::vector<std::vector<int64_t>> groups;  ///< one a mesh dim, sorted
    std::vector<int64_t> local_rank;           ///< one a mesh dim
    std::string repr;                          ///< PyTorch's repr
    std::vector<std::string> layouts;          ///< one a mesh dim: "2:4", "(2,2):(4,1)"
    GroupCost cost;                            ///< of making this mesh
};

/// Throws InvalidArgument for a rank outside a sub-mesh. Cost: O(size of the mesh + groups).
Answer answer(const DeviceMesh& mesh, GlobalRank asking);

/// The ranks as Python prints the nested list: [[0, 1], [2, 3]].
std::string nested_text(const Answer& answer);

/// What one rank reads from a mesh, with no list longer than asked for.
struct BriefAnswer {
    RankExcerpt ranks;
    std::optional<std::vector<int64_t>> coordinate;  ///< nothing for a rank outside; then no groups
    std::vector<RankExcerpt> groups;
};

/// As answer(), in O(ndim · most) on a mesh that init() made: lists of more than `most` ranks are cut.
BriefAnswer brief_answer(const DeviceMesh& mesh, GlobalRank asking, int64_t most);

enum class QuestionKind : uint8_t { slice, flatten, unflatten, concatenate, root, value };

/// One request made of a mesh; which members count depends on the kind.
struct Question {
    QuestionKind kind = QuestionKind::slice;
    Names names;                    ///< slice, flatten: the dims; unflatten: the new names
    std::string mesh_dim;           ///< unflatten: the dim's name, or its number
    Shape sizes;                    ///< unflatten: the new sizes
    std::vector<Names> parts;       ///< concatenate: one slice each
    std::string new_name = {};      ///< flatten: the new dim's name; "" = PyTorch's default
    std::vector<Question> of = {};  ///< what is asked: one mesh (concatenate: several); empty: the mesh
                                    ///< itself, of which flatten takes the slice `names` first
    std::string index = {};         ///< slice: what else than names stands in the brackets, in Python's words
    bool several = false;           ///< slice: whether `index` is a tuple
    bool list = false;              ///< slice: the names stand in a Python list: mesh[["a", "b"]]
    std::string member = {};        ///< value: "get_group", one of find_value_member()'s
    /// value: the dim that stands in its brackets, by number or by name
    std::optional<std::variant<int64_t, std::string>> asked_dim = std::nullopt;
};

/// The Python expression that asks PyTorch the same of a variable `mesh`:
/// mesh["replicate", "shard"]; mesh["replicate", "shard"]._flatten("dp"); mesh._unflatten("shard", (2, 2),
/// ("fsdp", "tp")); DeviceMesh._concatenate([mesh["shard"], mesh["replicate"]]).
std::string pytorch_expression(const Question& question);

/// A question put to a mesh, before anyone asks for a rank: the meshes it makes on the way, the result last;
/// or why there is none (then `steps` is what could still be made). The result of a value question is the
/// mesh that it is asked of (value_for() in core/mesh/value.h answers it).
struct Derived {
    Question question;
    std::vector<DeviceMesh> steps;
    std::optional<Message> error;
};

/// Never throws InvalidArgument: a refusal is in `error`. The names that `flatten` gives stay with the mesh,
/// so the order of questions matters, as it does in PyTorch: asking twice gives the same mesh, and a later
/// slice of the root may use the name. `asking`, where only one rank asks: PyTorch looks for it whenever it
/// makes a sub-mesh, so that for a rank outside what comes after its first refusal never happens, names
/// included.
Derived derive(const DeviceMesh& mesh, const Question& question,
               std::optional<GlobalRank> asking = std::nullopt);

/// The ranks that a mesh's `mesh` holds.
struct MeshRanks {
    Shape shape;
    RankExcerpt ranks;
};

/// What a method or property of a mesh gives: None, a number, a tuple of numbers or of names, a group by its
/// ranks, several groups, a tensor.
using Value =
    std::variant<std::monostate, int64_t, Shape, Names, RankExcerpt, std::vector<RankExcerpt>, MeshRanks>;

/// Either an answer, which is a value where the question asked for one, or the refusal.
struct Reply {
    std::optional<Answer> answer;
    std::optional<Message> error;
    std::optional<Value> value = std::nullopt;
};

/// What one rank gets. A rank outside the root fails at the first step that needs its place, as in PyTorch.
Reply reply(const Derived& derived, GlobalRank asking);

/// The refusal that reply() would give, without the answer's cost: O(steps), and for a rank
/// outside of a mesh with explicit ranks O(steps · ranks).
std::optional<Message> refusal_of(const Derived& derived, GlobalRank asking);

/// A Python exception as a terminal shows it, from a refusal's message: "KeyError: Invalid mesh_dim_names …";
/// only the type when PyTorch gives no text; empty when PyTorch does not refuse this (see pytorch_error in
/// DeviceMesh).
std::string pytorch_exception(const Message& refusal);

}  // namespace meshscope::mesh
