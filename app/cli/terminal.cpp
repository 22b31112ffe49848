#include "app/cli/terminal.h"

#include <algorithm>
#include <random>

#include "core/base/text.h"

namespace meshscope::cli {
namespace {

/// So much of a line is gathered before it is looked through, but for what is to be seen at once.
constexpr std::size_t kMostHeld = 1 << 14;

/// How much of the text can be judged: whole lines, or where a line is that long all but its last characters,
/// which may be half of one.
std::size_t whole_part(std::string_view text) {
    const std::size_t line_end = text.rfind('\n');
    if (line_end != std::string_view::npos) return line_end + 1;
    constexpr std::size_t kLongestMark = 32, kLongestCharacter = 4;
    std::size_t end = text.size() - std::min(text.size(), kLongestMark);
    const std::size_t mark = text.substr(0, end).find_last_of("\x1b\r");
    if (mark != std::string_view::npos && mark + kLongestMark > end) end = mark;
    for (std::size_t i = 1; i < kLongestCharacter && end > 0; ++i, --end)
        if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) break;
    return end;
}

}  // namespace

std::string make_terminal_key() {
    std::random_device random;
    return std::to_string(100'000 + random() % 900'000) + ";";
}

TerminalBuffer::TerminalBuffer(std::streambuf& to, std::string_view key) : to_(to) {
    if (!key.empty()) own_ = std::string("\x1b[") + std::string(key);
}

TerminalBuffer::~TerminalBuffer() {
    pass_on(held_.size());
}

std::string TerminalBuffer::shown(std::string_view text) const {
    std::string made;
    made.reserve(text.size());
    while (!text.empty()) {
        const std::size_t words = std::min(text.find_first_of("\x1b\r"), text.size());
        made += printable(text.substr(0, words), "\n\t");
        text.remove_prefix(words);
        if (text.empty()) break;
        std::size_t n = 1;
        if (text.starts_with("\r\n")) {  // how CSV ends its lines
            made += '\r';
        } else if (!own_.empty() && text.starts_with(own_)) {
            const std::size_t end = text.find_first_not_of("0123456789", own_.size());
            if (end == std::string_view::npos || text[end] != 'm') {
                made += printable(text.substr(0, 1));
            } else {
                n = end + 1;
                made += "\x1b[";
                made += text.substr(own_.size(), n - own_.size());
            }
        } else {
            made += printable(text.substr(0, 1));
        }
        text.remove_prefix(n);
    }
    return made;
}

bool TerminalBuffer::pass_on(std::size_t n) {
    if (n == 0) return true;
    const std::string text = shown(std::string_view(held_).substr(0, n));
    held_.erase(0, n);
    return to_.sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
           static_cast<std::streamsize>(text.size());
}

bool TerminalBuffer::take(std::string_view text) {
    held_ += text;
    const bool line_ends = text.find('\n') != std::string_view::npos;  // to_ knows when it is to be seen
    return (held_.size() < kMostHeld && !line_ends) || pass_on(whole_part(held_));
}

std::streamsize TerminalBuffer::xsputn(const char* text, std::streamsize n) {
    const std::lock_guard lock(mutex_);
    return take({text, static_cast<std::size_t>(n)}) ? n : 0;
}

TerminalBuffer::int_type TerminalBuffer::overflow(int_type c) {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const std::lock_guard lock(mutex_);
    const char one = traits_type::to_char_type(c);
    return take({&one, 1}) ? c : traits_type::eof();
}

int TerminalBuffer::sync() {
    const std::lock_guard lock(mutex_);
    const bool passed = pass_on(held_.size());
    return to_.pubsync() == 0 && passed ? 0 : -1;
}

}  // namespace meshscope::cli
