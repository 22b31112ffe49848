// The command `meshscope lesson`: the list, a lesson told, its questions answered, its numbers.
#include <algorithm>

#include "tests/cli/made_lesson.h"
#include "tests/cli/program.h"
#include "tests/test.h"

using namespace made_lesson;

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
          "There are 2.", "88 → 176", "fully_shard", "loss", "caused by", "Goals\n- Count gathers.\n- Change",
          "what  gathers\n一步        2\nkept        1\n", "Break it · Three ranks\n8 samples on 3 ranks.",
          "mesh.shape = [ 3 ]", "Change it · Kept whole\nNow 1.", "original  this run",
          "In five lines · Summary\n- a\n- b\n"}) {
        INFO(part);
        CHECK(told.out.find(part) != std::string::npos);
    }
    CHECK(flat(told.out).find("This run ended with: ") != std::string::npos);
    CHECK(flat(told.out).find("a global batch of 8 cannot be split into 3") != std::string::npos);
    CHECK(told.out.find("{{") == std::string::npos);
    CHECK(program::run({"lesson", "run", "11", "--lang", "zh", "--scenarios", folder.file("")})
              .out.find("答案：2") != std::string::npos);
}

TEST_CASE("on a terminal the questions wait for answers, give hints and a second try") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    const auto told =
        program::run_on_terminal({"lesson", "run", "a", "--scenarios", folder.file("")},
                                 "1\n2\n1, 0\n\nb\n\n\n");  // two questions, next, b, next, not c
    CHECK(told.exit_code == 0);
    CHECK(told.out.find("[Enter] next") != std::string::npos);
    CHECK(told.out.find("[b] break it") != std::string::npos);
    CHECK(flat(told.out).find("a global batch of 8 cannot be split into 3") != std::string::npos);
    CHECK(told.out.find("[c] change it") != std::string::npos);
    CHECK(told.out.find("this run") == std::string::npos);  // c was not pressed
    CHECK(told.out.find("\x1b[1m1/1  Gathering") != std::string::npos);
    const std::size_t wrong = told.out.find("Not quite."), hint = told.out.find("Backward needs one too."),
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

TEST_CASE("a lesson's numbers are printed as its texts show them, its variants' too") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    const auto lines = program::run({"lesson", "numbers", "a", "--scenarios", folder.file("")});
    CHECK(lines.exit_code == 0);
    CHECK(lines.out == "gathers = 2\nchange.gathers = 1\n");
    const auto json = program::run({"lesson", "numbers", "a", "--json", "--scenarios", folder.file("")});
    CHECK(json.out == "{\"lesson\":\"11_a\",\"numbers\":{\"gathers\":\"2\",\"change.gathers\":\"1\"}}\n");
    std::string broken = kScenario;
    broken.replace(broken.find("SELECT count(*)"), 15, "SELECT cont(*) ");
    folder.write("11_a/scenario.toml", broken);
    const auto failed = program::run({"lesson", "numbers", "a", "--scenarios", folder.file("")});
    CHECK(failed.exit_code == 1);
    CHECK(failed.out == "change.gathers = 1\n");
    CHECK(failed.err.find("11_a gathers: ") != std::string::npos);
}

TEST_CASE("lessons are listed under their chapters, and each tells of the next") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    std::string later = kScenario;
    later.replace(later.find("chapter = 1"), 11, "chapter = 9");
    folder.write("91_b/scenario.toml", later);
    const auto list = program::run({"lesson", "list", "--scenarios", folder.file("")});
    const std::size_t first = list.out.find("\n1  Groups and meshes\n11_a"),
                      last = list.out.find("\n9  Which one should I use?\n91_b");
    CHECK(first != std::string::npos);
    CHECK(last != std::string::npos);
    CHECK(first < last);
    CHECK(program::run({"lesson", "list", "--lang", "zh", "--scenarios", folder.file("")})
              .out.find("9  该用哪一种？") != std::string::npos);
    CHECK(program::run({"lesson", "run", "a", "--scenarios", folder.file("")})
              .out.find("Next lesson: 91_b, A lesson") != std::string::npos);
}

TEST_CASE("a lesson's trace never goes into one of the lesson's files") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    for (const char* file : {"11_a/scenario.toml", "11_a/lesson.zh.md"}) {
        const auto ended = program::run(
            {"lesson", "run", "a", "--scenarios", folder.file(""), "--trace", folder.file(file)});
        CHECK(ended.exit_code == 2);
    }
    CHECK(program::content(folder.file("11_a/scenario.toml")) == kScenario);
    CHECK(program::content(folder.file("11_a/lesson.zh.md")) == kText);
    // Nor do two lessons go into one file.
    folder.write("12_b/scenario.toml", kScenario);
    const auto two = program::run({"lesson", "run", folder.file(""), "--trace", folder.file("x.mscope")});
    CHECK(two.exit_code == 2);
    CHECK(two.err.find("--trace names one file, but 2 lessons were given") != std::string::npos);
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

TEST_CASE("a lesson is found by its folder, by one of its files and in a folder of lessons") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    folder.write("12_b/scenario.toml", kScenario);
    for (const char* language : {"en", "zh"})
        folder.write(std::string("12_b/lesson.") + language + ".md", kText);
    const std::string wanted =
        "{\"lesson\":\"11_a\",\"numbers\":{\"gathers\":\"2\",\"change.gathers\":\"1\"}}\n";
    for (const char* path : {"11_a", "11_a/", "12_b/../11_a", "11_a/scenario.toml", "11_a/lesson.zh.md"}) {
        INFO(path);
        CHECK(program::run({"lesson", "numbers", folder.file(path), "--json"}).out == wanted);
    }
    // From the folders themselves: a relative path, a name that stands here, and "." have a name too.
    for (const auto& [here, path] : {std::pair("", "11_a"), std::pair("", "./11_a"), std::pair("11_a", "."),
                                     std::pair("11_a", "scenario.toml"), std::pair("12_b", "../11_a/")}) {
        INFO(here << " " << path);
        const auto ended = program::run({"lesson", "numbers", path, "--json"}, {.folder = folder.file(here)});
        CHECK(ended.out == wanted);
        CHECK(program::run({"lesson", "check", path}, {.folder = folder.file(here)}).exit_code == 0);
    }
    const auto both = program::run({"lesson", "numbers", folder.file("")});
    CHECK(both.out == "gathers = 2\nchange.gathers = 1\ngathers = 2\nchange.gathers = 1\n");
    const auto told = program::run({"lesson", "run", "."}, {.folder = folder.file("11_a")});
    CHECK(told.exit_code == 0);
    CHECK(told.out.find("Next lesson: 12_b, A lesson") != std::string::npos);
    // The chapter that the folder's name says is held to from inside it too.
    std::string other = kScenario;
    other.replace(other.find("chapter = 1"), 11, "chapter = 2");
    folder.write("11_a/scenario.toml", other);
    CHECK(program::run({"lesson", "check", "."}, {.folder = folder.file("11_a")})
              .out.find("the folder 11_a belongs to another chapter") != std::string::npos);
}

TEST_CASE("a folder without a lesson, a path that is none and a slip of the name are told plainly") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    folder.write("empty/notes.txt", "none");
    folder.write("else.toml", kScenario);
    const auto said = [&](const std::vector<std::string>& words, const std::string& what) {
        const auto ended = program::run(words);
        INFO(ended.out << ended.err);
        CHECK(ended.exit_code == 2);
        CHECK(ended.out.empty());
        CHECK(ended.err.find(what) != std::string::npos);
        CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
    };
    const std::string none = "there is no lesson in " + folder.file("empty") + ": a lesson is a folder with";
    for (const char* command : {"run", "check", "numbers"}) {
        said({"lesson", command, folder.file("empty")}, none);
        said({"lesson", command, "all", "--scenarios", folder.file("empty")}, none);
        said({"lesson", command, folder.file("else.toml")}, "else.toml is not a lesson: ");
        said({"lesson", command, folder.file("nothing/at/all")}, "nothing/at/all is not a lesson: ");
    }
    said({"lesson", "list", "--scenarios", folder.file("empty")}, none);
    said({"lesson", "check", folder.file("11_b")}, "did you mean " + folder.file("11_a") + "?");
    said({"lesson", "check", "12_devise_mesh"}, "did you mean device_mesh?");
    said({"lesson", "check", "63-hsdp"}, "did you mean 63_hsdp?");
    said({"lesson", "check", "HSDP"}, "did you mean hsdp?");
    said({"lesson", "check", "barrier", "--lang", "zh"}, "没有 barrier 这一课");
    CHECK(program::run({"lesson", "list", "--scenarios", folder.file("11_a")}).out.find("11_a    A lesson") !=
          std::string::npos);
}

TEST_CASE("a lesson that cannot be read hides no other from the list, and one without its scenario is told") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    folder.write("12_b/scenario.toml", "format = 1\n");
    folder.write("13_c/lesson.en.md", kText);
    const auto list = program::run({"lesson", "list", "--scenarios", folder.file("")});
    CHECK(list.exit_code != 0);
    CHECK(list.out.find("11_a    A lesson") != std::string::npos);
    CHECK(list.err.find("12_b/scenario.toml:") != std::string::npos);
    CHECK(list.err.find("13_c/scenario.toml; check the path") != std::string::npos);
    const auto check = program::run({"lesson", "check", "all", "--scenarios", folder.file("")});
    CHECK(check.exit_code == 1);
    CHECK(check.out.find("failed  13_c") != std::string::npos);
}

TEST_CASE("lines of standard input answer one question each, and what answers none is told") {
    const program::Folder folder;
    write_lesson(folder, kScenario, kText);
    const auto tell = [&](const std::string& lines, std::vector<std::string> more = {}) {
        folder.write("answers", lines);
        std::vector<std::string> words{"lesson", "run", folder.file("11_a")};
        words.insert(words.end(), more.begin(), more.end());
        auto told = program::run(words, {.in_file = folder.file("answers")});
        CHECK(told.exit_code == 0);
        told.out = flat(told.out);
        INFO(told.out << told.err);
        return told;
    };
    const auto right = tell("2\n1, 0");  // the last line has no end
    CHECK(right.out.find("Line 1 for question how-many: 2 Right. There are 2.") != std::string::npos);
    CHECK(right.out.find("Line 2 for question who: 1, 0 Right.") != std::string::npos);
    CHECK(right.out.find("Answer:") == std::string::npos);
    CHECK(right.err.find("Answers are read from standard input") != std::string::npos);
    CHECK(right.err.find("answer no question") == std::string::npos);
    // A wrong one and a slip take their own line only.
    const auto wrong = tell("1\r\nnobody\n\nb\n");
    CHECK(wrong.out.find("Line 1 for question how-many: 1 Not quite. Backward needs one too. Answer: 2") !=
          std::string::npos);
    CHECK(wrong.out.find("Line 2 for question who: nobody That is not a list of ranks.") !=
          std::string::npos);
    CHECK(wrong.err.find("line 3 of standard input and what follows it answer no question") !=
          std::string::npos);
    const auto fewer = tell("\n");
    CHECK(fewer.out.find("Line 1 for question how-many is empty. Answer: 2") != std::string::npos);
    CHECK(fewer.out.find("Standard input has no line for question who. Answer:") != std::string::npos);
    const auto huge = tell(std::string(3000000, '7') + "\x1b\n0,1\n", {"--lang", "zh"});
    CHECK(huge.out.find(std::string(60, '7') + " …") != std::string::npos);
    CHECK(huge.out.find(std::string(61, '7')) == std::string::npos);
    CHECK(huge.out.find("第 2 行回答题目 who：0,1") != std::string::npos);
    // --no-input reads nothing; and nothing to read is no mistake.
    const auto silent = tell("2\n", {"--no-input"});
    CHECK(silent.out.find("Line 1") == std::string::npos);
    CHECK(silent.err.find("standard input") == std::string::npos);
    const auto closed = program::run({"lesson", "run", folder.file("11_a")}, {.in_file = ""});
    CHECK(closed.exit_code == 0);
    CHECK(closed.out.find("Answer: 2") != std::string::npos);
    CHECK(closed.err.find("standard input") == std::string::npos);
}

TEST_CASE("the PyTorch line of ZeRO names the stage that ran") {
    for (const std::string stage : {"1", "2", "3"}) {
        INFO(stage);
        const program::Folder folder;
        std::string scenario = kScenario;
        scenario.replace(scenario.find("fsdp2"), 5, "zero" + stage);
        const std::string kept = "\"parallel.reshard_after_forward\" = false";  // FSDP's alone
        scenario.replace(scenario.find(kept), kept.size(), "\"train.steps\" = 3");
        write_lesson(folder, scenario, kText);
        const auto told = program::run({"lesson", "run", folder.file("11_a")});
        CHECK(told.exit_code == 0);
        for (const std::string other : {"1", "2", "3"})
            CHECK((flat(told.out).find("{\"zero_optimization\": {\"stage\": " + other + "}}") !=
                   std::string::npos) == (other == stage));
    }
}
