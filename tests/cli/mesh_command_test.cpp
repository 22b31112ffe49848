// The command `meshscope mesh`, run as a user runs it: its answers are PyTorch's, its exit codes those of the
// contract.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;

namespace {

using program::Ended;

/// Runs `meshscope mesh WORDS…`; with `read_errors`, `out` is what went to stderr.
Ended run_mesh(const std::vector<std::string>& words, bool read_errors = false) {
    std::vector<std::string> all{"--lang", "en", "mesh"};
    all.insert(all.end(), words.begin(), words.end());
    Ended ended = program::run(all);
    if (read_errors) ended.out = ended.err;
    return ended;
}

std::string joined(const json& words, const char* separator) {
    std::string text;
    for (const json& word : words)
        text += (text.empty() ? "" : separator) + (word.is_string() ? word.get<std::string>() : word.dump());
    return text;
}

std::vector<std::string> words_of(const json& question, int64_t world) {
    std::vector<std::string> words{"--shape", joined(question["shape"], ","), "--world",
                                   std::to_string(world), "--json"};
    const auto add = [&](const char* option, const std::string& value) {
        words.emplace_back(option);
        words.push_back(value);
    };
    if (!question["names"].is_null()) add("--names", joined(question["names"], ","));
    if (question.contains("ranks")) add("--ranks", joined(question["ranks"], ","));
    for (const json& s : question.value("slices", json::array())) add("--slice", joined(s, ","));
    for (const json& f : question.value("flatten", json::array())) add("--flatten", joined(f, ","));
    for (const json& u : question.value("unflatten", json::array()))
        add("--unflatten", joined(json::array({u["dim"]}), "") + "=" + joined(u["sizes"], "x") + ":" +
                               joined(u["names"], ","));
    for (const json& c : question.value("concatenate", json::array())) {
        std::string text;
        for (const json& part : c) text += (text.empty() ? "" : ",") + joined(part, "+");
        add("--concatenate", text);
    }
    return words;
}

bool agrees(const json& want, const json& got, bool flattened) {
    if (want.contains("error")) return got.contains("error") && got["pytorch_error"] == want["error"];
    std::vector<std::string> keys{"mesh", "shape", "ndim", "size", "coordinate"};
    if (!flattened) keys.emplace_back("names");
    if (!want["coordinate"].is_null()) keys.insert(keys.end(), {"groups", "local_rank", "size_by_dim"});
    for (const std::string& key : keys)
        if (!got.contains(key) || got[key] != want[key]) return false;
    return true;
}

}  // namespace

TEST_CASE("mesh --json prints PyTorch's answers for every rank of the golden meshes") {
    std::ifstream file(meshscope::test::golden_folder() + "/mesh.json");
    const json golden = json::parse(file);
    int answers = 0;
    for (const json& entry : golden["cases"]) {
        const json& question = entry["case"];
        const json& wanted = entry["per_rank"];
        const Ended ended = run_mesh(words_of(question, entry["world"]));
        INFO(question.dump());
        const json got = json::parse(ended.out);
        if (wanted[0]["root"].contains("error")) {
            CHECK(ended.exit_code == 65);
            CHECK(agrees(wanted[0]["root"], got, false));
            continue;
        }
        CHECK(ended.exit_code == 0);
        REQUIRE(got["per_rank"].size() == wanted.size());
        for (size_t rank = 0; rank < wanted.size(); ++rank) {
            CHECK(agrees(wanted[rank]["root"], got["per_rank"][rank]["root"], false));
            for (const char* key : {"slices", "flatten", "unflatten", "concatenate"}) {
                const json rows = wanted[rank].value(key, json::array());
                REQUIRE(got["per_rank"][rank][key].size() == rows.size());
                for (size_t i = 0; i < rows.size(); ++i, ++answers) {
                    INFO("rank " << rank << " " << key << " " << rows[i][0].dump() << " got "
                                 << got["per_rank"][rank][key][i].dump());
                    CHECK(agrees(rows[i][1], got["per_rank"][rank][key][i], key == std::string("flatten")));
                }
            }
        }
    }
    CHECK(answers > 400);
}

TEST_CASE("mesh --rank gives one entry") {
    const Ended ended = run_mesh({"--shape", "2,2,2", "--names", "replicate,shard,tp", "--rank", "1",
                                  "--slice", "replicate,shard", "--json"});
    CHECK(ended.exit_code == 0);
    const json got = json::parse(ended.out);
    REQUIRE(got["per_rank"].size() == 1);
    CHECK(got["per_rank"][0]["rank"] == 1);
    CHECK(got["per_rank"][0]["slices"][0]["mesh"] == json::parse("[[1,3],[5,7]]"));
    CHECK(got["per_rank"][0]["root"]["new_group_calls"] == 12);
    CHECK(got["per_rank"][0]["root"]["split_group_calls"] == 3);
}

TEST_CASE("mesh without --json draws tables, and says why a request is refused") {
    const Ended ended = run_mesh({"--shape", "2,2,2", "--names", "replicate,shard,tp", "--slice",
                                  "replicate,tp", "--slice", "tp,replicate"});
    CHECK(ended.exit_code == 0);
    CHECK(ended.out.find("12 new_group") != std::string::npos);
    CHECK(ended.out.find("[[2, 3], [6, 7]]") != std::string::npos);
    CHECK(ended.out.find(
              "KeyError: Invalid mesh_dim_names ('tp', 'replicate') specified. Mesh dim indices should be in "
              "ascending order.") != std::string::npos);
}

TEST_CASE("mesh in Chinese has Chinese marks between its sentences") {
    const Ended ended =
        program::run({"--lang", "zh", "mesh", "--shape", "2,2", "--names", "a,b", "--slice", "a"});
    CHECK(ended.exit_code == 0);
    CHECK(ended.out.find("；不建立新的 group") != std::string::npos);
    CHECK(ended.out.find("; ") == std::string::npos);
}

TEST_CASE("mesh ends with the contract's exit codes, and says what was wrong") {
    struct Row {
        std::vector<std::string> words;
        int exit_code;
        std::string says;
    };
    const std::vector<Row> rows{
        {{"--shape", "3,3", "--world", "8"}, 65, "needs 9 ranks, but the world has 8"},
        {{"--shape", "2,2", "--names", "a"}, 65, "but 1 name was given"},
        {{"--shape", "2,2", "--names", "a,a"}, 65, "appears twice"},
        {{"--shape", "2,2", "--ranks", "0,1,1,2", "--world", "8"}, 65, "rank 1 appears twice"},
        {{"--shape", "0,4"}, 65, "size 0"},
        {{"--shape", "2,x"}, 2, "\"x\" is no whole number"},
        {{"--shape", "2,"}, 2, "\"\" is no whole number"},
        {{"--shape", "2,2", "--names", "a,b", "--unflatten", "a2:b"}, 2, "DIM=SIZES:NAMES"},
        {{"--shape", "2,2", "--rank", "4"}, 2, "no rank 4 in a world of 4"},
        {{"--shape", "2,2", "--world", "4000000000"}, 2, "too large"},
        {{"--shape", "30000,30000", "--json"}, 2, "too much for --json"},
        {{"--shape", "2,2", "--names", "a,b", "--flatten", "=a,b"}, 2, "[NAME=]DIMS"},
        {{"--shape", "2,2", "--names", "a,b", "--ask", "mesh[\"a\"].x"}, 65, "cannot be read from x on"},
        {{}, 2, "--shape"},
    };
    for (const Row& row : rows) {
        const Ended ended = run_mesh(row.words, true);
        INFO(ended.out);
        CHECK(ended.exit_code == row.exit_code);
        CHECK(ended.out.find(row.says) != std::string::npos);
    }
}

TEST_CASE("one rank of a mesh of a billion is answered at once: what cannot be says the limit") {
    const Ended one = run_mesh({"--shape", "1000,1000,1000", "--names", "a,b,c", "--rank", "5"});
    INFO(one.out);
    CHECK(one.exit_code == 0);
    CHECK(one.out.find("1000000000 ranks in a world of 1000000000") != std::string::npos);
    // Row-major: rank 5 stands at (0, 0, 5); dim a steps by 10^6, b by 10^3, c by 1.
    CHECK(one.out.find("[5, 1000005, 2000005, … 999000005] (1000)") != std::string::npos);
    CHECK(one.out.find("[5, 1005, 2005, … 999005] (1000)") != std::string::npos);
    CHECK(one.out.find("[0, 1, 2, … 999] (1000)") != std::string::npos);
    const Ended listed = run_mesh({"--shape", "1000,1000,1000", "--rank", "5", "--json"}, true);
    CHECK(listed.exit_code == 2);
    CHECK(listed.out.find("at most 16777216") != std::string::npos);
}

TEST_CASE("a shape whose product is no number any more is not given one") {
    const Ended ended = run_mesh({"--shape", "99999999999,99999999999"}, true);
    CHECK(ended.exit_code == 65);
    CHECK(ended.out.find("needs a world of >2^63-1 ranks") != std::string::npos);
    CHECK(ended.out.find("9223372036854775807") == std::string::npos);
}

TEST_CASE("a mesh that no world holds is not measured against a world that nobody gave") {
    const auto says = [](const std::vector<std::string>& words, const std::string& said) {
        const Ended ended = run_mesh(words, true);
        INFO(ended.out);
        CHECK(ended.exit_code == 65);
        CHECK(ended.out.find(said) != std::string::npos);
        CHECK(ended.out.find("the world has") == std::string::npos);
        CHECK(ended.out.find("in a world of") == std::string::npos);
    };
    says({"--shape", "99999,99999"},
         "mesh (99999,99999) needs a world of 9999800001 ranks, and the largest possible has 2147483647");
    says({"--shape", "2,2", "--ranks", "0,1,2,3000000000"}, "needs a world of 3000000001 ranks");
    const Ended answer = run_mesh({"--shape", "99999,99999", "--json"});
    CHECK(answer.exit_code == 65);
    CHECK(json::parse(answer.out)["id"] == "cli.mesh.no_such_world");
    // One that was given is what the mesh is measured against, and the largest is possible.
    CHECK(run_mesh({"--shape", "99999,99999", "--world", "8"}, true).out.find("but the world has 8") !=
          std::string::npos);
    CHECK(run_mesh({"--shape", "1,2147483647", "--rank", "5"}).exit_code == 0);
}

TEST_CASE("a size below 1 is told without PyTorch's sentence about something else") {
    const Ended ended = run_mesh({"--shape=-1,2"}, true);
    CHECK(ended.exit_code == 65);
    CHECK(ended.out.find("has size -1") != std::string::npos);
    CHECK(ended.out.find("PyTorch") == std::string::npos);
}

TEST_CASE("mesh answers in the order asked: a slice may name what stands flattened before it") {
    const std::vector<std::string> mesh{"--shape", "2,1,1,3", "--names", "a,b,c,d"};
    const auto ask = [&](std::vector<std::string> words) {
        words.insert(words.begin(), mesh.begin(), mesh.end());
        words.emplace_back("--json");
        const Ended ended = run_mesh(words);
        CHECK(ended.exit_code == 0);
        return json::parse(ended.out)["per_rank"][1];
    };
    const json after = ask({"--flatten", "b,c", "--slice", "a,b_c,d"});
    CHECK(after["slices"][0]["mesh"] == json::parse("[[[0,1,2]],[[3,4,5]]]"));
    CHECK(after["slices"][0]["names"] == json::parse(R"(["a","b_c","d"])"));
    const json before = ask({"--slice", "a,b_c,d", "--flatten", "b,c"});
    CHECK(before["slices"][0]["pytorch_error"] == "KeyError");
    // A name of one's own, a concatenation, an expression, in their turn.
    const json named = ask({"--flatten", "x=a,b", "--concatenate", "d,x", "--ask", "mesh['x']; x, d",
                            "--slice=x,d", "--unflatten", "d=3x1:u,v"});
    CHECK(named["flatten"][0]["names"] == json::parse(R"(["x"])"));
    CHECK(named["concatenate"][0]["mesh"] == json::parse("[[0,3],[1,4],[2,5]]"));
    REQUIRE(named["asked"].size() == 2);
    CHECK(named["asked"][0]["mesh"] == json::parse("[1,4]"));
    CHECK(named["asked"][1] == named["slices"][0]);
    CHECK(named["unflatten"][0]["shape"] == json::parse("[2,1,1,3,1]"));
    // Order holds for flattened names too: a_c of (a,b,c) reaches over b.
    const Ended ended =
        run_mesh({"--shape", "2,2,2", "--names", "dp,cp,tp", "--flatten", "dp,tp", "--slice", "dp_tp,cp"});
    CHECK(ended.out.find("Mesh dim indices should be in ascending order.") != std::string::npos);
}

TEST_CASE("a mesh of any size is printed at once: long lists are cut and counted") {
    const Ended ended = run_mesh({"--shape", "16777216"});
    INFO(ended.out);
    CHECK(ended.exit_code == 0);
    CHECK(ended.out.size() < 8000);
    CHECK(ended.out.find("[0, 1, 2, … 16777215] (16777216)") != std::string::npos);
    CHECK(ended.out.find("64 of 16777216 ranks shown") != std::string::npos);
    const Ended cube = run_mesh({"--shape", "1024,1024,1024", "--names", "a,b,c", "--flatten", "a,c",
                                 "--slice", "a,b", "--rank", "7"});
    INFO(cube.out);
    CHECK(cube.exit_code == 0);
    // Rank 7 is (0, 0, 7): a steps by 2^20, b by 2^10; the flattened group holds all a and c.
    CHECK(cube.out.find("[7, 1048583, 2097159, … 1072693255] (1024)") != std::string::npos);
    CHECK(cube.out.find("[0, 1, 2, … 1072694271] (1048576)") != std::string::npos);
    CHECK(cube.out.find("[7, 1031, 2055, … 1073740807] (1048576)") != std::string::npos);
    CHECK(cube.out.find("1048576 groups in all") != std::string::npos);
}

TEST_CASE("a mesh of very many dims is printed or refused, whatever their sizes") {
    std::string dims = "1";
    for (int i = 1; i < 1024; ++i) dims += ",1";
    CHECK(run_mesh({"--shape", dims, "--json"}).exit_code == 0);
    CHECK(run_mesh({"--shape", dims}).exit_code == 0);
    for (int i = 0; i < 50000; ++i) dims += ",1";
    const Ended more = run_mesh({"--shape", dims, "--json"}, true);
    CHECK(more.exit_code == 65);
    CHECK(more.out.find("not 51024") != std::string::npos);
    std::string twos = "2";
    for (int i = 1; i < 40; ++i) twos += ",2";
    const Ended two = run_mesh({"--shape", twos}, true);
    CHECK(two.exit_code == 65);
    CHECK(two.out.find("1099511627776 ranks") != std::string::npos);
}

TEST_CASE("mesh --ask answers what a mesh's methods answer, in words and as JSON") {
    const std::string asked =
        "mesh.size(); mesh[\"tp\"].get_local_rank(); mesh.get_group(\"dp\"); mesh.shape; mesh[0]; "
        "mesh.get_group()";
    const Ended told = run_mesh({"--shape", "2,2", "--names", "dp,tp", "--ask", asked});
    INFO(told.out << told.err);
    CHECK(told.exit_code == 0);
    for (const char* part :
         {"mesh.size()\n4\n", "rank  get_local_rank\n   0  0\n   1  1\n",
          "rank  get_group\n   0  [0, 2]\n   1  [1, 3]\n", "mesh.shape\n(2, 2)\n",
          "TypeError: 'int' object is not iterable", "RuntimeError: ('Found the DeviceMesh have 2"})
        CHECK(told.out.find(part) != std::string::npos);
    const Ended ended =
        run_mesh({"--shape", "2,2", "--names", "dp,tp", "--rank", "3", "--json", "--ask", asked});
    const json got = json::parse(ended.out)["per_rank"][0]["asked"];
    REQUIRE(got.size() == 6);
    CHECK(got[0] == json{{"value", 4}});
    CHECK(got[1] == json{{"value", 1}});
    CHECK(got[2] == json{{"value", {1, 3}}});
    CHECK(got[3] == json{{"value", {2, 2}}});
    CHECK(got[4]["pytorch_error"] == "TypeError");
    CHECK(got[5]["pytorch_error"] == "RuntimeError");
    const Ended unreadable = run_mesh({"--shape", "2", "--names", "dp", "--ask", "mesh.sizes()"}, true);
    CHECK(unreadable.exit_code == 65);
    for (const char* part : {"sizes()", ".get_group(\"a\")", ".mesh_dim_names"})
        CHECK(unreadable.out.find(part) != std::string::npos);
}
