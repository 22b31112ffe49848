#include "app/gui/view/utf8.h"

#include <algorithm>
#include <cctype>

#include "core/base/digits.h"

namespace meshscope::view {
namespace {

std::size_t length_of(unsigned char first) {
    if (first < 0x80) return 1;
    if (first >= 0xF0 && first < 0xF8) return 4;
    if (first >= 0xE0 && first < 0xF0) return 3;
    if (first >= 0xC0 && first < 0xE0) return 2;
    return 1;
}

// Marks that must stay with what stands before them.
bool closes(char32_t c) {
    constexpr std::u32string_view kMarks = U"，。！？：；）、》」』”’…—";
    return kMarks.find(c) != std::u32string_view::npos;
}

/// "55", "1,024", "3.20": nothing but a number.
bool number(std::string_view piece) {
    return !piece.empty() && is_digit(piece.front()) && is_digit(piece.back()) &&
           std::ranges::all_of(piece, [](char c) { return is_digit(c) || c == ',' || c == '.'; });
}

/// What the number behind it belongs to: "rank 0", "第 1", "= 4".
bool takes_number(std::string_view piece) {
    constexpr std::string_view kWords[] = {"rank",  "ranks", "Rank", "Ranks", "step", "hop",
                                           "stage", "chunk", "=",    "≈",     "第"};
    return std::ranges::find(kWords, piece) != std::end(kWords);
}

/// A Chinese word for what is counted, with the marks behind it: "3 个", "第 1 步，".
bool counts(std::string_view piece) {
    constexpr std::u32string_view kWords = U"个步跳轮次格行列块层课份张台条种倍组项对";
    return !piece.empty() && kWords.find(code_point(code_points(piece).front())) != kWords.npos;
}

/// A unit, with the marks behind it: "B", "µs;", "%，".
bool unit(std::string_view piece) {
    constexpr std::string_view kUnits[] = {"B",   "KB",  "MB", "GB", "TB", "KiB", "MiB",
                                           "GiB", "TiB", "ns", "µs", "ms", "s",   "%"};
    return std::ranges::any_of(kUnits, [&](std::string_view name) {
        if (!piece.starts_with(name)) return false;
        std::string_view rest = piece.substr(name.size());
        if (rest.starts_with("/s")) rest.remove_prefix(2);
        return rest.empty() ||
               (std::ispunct(static_cast<unsigned char>(rest.front())) != 0 && rest.front() != '/' &&
                rest.front() != '_') ||
               closes(code_point(code_points(rest).front()));
    });
}

}  // namespace

std::vector<std::string> code_points(std::string_view text) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t n = length_of(static_cast<unsigned char>(text[i]));
        if (i + n > text.size()) n = 1;
        out.emplace_back(text.substr(i, n));
        i += n;
    }
    return out;
}

char32_t code_point(std::string_view one) {
    if (one.empty()) return 0;
    const auto byte = [&](std::size_t i) {
        return static_cast<char32_t>(static_cast<unsigned char>(one[i]));
    };
    switch (one.size()) {
        case 2:
            return ((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F);
        case 3:
            return ((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
        case 4:
            return ((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) |
                   (byte(3) & 0x3F);
        default:
            return byte(0);
    }
}

bool is_wide(char32_t c) {
    return (c >= 0x2E80 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFF60) ||
           (c >= 0x20000 && c <= 0x3FFFF);
}

std::vector<std::string> numbers_kept(std::vector<std::string> pieces,
                                      const std::function<bool(const std::string&)>& fits) {
    std::vector<std::string> out;
    std::string last;  // the last piece as it was
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const bool between = pieces[i] == " " && i > 0 && i + 1 < pieces.size() && !out.empty();
        if (between) {
            const std::string& next = pieces[i + 1];
            const bool to_number = takes_number(last) && !next.empty() && is_digit(next.front());
            const bool from_number = number(last) && (unit(next) || counts(next));
            if (to_number || from_number) {
                std::string joined = out.back() + " " + next;
                if (fits(joined)) {
                    out.back() = std::move(joined);
                    last = next;
                    ++i;
                    continue;
                }
            }
        }
        last = pieces[i];
        out.push_back(std::move(pieces[i]));
    }
    return out;
}

std::vector<std::string> break_pieces(std::string_view text) {
    std::vector<std::string> out;
    bool word = false;  // the last piece is a Latin word that may grow
    for (const auto& letter : code_points(text)) {
        const char32_t c = code_point(letter);
        if (letter == " " || letter == "\n") {
            out.push_back(letter);
            word = false;
        } else if (closes(c) && !out.empty() && out.back() != "\n" && out.back() != " ") {
            out.back() += letter;
            word = false;
        } else if (is_wide(c)) {
            out.push_back(letter);
            word = false;
        } else if (word) {
            out.back() += letter;
        } else {
            out.push_back(letter);
            word = true;
        }
    }
    return out;
}

}  // namespace meshscope::view
