// Values: what Python 3.11 prints for the same values.
#include "core/mesh/python_text.h"

#include <limits>

#include "tests/test.h"

using namespace meshscope::mesh;
using Numbers = std::vector<int64_t>;
using Words = std::vector<std::string>;

TEST_CASE("tuples and lists are printed as Python prints them") {
    CHECK(python_tuple(Words{}) == "()");
    CHECK(python_tuple(Words{"tp"}) == "('tp',)");
    CHECK(python_tuple(Words{"shard", "replicate"}) == "('shard', 'replicate')");
    CHECK(python_tuple(Numbers{4}) == "(4,)");
    CHECK(python_tuple(Numbers{-1, 2}) == "(-1, 2)");
    CHECK(python_list(Words{"a", "b"}) == "['a', 'b']");
    CHECK(python_list(Numbers{}) == "[]");
    CHECK(python_nested_list({2, 2}, {0, 2, 4, 6}) == "[[0, 2], [4, 6]]");
    CHECK(python_nested_list({2, 1, 1}, {3, 7}) == "[[[3]], [[7]]]");
    CHECK(python_nested_list({}, {3}) == "3");
}

TEST_CASE("a product has all its digits, as in Python") {
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                      kMost = std::numeric_limits<int64_t>::max();
    CHECK(python_product({}) == "1");
    CHECK(python_product({2, -3}) == "-6");
    CHECK(python_product({kMost, 0, kMost}) == "0");
    CHECK(python_product({1'000'000'000, 1'000'000'000}) == "1000000000000000000");
    CHECK(python_product({2, kLeast}) == "-18446744073709551616");
    CHECK(python_product({kMost, kMost}) == "85070591730234615847396907784232501249");
    CHECK(python_product({kLeast, kLeast, -1, 10}) == "-850705917302346158658436518579420528640");
}

TEST_CASE("strings are quoted as Python quotes them") {
    CHECK(python_repr("tp") == "'tp'");
    CHECK(python_repr("it's") == "\"it's\"");
    CHECK(python_repr("it's \"x\"") == "'it\\'s \"x\"'");
    CHECK(python_repr("a\\b") == "'a\\\\b'");
    CHECK(python_repr("a\nb\tc\rd") == "'a\\nb\\tc\\rd'");
    CHECK(python_repr(std::string("\x01\x7f", 2)) == "'\\x01\\x7f'");
    CHECK(python_repr("张量") == "'张量'");
}
