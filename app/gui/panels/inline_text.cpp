#include "app/gui/panels/inline_text.h"

#include <string_view>

#include "app/gui/view/fitting.h"
#include "app/gui/window/fonts.h"

namespace meshscope::panels {
namespace {

bool is_wide(char32_t c) {
    return (c >= 0x2E80 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFF60);
}

bool closes(char32_t c) {
    return std::u32string_view(U"，。！？：；、）」』”’》】％…").find(c) != std::u32string_view::npos;
}
/// Of either script.
bool ends(char32_t c) {
    return closes(c) || std::u32string_view(U",.;:!?)]}%").find(c) != std::u32string_view::npos;
}
bool opens(char32_t c) {
    return std::u32string_view(U"（「『“‘《【").find(c) != std::u32string_view::npos;
}

/// Of a text that is not empty. Cost: O(1), since these are asked for at every letter.
char32_t last_point(const std::string& text) {
    size_t at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U && text.size() - at < 4) --at;
    return window::code_points(std::string_view(text).substr(at))[0];
}
char32_t first_point(const std::string& text) {
    return window::code_points(std::string_view(text).substr(0, view::next_letter(text, 0)))[0];
}

}  // namespace

std::vector<Span> parse_inline(const std::string& text) {
    std::vector<Span> spans;
    std::string plain;
    const auto flush = [&] {
        if (!plain.empty()) spans.push_back({Span::Look::plain, plain, {}});
        plain.clear();
    };
    for (size_t i = 0; i < text.size();) {
        const std::string_view rest = std::string_view(text).substr(i);
        if (rest.substr(0, 2) == "**") {
            const size_t end = rest.find("**", 2);
            if (end != std::string_view::npos) {
                flush();
                spans.push_back({Span::Look::strong, std::string(rest.substr(2, end - 2)), {}});
                i += end + 2;
                continue;
            }
        } else if (rest[0] == '`') {
            const size_t end = rest.find('`', 1);
            if (end != std::string_view::npos) {
                flush();
                spans.push_back({Span::Look::code, std::string(rest.substr(1, end - 1)), {}});
                i += end + 1;
                continue;
            }
        } else if (rest[0] == '[') {
            const size_t middle = rest.find("](");
            const size_t end = middle == std::string_view::npos ? middle : rest.find(')', middle);
            if (end != std::string_view::npos &&
                rest.substr(1, middle - 1).find('[') == std::string_view::npos) {
                flush();
                std::string words(rest.substr(1, middle - 1));
                const bool code = words.size() > 2 && words.front() == '`' && words.back() == '`';
                if (code) words = words.substr(1, words.size() - 2);
                spans.push_back({code ? Span::Look::code : Span::Look::plain, words,
                                 std::string(rest.substr(middle + 2, end - middle - 2))});
                i += end + 1;
                continue;
            }
        }
        plain += text[i++];
    }
    flush();
    return spans;
}

bool may_break(const std::string& before, const std::string& after) {
    const char32_t last = last_point(before);
    const char32_t first = first_point(after);
    if (ends(first) || opens(last) || last == U'(' || last == U'[') return false;
    return is_wide(last) || closes(last) || is_wide(first) || opens(first);
}

bool is_closing_mark(const std::string& piece) {
    const std::vector<char32_t> points = window::code_points(piece);
    return points.size() == 1 && ends(points[0]);
}

std::vector<std::string> letters(const std::string& text) {
    std::vector<std::string> out;
    for (size_t i = 0; i < text.size();) {
        size_t length = 1;
        while (i + length < text.size() && (static_cast<unsigned char>(text[i + length]) & 0xC0U) == 0x80U)
            ++length;
        out.push_back(text.substr(i, length));
        i += length;
    }
    return out;
}

std::string without_marks(const std::string& text) {
    std::string plain;
    for (const Span& span : parse_inline(text)) plain += span.text;
    return plain;
}

std::vector<std::string> break_pieces(const std::string& text) {
    std::vector<std::string> pieces;
    bool glue = true;  // the next letter may not start a piece
    std::string word;
    const auto flush = [&] {
        if (!word.empty()) pieces.push_back(word);
        word.clear();
    };
    for (const std::string& letter : letters(text)) {
        const char32_t c = window::code_points(letter)[0];
        if (c == U'\n' || c == U' ') {
            flush();
            pieces.push_back(letter);
            glue = true;
        } else if (closes(c)) {
            word += letter;  // stays with what it closes
            glue = false;
        } else if (is_wide(c) || opens(c)) {
            if (!glue || !word.empty()) {
                const bool after_opening = !word.empty() && opens(last_point(word));
                if (!after_opening) flush();
            }
            word += letter;
            glue = false;
        } else {
            if (!word.empty()) {
                const char32_t last = last_point(word);
                if (is_wide(last) && !opens(last)) flush();
            }
            word += letter;
            glue = false;
        }
    }
    flush();
    // A closing mark whose word was already given away goes back to it.
    std::vector<std::string> joined;
    for (std::string& piece : pieces) {
        const bool closing = piece != "\n" && closes(first_point(piece));
        if (closing && !joined.empty() && joined.back() != "\n" && joined.back() != " ") {
            joined.back() += piece;
        } else {
            joined.push_back(std::move(piece));
        }
    }
    return joined;
}

}  // namespace meshscope::panels
