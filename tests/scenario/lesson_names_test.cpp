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
    CHECK(chapter_of_folder("101_config") == 10);
    CHECK(chapter_of_folder("6_hsdp") == 0);
    CHECK(chapter_of_folder("my_lesson") == 0);
    CHECK(chapter_of_folder("001_a") == 0);
    CHECK(lesson_before("92_which_one", "101_config"));  // by number, not by letter
    CHECK_FALSE(lesson_before("101_config", "11_processes"));
    CHECK(lesson_before("104_published", "a_lesson_of_mine"));
    CHECK_FALSE(lesson_before("63_hsdp", "63_hsdp"));
    CHECK(short_lesson_name("63_hsdp") == "hsdp");
    CHECK(short_lesson_name("10_two_words") == "two_words");
    CHECK(short_lesson_name("plain") == "plain");
}
