#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace meshscope {
namespace {

struct Range {
    char32_t first, last;
};

/// What is_unseen() is true of below U+FFFE: Unicode's categories Cc and Cf, its line and paragraph
/// separators, and the letters that are blank by definition.
constexpr std::array<Range, 25> kUnseen{
    {{0x0, 0x1F},        {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x600, 0x605},
     {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x115F, 0x1160},   {0x17B4, 0x17B5},
     {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},   {0x3164, 0x3164},
     {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x110BD, 0x110BD},
     {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}}};

/// \u001b
void add_code(std::string& shown, char32_t unit) {
    constexpr std::string_view kHex = "0123456789abcdef";
    shown += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) shown += kHex[(unit >> shift) & 15];
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

CodePoint code_point_at(std::string_view text, std::size_t i) {
    const auto byte = [&](std::size_t k) {
        return i + k < text.size() ? static_cast<uint8_t>(text[i + k]) : uint8_t{0};
    };
    const uint8_t first = byte(0);
    if (first < 0x80) return {first, 1, true};
    const std::size_t n = first >= 0xC2 && first < 0xE0   ? 2
                          : first >= 0xE0 && first < 0xF0 ? 3
                          : first >= 0xF0 && first < 0xF5 ? 4
                                                          : 1;
    char32_t value = first & (0xFFU >> (n + 1));
    for (std::size_t k = 1; k < n; ++k) {
        if ((byte(k) & 0xC0) != 0x80) return {first, 1, false};
        value = (value << 6) | (byte(k) & 0x3FU);
    }
    constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value >= 0xD800 && value < 0xE000;
    if (n == 1 || value < kLeast[n] || value > 0x10FFFF || surrogate) return {first, 1, false};
    return {value, n, true};
}

bool is_unseen(char32_t c) {
    if (c >= 0x20 && c < 0x7F) return false;
    if ((c & 0xFFFE) == 0xFFFE) return true;
    const auto* const after = std::ranges::lower_bound(kUnseen, c, {}, &Range::last);
    return after != kUnseen.end() && c >= after->first;
}

bool has_unseen(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint c = code_point_at(text, i);
        if (!c.valid || is_unseen(c.value)) return true;
        i += c.bytes;
    }
    return false;
}

std::string printable(std::string_view text, std::string_view kept) {
    std::string shown;
    shown.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint c = code_point_at(text, i);
        if (!c.valid) {
            constexpr std::string_view kHex = "0123456789abcdef";
            (shown += "\\x").append({kHex[c.value >> 4], kHex[c.value & 15]});
        } else if (!is_unseen(c.value) || (c.bytes == 1 && kept.find(text[i]) != std::string_view::npos)) {
            shown.append(text, i, c.bytes);
        } else if (c.value < 0x10000) {
            add_code(shown, c.value);
        } else {
            add_code(shown, 0xD800 + ((c.value - 0x10000) >> 10));
            add_code(shown, 0xDC00 + ((c.value - 0x10000) & 0x3FF));
        }
        i += c.bytes;
    }
    return shown;
}

std::string xml_text(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

std::string plain_exponent(std::string number) {
    std::size_t at = number.find('e');
    if (at == std::string::npos) return number;
    ++at;
    if (at < number.size() && number[at] == '+') number.erase(at, 1);
    if (at < number.size() && number[at] == '-') ++at;
    while (at + 1 < number.size() && number[at] == '0') number.erase(at, 1);
    return number;
}

}  // namespace meshscope
