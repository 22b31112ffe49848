#include "app/gui/view/fitting.h"

#include <algorithm>

namespace meshscope::view {
namespace {

bool continues(const std::string& text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t next_letter(const std::string& text, std::size_t at) {
    if (at < text.size()) ++at;
    while (continues(text, at)) ++at;
    return at;
}

std::size_t line_end(const TextMeasure& measure, const std::string& text, std::size_t from, Face face,
                     float room) {
    const auto fits = [&](std::size_t end) {
        return measure.width(text.substr(from, end - from), face) <= room;
    };
    // The letter at or before `at`, but behind `low`.
    const auto behind = [&](std::size_t low, std::size_t at) {
        at = std::min(at, text.size());
        while (at > low && continues(text, at)) --at;
        return std::max(at, next_letter(text, low));
    };
    constexpr std::size_t kFirst = 16;
    // First ever longer beginnings, so that what lies far beyond the edge is never measured; then halves.
    std::size_t low = from;
    if (from >= text.size()) return from;
    std::size_t high = behind(low, from + kFirst);
    while (fits(high)) {
        low = high;
        if (low >= text.size()) return low;
        high = behind(low, from + 2 * (low - from));
    }
    while (true) {
        const std::size_t middle = behind(low, low + (high - low) / 2);
        if (middle >= high) return low;
        (fits(middle) ? low : high) = middle;
    }
}

std::string elided(const TextMeasure& measure, const std::string& text, Face face, float room) {
    if (line_end(measure, text, 0, face, room) == text.size()) return text;
    const float dots = measure.width("…", face);
    if (dots > room) return "";
    return text.substr(0, line_end(measure, text, 0, face, room - dots)) + "…";
}

}  // namespace meshscope::view
