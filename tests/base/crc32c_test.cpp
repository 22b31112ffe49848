#include "core/base/crc32c.h"

#include <algorithm>
#include <string>

#include "tests/test.h"

using meshscope::Crc32c;

namespace {

uint32_t of(const std::string& text) {
    Crc32c crc;
    crc.add(text.data(), text.size());
    return crc.value();
}

}  // namespace

TEST_CASE("crc32c agrees with its published values") {
    CHECK(of("123456789") == 0xE3069283U);  // the catalogue's check value
    // RFC 3720, B.4
    CHECK(of(std::string(32, '\0')) == 0x8A9136AAU);
    CHECK(of(std::string(32, '\xFF')) == 0x62A8AB43U);
    std::string ascending, descending;
    for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
    for (int i = 31; i >= 0; --i) descending += static_cast<char>(i);
    CHECK(of(ascending) == 0x46DD794EU);
    CHECK(of(descending) == 0x113FDB5CU);
    CHECK(of("") == 0U);
}

TEST_CASE("crc32c does not mind how its input is cut") {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 7);
    for (const std::size_t cut : {1U, 3U, 8U, 13U, 999U}) {
        Crc32c crc;
        for (std::size_t at = 0; at < text.size(); at += cut)
            crc.add(text.data() + at, std::min<std::size_t>(cut, text.size() - at));
        CHECK(crc.value() == of(text));
    }
}

TEST_CASE("crc32c of long texts is what the definition, bit by bit, says") {
    // Long enough for every path: several lanes, words and single bytes behind them, and unaligned starts.
    std::string text;
    uint32_t x = 1;
    for (int i = 0; i < 20'000; ++i) text += static_cast<char>((x = x * 1'664'525U + 1'013'904'223U) >> 24);
    const auto by_definition = [](const std::string& s) {
        uint32_t crc = 0xFFFFFFFFU;
        for (const char c : s) {
            crc ^= static_cast<unsigned char>(c);
            for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1) ^ 0x82F63B78U : crc >> 1;
        }
        return ~crc;
    };
    for (const std::size_t begin : {0U, 1U, 5U})
        for (const std::size_t n : {7U, 6'143U, 6'144U, 6'145U, 12'288U, 18'437U, 19'990U})
            CHECK(of(text.substr(begin, n)) == by_definition(text.substr(begin, n)));
}
