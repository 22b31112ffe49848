// Algorithms of one's own, as a user has them: the command `algorithm`, and runs by a file.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/sanitizer.h"
#include "tests/test.h"
#include "tests/tree.h"

using nlohmann::json;
using program::Folder;

namespace {

const std::string kRing =
    "collective = \"all_reduce\"\nchunks = \"p\"\n\n[[phase]]\nrounds = \"p - 1\"\n"
    "send = { to = \"r + 1\", chunk = \"r - s - 1\", then = \"add\" }\n\n[[phase]]\nrounds = \"p - 1\"\n"
    "send = { to = \"r + 1\", chunk = \"r - s\" }\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string ddp(const std::string& algorithm, const std::string& shape = "[4]") {
    return "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 2\nglobal_batch = 8\n[mesh]\nshape = " +
           shape + "\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\nalgorithm = \"" + algorithm +
           "\"\n";
}

program::Ended algorithm(std::vector<std::string> words, const std::string& language = "en") {
    words.insert(words.begin(), {"--lang", language, "algorithm"});
    return program::run(words);
}

std::string golden(const std::string& name) {
    return meshscope::test::golden_folder() + "/msccl/" + name;
}

json run_json(const std::vector<std::string>& words) {
    const auto ended = program::run(words);
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return json::parse(ended.out);
}

std::string query(const std::string& trace, const std::string& sql) {
    const auto ended = program::run({"trace", "query", trace, sql, "--csv"});
    INFO(ended.err);
    REQUIRE(ended.exit_code == 0);
    return ended.out;
}

}  // namespace

TEST_CASE(
    "algorithm verify proves a file for many numbers of ranks, and tells in both languages what is wrong") {
    const Folder folder;
    const std::string ring = folder.write("my_ring.toml", kRing);
    const auto proved = algorithm({"verify", ring, "--json"});
    REQUIRE(proved.exit_code == 0);
    const json told = json::parse(proved.out);
    CHECK(told["collective"] == "all_reduce");
    CHECK(told["form"] == "toml");
    REQUIRE(told["proved"].size() == 15);
    CHECK(told["proved"][2] == json{{"ranks", 4}, {"rounds", 6}, {"chunks", 4}, {"messages", 24}});

    const std::string wrong = folder.write("wrong.toml", replaced(kRing, ", then = \"add\"", ""));
    const auto refused = algorithm({"verify", wrong, "--ranks", "4"});
    CHECK(refused.exit_code == 65);
    CHECK(refused.err.find("wrong.toml:6: wrong result: chunk 0 of rank 0 lacks the numbers of ") !=
          std::string::npos);
    CHECK(algorithm({"verify", wrong, "--ranks", "4"}, "zh").err.find("wrong.toml:6: 结果错误") !=
          std::string::npos);
    const auto as_json = algorithm({"verify", wrong, "--ranks", "4", "--json"});
    CHECK(as_json.exit_code == 65);
    CHECK(json::parse(as_json.out)["errors"][0]["line"] == 6);
    CHECK(algorithm({"verify", folder.file("none.toml")}).exit_code == 74);
    CHECK(algorithm({"verify", "nosuch"}).exit_code == 2);
    CHECK(algorithm({"verify", ring, "--ranks", "1"}).exit_code == 65);
    CHECK(algorithm({"verify", ring, "--ranks", "99999999999"}).exit_code == 65);
}

TEST_CASE("algorithm verify names who waits for whom in an MSCCL file") {
    const auto refused = algorithm({"verify", golden("bad_dependency_cycle.xml")});
    CHECK(refused.exit_code == 65);
    CHECK(refused.err.find("gpu 2 tb 2 step 0 (s, ") != std::string::npos);
    CHECK(algorithm({"verify", golden("gen_allreduce_rdh_8.xml")}).exit_code == 0);
}

TEST_CASE("algorithm show tells rounds and bytes beside the textbook's, of files and of built-in ones") {
    const json shown = json::parse(algorithm({"show", golden("gen_allreduce_ring_4.xml"), "--json"}).out);
    CHECK(shown["rounds"] == 6);
    CHECK(shown["rounds_at_least"] == 2);
    CHECK(shown["chunks_sent_by_rank"] == json{6, 6, 6, 6});
    CHECK(shown["chunks_sent_at_least"] == 24.0);  // 2 (p-1) n, n being 4 chunks
    CHECK(shown["hops"].size() == 24);
    const auto text = algorithm({"show", "ring", "--ranks", "4"});
    CHECK(text.exit_code == 0);
    CHECK(text.out.find("0→1 [3]+") != std::string::npos);
    CHECK(text.out.find("1.5 n") != std::string::npos);
    CHECK(algorithm({"show", "ring"}).exit_code == 2);
    CHECK(algorithm({"show", "pairwise", "--ranks", "4"}).exit_code == 2);
    CHECK(algorithm({"show", "pairwise", "--ranks", "4", "--collective", "all_to_all"}).exit_code == 0);
    CHECK(algorithm({"show", "recursive_doubling", "--ranks", "4", "--collective", "all_gather"}).exit_code ==
          0);
    CHECK(algorithm({"show", "recursive_doubling", "--ranks", "6", "--collective", "all_gather"}).exit_code ==
          65);
}

TEST_CASE("what algorithm export writes is proved again, and moves as much") {
    meshscope::test::Sample sample(3);
    const Folder folder;
    const std::vector<std::vector<std::string>> what{
        {"ring", "--ranks", "5"},
        {"ring", "--ranks", "4", "--collective", "reduce_scatter"},
        {"ring", "--ranks", "4", "--collective", "all_gather"},
        {"halving_doubling", "--ranks", "8"},
        {"halving_doubling", "--ranks", "6"},
        {"double_tree", "--ranks", "7"},
        {"two_level", "--ranks", "6"},
        {"direct", "--ranks", "4"},
        {"star", "--ranks", "4"},
        {"tree", "--ranks", "6", "--collective", "broadcast"},
        {"tree", "--ranks", "6", "--collective", "reduce"},
        {"recursive_halving", "--ranks", "8", "--collective", "reduce_scatter"},
        {"bruck", "--ranks", "5", "--collective", "all_gather"},
        {"bruck", "--ranks", "5", "--collective", "all_to_all"},
        {"pairwise", "--ranks", "4", "--collective", "all_to_all"},
        {"scatter_all_gather", "--ranks", "5", "--collective", "broadcast"},
        {golden("gen_alltoall_4.xml")},
        {golden("allreduce_1step_mccl_4_2_2048_LL.xml")},
        {golden("gen_allreduce_rdh_8.xml")}};
    for (const auto& words : what)
        for (const std::string to : {"msccl", "toml"}) {
            if (!sample.takes()) continue;
            std::vector<std::string> all{"export"};
            all.insert(all.end(), words.begin(), words.end());
            all.insert(all.end(), {"--to", to});
            INFO(words.front() << " " << (words.size() > 4 ? words[4] : "") << " to " << to);
            const auto written = algorithm(all);
            INFO(written.err);
            if (to == "toml" && written.exit_code == 65) {
                CHECK(written.err.find("rounds") != std::string::npos);
                continue;
            }
            REQUIRE(written.exit_code == 0);
            const std::string file =
                folder.write("made." + std::string(to == "toml" ? "toml" : "xml"), written.out);
            const auto again = algorithm({"show", file, "--json"});
            INFO(again.err);
            REQUIRE(again.exit_code == 0);
            std::vector<std::string> first{"show"};
            first.insert(first.end(), words.begin(), words.end());
            first.push_back("--json");
            const json a = json::parse(algorithm(first).out), b = json::parse(again.out);
            CHECK(a["chunks_sent_by_rank"] == b["chunks_sent_by_rank"]);
        }
}

TEST_CASE("a run by a file gives what the ring gives, on threads and on tcp, and its record names the file") {
    const Folder folder;
    folder.write("my_ring.toml", kRing);
    folder.write("four.xml", program::content(golden("gen_allreduce_ring_4.xml")));
    folder.write("one.xml", program::content(golden("allreduce_1step_mccl_4_2_2048_LL.xml")));
    const std::string built_in = folder.write("built_in.toml", ddp("ring"));
    const json ring = run_json({"run", built_in, "--quiet", "--json", "-"});
    for (const std::string name : {"my_ring.toml", "four.xml", "one.xml"})
        for (const std::string backend : {"threads", "tcp"}) {
            INFO(name << " " << backend);
            const std::string scenario = folder.write("own.toml", ddp(name));
            const std::string trace = folder.file("own.trace");
            const json own =
                run_json({"run", scenario, "--quiet", "--json", "-", "--backend", backend, "--trace", trace});
            for (std::size_t i = 0; i < ring["losses"].size(); ++i)
                CHECK(own["losses"][i].get<double>() ==
                      Approx(ring["losses"][i].get<double>()).epsilon(1e-5));
            CHECK(own["algorithm_file"] == name);
            CHECK(query(trace, "SELECT DISTINCT algorithm FROM collectives WHERE op = 'all_reduce'")
                      .find("own") != std::string::npos);
            CHECK(query(trace, "SELECT DISTINCT algorithm FROM collectives WHERE op = 'broadcast'")
                      .find("tree") != std::string::npos);
            CHECK(query(trace, "SELECT value FROM meta WHERE key = 'algorithm_file'").find(name) !=
                  std::string::npos);
            if (name != "one.xml")
                CHECK(
                    query(trace, "SELECT DISTINCT hops FROM collectives WHERE op = 'all_reduce'").find("6") !=
                    std::string::npos);
        }
    // A prediction sends the same bytes.
    const std::string scenario = folder.write("own.toml", ddp("my_ring.toml"));
    CHECK(program::run({"predict", scenario}).exit_code == 0);
}

TEST_CASE("a run by a file that is wrong, or for other ranks, does not begin") {
    const Folder folder;
    folder.write("wrong.toml", replaced(kRing, "\"p - 1\"", "\"p - 2\""));
    folder.write("eight.xml", program::content(golden("gen_allreduce_rdh_8.xml")));
    const auto wrong = program::run({"run", folder.write("a.toml", ddp("wrong.toml"))});
    CHECK(wrong.exit_code == 65);
    CHECK(wrong.err.find("wrong.toml:") != std::string::npos);
    CHECK(wrong.err.find("wrong result") != std::string::npos);
    const auto other = program::run({"run", folder.write("a.toml", ddp("eight.xml"))});
    CHECK(other.exit_code == 65);
    CHECK(other.err.find("eight.xml is for 8 ranks, not for 4") != std::string::npos);
    CHECK(program::run({"run", folder.write("a.toml", ddp("none.toml"))}).exit_code == 65);
    // Of two dims the file is for one; an all_reduce in the other is refused by name.
    folder.write("two.toml", "ranks = 2\n" + kRing);
    const std::string mixed =
        "format = 1\n[mesh]\nshape = [2, 3]\nnames = [\"a\", \"b\"]\n[parallel]\nalgorithm = \"two.toml\"\n"
        "[[call]]\nop = \"all_reduce\"\ngroup = \"";
    CHECK(program::run({"run", folder.write("a.toml", mixed + "a\"\nelements = 5\n")}).exit_code == 0);
    const auto unfit = program::run({"run", folder.write("a.toml", mixed + "b\"\nelements = 5\n")});
    CHECK(unfit.exit_code == 65);
    CHECK(unfit.err.find("two.toml is for 2 ranks, not for 3") != std::string::npos);
}

TEST_CASE("every collective by a file gives the numbers of the built-in one") {
    const Folder folder;
    folder.write("reduce_scatter.toml",
                 "collective = \"reduce_scatter\"\nchunks = \"2 * p\"\n[[phase]]\nrounds = \"p - 1\"\n"
                 "send = { to = \"r + 1\", chunk = \"2 * (r - s - 1)\", count = 2, then = \"add\" }\n");
    folder.write("all_gather.toml",
                 "collective = \"all_gather\"\n[[phase]]\nsend = { each = \"p - 1\", to = \"r + i + 1\", "
                 "chunk = \"r\" }\n");
    folder.write("all_to_all.toml",
                 "collective = \"all_to_all\"\n[[phase]]\nrounds = \"p - 1\"\n"
                 "send = { to = \"r + s + 1\", chunk = \"r + s + 1\", at = \"r\" }\n");
    folder.write("broadcast.toml",
                 "collective = \"broadcast\"\nchunks = 3\n[[phase]]\nwhen = \"r == 0\"\n"
                 "send = { each = \"p - 1\", to = \"i + 1\", chunk = 0, count = 3 }\n");
    folder.write("reduce.toml",
                 "collective = \"reduce\"\nchunks = 1\n[[phase]]\n"
                 "send = { when = \"r != 0\", to = 0, chunk = 0, then = \"add\" }\n");
    folder.write("all_reduce.toml", kRing);
    folder.write("all_reduce.xml", algorithm({"export", "two_level", "--ranks", "7"}).out);
    folder.write("reduce_scatter.xml",
                 algorithm({"export", "ring", "--collective", "reduce_scatter", "--ranks", "7"}).out);
    folder.write("all_to_all.xml",
                 algorithm({"export", "bruck", "--collective", "all_to_all", "--ranks", "7"}).out);
    struct Case {
        std::string op, file, rest;
    };
    for (const Case& each :
         {Case{"reduce_scatter", "reduce_scatter.toml", "elements = 14\nreduce = \"avg\"\n"},
          Case{"reduce_scatter", "reduce_scatter.xml", "elements = 21\n"},
          Case{"all_gather", "all_gather.toml", "elements = 5\n"},
          Case{"all_to_all", "all_to_all.toml", "elements = 14\n"},
          Case{"all_to_all", "all_to_all.xml", "elements = 21\n"},
          Case{"broadcast", "broadcast.toml", "elements = 5\nroot = 3\n"},
          Case{"reduce", "reduce.toml", "elements = 5\nroot = 3\nreduce = \"avg\"\n"},
          Case{"all_reduce", "all_reduce.toml", "elements = 5\nreduce = \"avg\"\n"},
          Case{"all_reduce", "all_reduce.toml", "elements = 2\nreduce = \"premul_sum\"\nfactor = 0.5\n"},
          Case{"all_reduce", "all_reduce.xml", "elements = 11\nreduce = \"max\"\n"}}) {
        INFO(each.file << " " << each.rest);
        std::vector<std::string> outputs;
        for (const std::string& named : {each.file, std::string("ring")}) {
            const std::string scenario =
                folder.write("calls.toml",
                             "format = 1\n[mesh]\nshape = [7]\nnames = [\"x\"]\n[run]\nchecked = "
                             "true\n[parallel]\nalgorithm = \"" +
                                 named + "\"\n[[call]]\nop = \"" + each.op + "\"\n" + each.rest);
            const std::string trace = folder.file("calls.mscope");
            const auto ended = program::run({"run", scenario, "-q", "--trace", trace});
            INFO(ended.err);
            REQUIRE(ended.exit_code == 0);
            outputs.push_back(
                query(trace, "SELECT rank, numbers FROM buffers WHERE side = 'output' ORDER BY rank"));
        }
        CHECK(outputs[0] == outputs[1]);
        CHECK(outputs[0].find('[') != std::string::npos);
    }
}
