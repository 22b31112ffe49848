#include "core/scenario/lesson.h"

#include "core/base/error.h"
#include "tests/scenario/mistakes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::scenario;

namespace {

std::vector<std::string> mistakes(const std::string& text) {
    return test::mistakes_of([&] { parse_lesson(text, "lesson.en.md"); });
}

}  // namespace

TEST_CASE("a lesson has a title, an introduction and steps of paragraphs") {
    const LessonText lesson = parse_lesson(
        "# HSDP\nHello.\n\n## mesh: The mesh\nOne line\nand its rest.\n\n- a\n- b\n\n## run\n", "l.md");
    CHECK(lesson.title == "HSDP");
    REQUIRE(lesson.introduction.size() == 1);
    REQUIRE(lesson.steps.size() == 2);
    CHECK(lesson.steps[0].id == "mesh");
    CHECK(lesson.steps[0].heading == "The mesh");
    CHECK(lesson.steps[0].line == 4);
    REQUIRE(lesson.steps[0].paragraphs.size() == 3);
    CHECK(lesson.steps[0].paragraphs[0].spans[0].text == "One line and its rest.");
    CHECK(lesson.steps[0].paragraphs[1].bullet);
    CHECK(lesson.steps[1].id == "run");
    CHECK(lesson.steps[1].paragraphs.empty());
}

TEST_CASE("words, code, emphasis and links are told apart") {
    const LessonText lesson =
        parse_lesson("# t\n## s\nOn [rank 1](rank:1) the `all_gather` is **first**; see [1, 3].\n", "l.md");
    const std::vector<Span>& spans = lesson.steps[0].paragraphs[0].spans;
    REQUIRE(spans.size() == 7);
    CHECK(spans[0].text == "On ");
    CHECK(spans[1].kind == SpanKind::link);
    CHECK(spans[1].text == "rank 1");
    CHECK(spans[1].link_kind == "rank");
    CHECK(spans[1].link_target == "1");
    CHECK(spans[3].kind == SpanKind::code);
    CHECK(spans[3].text == "all_gather");
    CHECK(spans[5].kind == SpanKind::strong);
    CHECK(spans[6].text == "; see [1, 3].");
}

TEST_CASE("a code block keeps its lines") {
    const LessonText lesson = parse_lesson("# t\n## s\n```\nmesh = f(\n    (2, 2))\n```\nAfter.\n", "l.md");
    const auto& paragraphs = lesson.steps[0].paragraphs;
    REQUIRE(paragraphs.size() == 2);
    CHECK(paragraphs[0].code);
    CHECK(paragraphs[0].spans[0].text == "mesh = f(\n    (2, 2))");
}

TEST_CASE("goals, break, change and summary are no steps, and words beside the goals are the introduction") {
    const LessonText lesson = parse_lesson(
        "# t\nBefore.\n\n## goals: Goals\n- one\n- two\n\nAfter.\n\n## s: Step\nWords {{n}}.\n"
        "## break: Break\n{{break.m}}\n## change\nc\n## summary: Sum\n- a\n- b\n",
        "l.md");
    REQUIRE(lesson.steps.size() == 1);
    CHECK(lesson.goals.heading == "Goals");
    REQUIRE(lesson.goals.paragraphs.size() == 2);
    CHECK(lesson.goals.paragraphs[1].spans[0].text == "two");
    REQUIRE(lesson.introduction.size() == 2);
    CHECK(lesson.introduction[1].spans[0].text == "After.");
    CHECK(lesson.to_break.line == 12);
    CHECK(lesson.to_change.heading.empty());
    CHECK(lesson.summary.paragraphs.size() == 2);
    std::vector<std::string> ids;
    for (const LessonSection* section : lesson.sections()) ids.push_back(section->id);
    CHECK(ids == std::vector<std::string>{"goals", "s", "break", "change", "summary"});
    CHECK(number_ids(lesson) == std::vector<std::string>{"n", "break.m"});
    CHECK(parse_lesson("# t\n## s\n", "l.md").sections().size() == 1);
}

TEST_CASE("reserved sections stand in their places") {
    using List = std::vector<std::string>;
    CHECK(mistakes("# a\n## s\n## goals\n") == List{"3:4 lesson.section_place"});
    CHECK(mistakes("# a\n## break\n## s\n") == List{"3:4 lesson.section_place"});
    CHECK(mistakes("# a\n## s\n## change\n## break\n") == List{"4:4 lesson.section_place"});
    CHECK(mistakes("# a\n## goals\n## break\n## summary\n") == List{"(none)"});
    CHECK(mistakes("# a\n## goals\n## s\n## summary\n## summary\n") ==
          List{"5:4 lesson.step_twice", "5:4 lesson.section_place"});
}

TEST_CASE("lines of bars are a table, with links and code in its cells") {
    const LessonText lesson = parse_lesson(
        "# t\n## s\nBefore:\n| op | bytes |\n| --- | ---: |\n| `a|b` | [1](rank:1) \\| {{n}} |\n| | 2 "
        "|\nAfter.\n",
        "l.md");
    const auto& paragraphs = lesson.steps[0].paragraphs;
    REQUIRE(paragraphs.size() == 3);
    const Paragraph& table = paragraphs[1];
    CHECK(table.spans.empty());
    REQUIRE(table.rows.size() == 3);
    CHECK(table.right == std::vector<bool>{false, true});
    CHECK(table.rows[0][1][0].text == "bytes");
    CHECK(table.rows[1][0][0].kind == SpanKind::code);
    CHECK(table.rows[1][0][0].text == "a|b");
    CHECK(table.rows[1][1][0].link_target == "1");
    CHECK(table.rows[1][1][1].text == " | {{n}}");
    CHECK(table.rows[2][0].empty());
    CHECK(paragraphs[2].spans[0].text == "After.");
    CHECK(number_ids(lesson) == std::vector<std::string>{"n"});
}

TEST_CASE("a table without its line or with rows of other lengths is a mistake") {
    using List = std::vector<std::string>;
    CHECK(mistakes("# a\n## s\n| a | b |\n\nx\n") == List{"4:1 lesson.table_line"});
    CHECK(mistakes("# a\n## s\n| a | b |\n| 1 | 2 |\n") == List{"4:1 lesson.table_line"});
    CHECK(mistakes("# a\n## s\n| a | b |\n| --- |\n| 1 |\n") ==
          List{"4:1 lesson.table_cells", "5:1 lesson.table_cells"});
    CHECK(mistakes("# a\n## s\n| a |\n| --- |\n| 中 [x](rnk:1) |\n") == List{"5:5 lesson.unknown_link"});
    CHECK(mistakes("# a\n## s\n| a |") == List{"3:1 lesson.table_line"});
}

TEST_CASE("lines of Chinese are joined without a space") {
    const LessonText lesson = parse_lesson("# 标题\n## s\n第一行，\n第二行。\n", "l.md");
    CHECK(lesson.steps[0].paragraphs[0].spans[0].text == "第一行，第二行。");
}

TEST_CASE("mistakes in a lesson are told at their line and column") {
    CHECK(mistakes("") == std::vector<std::string>{"1:1 lesson.no_title"});
    CHECK(mistakes("# a\n# b\n") == std::vector<std::string>{"2:1 lesson.title_twice"});
    CHECK(mistakes("# a\n## s\n## s\n") == std::vector<std::string>{"3:4 lesson.step_twice"});
    CHECK(mistakes("# a\n## s\n中文 `x\n") == std::vector<std::string>{"3:4 lesson.open_mark"});
    CHECK(
        mistakes("# a\n## s\n[a](rnk:1)\n[b](rank:)\n[c](rank:1\n") ==
        std::vector<std::string>{"3:1 lesson.unknown_link", "4:1 lesson.empty_link", "5:1 lesson.open_link"});
    CHECK(mistakes("# a\n```\nx\n") == std::vector<std::string>{"2:1 lesson.open_code"});
}

TEST_CASE("what no editor would have written is told at its line") {
    using List = std::vector<std::string>;
    CHECK(mistakes("# a\n## s: S\nok \xff\xfe\n") == List{"3:4 lesson.not_utf8"});
    CHECK(mistakes(std::string("\xff\xfe#\0 \0a\0\n\0", 10)) ==  // UTF-16
          List{"1:1 lesson.not_utf8", "1:1 lesson.no_title", "2:1 lesson.control"});
    CHECK(mistakes("# a\n中\xe4\xb8\n") == List{"2:2 lesson.not_utf8"});    // cut short
    CHECK(mistakes("# a\n\xc0\xaf\n") == List{"2:1 lesson.not_utf8"});      // overlong
    CHECK(mistakes("# a\n\xed\xa0\x80\n") == List{"2:1 lesson.not_utf8"});  // half a pair
    CHECK(mistakes("# a\n```\nx = '\xb0'\n```\n") == List{"3:6 lesson.not_utf8"});
    CHECK(mistakes("# a\n\xd6\xd0\n\xce\xc4\n") == List{"2:1 lesson.not_utf8"});  // GBK: told once
    CHECK(mistakes("# a\n\x1b[31mred\n") == List{"2:1 lesson.control"});
    CHECK(mistakes("# a\r## s\r\n") == List{"1:4 lesson.control"});
    CHECK(mistakes("\xef\xbb\xbf# a\r\n## s: S\r\n\tx 😀 é 中\r\n") == List{"(none)"});
}

TEST_CASE("a number that is not closed, has no name or is closed twice is a mistake") {
    using List = std::vector<std::string>;
    CHECK(mistakes("# a\n## s: S\nThere are {{gathers of them.\n") == List{"3:11 lesson.open_mark"});
    CHECK(mistakes("# a\n有 {{gathers\n}} 次\n") == List{"2:3 lesson.open_mark", "3:1 lesson.close_mark"});
    CHECK(mistakes("# a\n{{}} and {{ }}\n") == List{"2:1 lesson.bad_number", "2:10 lesson.bad_number"});
    CHECK(mistakes("# a\n{{two words}}\n") == List{"2:1 lesson.bad_number"});
    CHECK(mistakes("# a\n{{Gathers}} {{{n}}}\n") == List{"2:1 lesson.bad_number", "2:13 lesson.bad_number"});
    CHECK(mistakes("# a\nn}} of them\n") == List{"2:2 lesson.close_mark"});
    CHECK(mistakes("# a\n｛｛n｝｝ 次\n") == List{"2:1 lesson.wide_mark", "2:4 lesson.wide_mark"});
    CHECK(mistakes("# a\n```\nf({{n)\n```\n") == List{"3:3 lesson.open_mark"});
    CHECK(mistakes("# a\n## s: S\n| n |\n| --- |\n| {{n |\n") == List{"5:3 lesson.open_mark"});
    CHECK(mistakes("# a\n```\nd = {1: {2: 3}}\n```\n`{1: {2: 3}}` {{n}} {{break.n-1}}\n") == List{"(none)"});
    const LessonText lesson = parse_lesson("# a\n{{n}}\n## s: S\n中 {{ m }}\n", "l.md");
    REQUIRE(lesson.numbers.size() == 2);
    CHECK(lesson.numbers[1].id == "m");
    CHECK(lesson.numbers[1].line == 4);
    CHECK(lesson.numbers[1].column == 3);
    CHECK(lesson.lines == 4);
    CHECK(lesson.path == "l.md");
}

TEST_CASE("Markdown that a lesson does not have is refused, not shown as it stands") {
    using List = std::vector<std::string>;
    for (const char* line : {"### deeper", "#no space", "##s: S", "#", "##", "  ## s: S", "＃ 标题"}) {
        INFO(line);
        const List told = mistakes(std::string("# a\n") + line + "\n");
        REQUIRE(told.size() == 1);
        CHECK(told.front().ends_with(" lesson.heading"));
    }
    for (const char* line :
         {"* item", "+ item", "  - deeper", "> quote", "---", "***", "===", "~~~", "::: note", "![a](b.png",
          "<br>", "</p>", "<!-- later -->", "1. first", "2) second", "• point", "   ```", "  | a |"}) {
        INFO(line);
        const List told = mistakes(std::string("# a\n") + line + "\n");
        REQUIRE_FALSE(told.empty());
        CHECK(told.front().ends_with(" lesson.unknown_mark"));
    }
    CHECK(mistakes("# a\nIt lasts\n3. The end < 4 and > 2, -1 * 2\n**1.** one\n--x\n") == List{"(none)"});
    CHECK(mistakes("# a\n## s: S\n[r]（rank:1） [1, 2]（两个）\n") == List{"3:3 lesson.wide_mark"});
}

TEST_CASE("sections have an id, titles stand first, and marks hold something") {
    using List = std::vector<std::string>;
    CHECK(mistakes("# a\n## : Heading\n") == List{"2:1 lesson.no_id"});
    CHECK(mistakes("# a\n## Gathered ahead\n") == List{"2:4 lesson.bad_id"});
    CHECK(mistakes("# a\n## prefetch：提前收集\n") == List{"2:4 lesson.bad_id"});
    CHECK(mistakes("Words.\n\n# a\n") == List{"3:1 lesson.title_place"});
    CHECK(mistakes("## s: S\n# a\n") == List{"2:1 lesson.title_place"});
    CHECK(mistakes("# \n") == List{"1:1 lesson.no_title"});
    CHECK(mistakes("# a\n`` and ****\n") == List{"2:1 lesson.empty_mark", "2:8 lesson.empty_mark"});
    CHECK(mistakes("# a\n[ ](rank:1)\n") == List{"2:1 lesson.link_words"});
    CHECK(mistakes("# a\n```\nx\n```python\ny\n") == List{"2:1 lesson.open_code", "4:1 lesson.open_code"});
    const LessonText lesson = parse_lesson("# a\nOne\nand [r](rank:1) `c`.\n", "l.md");
    const auto& spans = lesson.introduction.front().spans;
    REQUIRE(spans.size() == 5);
    CHECK(spans[0].line == 2);
    CHECK(spans[1].line == 3);
    CHECK(spans[1].column == 5);
    CHECK(spans[3].column == 17);
}

TEST_CASE("numbers are found and filled") {
    CHECK(number_ids("{{a}} and {{ b }} and {{") == std::vector<std::string>{"a", "b"});
    CHECK(fill_numbers("x {{a}} y {{ b }}.", [](const std::string& id) { return "<" + id + ">"; }) ==
          "x <a> y <b>.");
    CHECK(fill_numbers("{{open", [](const std::string&) { return "?"; }) == "{{open");
}
