#include "core/scenario/lesson.h"

#include "tests/test.h"

using namespace meshscope::scenario;

TEST_CASE("a lesson is known by its folder, its short name and its number") {
    for (const char* word : {"63_hsdp", "hsdp", "63", "063", "0063"}) {
        INFO(word);
        CHECK(names_lesson(word, "63_hsdp"));
    }
    for (const char* word : {"", "0", "6", "3", "630", "3_hsdp", "HSDP", "63_", "hsd"}) {
        INFO(word);
        CHECK_FALSE(names_lesson(word, "63_hsdp"));
    }
    CHECK(names_lesson("my_lesson", "my_lesson"));
    CHECK_FALSE(names_lesson("lesson", "my_lesson"));  // not numbered: "my" is part of the name
    CHECK_FALSE(names_lesson("", "_x"));
    CHECK(chapter_of_folder("63_hsdp") == 6);
    CHECK(chapter_of_folder("6_hsdp") == 0);
    CHECK(chapter_of_folder("my_lesson") == 0);
    CHECK(short_lesson_name("63_hsdp") == "hsdp");
    CHECK(short_lesson_name("10_two_words") == "two_words");
    CHECK(short_lesson_name("plain") == "plain");
}
