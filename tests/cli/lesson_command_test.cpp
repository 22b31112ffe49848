// The command `meshscope lesson`.
#include <algorithm>
#include <filesystem>

#include "tests/cli/program.h"
#include "tests/test.h"

namespace fs = std::filesystem;

namespace {

const std::string kScenario = R"(format = 1
title = { en = "A lesson", zh = "一课" }
[model]
kind = "toy"
[train]
steps = 2
global_batch = 8
[mesh]
shape = [2]
[parallel]
data = "fsdp2"
[[lesson.step]]
id = "one"
at = "SELECT id FROM collectives WHERE rank = 0 LIMIT 1"
[[lesson.number]]
id = "gathers"
sql = "SELECT count(*) FROM collectives WHERE rank = 0 AND op = 'all_gather' AND step = 1"
[[quiz]]
id = "how-many"
step = "one"
kind = "number"
question = { en = "How many gathers?", zh = "收集几次？" }
answer = "SELECT count(*) FROM collectives WHERE rank = 0 AND op = 'all_gather' AND step = 1"
reveal = { en = "There are {{gathers}}.", zh = "共 {{gathers}} 次。" }
[[quiz.hint]]
when = "1"
en = "Backward needs one too."
zh = "反向也要一次。"
[[quiz]]
id = "who"
step = "one"
kind = "ranks"
question = { en = "Which ranks?", zh = "哪些 rank？" }
answer = "SELECT group_ranks FROM collectives WHERE rank = 0 LIMIT 1"
[[check]]
id = "one scatter"
sql = "SELECT sum(op = 'reduce_scatter') = 1 FROM collectives WHERE rank = 0 AND step = 1"
)";
const std::string kText =
    "# A lesson\n\n## one: Gathering\n\nOn [rank 1](rank:1) there are {{gathers}} gathers along "
    "[shard](dim:shard).\n";

/// A folder of lessons with one lesson.
void write_lesson(const program::Folder& folder, const std::string& scenario, const std::string& text) {
    folder.write("01_a/scenario.toml", scenario);
    folder.write("01_a/lesson.en.md", text);
    folder.write("01_a/lesson.zh.md", text);
}

}  // namespace

TEST_CASE("the lessons of this installation are listed and keep every promise") {
    const auto list = program::run({"lesson", "list"});
    CHECK(list.exit_code == 0);
    CHECK(list.out.find("12_device_mesh") != std::string::npos);
    CHECK(list.out.find("63_hsdp") != std::string::npos);
    const auto check = program::run({"lesson", "check", "all"});
    INFO(check.out);
    CHECK(check.exit_code == 0);
    CHECK(check.out.find("failed") == std::string::npos);
    CHECK(std::count(check.out.begin(), check.out.end(), '\n') > 50);
}

TEST_CASE("a lesson is told in the terminal with its numbers, reasons, losses and peaks") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    const auto told = program::run({"lesson", "run", "a", "--scenarios", folder.file("")});
    CHECK(told.exit_code == 0);
    for (const char* part :
         {"1/1  Gathering", "On rank 1 there are 2 gathers along shard.", "? How many gathers?", "Answer: 2",
          "There are 2.", "88 → 176", "fully_shard", "loss", "made by"}) {
        INFO(part);
        CHECK(told.out.find(part) != std::string::npos);
    }
    CHECK(told.out.find("{{") == std::string::npos);
    CHECK(program::run({"lesson", "run", "1", "--lang", "zh", "--scenarios", folder.file("")})
              .out.find("答案：2") != std::string::npos);
}

TEST_CASE("on a terminal the questions wait for answers, give hints and a second try") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    const auto told =
        program::run_on_terminal({"lesson", "run", "a", "--scenarios", folder.file("")}, "1\n2\n1, 0\n");
    CHECK(told.exit_code == 0);
    const std::size_t wrong = told.out.find("Not so."), hint = told.out.find("Backward needs one too."),
                      right = told.out.find("Right.");
    CHECK(wrong != std::string::npos);
    CHECK(hint != std::string::npos);
    CHECK(right != std::string::npos);
    CHECK(told.out.find("Right.", right + 1) != std::string::npos);  // the ranks, in any order
    CHECK(told.out.find("Answer:") == std::string::npos);
    const auto plain =
        program::run_on_terminal({"lesson", "run", "a", "--no-input", "--scenarios", folder.file("")}, "");
    CHECK(plain.out.find("Answer: 2") != std::string::npos);
}

TEST_CASE("lesson check finds each kind of broken promise") {
    const auto check = [](const std::string& scenario, const std::string& text, const std::string& said) {
        const program::Folder folder;
        write_lesson(folder, scenario, text);
        const auto ended = program::run({"lesson", "check", "a", "--scenarios", folder.file("")});
        INFO(ended.out << ended.err);
        CHECK(ended.exit_code == (said.empty() ? 0 : 1));
        CHECK(ended.out.find(said.empty() ? "ok" : "failed") != std::string::npos);
        CHECK(ended.out.find(said) != std::string::npos);
    };
    const auto with = [](std::string text, const std::string& from, const std::string& to) {
        return text.replace(text.find(from), from.size(), to);
    };
    check(kScenario, kText, "");
    check(with(kScenario, "= 1 FROM", "= 9 FROM"), kText, ": its query gave 0");
    check(with(kScenario, "WHERE rank = 0 LIMIT 1\"\n[[lesson", "WHERE rank = 9\"\n[[lesson"), kText,
          "event of step one: ");
    check(with(kScenario, "when = \"1\"", "when = \"2\""), kText, "quiz how-many: ");
    check(with(kScenario, "SELECT group_ranks", "SELECT unit"), kText, "quiz who: ");
    check(kScenario, with(kText, "rank:1", "rank:2"), "[rank 1](rank:2) points at nothing");
    check(kScenario, with(kText, "dim:shard", "dim:tp"), "dim:tp");
    check(kScenario, with(kText, "{{gathers}}", "{{scatters}}"), "scatters");
    check(kScenario, kText + "## two\n\nMore.\n", "one, two");
    check(kScenario, "no title\n", "lesson.en.md:1:1");
    check(with(kScenario, "steps = 2", "steps = 0"), kText, "scenario.toml:6:9");
}

TEST_CASE("lesson check speaks Chinese, and points at the SQL that failed") {
    const program::Folder folder;
    std::string broken = kScenario;
    const std::string good = "SELECT sum(op = 'reduce_scatter')";
    REQUIRE(broken.find(good) != std::string::npos);
    broken.replace(broken.find(good), good.size(), "SELEKT sum(op = 'reduce_scatter')");
    write_lesson(folder, broken, kText);
    const auto ended = program::run({"--lang", "zh", "lesson", "check", "a", "--scenarios", folder.file("")});
    INFO(ended.out);
    CHECK(ended.exit_code == 1);
    for (const char* word : {"课文 en", "链接 zh one", "题目 how-many", "检查 one scatter"})
        CHECK(ended.out.find(word) != std::string::npos);
    const auto line =
        1 +
        std::count(broken.begin(), broken.begin() + static_cast<std::ptrdiff_t>(broken.find("SELEKT")), '\n');
    CHECK(ended.out.find("scenario.toml:" + std::to_string(line) + ":7: ") != std::string::npos);
}

TEST_CASE("a lesson's trace never goes into one of the lesson's files") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    for (const char* file : {"01_a/scenario.toml", "01_a/lesson.zh.md"}) {
        const auto ended = program::run(
            {"lesson", "run", "a", "--scenarios", folder.file(""), "--trace", folder.file(file)});
        CHECK(ended.exit_code == 2);
    }
    CHECK(program::content(folder.file("01_a/scenario.toml")) == kScenario);
    CHECK(program::content(folder.file("01_a/lesson.zh.md")) == kText);
}

TEST_CASE("a lesson that does not exist is a usage error that says what there is") {
    const auto near = program::run({"lesson", "run", "hspd"});
    CHECK(near.exit_code == 2);
    CHECK(near.err.find("did you mean hsdp?") != std::string::npos);
    const auto far = program::run({"lesson", "check", "cooking"});
    CHECK(far.exit_code == 2);
    CHECK(far.err.find("hsdp") != std::string::npos);
    CHECK(program::run({"lesson", "list", "--scenarios", "/nowhere"}).exit_code == 74);
}
