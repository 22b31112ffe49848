#include "app/gui/panels/quiz_mask.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "core/base/digits.h"
#include "core/scenario/evaluate.h"

namespace meshscope::panels {
namespace {

bool word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Where the number ends that begins at `at`: digits, with commas before three more and one decimal point.
size_t number_end(std::string_view text, size_t at) {
    size_t end = at;
    const auto digits_at = [&](size_t i) {
        size_t n = 0;
        while (i + n < text.size() && is_digit(text[i + n])) ++n;
        return n;
    };
    while (end < text.size() && is_digit(text[end])) ++end;
    while (end < text.size() && text[end] == ',' && digits_at(end + 1) == 3) end += 4;
    if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) end += 1 + digits_at(end + 1);
    return end;
}

struct Unit {
    enum class Kind { none, bytes, elements, calls, time };
    Kind kind = Kind::none;
    double scale = 1;
};

/// What stands behind a number: its unit. A time is never asked for.
Unit unit_behind(std::string_view rest) {
    if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    const auto is = [&](std::string_view name) {
        return rest.substr(0, name.size()) == name &&
               (rest.size() == name.size() || !word(rest[name.size()]) || !word(name.back()));
    };
    for (const char* name : {"ns", "µs", "ms", "s"})
        if (is(name)) return {Unit::Kind::time, 1};
    constexpr std::array<std::pair<const char*, double>, 4> kBytes{
        {{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};
    for (const auto& [name, scale] : kBytes)
        if (is(name)) return {Unit::Kind::bytes, scale};
    if (is("B")) return {Unit::Kind::bytes, 1};
    for (const char* name : {"element", "elements", "个元素", "number", "numbers", "个数"})
        if (is(name)) return {Unit::Kind::elements, 1};
    for (const char* name : {"×", "次", "跳", "call", "calls", "times", "hop", "hops"})
        if (is(name)) return {Unit::Kind::calls, 1};
    return {};
}

/// "calls: 6": a number that stands for how many times.
bool told_as_calls(std::string_view before) {
    return before.ends_with(": ") || before.ends_with("：");
}
/// "[64]": for how many elements.
bool told_as_elements(std::string_view before, std::string_view rest) {
    return before.ends_with('[') && !rest.empty() && rest.front() == ']';
}

/// The text with "[?]" for its lists "[0, 2]" that `wanted` says yes to; those inside another list stay.
template <class Wanted>
std::string without_lists(const std::string& text, const Wanted& wanted) {
    std::string out;
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ']') --depth;
        if (text[i] == '[') {
            const size_t end = text.find_first_of("[]", i + 1);
            const bool whole = end != std::string::npos && text[end] == ']';
            if (whole && depth == 0 && wanted(text.substr(i + 1, end - i - 1))) {
                out += "[?]";
                i = end;
                continue;
            }
            ++depth;
        }
        out += text[i];
    }
    return out;
}

/// Whether a list can be of ranks that form a group: two or more, each once. A single one is a name that
/// stands everywhere, and numbers of a tensor or actions of a schedule are no ranks.
bool can_be_group(const std::vector<std::string>& items, const session::AppState& state) {
    const session::Document& document = *state.document;
    const bool own_mesh = document.steps[static_cast<size_t>(state.lesson_step)].mesh != nullptr;
    const auto ranks =
        document.trace && !own_mesh ? std::ssize(document.trace->ranks) : std::ptrdiff_t{1} << 31;
    const auto is_rank = [&](const std::string& item) {
        return std::ranges::all_of(item, is_digit) && item.size() < 10 && std::atoll(item.c_str()) < ranks;
    };
    return items.size() > 1 && std::ranges::all_of(items, is_rank) &&
           std::set<std::string>(items.begin(), items.end()).size() == items.size();
}

}  // namespace

QuizMask::QuizMask(const session::AppState& state)
    : quiz_(session::open_question(state)), selection_(state.selection) {
    if (quiz_ == nullptr) return;
    const bool ranks = quiz_->kind == "ranks" || quiz_->kind == "order";
    if (quiz_->kind == "number") asked_ = quiz_->asked;
    number_ = asked_ != session::Asked::other && asked_ != session::Asked::peer;
    if (number_) answer_ = std::atof(quiz_->answer.c_str());
    if (ranks) list_ = scenario::list_items(quiz_->answer);
    if (list_.size() < 2) list_.clear();  // "rank 3" is a name that stands everywhere
    // A slice that the lesson itself brings and that is refused is what its step tells of.
    const session::LessonStep& step = state.document->steps[static_cast<size_t>(state.lesson_step)];
    own_slice_ = step.slice;
    groups_ =
        (ranks && can_be_group(scenario::list_items(quiz_->answer), state)) || !selection_.slice.empty();
    if (hides(selection_.slice)) selection_.slice.clear();
}

bool QuizMask::hides(const std::string& slice) const {
    return quiz_ != nullptr && !slice.empty() && (quiz_->kind == "number" || slice != own_slice_);
}

bool QuizMask::asks(const std::vector<int32_t>& ranks) const {
    if (quiz_ == nullptr || quiz_->kind != "ranks" || list_.empty()) return false;
    std::string text;
    for (const int32_t rank : ranks) text += std::to_string(rank) + ",";
    return session::right_answer(*quiz_, text);
}

bool QuizMask::same(double value, double unit, double rounding) const {
    const double slack = std::max({quiz_->tolerance, rounding, std::abs(answer_) * 1e-9});
    return std::abs(value * unit - answer_) <= slack;
}

std::string QuizMask::without_number(const std::string& text, bool amount) const {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        if (!is_digit(text[i]) || (i > 0 && (word(text[i - 1]) || text[i - 1] == '.'))) {
            out += text[i++];
            continue;
        }
        const size_t end = number_end(text, i);
        const std::string_view rest = std::string_view(text).substr(end);
        std::string digits = text.substr(i, end - i);
        const std::string shown = digits;
        std::erase(digits, ',');
        const double value = std::atof(digits.c_str());
        const Unit unit = unit_behind(rest);
        const std::string_view before = std::string_view(text).substr(0, i);
        const bool bare = unit.kind == Unit::Kind::none;
        using Kind = Unit::Kind;
        const bool counts = asked_ == session::Asked::bytes
                                ? unit.kind == Kind::bytes || (bare && value >= 100)
                            : asked_ == session::Asked::elements
                                ? unit.kind == Kind::elements ||
                                      (bare && (amount || value >= 100 || told_as_elements(before, rest)))
                                : unit.kind == Kind::calls || (bare && told_as_calls(before));
        const size_t point = digits.find('.');
        const double decimals =
            point == std::string::npos ? 0 : static_cast<double>(digits.size() - point - 1);
        const double rounding = unit.scale > 1 ? unit.scale / std::pow(10, decimals) / 2 : 0;
        const bool asked = counts && (same(value, 1, 0) || same(value, unit.scale, rounding));
        out += asked ? "?" : shown;
        i = end;
    }
    return out;
}

std::string QuizMask::mask(const std::string& text, bool amount) const {
    if (number_) return without_number(text, amount);
    if (list_.empty()) return text;
    return without_lists(text, [&](const std::string& inside) {
        std::vector<std::string> items = scenario::list_items(inside), wanted = list_;
        if (quiz_->kind == "ranks") {
            std::sort(items.begin(), items.end());
            std::sort(wanted.begin(), wanted.end());
        }
        return items == wanted;
    });
}

void QuizMask::mask(view::Picture& picture, std::string_view panel) const {
    if (quiz_ == nullptr) return;
    const bool mesh = panel == "mesh" && groups_;
    // Where the groups are asked, one list left out would tell that it is the one.
    const auto lists = [&](const std::string& text) {
        return mesh ? without_lists(
                          text,
                          [](const std::string& inside) { return inside.find(',') != std::string::npos; })
                    : text;
    };
    if (mesh)
        std::erase_if(picture.shapes, [](const view::Shape& shape) {
            return shape.id.kind == "band" ||
                   (shape.id.kind == "group" && shape.kind == view::ShapeKind::polygon);
        });
    for (view::Shape& shape : picture.shapes) {
        if (shape.text.empty() || shape.id.kind == "answer") continue;
        // The ruler's marks are times.
        const bool mark = panel == "timeline" && number_end(shape.text, 0) == shape.text.size();
        const bool amount = shape.id.kind == "chunk" || shape.id.kind == "flight" || shape.id.kind == "bytes";
        if (!mark) shape.text = lists(mask(shape.text, amount));
    }
    for (std::string& line : picture.text_lines) line = lists(mask(line));
}

view::MeshOptions QuizMask::mesh_options() const {
    view::MeshOptions options;
    options.covered = groups_;
    if (asked_ == session::Asked::calls) options.asked = answer_;
    return options;
}

}  // namespace meshscope::panels
