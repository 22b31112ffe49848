// tests/golden/mesh_sequences.json: what PyTorch answers to questions asked one after the other of one mesh,
// where what one question flattens another may name; and how such questions are read.
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/mesh/answer.h"
#include "core/mesh/python_text.h"
#include "core/mesh/question_text.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::mesh;
using nlohmann::json;

namespace {

/// PyTorch's text as the golden file holds it: a KeyError prints its text's repr.
std::string printed(const Message& refusal) {
    const std::string type = to_text(*refusal.find("pytorch_error"));
    const std::string text = to_text(*refusal.find("pytorch_text"));
    return type == "KeyError" ? python_repr(text) : text;
}

void check_reply(const json& want, const Reply& got) {
    if (want.contains("error")) {
        REQUIRE(got.error.has_value());
        CHECK(to_text(*got.error->find("pytorch_error")) == want["error"].get<std::string>());
        CHECK(printed(*got.error).substr(0, 300) == want["message"].get<std::string>());
        return;
    }
    if (got.error) FAIL_CHECK(got.error->id);
    REQUIRE(got.answer.has_value());
    CHECK(json::parse(nested_text(*got.answer)) == want["mesh"]);
    CHECK(json(got.answer->shape) == want["shape"]);
    CHECK(json(got.answer->names) == want["names"]);
    CHECK(json(*got.answer->coordinate) == want["coordinate"]);
    CHECK(json(got.answer->groups) == want["groups"]);
    CHECK(json(got.answer->local_rank) == want["local_rank"]);
    CHECK(got.answer->repr == want["repr"].get<std::string>());
}

std::string id_of_unreadable(const std::string& text) {
    try {
        static_cast<void>(parse_questions(text));
    } catch (const InvalidArgument& error) {
        return error.message().id;
    }
    return "(none)";
}

}  // namespace

TEST_CASE("questions asked in a row get PyTorch's answers, what one flattens the next may name") {
    std::ifstream file(test::golden_folder() + "/mesh_sequences.json");
    REQUIRE(file.good());
    size_t answers = 0;
    const json golden = json::parse(file);
    for (const json& sequence : golden["cases"]) {
        const Shape shape = sequence["shape"].get<Shape>();
        int64_t world = 1;
        for (const int64_t size : shape) world *= size;
        const DeviceMesh mesh = DeviceMesh::init(shape, sequence["names"].get<Names>(), world);
        for (size_t i = 0; i < sequence["asked"].size(); ++i) {
            const std::string text = sequence["asked"][i].get<std::string>();
            const std::vector<Question> questions = parse_questions(text);
            REQUIRE(questions.size() == 1);
            const Derived derived = derive(mesh, questions.front());
            for (size_t r = 0; r < sequence["ranks"].size(); ++r, ++answers) {
                INFO(json(shape).dump()
                     << " " << sequence["asked"].dump() << ": " << text << ", rank " << sequence["ranks"][r]);
                check_reply(sequence["answers"][r][i],
                            reply(derived, GlobalRank{sequence["ranks"][r].get<int32_t>()}));
            }
        }
    }
    CHECK(answers > 500);
}

TEST_CASE("an order is proposed only where slicing would take it") {
    const DeviceMesh mesh = DeviceMesh::init({2, 2, 2}, {"dp", "cp", "tp"}, 8);
    const auto refused = [&](const char* text) {
        const Derived derived = derive(mesh, parse_questions(text).front());
        return derived.error ? *derived.error : Message{};
    };
    CHECK(refused("tp, dp").id == "mesh.names_out_of_order");
    CHECK(to_text(*refused("tp, dp").find("possible")) == "('dp', 'tp')");
    CHECK(refused("mesh[\"dp\", \"tp\"]._flatten()").id.empty());
    CHECK(refused("mesh[\"dp\", \"cp\"]._flatten()").id.empty());
    // dp_tp reaches over cp; dp_cp has cp in it, which PyTorch tells after the order.
    CHECK(refused("dp_tp, cp").id == "mesh.names_have_no_order");
    CHECK(refused("cp, dp_cp").id == "mesh.names_overlap");
    CHECK(refused("tp, dp_cp").id == "mesh.names_out_of_order");
    CHECK_FALSE(derive(mesh, parse_questions("dp_cp, tp").front()).error);
}

TEST_CASE("a question is written back as it was asked") {
    for (const char* text :
         {"mesh", "mesh[()]", "mesh[[\"a\", \"b\"]]", "mesh[\"a\", \"b_c\"]", "mesh[\"a\", \"b\"]._flatten()",
          "mesh[\"a\", \"b\"]._flatten(\"x\")", "mesh._flatten()",
          "mesh[\"a\"][\"a\"]._flatten(\"x\")[\"x\"]", "mesh._unflatten(\"a\", (2, 4), (\"u\", \"v\"))",
          "mesh[\"a\"]._unflatten(0, (8,), (\"u\",))",
          "DeviceMesh._concatenate([mesh[\"b\"], mesh[\"a\"]._flatten(\"x\")])[\"b\"]"}) {
        const std::vector<Question> questions = parse_questions(text);
        REQUIRE(questions.size() == 1);
        CHECK(pytorch_expression(questions.front()) == text);
    }
}

TEST_CASE("a question may be short, loosely quoted, and one of several") {
    const auto read = [](const char* text) {
        std::string all;
        for (const Question& question : parse_questions(text))
            all += (all.empty() ? "" : "; ") + pytorch_expression(question);
        return all;
    };
    CHECK(read("") == "");
    CHECK(read(" ; \n") == "");
    CHECK(read(" a ,b") == "mesh[\"a\", \"b\"]");
    CHECK(read("'a', \"b\"") == "mesh[\"a\", \"b\"]");
    CHECK(read("mesh['a', b]") == "mesh[\"a\", \"b\"]");
    CHECK(read("mesh[(\"a\", \"b\")]") == "mesh[\"a\", \"b\"]");
    std::string many = "mesh";
    for (int i = 0; i < 200; ++i) many += "; mesh[a][a]";
    CHECK(parse_questions(many).size() == 201);
    CHECK(read("mesh, tp") == "mesh[\"mesh\", \"tp\"]");
    CHECK(read("数据, tp") == "mesh[\"数据\", \"tp\"]");
    CHECK(read("mesh[\"a\",\"b\"]._flatten(mesh_dim_name=\"x\"); x, c\nmesh") ==
          "mesh[\"a\", \"b\"]._flatten(\"x\"); mesh[\"x\", \"c\"]; mesh");
}

TEST_CASE("no part of a question is passed over: what cannot be read is refused") {
    for (const char* text : {"mesh[\"a\"]._flatten(\"x\") and more", "mesh[\"a\"].sizes()", "mesh[\"a\"]]",
                             "a b", "a,,b", "2 x 2", "mesh._unflatten(\"a\", 2, (\"u\",))", "a; mesh.abort()",
                             "x = mesh[\"a\"]", "(a", "mesh[a;b]"})
        CHECK(id_of_unreadable(text).starts_with("mesh.question."));
    CHECK(id_of_unreadable("mesh[\"a\"") == "mesh.question.ends_early");
    CHECK(id_of_unreadable("mesh[\"a") == "mesh.question.unreadable");
    std::string deep = "mesh[\"a\"]";
    for (int i = 0; i < 100000; ++i) deep += "[a]";
    CHECK(id_of_unreadable(deep) == "mesh.question.too_deep");
    std::string nested;
    for (int i = 0; i < 100000; ++i) nested += "DeviceMesh._concatenate([";
    CHECK(id_of_unreadable(nested) == "mesh.question.too_deep");
}

TEST_CASE("the place from which a question cannot be read is counted in characters, not in bytes") {
    const auto place = [](const std::string& text) {
        try {
            static_cast<void>(parse_questions(text));
        } catch (const InvalidArgument& error) {
            return std::get<int64_t>(*error.message().find("at"));
        }
        return int64_t{0};
    };
    CHECK(place("mesh[\"ab\"]x") == 11);
    CHECK(place("mesh[\"数据\"]x") == 11);
    CHECK(place("mesh[\"é😀\"] ]") == 12);
    CHECK(place("mesh[\"\xff\xfe\"]x") == 11);  // a byte that is no UTF-8 is shown as one
    CHECK(place("]") == 1);
}

TEST_CASE("a name that flatten gave is known to later questions alone") {
    const DeviceMesh mesh = DeviceMesh::init({1, 1, 1, 1}, {"d1", "d2", "d3", "d4"}, 1);
    const auto ask = [&](const char* text) { return derive(mesh, parse_questions(text).front()); };
    CHECK(ask("d1, d2_d3, d4").error->id == "mesh.unknown_name");
    CHECK_FALSE(ask("mesh[\"d2\", \"d3\"]._flatten()").error);
    const Derived slice = ask("d1, d2_d3, d4");
    REQUIRE_FALSE(slice.error);
    CHECK(slice.steps.back().repr() == "DeviceMesh((d1=1, d2_d3=1, d4=1), 'cpu', stride=((), (), ()))");
}
