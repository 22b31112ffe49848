#include "core/scenario/lesson_lines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "core/base/text.h"

namespace meshscope::scenario {
namespace {

/// "63_hsdp" is numbered; "my_lesson" is not, and "my" is no name of it.
bool is_numbered(const std::string& folder) {
    const std::size_t bar = folder.find('_');
    return bar != std::string::npos && bar > 0 && folder.find_first_not_of("0123456789") == bar;
}

std::string without_zeros(const std::string& digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

constexpr auto kNowhere = std::string_view::npos;

/// How many bytes the UTF-8 sequence at `i` has; 0 for none. Overlong forms, surrogates and what is above
/// U+10FFFF are none (RFC 3629).
std::size_t utf8_length(std::string_view text, std::size_t i) {
    const auto byte = [&](std::size_t k) { return static_cast<uint8_t>(text[i + k]); };
    const uint8_t first = byte(0);
    if (first < 0x80) return 1;
    std::size_t length = 0;
    if (first >= 0xC2 && first <= 0xDF) length = 2;
    if (first >= 0xE0 && first <= 0xEF) length = 3;
    if (first >= 0xF0 && first <= 0xF4) length = 4;
    if (length == 0 || i + length > text.size()) return 0;
    for (std::size_t k = 1; k < length; ++k)
        if ((byte(k) & 0xC0) != 0x80) return 0;
    const bool too_small = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
    const bool too_large = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
    return too_small || too_large ? 0 : length;
}

/// The first byte that begins no UTF-8, or is a control character.
std::optional<LineMistake> bad_byte(std::string_view line) {
    constexpr std::array<char, 17> kDigits{"0123456789ABCDEF"};
    for (std::size_t i = 0; i < line.size();) {
        const auto value = static_cast<uint8_t>(line[i]);
        const std::string hex{kDigits[value / 16U], kDigits[value % 16U]};
        const std::size_t length = utf8_length(line, i);
        if (length == 0)
            return LineMistake{
                column_of(line, i), {"lesson.not_utf8", {{"byte", hex}}}, {"lesson.hint.utf8", {}}};
        const bool control = value == 0x7F || (value < 0x20 && value != '\t');
        if (control)
            return LineMistake{
                column_of(line, i), {"lesson.control", {{"byte", hex}}}, {"lesson.hint.control", {}}};
        i += length;
    }
    return {};
}

/// "{{" without "}}", or without an id between them.
void check_numbers(std::string_view line, std::vector<LineMistake>& found) {
    for (std::size_t i = line.find("{{"); i != kNowhere; i = line.find("{{", i)) {
        const std::size_t close = line.find("}}", i + 2);
        if (close == kNowhere) {
            found.push_back(
                {column_of(line, i), {"lesson.open_mark", {{"mark", "{{"}}}, {"lesson.hint.number", {}}});
            return;
        }
        const std::string_view id = trimmed(line.substr(i + 2, close - i - 2));
        const bool good = !id.empty() && id.find_first_not_of(std::string(kIdLetters) + ".") == kNowhere;
        if (!good)
            found.push_back({column_of(line, i),
                             {"lesson.bad_number", {{"number", std::string(line.substr(i, close + 2 - i))}}},
                             {"lesson.hint.number", {}}});
        i = close + 2;
    }
}

/// The line with its inline code blanked: there every character stands for itself.
std::string without_code(std::string_view line) {
    std::string rest(line);
    for (std::size_t i = rest.find('`'); i != std::string::npos; i = rest.find('`', i)) {
        const std::size_t close = rest.find('`', i + 1);
        if (close == std::string::npos) break;
        std::fill(rest.begin() + static_cast<std::ptrdiff_t>(i),
                  rest.begin() + static_cast<std::ptrdiff_t>(close) + 1, ' ');
        i = close + 1;
    }
    return rest;
}

/// "}}" that closes nothing, and marks as a Chinese keyboard types them.
void check_marks(std::string_view line, std::vector<LineMistake>& found) {
    const std::string words = without_code(line);
    const auto wide = [&](std::size_t at, std::string_view mark, std::string_view wanted) {
        found.push_back({column_of(line, at),
                         {"lesson.wide_mark", {{"mark", std::string(mark)}, {"wanted", std::string(wanted)}}},
                         {}});
    };
    for (const auto& [mark, wanted] :
         {std::pair("｛｛", "{{"), std::pair("｝｝", "}}"), std::pair("＊＊", "**")})
        if (const std::size_t at = words.find(mark); at != std::string::npos) wide(at, mark, wanted);
    std::size_t open = 0;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words.compare(i, 2, "{{") == 0) ++open, ++i;
        if (words.compare(i, 2, "}}") != 0) continue;
        if (open == 0 && words.find("｛｛") == std::string::npos)
            found.push_back(
                {column_of(line, i), {"lesson.close_mark", {{"mark", "}}"}}}, {"lesson.hint.number", {}}});
        open = 0;
        ++i;
    }
    // "[words]（rank:1）": with a kind of link behind it that is no remark in brackets.
    constexpr std::string_view kWide = "]（";
    for (std::size_t i = words.find(kWide); i != std::string::npos; i = words.find(kWide, i + 1)) {
        const std::string_view rest = std::string_view(words).substr(i + kWide.size());
        for (const std::string& kind : link_kinds())
            if (rest.starts_with(kind + ":") || rest.starts_with(kind + "：")) {
                wide(i, kWide, "](");
                break;
            }
    }
}

/// The mark at the beginning of a line that a lesson does not have; "" where it is fine. `deep`: it is
/// indented.
std::string unknown_mark(std::string_view words, bool deep, bool begins_paragraph) {
    for (const std::string_view mark : {"* ", "+ ", "> ", "~~~", ":::", "![", "<!--", "</", "•"})
        if (words.starts_with(mark)) return std::string(trimmed(mark));
    if (words.starts_with("<") && words.size() > 1 && words[1] >= 'a' && words[1] <= 'z') return "<";
    if (deep && words.starts_with("- ")) return "  -";
    const std::size_t dashes = std::min(words.find_first_not_of(words.substr(0, 1)), words.size());
    if (dashes == words.size() && dashes >= 3 && std::string_view("-*_=").find(words.front()) != kNowhere)
        return std::string(words);
    const std::size_t digits = std::min(words.find_first_not_of("0123456789"), words.size());
    if (begins_paragraph && digits > 0 &&
        (words.substr(digits).starts_with(". ") || words.substr(digits).starts_with(") ")))
        return std::string(words.substr(0, digits + 1));
    return "";
}

void check_beginning(std::string_view line, bool begins_paragraph, std::vector<LineMistake>& found) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == kNowhere) return;
    const std::string_view words = line.substr(first);
    const int column = column_of(line, first);
    const bool full_width = words.starts_with("＃");
    if (words.front() == '#' || full_width) {
        if (line.starts_with("# ") || line.starts_with("## ")) return;
        const std::string_view marks = full_width ? "＃" : words.substr(0, words.find_first_not_of('#'));
        found.push_back(
            {column, {"lesson.heading", {{"mark", std::string(marks)}}}, {"lesson.hint.headings", {}}});
    } else if (words.starts_with("```") && first > 0) {
        found.push_back(
            {column, {"lesson.unknown_mark", {{"mark", "```"}}}, {"lesson.hint.first_column", {}}});
    } else if (words.front() == '|' && first > 0) {
        found.push_back({column, {"lesson.unknown_mark", {{"mark", "|"}}}, {"lesson.hint.first_column", {}}});
    } else if (const std::string mark = unknown_mark(words, first > 0, begins_paragraph); !mark.empty()) {
        found.push_back({column, {"lesson.unknown_mark", {{"mark", mark}}}, {"lesson.hint.marks", {}}});
    }
}

}  // namespace

std::string short_lesson_name(const std::string& folder) {
    return is_numbered(folder) ? folder.substr(folder.find('_') + 1) : folder;
}

bool names_lesson(const std::string& word, const std::string& folder) {
    if (word.empty()) return false;
    if (word == folder || word == short_lesson_name(folder)) return true;
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    return is_number && is_numbered(folder) &&
           without_zeros(word) == without_zeros(folder.substr(0, folder.find('_')));
}

int32_t chapter_of_folder(const std::string& folder) {
    const std::size_t digits = is_numbered(folder) ? folder.find('_') : 0;
    if (digits == 2) return folder[0] - '0';
    return digits == 3 && folder[0] != '0' ? 10 * (folder[0] - '0') + (folder[1] - '0') : 0;
}

bool lesson_before(const std::string& folder, const std::string& other) {
    const auto place = [](const std::string& name) {
        const std::string number = is_numbered(name) ? without_zeros(name.substr(0, name.find('_'))) : "";
        return std::tuple(!is_numbered(name), number.size(), number, name);
    };
    return place(folder) < place(other);
}

int column_of(std::string_view line, std::size_t byte) {
    const std::string_view before = line.substr(0, byte);
    // Code points, not bytes: continuation bytes (10xxxxxx) do not count.
    return 1 + static_cast<int>(
                   std::count_if(before.begin(), before.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<LineMistake> line_mistakes(std::string_view line, LineKind kind) {
    if (std::optional<LineMistake> bad = bad_byte(line)) return {*std::move(bad)};
    std::vector<LineMistake> found;
    if (!kind.in_code) check_beginning(line, kind.begins_paragraph, found);
    check_numbers(line, found);
    if (!kind.in_code) check_marks(line, found);
    return found;
}

std::vector<NamedNumber> line_numbers(std::string_view line) {
    std::vector<NamedNumber> numbers;
    for (std::size_t i = line.find("{{"); i != kNowhere; i = line.find("{{", i)) {
        const std::size_t close = line.find("}}", i + 2);
        if (close == kNowhere) break;
        numbers.push_back({std::string(trimmed(line.substr(i + 2, close - i - 2))), 0, column_of(line, i)});
        i = close + 2;
    }
    return numbers;
}

}  // namespace meshscope::scenario
