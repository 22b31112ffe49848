#include "core/base/json_text.h"

#include <string>

#include "tests/test.h"

using namespace meshscope;
using nlohmann::json;
using nlohmann::ordered_json;

TEST_CASE("JSON of any depth is no JSON to us, before anything calls itself") {
    for (const std::string open : {"[", "{\"a\":", "[{\"a\":"}) {
        std::string deep;
        for (int i = 0; i < 200'000; ++i) deep += open;
        CHECK(parse_json<ordered_json>(deep).is_discarded());
    }
    const std::string most = std::string(kMostJsonDepth, '[') + std::string(kMostJsonDepth, ']');
    CHECK(parse_json<json>(most).is_array());
    CHECK(parse_json<json>("[" + most + "]").is_discarded());
    CHECK(parse_json<json>("[\"" + std::string(1000, '[') + "\\\"[{\"]").is_array());
}

TEST_CASE("an object of more members than can be looked through is no JSON to us") {
    const auto object = [](int64_t members) {
        std::string text = "{";
        for (int64_t i = 0; i < members; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
        return text + "}";
    };
    CHECK(parse_json<json>(object(kMostJsonMembers)).is_object());
    CHECK(parse_json<ordered_json>(object(kMostJsonMembers + 1)).is_discarded());
}

TEST_CASE("what is behind a NUL is not left out") {
    CHECK(parse_json<json>(std::string_view("{}\0x", 4)).is_discarded());
    CHECK(parse_json<json>("{} x").is_discarded());
    CHECK(parse_json<json>("{} ").is_object());
}

TEST_CASE("a number is taken only where its type can hold it") {
    const auto whole = [](const char* text) { return json_whole<int32_t>(json::parse(text)); };
    CHECK(whole("-2147483648") == -2147483648LL);
    CHECK(whole("2147483647") == 2147483647);
    for (const char* text : {"2147483648", "-2147483649", "-9223372036854775808", "18446744073709551615",
                             "4294967296", "1.0", "1e300", "true", "null", "\"1\"", "[1]"})
        CHECK_FALSE(whole(text));
    CHECK(json_whole<int64_t>(json::parse("9223372036854775807")) == 9223372036854775807);
    CHECK_FALSE(json_whole<int64_t>(json::parse("9223372036854775808")));
}

TEST_CASE("JSON is written without a character that steers, and reads back the same") {
    const json object{{"a\u202e", "\x1b[2J\xc2\x9b\x7f\u200b\U000e0041分"}};
    const std::string text = json_text(object, 1);
    CHECK(text == "{\n \"a\\u202e\": \"\\u001b[2J\\u009b\\u007f\\u200b\\udb40\\udc41分\"\n}");
    CHECK(json::parse(text) == object);
    CHECK(json_text(json("\xff")) == "\"\xef\xbf\xbd\"");
}
