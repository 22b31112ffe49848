// `meshscope lesson check`: every broken promise is found, at its place.
#include <algorithm>
#include <sstream>

#include "tests/cli/made_lesson.h"
#include "tests/cli/program.h"
#include "tests/test.h"

using namespace made_lesson;

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
    check(with(kScenario, "= 1 FROM", "= 9 FROM"), kText, ": the query returned 0");
    check(with(kScenario, "WHERE rank = 0 LIMIT 1\"\n[[lesson", "WHERE rank = 9\"\n[[lesson"), kText,
          "event of step one: ");
    check(with(kScenario, "when = \"1\"", "when = \"2\""), kText, "quiz how-many: ");
    check(with(kScenario, "SELECT group_ranks", "SELECT unit"), kText, "quiz who: ");
    check(kScenario, with(kText, "rank:1", "rank:2"), "[rank 1](rank:2) points at nothing");
    check(kScenario, with(kText, "dim:shard", "dim:tp"), "dim:tp");
    check(kScenario, with(kText, "{{gathers}}", "{{scatters}}"), "scatters");
    check(kScenario, with(kText, "## break", "## two\n\nMore.\n\n## break"), "one, two");
    check(with(kScenario, "chapter = 1\n", ""), kText, "chapter is missing");
    check(with(kScenario, "chapter = 1\n", "chapter = 2\n"), kText,
          "the folder 11_a belongs to another chapter");
    check(with(kScenario, "id = \"break\"", "id = \"other\""), kText, "id \"break\"");
    check(with(kScenario, "batch_does_not_divide", "mesh_dims"), kText,
          "variant break ended with scenario.batch_does_not_divide; it must end with scenario.mesh_dims");
    check(with(kScenario, "ends = \"scenario.batch_does_not_divide\"\n", ""), kText,
          "a global batch of 8 cannot be split");
    check(with(kScenario, "[3] }\n", "[4] }\n"), kText, "variant break ran to its end");
    check(with(kScenario, "set = { \"parallel.reshard_after_forward\" = false }",
               "set = { faults = [{ kind = \"kill\", rank = 1, step = 1 }] }"),
          kText, "variant change must run to its end, but ended with diagnosis.lost");
    check(with(kScenario, "\nsql = \"SELECT count(*)", "\nsql = \"SELECT cont(*)"), kText, "number gathers");
    check(kScenario, with(kText, "## goals: Goals\n\n- Count gathers.\n- Change them.\n\n", ""), "## goals");
    check(kScenario, with(kText, "- Change them.\n", ""), "goals needs two to four points, and has 1");
    check(kScenario, with(kText, "- e\n", ""), "exactly five points");
    check(kScenario, with(kText, "{{change.gathers}}", "{{change.scatters}}"), "change.scatters");
    check(kScenario, "no title\n", "lesson.en.md:1:1");
    check(with(kScenario, "steps = 2", "steps = 0"), kText, "scenario.toml:6:9");
}

TEST_CASE("lesson check sees that the languages name other numbers") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    std::string zh = kText;
    const std::size_t at = zh.find("Now {{change.gathers}}.");
    zh.replace(at, 23, "Now {{gathers}}.");
    folder.write("11_a/lesson.zh.md", zh);
    const auto ended = program::run({"lesson", "check", "a", "--scenarios", folder.file("")});
    CHECK(ended.exit_code == 1);
    CHECK(ended.out.find(
              "change: the English text names the numbers [change.gathers], the Chinese text [gathers]") !=
          std::string::npos);
}

TEST_CASE("a number that there is not, in one language's text, is one mistake") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    std::string zh = kText;
    const std::string from = "Now {{change.gathers}}.";
    zh.replace(zh.find(from), from.size(), "Now {{change.gather}}.");
    folder.write("11_a/lesson.zh.md", zh);
    const auto ended = program::run({"lesson", "check", "a", "--scenarios", folder.file("")});
    INFO(ended.out);
    CHECK(ended.exit_code == 1);
    CHECK(ended.out.find("no [[lesson.number]] is called \"change.gather\"") != std::string::npos);
    CHECK(ended.out.find("failed") == ended.out.rfind("failed"));
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

TEST_CASE("lesson check tells the line of every mistake in a text and what would be right") {
    const auto with = [](std::string text, const std::string& from, const std::string& to) {
        REQUIRE(text.find(from) != std::string::npos);
        return text.replace(text.find(from), from.size(), to);
    };
    const auto check = [](const std::string& en, const std::vector<std::string>& said,
                          const std::string& language = "en") {
        const program::Folder folder;
        write_lesson(folder, kScenario, kText);
        folder.write("11_a/lesson." + language + ".md", en);
        const auto ended = program::run({"lesson", "check", folder.file("11_a")});
        INFO(ended.out << ended.err);
        CHECK(ended.exit_code == 1);
        CHECK(ended.err.empty());
        for (const std::string& words : said) {
            INFO(words);
            CHECK(flat(ended.out).find(words) != std::string::npos);
        }
        // No mistake of a text without its line.
        std::istringstream lines(ended.out);
        for (std::string line; std::getline(lines, line);)
            if (line.find("failed") == 0) CHECK(line.find(".md:") != std::string::npos);
    };
    check(with(kText, "along", "\xff along"),
          {"lesson.en.md:10:51: byte FF is not valid UTF-8", "save the file as UTF-8"});
    check(with(kText, "## one: Gathering", "## one"),
          {"lesson.en.md:8: the section \"one\" has no heading", "write ## one: followed by a heading"});
    check(with(kText, "{{gathers}} gathers", "{{gathers gathers"),
          {"lesson.zh.md:10:31: {{ is opened but not closed", "a number is written {{id}}"}, "zh");
    check(with(kText, "{{gathers}} gathers", "{{gatherz}} gathers"),
          {"links en one: ", "lesson.en.md:10:31: no [[lesson.number]] is called \"gatherz\"",
           "did you mean gathers?"});
    check(with(kText, "dim:shard", "dim:sard"),
          {"lesson.en.md:10:57: the link [shard](dim:sard) points at nothing", "possible: shard"});
    check(with(kText, "rank:1", "rank:2"), {"lesson.en.md:10:4: ", "possible: ranks 0 to 1"});
    check(with(kText, "## one:", "### one:"), {"lesson.en.md:8:1: a heading cannot begin with ###"});
    check(with(kText, "- Change them.", "* Change them."), {"lesson.en.md:6:1: * at the start of a line"});
    check(with(kText, "- Change them.\n", ""), {"lesson.en.md:3: goals needs two to four points"});
    check(with(kText, "- e\n", ""), {"lesson.en.md:25: summary needs exactly five points"});
    check(with(kText, "## break: Three ranks\n\n8 samples on 3 ranks.\n\n", ""),
          {"lesson.en.md:17: the section \"## break\" is missing", "every lesson has ## goals:"});
    check(with(kText, "## goals: Goals\n\n- Count gathers.\n- Change them.\n\n", ""),
          {"lesson.en.md:3: the section \"## goals\" is missing"});
    check(with(kText, "## summary: Summary\n\n- a\n- b\n- c\n- d\n- e\n", ""),
          {"lesson.en.md:24: the section \"## summary\" is missing"});
    check(with(kText, "8 samples on 3 ranks.\n", ""), {"lesson.en.md:17: the step \"break\" has no text"});
    check(with(kText, "## one:", "## once:"),
          {"lesson.en.md:8: the text has the steps once; the scenario has one"});
    // Both texts at once, and the scenario with them.
    const program::Folder folder;
    write_lesson(folder, with(kScenario, "steps = 2", "steps = 0"), with(kText, "## one:", "## one："));
    const auto all = program::run({"lesson", "check", folder.file("11_a"), "--lang", "zh"});
    INFO(all.out);
    for (const char* place : {"scenario.toml:6:9: ", "lesson.en.md:8:4: ", "lesson.zh.md:8:4: "})
        CHECK(all.out.find(place) != std::string::npos);
    CHECK(all.out.find("id 后面要用半角冒号") != std::string::npos);
}

TEST_CASE("a question's text in the scenario is held to the same rules") {
    const program::Folder folder;
    std::string open = kScenario;
    open.replace(open.find("There are {{gathers}}."), 22, "There are {{gathers.");
    write_lesson(folder, open, kText);
    const auto ended = program::run({"lesson", "check", folder.file("11_a")});
    CHECK(ended.exit_code == 1);
    CHECK(ended.out.find("{{ is opened but not closed") != std::string::npos);
    CHECK(ended.out.find("scenario.toml:") != std::string::npos);
}
