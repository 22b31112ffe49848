#include "core/parallel/pipeline/action.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/digits.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace meshscope::parallel::pipeline {
namespace {

constexpr std::array<std::string_view, kActionKinds> kWords{
    "F",           "I",           "W",           "B",
    "UNSHARD",     "RESHARD",     "SEND_F",      "RECV_F",
    "SEND_B",      "RECV_B",      "WAIT_SEND_F", "WAIT_RECV_F",
    "WAIT_SEND_B", "WAIT_RECV_B", "REDUCE_GRAD", "WAIT_REDUCE_GRAD",
    "OVERLAP_F_B"};

/// Of a text without end its beginning is enough to find it.
[[noreturn]] void refuse(std::string_view text) {
    constexpr std::size_t kMost = 64;
    std::size_t end = std::min(text.size(), kMost);
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    throw InvalidArgument({"pipeline.bad_action",
                           {{"text", std::string(text.substr(0, end)) + (end < text.size() ? "…" : "")}}});
}

bool has_microbatch(ActionKind kind) {
    switch (kind) {
        case ActionKind::unshard:
        case ActionKind::reshard:
        case ActionKind::reduce_grad:
        case ActionKind::wait_reduce_grad:
        case ActionKind::overlap_f_b:
            return false;
        default:
            return true;
    }
}

std::optional<ActionKind> kind_of(std::string_view found) {
    for (std::size_t i = 0; i < kWords.size(); ++i)
        if (kWords[i] == found) return static_cast<ActionKind>(i);
    return std::nullopt;
}

int32_t number(std::string_view digits, std::string_view whole) {
    int32_t value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || failure != std::errc() || end != digits.data() + digits.size()) refuse(whole);
    return value;
}

Action parse_single(std::string_view text) {
    std::size_t word_begin = 0;
    while (word_begin < text.size() && is_digit(text[word_begin])) ++word_begin;
    std::size_t word_end = text.size();
    while (word_end > word_begin && is_digit(text[word_end - 1])) --word_end;
    const auto kind = kind_of(text.substr(word_begin, word_end - word_begin));
    if (!kind || *kind == ActionKind::overlap_f_b) refuse(text);
    Action action{*kind, number(text.substr(0, word_begin), text), -1, {}};
    const bool has_number = word_end < text.size();
    if (has_number != has_microbatch(*kind)) refuse(text);
    if (has_number) action.microbatch = number(text.substr(word_end), text);
    return action;
}

Action parse_compound(std::string_view text) {
    const std::size_t close = text.find(')');
    if (close == std::string_view::npos || text.substr(close + 1) != word(ActionKind::overlap_f_b))
        refuse(text);
    Action action{ActionKind::overlap_f_b, -1, -1, {}};
    std::string_view inside = text.substr(1, close - 1);
    while (true) {
        const std::size_t semicolon = inside.find(';');
        const std::string_view part = trimmed(inside.substr(0, semicolon));
        if (part.empty() || part.front() == '(') refuse(text);
        action.parts.push_back(parse_single(part));
        if (semicolon == std::string_view::npos) return action;
        inside.remove_prefix(semicolon + 1);
    }
}

}  // namespace

std::string_view word(ActionKind kind) {
    return kWords[static_cast<std::size_t>(kind)];
}

bool is_compute(ActionKind kind) {
    return kind == ActionKind::forward || kind == ActionKind::input_grad || kind == ActionKind::weight_grad ||
           kind == ActionKind::backward;
}

std::string to_text(const Action& action) {
    if (!action.parts.empty()) {
        std::string text = "(";
        for (const Action& part : action.parts) text += (text.size() == 1 ? "" : ";") + to_text(part);
        return text + ")" + std::string(word(action.kind));
    }
    std::string text = std::to_string(action.stage);
    text += word(action.kind);
    if (action.microbatch >= 0) text += std::to_string(action.microbatch);
    return text;
}

std::string to_text(const Slot& slot) {
    return slot ? to_text(*slot) : std::string();
}

Slot parse_action(std::string_view text) {
    const std::string_view inner = trimmed(text);
    if (inner.empty()) return std::nullopt;
    return inner.front() == '(' ? parse_compound(inner) : parse_single(inner);
}

}  // namespace meshscope::parallel::pipeline
