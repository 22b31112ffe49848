#include "core/base/nearest.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("edits are counted as a person makes them") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("kitten", "sitting") == 3);  // Levenshtein's own example
    CHECK(edit_distance("setps", "steps") == 1);     // two neighbours swapped are one slip
    CHECK(edit_distance("abc", "") == 3);
}

TEST_CASE("the nearest word is offered only when it is near") {
    const std::vector<std::string> keys{"steps", "global_batch", "accumulate", "clip_norm"};
    CHECK(nearest("step", keys) == "steps");
    CHECK(nearest("globalbatch", keys) == "global_batch");
    CHECK(nearest("learning_rate", keys).empty());
    CHECK(nearest("", keys).empty());
    CHECK(nearest("AdamW", {"sgd", "adam", "adamw"}) == "adamw");
    CHECK(nearest("1f1b", {"GPipe", "1F1B"}) == "1F1B");
    CHECK(nearest(std::string(1000, 'a'), keys).empty());
}
