#include "core/scenario/lesson_names.h"

#include "tests/test.h"

using namespace meshscope::scenario;

TEST_CASE("a lesson is known by its folder, its short name and its number") {
    for (const char* word : {"02_hsdp", "hsdp", "2", "02", "002"}) {
        INFO(word);
        CHECK(names_lesson(word, "02_hsdp"));
    }
    for (const char* word : {"", "0", "3", "20", "2_hsdp", "HSDP", "02_", "hsd"}) {
        INFO(word);
        CHECK_FALSE(names_lesson(word, "02_hsdp"));
    }
    CHECK(names_lesson("my_lesson", "my_lesson"));
    CHECK_FALSE(names_lesson("lesson", "my_lesson"));  // not numbered: "my" is part of the name
    CHECK_FALSE(names_lesson("", "_x"));
    CHECK(short_lesson_name("02_hsdp") == "hsdp");
    CHECK(short_lesson_name("10_two_words") == "two_words");
    CHECK(short_lesson_name("plain") == "plain");
}
