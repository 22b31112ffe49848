#include "app/cli/table.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <utility>

namespace meshscope::cli {
namespace {

/// One code point: its value and how many bytes it takes. A byte that starts none is one of its own.
struct CodePoint {
    uint32_t value = 0;
    std::size_t bytes = 1;
};

CodePoint code_point_at(std::string_view text, std::size_t i) {
    const auto byte = [&](std::size_t k) { return static_cast<uint8_t>(text[k]); };
    const uint8_t first = byte(i);
    const std::size_t n = first < 0x80         ? 1
                          : (first >> 5) == 6  ? 2
                          : (first >> 4) == 14 ? 3
                          : (first >> 3) == 30 ? 4
                                               : 1;
    if (n == 1 || i + n > text.size()) return {first, 1};
    uint32_t value = first & (0xFFu >> (n + 1));
    for (std::size_t k = 1; k < n; ++k) value = (value << 6) | (byte(i + k) & 0x3Fu);
    return {value, n};
}

/// East Asian Wide and Fullwidth, by the blocks that our texts can hold (Unicode, EastAsianWidth.txt).
bool is_wide(uint32_t c) {
    return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0x303E) || (c >= 0x3041 && c <= 0x33FF) ||
           (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
           (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

bool is_one_of(uint32_t c, std::u32string_view characters) {
    return characters.find(static_cast<char32_t>(c)) != std::u32string_view::npos;
}

/// Chinese punctuation that must not begin a line (GB/T 15834).
bool sticks_to_the_left(uint32_t c) {
    return is_one_of(c, U"、。，．：；！？）］｝》〉」』】〕〗”’…—·％‰～");
}

/// What opens something must not end a line. The ASCII brackets too, when Chinese follows them at once.
bool opens(uint32_t c) {
    return is_one_of(c, U"（［｛《〈「『【〔“‘");
}
bool opens_in_ascii(uint32_t c) {
    return c == '(' || c == '[' || c == '{';
}

constexpr std::string_view kEscape = "\x1b[", kReset = "\x1b[0m", kCodeColour = "\x1b[36m";
constexpr char kHeld = '\x01';  ///< a space of inline code while its word is put together

/// How many bytes of inline code begin here: `code` in one line, or the same in its colour. 0: none.
std::size_t code_length(std::string_view text, std::size_t i) {
    const bool coloured = text.substr(i).starts_with(kCodeColour);
    if (!coloured && text[i] != '`') return 0;
    const std::string_view mark = coloured ? kReset : std::string_view("`");
    const std::size_t close = text.find(mark, i + 1);
    if (close == std::string_view::npos || text.substr(i, close - i).find('\n') != std::string_view::npos)
        return 0;
    return close + mark.size() - i;
}

/// Lines, put together from words that are not broken.
class Wrapping {
  public:
    explicit Wrapping(int width) : width_(width) {}

    /// Part of the word under way, with the colour that begins at it.
    void add(std::string_view bytes) {
        word_ += std::exchange(colour_, {});
        word_ += bytes;
    }

    /// Inline code: its spaces break no line, unless it is too wide for one.
    void add_held(std::string_view code) {
        std::string held(code);
        std::replace(held.begin(), held.end(), ' ', kHeld);
        add(held);
    }

    /// A colour begins with what follows, and ends with what is before.
    void add_colour(std::string_view escape) { (escape == kReset ? word_ : colour_) += escape; }

    void end_word() {
        const std::size_t first = std::min(word_.find_first_not_of(' '), word_.size());
        const bool whole = display_width(std::string_view(word_).substr(first)) <= width_;
        for (std::size_t held = word_.find(kHeld); held != std::string::npos; held = word_.find(kHeld)) {
            if (!whole) put(word_.substr(0, held));
            word_ = (whole ? word_.substr(0, held) : "") + ' ' + word_.substr(held + 1);
        }
        put(std::exchange(word_, {}));
    }

    void end_line() {
        end_word();
        lines_.push_back(without_spaces_behind());
        line_.clear();
    }

    std::vector<std::string> take() {
        word_ += colour_;
        end_word();
        if (!line_.empty() || lines_.empty()) lines_.push_back(without_spaces_behind());
        return std::move(lines_);
    }

  private:
    void put(std::string word) {
        if (!line_.empty() && display_width(line_) + display_width(word) > width_) {
            lines_.push_back(without_spaces_behind());
            line_.clear();
            word.erase(0, std::min(word.find_first_not_of(' '), word.size()));
        }
        line_ += word;
    }

    std::string without_spaces_behind() const { return line_.substr(0, line_.find_last_not_of(' ') + 1); }

    int width_;
    std::vector<std::string> lines_;
    std::string line_, word_, colour_;
};

std::string padded(const std::string& text, int width, bool right) {
    const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
    return right ? fill + text : text + fill;
}

}  // namespace

int display_width(std::string_view text) {
    int width = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (text.substr(i).starts_with(kEscape)) {
            i = std::min(text.find('m', i), text.size() - 1) + 1;
            continue;
        }
        const CodePoint c = code_point_at(text, i);
        width += is_wide(c.value) ? 2 : 1;
        i += c.bytes;
    }
    return width;
}

void print_table(const Table& table, std::ostream& out) {
    std::vector<std::vector<std::string>> rows = table.rows;
    if (!table.header.empty()) rows.insert(rows.begin(), table.header);
    std::vector<int> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_width(row[c]));
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c)
            line += (c ? "  " : "") + padded(row[c], widths[c], c < table.right.size() && table.right[c]);
        out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
    }
}

std::vector<std::string> wrap(std::string_view text, int width) {
    Wrapping wrapping(width);
    bool opened = false;    // the character before opens something
    bool was_wide = false;  // the character before is Chinese: Latin letters may begin a line behind it
    bool ended = false;     // the character before is Chinese punctuation: so may signs
    for (std::size_t i = 0; i < text.size();) {
        if (const std::size_t code = code_length(text, i); code > 0) {
            if (was_wide && !opened) wrapping.end_word();
            wrapping.add_held(text.substr(i, code));
            i += code;
            opened = was_wide = ended = false;
            continue;
        }
        if (text.substr(i).starts_with(kEscape)) {
            const std::size_t length = std::min(text.find('m', i), text.size() - 1) + 1 - i;
            wrapping.add_colour(text.substr(i, length));
            i += length;
            continue;
        }
        const CodePoint c = code_point_at(text, i);
        const std::string_view bytes = text.substr(i, c.bytes);
        i += c.bytes;
        const bool latin = c.value == '`' || (c.value < 0x80 && std::isalnum(static_cast<int>(c.value)) != 0);
        const bool behind_wide = std::exchange(was_wide, is_wide(c.value));
        const bool behind_mark = std::exchange(ended, is_wide(c.value) && sticks_to_the_left(c.value));
        const bool sign = c.value < 0x80 && !is_one_of(c.value, U",.;:!?)]}%'\"");
        const bool may_begin_a_line = (is_wide(c.value) && !sticks_to_the_left(c.value)) || opens(c.value) ||
                                      (behind_wide && latin) || (behind_mark && sign);
        const bool after_opening = std::exchange(opened, opens(c.value) || opens_in_ascii(c.value));
        if (c.value == '\n') {
            wrapping.end_line();
            continue;
        }
        if (c.value == ' ' || (may_begin_a_line && !after_opening)) wrapping.end_word();
        wrapping.add(bytes);
    }
    return wrapping.take();
}

std::string milliseconds(int64_t ns) {
    const double ms = static_cast<double>(ns) / 1e6;
    std::ostringstream text;
    if (ms >= 1000 || ms < 0.001)
        text << std::fixed << std::setprecision(ms >= 1000 || ns == 0 ? 0 : 6) << ms;
    else
        text << std::setprecision(4) << ms;
    return text.str();
}

}  // namespace meshscope::cli
