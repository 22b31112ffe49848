#include "app/gui/view/source_location.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "app/gui/view/utf8.h"
#include "core/base/text.h"

namespace meshscope::embedded {
std::string_view sources(std::string_view file);
std::vector<std::string_view> sources_files();
}  // namespace meshscope::embedded

namespace meshscope::view {
namespace {

constexpr std::string_view kAgain = "recompute.";
constexpr int32_t kLongestStatement = 12;

bool is_comment(std::string_view line) {
    return trimmed(line).starts_with("//");
}

/// The line without a comment at its end.
std::string_view code_of(std::string_view line) {
    const std::size_t comment = line.find("  //");
    return trimmed(comment == std::string_view::npos ? line : line.substr(0, comment));
}

/// After such a line a new statement begins.
bool ends_statement(std::string_view line) {
    const std::string_view code = code_of(line);
    if (code.empty() || is_comment(line)) return true;
    return code.back() == ';' || code.back() == '{' || code.back() == '}' || code.ends_with("*/") ||
           code.ends_with("public:") || code.ends_with("private:");
}

int32_t line_of(std::string_view text, std::size_t at) {
    return 1 + static_cast<int32_t>(
                   std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

/// Calls `found(file, line)` for each line that holds `words`, comments left out.
template <class Found>
void each_line_with(std::string_view words, const Found& found) {
    for (const std::string_view file : source_files()) {
        const std::string_view text = embedded::sources(file);
        for (std::size_t at = text.find(words); at != std::string_view::npos;
             at = text.find(words, at + words.size())) {
            const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
            if (!is_comment(text.substr(begin, at - begin + 1))) found(file, line_of(text, at));
        }
    }
}

std::string joined(const std::vector<std::string_view>& lines, LineRange range) {
    std::string out;
    for (int32_t i = range.first; i <= range.last; ++i)
        out += std::string(lines[static_cast<std::size_t>(i - 1)]) + "\n";
    return out;
}

/// Eager PyTorch's kernels of one shape share a function, which takes the name (core/nn/layers/aten.cpp).
bool makes_compute_event(std::string_view statement) {
    constexpr std::array<std::string_view, 3> kMakers{"ComputeEvent event(", "by_element(\"", "by_row(\""};
    return std::ranges::any_of(
        kMakers, [&](std::string_view maker) { return statement.find(maker) != std::string_view::npos; });
}

}  // namespace

std::optional<SourceLocation> parse_location(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    SourceLocation place{std::string(text.substr(0, colon)), 0};
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place.line);
    if (error != std::errc() || end != digits.data() + digits.size() || place.line < 1) return std::nullopt;
    return place;
}

std::string location_text(const SourceLocation& place) {
    return place.file + ":" + std::to_string(place.line);
}

std::vector<std::string_view> source_files() {
    return embedded::sources_files();
}

std::vector<std::string_view> source_lines(std::string_view file) {
    std::string_view text = embedded::sources(file);
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

std::string source_letters() {
    std::set<std::string> letters;
    for (const std::string_view file : source_files()) {
        const std::string_view text = embedded::sources(file);
        // Runs of bytes above ASCII only: the rest need not be cut into letters.
        for (std::size_t at = 0; at < text.size(); ++at) {
            if (static_cast<unsigned char>(text[at]) < 0x80) continue;
            std::size_t end = at;
            while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) ++end;
            for (std::string& letter : code_points(text.substr(at, end - at)))
                letters.insert(std::move(letter));
            at = end;
        }
    }
    std::string all;
    for (const std::string& letter : letters) all += letter;
    return all;
}

LineRange statement_at(const std::vector<std::string_view>& lines, int32_t line) {
    const auto count = static_cast<int32_t>(lines.size());
    if (line < 1 || line > count) return {};
    const auto at = [&](int32_t number) { return lines[static_cast<std::size_t>(number - 1)]; };
    LineRange range{line, line};
    while (range.first > 1 && line - range.first < kLongestStatement && !ends_statement(at(range.first - 1)))
        --range.first;
    // A brace at the end of a line opens a block only where no parenthesis is open: else it begins a list of
    // options.
    int open = 0;
    for (range.last = range.first; range.last <= count; ++range.last) {
        const std::string_view code = code_of(at(range.last));
        open += static_cast<int>(std::count(code.begin(), code.end(), '(') -
                                 std::count(code.begin(), code.end(), ')'));
        if (range.last >= line && open <= 0 && ends_statement(at(range.last))) break;
        if (range.last - range.first >= kLongestStatement) break;
    }
    range.last = std::min(range.last, count);
    return range;
}

std::vector<SourceLocation> locations_of_rule(std::string_view rule) {
    std::vector<SourceLocation> places;
    if (rule.empty()) return places;
    const auto look = [&](std::string_view words) {
        each_line_with('"' + std::string(words) + '"', [&](std::string_view file, int32_t line) {
            places.push_back({std::string(file), line});
        });
    };
    look(rule);
    if (places.empty() && rule.starts_with(kAgain)) look(rule.substr(kAgain.size()));
    return places;
}

std::vector<SourceLocation> locations_of_op(std::string_view op, std::string_view unit) {
    if (op.ends_with(".recompute")) op.remove_suffix(std::string_view(".recompute").size());
    std::vector<SourceLocation> with_unit, others;
    const auto keep = [&](std::string_view file, int32_t line) {
        const auto lines = source_lines(file);
        const LineRange range = statement_at(lines, line);
        const std::string statement = joined(lines, range);
        if (!makes_compute_event(statement)) return;
        const bool named =
            !unit.empty() && statement.find('"' + std::string(unit) + '"') != std::string::npos;
        (named ? with_unit : others).push_back({std::string(file), range.first});
    };
    if (op.empty()) return {};
    each_line_with('"' + std::string(op) + '"', keep);
    // The optimizers share one statement, which takes its name from the scenario.
    constexpr std::array<std::string_view, 3> kOptimizers{"sgd", "adam", "adamw"};
    if (std::find(kOptimizers.begin(), kOptimizers.end(), op) != kOptimizers.end())
        each_line_with("ComputeEvent event(recorder_, *allocator_, spec_.kind", keep);
    // So does the work of a scenario's [[call]]s.
    constexpr std::array<std::string_view, 3> kWorks{"read", "download", "write"};
    if (std::find(kWorks.begin(), kWorks.end(), op) != kWorks.end())
        each_line_with("ComputeEvent event(&recorder_, allocator_, call.work", keep);
    with_unit.insert(with_unit.end(), others.begin(), others.end());
    return with_unit;
}

bool still_says_at(const SourceLocation& place, std::string_view call, std::string_view rule) {
    const auto lines = source_lines(place.file);
    const LineRange range = statement_at(lines, place.line);
    if (range.empty()) return false;
    const std::string statement = joined(lines, range);
    if (!call.empty() && statement.find(std::string(call) + "(") != std::string::npos) return true;
    // A scenario's own calls share one statement, which takes op and rule from the scenario.
    if (rule.starts_with("call.") && statement.find("rule_of(") != std::string::npos) return true;
    return !rule.empty() && statement.find('"' + std::string(rule) + '"') != std::string::npos;
}

}  // namespace meshscope::view
