#include "core/mesh/value.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/mesh/device_mesh_root.h"
#include "core/mesh/python_text.h"

namespace meshscope::mesh {
namespace {

constexpr std::array<ValueMember, 10> kMembers{{
    {"size", true, true, false},
    {"ndim", false, false, false},
    {"shape", false, false, false},
    {"mesh", false, false, true},
    {"mesh_dim_names", false, false, false},
    {"get_rank", true, false, true},
    {"get_local_rank", true, true, true},
    {"get_coordinate", true, false, true},
    {"get_group", true, true, true},
    {"get_all_groups", true, false, true},
}};

/// A mesh and one of its dims.
struct Place {
    DeviceMesh mesh;
    int64_t mesh_dim = 0;
};

/// Python counts from the end where a number is negative.
int64_t from_the_end(const DeviceMesh& mesh, int64_t mesh_dim) {
    return mesh_dim < 0 && mesh_dim >= -mesh.ndim() ? mesh_dim + mesh.ndim() : mesh_dim;
}

/// The dim that size() is asked of, which takes a number only.
int64_t numbered(const DeviceMesh& of, const Question& question) {
    const auto* number = std::get_if<int64_t>(&*question.asked_dim);
    if (!number)
        refuse("mesh.size_by_name",
               {{"asked", std::get<std::string>(*question.asked_dim)},
                {"possible", python_tuple(of.names())},
                {"mesh", of.repr()}},
               {"TypeError", "tuple indices must be integers or slices, not str"});
    const int64_t mesh_dim = from_the_end(of, *number);
    static_cast<void>(of.size(mesh_dim));
    return mesh_dim;
}

/// The dim whose group is asked for: by number, by name, or by a name that flatten() gave, which any mesh of
/// the same root knows.
Place place_of(const DeviceMesh& of, const Question& question) {
    if (!question.asked_dim) {
        static_cast<void>(of.only_dim(question.member == "get_group"));
        return {of, 0};
    }
    if (const auto* number = std::get_if<int64_t>(&*question.asked_dim)) {
        const int64_t mesh_dim = from_the_end(of, *number);
        static_cast<void>(of.layout(mesh_dim));
        return {of, mesh_dim};
    }
    const std::string& name = std::get<std::string>(*question.asked_dim);
    if (std::optional<DeviceMesh> flat = of.flattened(name)) return {*std::move(flat), 0};
    return {of, of.mesh_dim(name)};
}

}  // namespace

const ValueMember* find_value_member(std::string_view name) {
    const auto* const found = std::ranges::find(kMembers, name, &ValueMember::name);
    return found == kMembers.end() ? nullptr : found;
}

std::string what_can_be_asked() {
    std::string text =
        "mesh[\"a\", \"b\"], ._flatten(\"c\"), ._unflatten(\"a\", (2, 2), (\"x\", \"y\")), "
        "DeviceMesh._concatenate([mesh[\"b\"], mesh[\"a\"]])";
    for (const ValueMember& member : kMembers) {
        text.append(", .").append(member.name);
        if (member.called) text += member.takes_dim ? (member.name == "size" ? "(0)" : "(\"a\")") : "()";
    }
    return text;
}

void check_value_dim(const DeviceMesh& of, const Question& question) {
    if (question.member == "size" && question.asked_dim) static_cast<void>(numbered(of, question));
    if (question.member == "get_group" || question.member == "get_local_rank")
        static_cast<void>(place_of(of, question));
}

Value value_for(const Derived& derived, GlobalRank asking, int64_t most) {
    const Question& question = derived.question;
    const DeviceMesh& of = derived.steps.back();
    const std::string& member = question.member;
    if (member == "size") return question.asked_dim ? of.size(numbered(of, question)) : of.size();
    if (member == "ndim") return of.ndim();
    if (member == "shape") return of.shape();
    if (member == "mesh") return MeshRanks{of.shape(), of.ranks_excerpt(asking, most)};
    if (member == "mesh_dim_names") return of.names().empty() ? Value() : Value(of.names());
    if (member == "get_rank") return int64_t{asking.value};
    if (member == "get_coordinate") {
        std::optional<std::vector<int64_t>> coordinate = of.coordinate(asking);
        return coordinate ? Value(*std::move(coordinate)) : Value();
    }
    if (member == "get_all_groups") {
        std::vector<RankExcerpt> groups;
        for (int64_t dim = 0; dim < of.ndim(); ++dim) groups.push_back(of.group_excerpt(asking, dim, most));
        return groups;
    }
    const Place place = place_of(of, question);
    if (member == "get_local_rank") return place.mesh.local_rank(asking, place.mesh_dim);
    return place.mesh.group_excerpt(asking, place.mesh_dim, most);
}

std::string excerpt_text(const RankExcerpt& ranks) {
    if (ranks.whole()) return python_list(ranks.first);
    std::string text = "[";
    for (const int64_t rank : ranks.first) text += std::to_string(rank) + ", ";
    return text + "… " + std::to_string(ranks.last) + "] (" + std::to_string(ranks.size) + ")";
}

std::string value_text(const Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
    if (const auto* tuple = std::get_if<Shape>(&value)) return python_tuple(*tuple);
    if (const auto* names = std::get_if<Names>(&value)) return python_tuple(*names);
    if (const auto* group = std::get_if<RankExcerpt>(&value)) return excerpt_text(*group);
    if (const auto* groups = std::get_if<std::vector<RankExcerpt>>(&value)) {
        std::string text;
        for (const RankExcerpt& group : *groups) text += (text.empty() ? "" : ", ") + excerpt_text(group);
        return "[" + text + "]";
    }
    if (const auto* mesh = std::get_if<MeshRanks>(&value))
        return mesh->ranks.whole() ? python_nested_list(mesh->shape, mesh->ranks.first)
                                   : excerpt_text(mesh->ranks);
    return "None";
}

}  // namespace meshscope::mesh
