// A lesson's text: headings, bound words, numbers to be filled in.
#include "core/scenario/lesson.h"

#include <string>

#include "core/base/error.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(lesson) {
    try {
        static_cast<void>(meshscope::scenario::parse_lesson(input, "lesson.en.md"));
        static_cast<void>(
            meshscope::scenario::fill_numbers(input, [](const std::string& id) { return "<" + id + ">"; }));
    } catch (const meshscope::InputError&) {
    }
}
