#include "core/base/text.h"

#include <utility>

#include "core/base/digits.h"
#include "tests/test.h"

using namespace meshscope;

TEST_CASE("what would steer a terminal, hide words or turn them round is shown, not done") {
    CHECK(printable("\x1b[2J\a\b\x7f") == "\\u001b[2J\\u0007\\u0008\\u007f");
    CHECK(printable("\xc2\x9b"
                    "2J\xc2\x85") == "\\u009b2J\\u0085");                       // C1: CSI, NEL
    CHECK(printable("a\u202eb\u2066c\u200fd") == "a\\u202eb\\u2066c\\u200fd");  // directions
    CHECK(printable("a\u200bb\u2060c\ufeffd\u00ade") == "a\\u200bb\\u2060c\\ufeffd\\u00ade");
    CHECK(printable("a\u2028b\u2029c") == "a\\u2028b\\u2029c");
    CHECK(printable("\U000e0041\ufffe") == "\\udb40\\udc41\\ufffe");  // as JSON has it
    CHECK(printable(std::string_view("a\0b", 3)) == "a\\u0000b");
    CHECK(printable("a\nb\tc", "\n") == "a\nb\\u0009c");
}

TEST_CASE("what is seen stays as it is, in every script") {
    for (const std::string text : {"plain, 'quoted' \\u001b", "分片 → é Ω 🙂", ""}) {
        CHECK(printable(text) == text);
        CHECK_FALSE(has_unseen(text));
    }
    CHECK(has_unseen("a\u202e"));
    CHECK(has_unseen("a\xff"));
}

TEST_CASE("a number's whole part is grouped by threes, and nothing else of it") {
    for (const auto& [number, text] :
         {std::pair("0", "0"), std::pair("999", "999"), std::pair("1000", "1,000"),
          std::pair("-999.1234", "-999.1234"), std::pair("-123456.7891", "-123,456.7891"),
          std::pair("70553706496", "70,553,706,496"), std::pair("inf", "inf"), std::pair("", "")})
        CHECK(grouped(number) == text);
}

TEST_CASE("an exponent has neither a plus nor zeros in front") {
    CHECK(plain_exponent("1e+09") == "1e9");
    CHECK(plain_exponent("1e-07") == "1e-7");
    CHECK(plain_exponent("1.5e+300") == "1.5e300");
    CHECK(plain_exponent("1e+00") == "1e0");
    CHECK(plain_exponent("0.25") == "0.25");
}

TEST_CASE("bytes that are no UTF-8 are shown one by one") {
    CHECK(printable("\xff\xfe"
                    "a") == "\\xff\\xfea");
    CHECK(printable("\x9b"
                    "2J") == "\\x9b2J");                    // a terminal of eight bits would obey it
    CHECK(printable("\xe5\x88") == "\\xe5\\x88");           // cut short
    CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // an ESC-like character, longer than it need be
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half of a pair
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
}
