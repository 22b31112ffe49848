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
    CHECK(mistakes("# a\n```\nx\n") == std::vector<std::string>{"3:1 lesson.open_code"});
}

TEST_CASE("numbers are found and filled") {
    CHECK(number_ids("{{a}} and {{ b }} and {{") == std::vector<std::string>{"a", "b"});
    CHECK(fill_numbers("x {{a}} y {{ b }}.", [](const std::string& id) { return "<" + id + ">"; }) ==
          "x <a> y <b>.");
    CHECK(fill_numbers("{{open", [](const std::string&) { return "?"; }) == "{{open");
}
