#include "app/cli/table.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <utility>

#include "app/cli/column_width.h"
#include "core/base/rank_set.h"
#include "core/base/text.h"

namespace meshscope::cli {
namespace {

bool is_wide(uint32_t c) {
    return column_width(c) == 2;
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

/// How many bytes a colour takes that begins here (CommandContext::styled()); 0 where none does.
std::size_t colour_length(std::string_view text, std::size_t i) {
    if (!text.substr(i).starts_with("\x1b[")) return 0;
    const std::size_t end = text.find_first_not_of("0123456789;", i + 2);
    return end != std::string_view::npos && end > i + 2 && text[end] == 'm' ? end + 1 - i : 0;
}

/// Whether a colour has this as its last number: 0 ends one, 36 is that of code.
bool is_colour(std::string_view colour, std::string_view number) {
    colour.remove_suffix(1);
    return colour.substr(colour.find_last_of("[;") + 1) == number;
}

constexpr char kHeld = '\x01';  ///< a space of inline code while its word is put together

/// How many bytes of inline code begin here: `code` in one line, or the same in its colour. 0: none.
std::size_t code_length(std::string_view text, std::size_t i) {
    const std::size_t colour = colour_length(text, i);
    const bool coloured = colour > 0 && is_colour(text.substr(i, colour), "36");
    if (!coloured && text[i] != '`') return 0;
    const std::size_t close = text.find(coloured ? '\x1b' : '`', i + 1);
    if (close == std::string_view::npos || text.substr(i, close - i).find('\n') != std::string_view::npos)
        return 0;
    const std::size_t mark = coloured ? colour_length(text, close) : 1;
    if (coloured && (mark == 0 || !is_colour(text.substr(close, mark), "0"))) return 0;
    return close + mark - i;
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
    void add_colour(std::string_view colour) { (is_colour(colour, "0") ? word_ : colour_) += colour; }

    void end_word() {
        const std::size_t first = std::min(word_.find_first_not_of(' '), word_.size());
        std::string read = word_.substr(first);
        std::replace(read.begin(), read.end(), kHeld, ' ');
        const bool whole = display_width(read) <= width_;
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

/// A cell in one line, its colours kept.
std::string in_one_line(std::string_view cell) {
    std::string line;
    for (std::size_t i = 0; i < cell.size();) {
        const std::size_t colour = colour_length(cell, i);
        const std::size_t n = colour > 0 ? colour : code_point_at(cell, i).bytes;
        line += colour > 0 ? std::string(cell.substr(i, n)) : printable(cell.substr(i, n));
        i += n;
    }
    return line;
}

std::string padded(const std::string& text, int width, bool right) {
    const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
    return right ? fill + text : text + fill;
}

}  // namespace

int display_width(std::string_view text) {
    int width = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (const std::size_t colour = colour_length(text, i); colour > 0) {
            i += colour;
            continue;
        }
        const CodePoint c = code_point_at(text, i);
        if (!c.valid || is_unseen(c.value))  // stands there as printable() shows it
            width += static_cast<int>(printable(text.substr(i, c.bytes)).size());
        else
            width += column_width(c.value);
        i += c.bytes;
    }
    return width;
}

void fold_rank_rows(Table& table, const std::vector<std::size_t>& own) {
    if (table.rows.size() <= kMostRankRows) return;
    struct Kind {
        std::vector<std::string> key, row;
        std::vector<int64_t> ranks;
    };
    std::vector<Kind> kinds;
    for (std::vector<std::string>& row : table.rows) {
        const int64_t rank = std::stoll(row[0]);
        std::vector<std::string> key = row;
        key[0].clear();
        for (const std::size_t column : own) key[column] = "…";
        const auto known =
            std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.key == key; });
        if (known == kinds.end())
            kinds.push_back({std::move(key), std::move(row), {rank}});
        else
            known->ranks.push_back(rank);
    }
    table.rows.clear();
    for (Kind& kind : kinds) {
        if (kind.ranks.size() > 1) kind.row = std::move(kind.key);
        kind.row[0] = ranks_text(kind.ranks);
        table.rows.push_back(std::move(kind.row));
    }
}

std::string cut_to_width(std::string_view text, int width) {
    std::size_t end = 0;
    while (end < text.size()) {
        const CodePoint c = code_point_at(text, end);
        if ((width -= column_width(c.value)) < 0) break;
        end += c.bytes;
    }
    return std::string(text.substr(0, end));
}

void print_table(const Table& table, std::ostream& out) {
    std::vector<std::vector<std::string>> rows = table.rows;
    if (!table.header.empty()) rows.insert(rows.begin(), table.header);
    std::vector<int> widths;
    for (auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t c = 0; c < row.size(); ++c) {
            row[c] = in_one_line(row[c]);
            widths[c] = std::max(widths[c], display_width(row[c]));
        }
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
        if (const std::size_t colour = colour_length(text, i); colour > 0) {
            wrapping.add_colour(text.substr(i, colour));
            i += colour;
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
