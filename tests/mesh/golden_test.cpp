// Every answer of tests/golden/mesh.json: what PyTorch 2.15 itself answered, for every rank and every
// request.
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/mesh/answer.h"
#include "core/mesh/python_text.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using namespace meshscope::mesh;
using nlohmann::json;

namespace {

json golden() {
    std::ifstream file(test::golden_folder() + "/mesh.json");
    REQUIRE(file.good());
    return json::parse(file);
}

DeviceMesh make(const json& question, int64_t world) {
    const Names names = question["names"].is_null() ? Names{} : question["names"].get<Names>();
    const Shape shape = question["shape"].get<Shape>();
    if (question.contains("ranks")) return DeviceMesh::from_ranks(shape, question["ranks"], names, world);
    return DeviceMesh::init(shape, names, world);
}

Question slice_of(const json& names) {
    return {QuestionKind::slice, names.get<Names>(), {}, {}, {}};
}
Question flatten_of(const json& names) {
    return {QuestionKind::flatten, names.get<Names>(), {}, {}, {}};
}
Question unflatten_of(const json& q) {
    const std::string dim = q["dim"].is_string() ? q["dim"].get<std::string>() : q["dim"].dump();
    return {QuestionKind::unflatten, q["names"].get<Names>(), dim, q["sizes"].get<Shape>(), {}};
}
Question concatenate_of(const json& q) {
    return {QuestionKind::concatenate, {}, {}, {}, q.get<std::vector<Names>>()};
}

/// PyTorch's text as the golden file holds it: a KeyError prints its text's repr.
std::string printed(const Message& refusal) {
    const std::string type = to_text(*refusal.find("pytorch_error"));
    const std::string text = to_text(*refusal.find("pytorch_text"));
    return type == "KeyError" ? python_repr(text) : text;
}

int checked = 0;

void check_error(const json& want, const std::optional<Message>& got) {
    ++checked;
    REQUIRE(got.has_value());
    CHECK(to_text(*got->find("pytorch_error")) == want["error"].get<std::string>());
    CHECK(printed(*got) == want["message"].get<std::string>());
}

void check_answer(const json& want, const Reply& got, bool flattened) {
    if (want.contains("error")) {
        check_error(want, got.error);
        return;
    }
    ++checked;
    INFO(want.dump());
    REQUIRE(got.answer.has_value());
    const Answer& answer = *got.answer;
    CHECK(json::parse(nested_text(answer)) == want["mesh"]);
    CHECK(json(answer.shape) == want["shape"]);
    CHECK(static_cast<int64_t>(answer.shape.size()) == want["ndim"].get<int64_t>());
    CHECK(static_cast<int64_t>(answer.ranks.size()) == want["size"].get<int64_t>());
    // The golden file gave flattened dims another name than the default.
    if (!flattened) CHECK((answer.names.empty() ? json() : json(answer.names)) == want["names"]);
    if (want["coordinate"].is_null()) {
        CHECK_FALSE(answer.coordinate.has_value());
        return;
    }
    REQUIRE(answer.coordinate.has_value());
    CHECK(json(*answer.coordinate) == want["coordinate"]);
    CHECK(json(answer.groups) == want["groups"]);
    CHECK(json(answer.local_rank) == want["local_rank"]);
    CHECK(json(answer.shape) == want["size_by_dim"]);
}

void check_requests(const DeviceMesh& mesh, const json& per_rank, const char* key,
                    Question (*question_of)(const json&)) {
    if (!per_rank.at(0).contains(key)) return;
    const size_t n_requests = per_rank.at(0)[key].size();
    for (size_t i = 0; i < n_requests; ++i) {
        const Derived derived = derive(mesh, question_of(per_rank.at(0)[key][i][0]));
        for (size_t rank = 0; rank < per_rank.size(); ++rank) {
            const json& row = per_rank[rank][key][i];
            INFO(key << " " << row[0].dump() << " of " << mesh.repr() << ", rank " << rank);
            check_answer(row[1], reply(derived, GlobalRank{static_cast<int32_t>(rank)}),
                         derived.question.kind == QuestionKind::flatten);
        }
    }
}

}  // namespace

TEST_CASE("every rank gets PyTorch's answer to every request of the golden meshes") {
    checked = 0;
    const json file = golden();
    for (const json& entry : file["cases"]) {
        const int64_t world = entry["world"];
        const json& per_rank = entry["per_rank"];
        INFO(entry["case"].dump());
        if (per_rank[0]["root"].contains("error")) {
            std::optional<Message> refusal;
            try {
                make(entry["case"], world);
            } catch (const InvalidArgument& error) {
                refusal = error.message();
            }
            for (const json& rank : per_rank) check_error(rank["root"], refusal);
            continue;
        }
        const DeviceMesh mesh = make(entry["case"], world);
        for (size_t rank = 0; rank < per_rank.size(); ++rank) {
            INFO("rank " << rank);
            check_answer(per_rank[rank]["root"], {answer(mesh, GlobalRank{static_cast<int32_t>(rank)}), {}},
                         false);
        }
        check_requests(mesh, per_rank, "slices", slice_of);
        check_requests(mesh, per_rank, "flatten", flatten_of);
        check_requests(mesh, per_rank, "unflatten", unflatten_of);
        check_requests(mesh, per_rank, "concatenate", concatenate_of);
    }
    // The file's own count: were a request skipped, this would notice.
    int expected = 0;
    for (const json& entry : file["cases"])
        for (const json& rank : entry["per_rank"]) {
            ++expected;
            for (const char* key : {"slices", "flatten", "unflatten", "concatenate"})
                if (rank.contains(key)) expected += static_cast<int>(rank[key].size());
        }
    CHECK(checked == expected);
    CHECK(checked > 500);
}
