// YAML and command lines as trees, within limits.
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/jobs/command_line.h"
#include "core/jobs/megatron_layout.h"
#include "core/jobs/yaml.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::jobs;
using nlohmann::json;

namespace {

json yaml(const std::string& text) {
    std::vector<Twice> twice;
    json made = parse_yaml(text, "job.yaml", twice);
    CHECK(twice.empty());
    return made;
}

std::vector<std::string> yaml_mistakes(const std::string& text) {
    return test::mistakes_of([&] {
        std::vector<Twice> twice;
        parse_yaml(text, "job.yaml", twice);
    });
}

json options(const std::string& text) {
    std::vector<Twice> twice;
    return parse_command_line(text, twice);
}

}  // namespace

TEST_CASE("YAML's plain words are read as YAML 1.1 has them, quoted ones are text") {
    CHECK(yaml("a: no\nb: 'no'\nc: 1_000\nd: 1e-6\ne: ~\nf: .5\ng: 010\nh: on\ni: 2 2\nj: -3\nk: 1.5.2\nl: "
               "--x\n") == json({{"a", false},
                                 {"b", "no"},
                                 {"c", 1000},
                                 {"d", 1e-6},
                                 {"e", nullptr},
                                 {"f", 0.5},
                                 {"g", "010"},
                                 {"h", true},
                                 {"i", "2 2"},
                                 {"j", -3},
                                 {"k", "1.5.2"},
                                 {"l", "--x"}}));
    CHECK(yaml("a: 99999999999999999999\nb: e5\nc: '-'\nd: [1, {x: 2}]\n") ==
          json({{"a", "99999999999999999999"}, {"b", "e5"}, {"c", "-"}, {"d", {1, {{"x", 2}}}}}));
}

TEST_CASE("YAML's aliases and merge keys are followed, and a key of its own wins") {
    CHECK(yaml("base: &b {x: 1, y: 2}\nmade:\n  <<: *b\n  y: 3\nagain: *b\n") ==
          json({{"base", {{"x", 1}, {"y", 2}}},
                {"made", {{"x", 1}, {"y", 3}}},
                {"again", {{"x", 1}, {"y", 2}}}}));
    CHECK(yaml("a: &a {x: 1}\nb: &b {x: 2, z: 5}\nc:\n  <<: [*a, *b]\n")["c"] == json({{"x", 1}, {"z", 5}}));
}

TEST_CASE("a key with two values has the last and is told of, and one with the same value twice is not") {
    std::vector<Twice> twice;
    CHECK(parse_yaml("a: 1\nb: 2\na: 1\nb: 3\n", "job.yaml", twice) == json({{"a", 1}, {"b", 3}}));
    REQUIRE(twice.size() == 1);
    CHECK(twice[0].key == "b");
    CHECK(twice[0].first == "2");
    CHECK(twice[0].second == "3");
    CHECK(twice[0].line == 4);
}

TEST_CASE("damaged YAML is refused at its place") {
    CHECK(yaml_mistakes("a:\n\tb: 1\n") == std::vector<std::string>{"2:1 yaml.tab"});
    CHECK(yaml_mistakes("a: [1, 2\nb: 3\n").front().ends_with("yaml.syntax"));
    CHECK(yaml_mistakes("a: !!python/object:os.system {}\n") == std::vector<std::string>{"1:4 yaml.tag"});
    CHECK(yaml_mistakes("a: 1\n---\nb: 2\n").front().ends_with("yaml.documents"));
    CHECK(yaml_mistakes("? [1, 2]\n: 3\n").front().ends_with("yaml.key"));
    CHECK(yaml_mistakes("a: \xff\n") == std::vector<std::string>{"1:4 yaml.not_text"});
    CHECK(yaml_mistakes("a: &a [*a]\n").front().ends_with("yaml.syntax"));
    CHECK(yaml_mistakes("a:\n  <<: 3\n").front().ends_with("yaml.merge"));
    CHECK(yaml_mistakes("a: " + std::string(500, '[') + std::string(500, ']'))
              .front()
              .ends_with("yaml.too_deep"));
    CHECK(yaml_mistakes(std::string(100'000, '[')).size() == 1);
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + "," + before + "," +
                before + "," + before + "]\n";
    }
    CHECK(yaml_mistakes(bomb).front().ends_with("yaml.too_many"));
    std::string texts = "a: &a " + std::string(100'000, 'x') + "\nb: [";
    for (int i = 0; i < 100; ++i) texts += "*a, ";
    CHECK(yaml_mistakes(texts + "]\n").front().ends_with("yaml.too_long"));
}

TEST_CASE("a command line's options are read through quotes, continued lines, arrays and variables") {
    const json read = options(R"(#!/bin/bash
# --pipeline-model-parallel-size 9 is a comment
TP_SIZE=${TP_SIZE:-2}; GPUS=8
NODES=2
ARGS=(
    --tensor-model-parallel-size $TP_SIZE
    --swiglu   # gated
    "--split '99,1,0'"
    --global_batch_size $((GPUS * NODES + 16/4 - 4))
)
MORE="
    --lr 1.5e-4 \
    --load ${CHECKPOINT}
"
torchrun --nproc_per_node=$GPUS --nnodes "$NODES" pretrain_gpt.py ${ARGS[@]} $MORE --bf16 \
    --seq-length 4096)");
    CHECK(read == json({{"--tensor-model-parallel-size", 2},
                        {"--swiglu", true},
                        {"--split", "99,1,0"},
                        {"--global-batch-size", 16},
                        {"--lr", 1.5e-4},
                        {"--load", "${CHECKPOINT}"},
                        {"--nproc-per-node", 8},
                        {"--nnodes", 2},
                        {"--bf16", true},
                        {"--seq-length", 4096}}));
}

TEST_CASE("what expands to nothing and redirections take no flag's value") {
    const std::string arrays = "DATA=(\n --lr 1e-4\n)\nMORE=\"--swiglu\"\nNONE=\"\"\n";
    for (const std::string behind :
         {"${DATA[@]}", "\"${DATA[@]}\"", "$MORE", "\"$MORE\"", "$NONE", "$@", "\"$@\"", "\"${@}\"", "$*",
          "2>&1 | tee log.txt", "> log.txt", ">log.txt 2>&1", "&> log.txt", "< in.txt", "2> \"$LOG\""}) {
        INFO(behind);
        json read = options(arrays + "x.py --seq-length 8 --bf16 " + behind);
        for (const char* other : {"--lr", "--swiglu"}) read.erase(other);
        CHECK(read == json({{"--seq-length", 8}, {"--bf16", true}}));
    }
    CHECK(options("x.py --load \"\" --a 2 > log --b '1>2'") ==
          json({{"--load", nullptr}, {"--a", 2}, {"--b", "1>2"}}));
}

TEST_CASE("a variable's default is its value where nothing sets it") {
    CHECK(
        options(
            "A=\nB=${B:=4}\nx.py --a ${A-1} --b $B --c ${C-3} --d ${A:-5} --e ${E=6} --f $E --g ${G:?no}") ==
        json({{"--a", true},
              {"--b", 4},
              {"--c", 3},
              {"--d", 5},
              {"--e", 6},
              {"--f", 6},
              {"--g", "${G:?no}"}}));
}

TEST_CASE("an option with two values has the last, and is told of") {
    std::vector<Twice> twice;
    const json read =
        parse_command_line("x.py --a 1 --b --a 1 --a 2 --c $((1/0)) --d $((9223372036854775807*9))", twice);
    CHECK(read["--a"] == 2);
    CHECK(read["--b"] == true);
    CHECK(read["--c"] == "$((1/0))");
    CHECK(read["--d"].is_string());
    REQUIRE(twice.size() == 1);
    CHECK(twice[0].key == "--a");
    // A variable that would grow without end does not.
    std::string text = "A=xxxxxxxx\n";
    for (int i = 0; i < 60; ++i) text += "A=$A$A\n";
    CHECK(options(text + "x.py --a $A$A$A").dump().size() < 20'000);
}

TEST_CASE("a layout of Megatron's pipeline has as many stages as its bars say") {
    CHECK(stages_of_layout("Et*2|(tt|)*5t|tmL") == 8);
    CHECK(stages_of_layout("Et*7|t*7mL") == 2);
    CHECK(stages_of_layout("Et|(tt|)*6mL") == 8);
    CHECK(stages_of_layout("E,t|t,L") == 2);
    CHECK(stages_of_layout("((t|)*2)*3L") == 7);
    for (const std::string none : {"Et|x", "(t|", "t|)", "*3t", "t**", "(t|)*99999999999"}) {
        INFO(none);
        CHECK(!stages_of_layout(none));
    }
}
