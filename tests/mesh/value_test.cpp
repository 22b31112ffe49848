// What DeviceMesh's methods and properties answer: for the golden meshes what PyTorch 2.15 itself answered,
// rank by rank; and how such questions are written.
#include "core/mesh/value.h"

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/mesh/question_text.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::mesh;
using nlohmann::json;

namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

DeviceMesh make(const json& question, int64_t world) {
    const Names names = question["names"].is_null() ? Names{} : question["names"].get<Names>();
    const Shape shape = question["shape"].get<Shape>();
    if (question.contains("ranks")) return DeviceMesh::from_ranks(shape, question["ranks"], names, world);
    return DeviceMesh::init(shape, names, world);
}

Derived ask(const DeviceMesh& mesh, const std::string& text) {
    const std::vector<Question> questions = parse_questions(text);
    REQUIRE(questions.size() == 1);
    return derive(mesh, questions.front());
}

json as_json(const Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    if (const auto* tuple = std::get_if<Shape>(&value)) return *tuple;
    if (const auto* names = std::get_if<Names>(&value)) return *names;
    if (const auto* group = std::get_if<RankExcerpt>(&value)) return group->first;
    if (const auto* groups = std::get_if<std::vector<RankExcerpt>>(&value)) {
        json list = json::array();
        for (const RankExcerpt& group : *groups) list.push_back(group.first);
        return list;
    }
    return std::holds_alternative<MeshRanks>(value) ? json::parse(value_text(value)) : json();
}

/// Everything that can be asked of the mesh that `text` makes, against PyTorch's answers for one rank.
int check_values(const DeviceMesh& mesh, const std::string& text, const json& want, GlobalRank rank) {
    int asked = 0;
    const auto check = [&](const std::string& member, const json& wanted) {
        INFO(text << "." << member << " on rank " << rank.value);
        const Reply reply = mesh::reply(ask(mesh, text + "." + member), rank);
        if (reply.error) FAIL_CHECK(describe(*reply.error));
        if (reply.value) CHECK(as_json(*reply.value) == wanted);
        ++asked;
    };
    check("mesh", want["mesh"]);
    check("shape", want["shape"]);
    check("ndim", want["ndim"]);
    check("size()", want["size"]);
    check("mesh_dim_names", want["names"]);
    check("get_rank()", rank.value);
    check("get_coordinate()", want["coordinate"]);
    if (want["coordinate"].is_null()) return asked;
    check("get_all_groups()", want["groups"]);
    const auto ndim = want["ndim"].get<int64_t>();
    for (int64_t dim = 0; dim < ndim; ++dim) {
        const auto d = static_cast<std::size_t>(dim);
        std::vector<std::string> words{std::to_string(dim), std::to_string(dim - ndim),
                                       "mesh_dim=" + std::to_string(dim)};
        for (const std::string& word : words) check("size(" + word + ")", want["size_by_dim"][d]);
        if (!want["names"].is_null()) words.push_back(json(want["names"][d]).dump());
        if (ndim == 1) words.insert(words.end(), {"", "None"});
        for (const std::string& word : words) {
            check("get_group(" + word + ")", want["groups"][d]);
            check("get_local_rank(" + word + ")", want["local_rank"][d]);
        }
    }
    return asked;
}

Message refused(const DeviceMesh& mesh, const std::string& text) {
    const Derived derived = ask(mesh, text);
    return derived.error ? *derived.error : Message{"(answered)", {}};
}

std::string unreadable(const std::string& text) {
    try {
        static_cast<void>(parse_questions(text));
    } catch (const InvalidArgument& error) {
        return error.message().id;
    }
    return "(read)";
}

}  // namespace

TEST_CASE("a mesh's methods answer as PyTorch's do, on every rank of the golden meshes") {
    std::ifstream file(test::golden_folder() + "/mesh.json");
    REQUIRE(file.good());
    const json golden = json::parse(file);
    int asked = 0;
    for (const json& entry : golden["cases"]) {
        const int64_t world = entry["world"];
        if (entry["per_rank"][0]["root"].contains("error")) continue;
        const DeviceMesh mesh = make(entry["case"], world);
        for (int64_t r = 0; r < world; ++r) {
            const json& want = entry["per_rank"][static_cast<std::size_t>(r)];
            const GlobalRank rank{static_cast<int32_t>(r)};
            asked += check_values(mesh, "mesh", want["root"], rank);
            for (const json& slice : want.value("slices", json::array())) {
                if (slice[1].contains("error") || slice[0].empty()) continue;
                const std::string names = slice[0].dump();
                asked += check_values(mesh, "mesh" + names, slice[1], rank);
            }
        }
    }
    CHECK(asked > 2000);
}

TEST_CASE("a dim that there is not, or that must be named, is refused in PyTorch's words") {
    const DeviceMesh mesh = DeviceMesh::init({2, 2}, {"dp", "tp"}, 4);
    const auto exception = [&](const std::string& text) { return pytorch_exception(refused(mesh, text)); };
    CHECK(
        exception("mesh.get_group()").starts_with("RuntimeError: ('Found the DeviceMesh have 2 dimensions'"));
    CHECK(exception("mesh.get_local_rank()").starts_with("RuntimeError: ('Found the DeviceMesh have 2"));
    CHECK(
        exception("mesh.get_group(\"pp\")").starts_with("KeyError: (\"Mesh dimension 'pp' does not exist."));
    CHECK(exception("mesh.get_group(2)") == "IndexError: list index out of range");
    CHECK(exception("mesh.size(-3)") == "IndexError: tuple index out of range");
    CHECK(exception("mesh.size(\"dp\")") == "TypeError: tuple indices must be integers or slices, not str");
    CHECK(refused(mesh, "mesh.size(\"dp\")").id == "mesh.size_by_name");
    // A rank of the world that the mesh does not hold has no group; it has a rank, and no coordinate.
    const DeviceMesh part = DeviceMesh::from_ranks({2}, {0, 2}, {"dp"}, 4);
    const auto of_rank_1 = [&](const std::string& text) { return reply(ask(part, text), GlobalRank{1}); };
    CHECK(pytorch_exception(of_rank_1("mesh.get_group()").error.value_or(Message{})) ==
          "IndexError: list index out of range");
    CHECK(value_text(of_rank_1("mesh.get_coordinate()").value.value_or(int64_t{7})) == "None");
    CHECK(value_text(of_rank_1("mesh.get_rank()").value.value_or(int64_t{7})) == "1");
}

TEST_CASE("a group of a flattened dim is asked for by its name, from any view, once it is there") {
    const DeviceMesh mesh = DeviceMesh::init({2, 2, 2}, {"dp", "cp", "tp"}, 8);
    CHECK(refused(mesh, "mesh.get_group(\"dp_cp\")").id == "mesh.no_such_dim");
    for (const char* flatten : {"mesh[\"dp\", \"cp\"]._flatten(name=\"dp_cp\")",
                                "mesh[\"dp\", \"cp\"]._flatten(mesh_dim_name=\"dp_cp\")",
                                "mesh[\"dp\", \"cp\"]._flatten(\"dp_cp\")", "mesh[\"dp\", \"cp\"]._flatten()",
                                "mesh[\"dp\", \"cp\"]._flatten(None)"})
        CHECK(refused(mesh, flatten).id == "(answered)");
    const auto text = [&](const std::string& question) {
        const Reply reply = mesh::reply(ask(mesh, question), GlobalRank{3});
        return reply.value ? value_text(*reply.value) : "(refused)";
    };
    CHECK(text("mesh.get_group(\"dp_cp\")") == "[1, 3, 5, 7]");
    CHECK(text("mesh.get_local_rank(\"dp_cp\")") == "1");
    CHECK(text("mesh[\"tp\"].get_group(\"dp_cp\")") == "[1, 3, 5, 7]");
    CHECK(text("mesh[\"dp_cp\", \"tp\"].shape") == "(4, 2)");
    CHECK(text("mesh[\"dp_cp\", \"tp\"].get_coordinate()") == "(1, 1)");
    CHECK(text("mesh[\"tp\"].get_coordinate()") == "(1,)");
    CHECK(text("mesh.mesh_dim_names") == "('dp', 'cp', 'tp')");
}

TEST_CASE("a long group is cut for who reads it, and whole for who asked for all") {
    const DeviceMesh mesh = DeviceMesh::init({1 << 20}, {"dp"}, 1 << 20);
    const Derived derived = ask(mesh, "mesh.get_group()");
    CHECK(value_text(value_for(derived, GlobalRank{5}, 16)) == "[0, 1, 2, … 1048575] (1048576)");
    CHECK(std::get<RankExcerpt>(value_for(derived, GlobalRank{5}, kAll)).first.size() == 1 << 20);
}

TEST_CASE("numbers in a mesh's brackets are refused as PyTorch refuses them") {
    const DeviceMesh mesh = DeviceMesh::init({2, 2}, {"dp", "tp"}, 4);
    const auto exception = [&](const std::string& text) { return pytorch_exception(refused(mesh, text)); };
    for (const char* text : {"mesh[0]", "mesh[(0)]", "mesh[-1]", "mesh[\"tp\"][0]"})
        CHECK(exception(text) == "TypeError: 'int' object is not iterable");
    CHECK(exception("mesh[0, 1]") ==
          "KeyError: Invalid mesh_dim_names (0, 1) specified. Valid mesh_dim_names "
          "are ['dp', 'tp'].");
    CHECK(exception("mesh[\"dp\", 0]") ==
          "KeyError: Invalid mesh_dim_names ('dp', 0) specified. Valid "
          "mesh_dim_names are ['dp', 'tp'].");
    CHECK(exception("mesh[0,]").starts_with("KeyError: Invalid mesh_dim_names (0,) specified."));
    CHECK(refused(mesh, "mesh[0]").id == "mesh.index_not_names");
    for (const char* text : {"mesh[0]", "mesh[0, 1]", "mesh[(0,)]", "mesh[\"dp\"][-1]"})
        CHECK(pytorch_expression(parse_questions(text).front()) == text);
    // A dim may be called so all the same; then it stands in quotes, as in Python.
    const DeviceMesh numbered = DeviceMesh::init({2, 2}, {"0", "1"}, 4);
    CHECK(refused(numbered, "mesh[\"0\"]").id == "(answered)");
    CHECK(refused(numbered, "mesh[0]").id == "mesh.index_not_names");
    CHECK(refused(numbered, "0, 1").id == "(answered)");
    CHECK(pytorch_exception(refused(DeviceMesh::init({2}, {}, 2), "mesh[0]")) ==
          "RuntimeError: Cannot slice a DeviceMesh without mesh_dim_names!");
}

TEST_CASE("unflatten takes its arguments by place and by name, each once") {
    const std::string wanted = "mesh._unflatten(\"dp\", (2, 2), (\"a\", \"b\"))";
    for (const char* text : {"mesh._unflatten(\"dp\", (2, 2), (\"a\", \"b\"))",
                             "mesh._unflatten(dim=\"dp\", sizes=(2, 2), names=(\"a\", \"b\"))",
                             "mesh._unflatten(\"dp\", mesh_dim_names=(\"a\", \"b\"), mesh_sizes=(2, 2))",
                             "mesh._unflatten(mesh_sizes=[2, 2], dim=dp, mesh_dim_names=[a, b],)"}) {
        INFO(text);
        CHECK(pytorch_expression(parse_questions(text).front()) == wanted);
    }
    for (const char* text : {"mesh._unflatten(dim=\"dp\", (2, 2), (\"a\", \"b\"))",
                             "mesh._unflatten(\"dp\", (2, 2), dim=\"dp\")"})
        CHECK(unreadable(text) == "mesh.question.unreadable");
}

TEST_CASE("what is no method of a mesh is refused with a list of what can be asked") {
    for (const char* text :
         {"mesh.sizes()", "mesh.size", "mesh.shape()", "mesh.shape[0]", "mesh.size().shape",
          "mesh.get_rank(0)", "mesh.get_group(\"dp\").size()", "DeviceMesh._concatenate([mesh.size()])"})
        CHECK(unreadable(text).starts_with("mesh.question."));
    try {
        static_cast<void>(parse_questions("mesh.sizes()"));
        FAIL("it was read");
    } catch (const InvalidArgument& error) {
        const std::string asked = to_text(*error.message().find("asked"));
        for (const char* part :
             {"._flatten(\"c\")", ".size(0)", ".shape", ".get_group(\"a\")", ".get_coordinate()"})
            CHECK(asked.find(part) != std::string::npos);
    }
    // Each example of the list can be read.
    for (const char* text : {"mesh.size(0)", "mesh.ndim", "mesh.shape", "mesh.mesh", "mesh.mesh_dim_names",
                             "mesh.get_rank()", "mesh.get_local_rank(\"a\")", "mesh.get_coordinate()",
                             "mesh.get_group(\"a\")", "mesh.get_all_groups()"})
        CHECK(pytorch_expression(parse_questions(text).front()) == text);
}
