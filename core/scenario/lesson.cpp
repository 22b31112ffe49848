#include "core/scenario/lesson.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/scenario/nearest.h"
#include "core/scenario/text_file.h"

namespace meshscope::scenario {
namespace {

std::string trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return "";
    return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

int column_of(std::string_view line, std::size_t byte) {
    const std::string_view before = line.substr(0, byte);
    // Code points, not bytes: continuation bytes (10xxxxxx) do not count.
    return 1 + static_cast<int>(
                   std::count_if(before.begin(), before.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class Parser {
  public:
    explicit Parser(std::string path) : path_(std::move(path)) {}

    LessonText parse(std::string_view text) {
        std::istringstream lines{std::string(text)};
        for (std::string line; std::getline(lines, line);) {
            ++line_;
            if (!line.empty() && line.back() == '\r') line.pop_back();
            take(line_ == 1 && line.starts_with("\xEF\xBB\xBF") ? line.substr(3) : line);
        }
        end_paragraph();
        if (in_code_) report(1, {"lesson.open_code", {}});
        if (lesson_.title.empty()) {
            line_ = 1;
            report(1, {"lesson.no_title", {}});
        }
        if (!found_.empty()) throw InputError(std::move(found_));
        return std::move(lesson_);
    }

  private:
    void report(int column, Message message, Message hint = {}) {
        found_.push_back({std::move(message), {path_, line_, column, -1}, std::move(hint)});
    }

    std::vector<Paragraph>& target() {
        return lesson_.steps.empty() ? lesson_.introduction : lesson_.steps.back().paragraphs;
    }

    void take(const std::string& line) {
        if (line.starts_with("```")) {
            end_paragraph();
            in_code_ = !in_code_;
            if (in_code_) target().push_back({false, true, {{SpanKind::code, "", "", ""}}});
        } else if (in_code_) {
            std::string& code = target().back().spans.front().text;
            code += (code.empty() ? "" : "\n") + line;
        } else if (line.starts_with("## ")) {
            end_paragraph();
            begin_step(line.substr(3));
        } else if (line.starts_with("# ")) {
            end_paragraph();
            if (!lesson_.title.empty()) report(1, {"lesson.title_twice", {}});
            lesson_.title = trimmed(line.substr(2));
        } else if (trimmed(line).empty()) {
            end_paragraph();
        } else {
            const bool bullet = line.starts_with("- ");
            if (bullet) end_paragraph();
            if (!open_) {
                target().push_back({bullet, false, {}});
                open_ = true;
            } else {
                join_line();
            }
            read_spans(bullet ? line.substr(2) : line, bullet ? 2 : 0);
        }
    }

    void begin_step(const std::string& words) {
        const std::size_t colon = words.find(':');
        LessonSection step;
        step.id = trimmed(words.substr(0, colon));
        if (colon != std::string::npos) step.heading = trimmed(words.substr(colon + 1));
        step.line = line_;
        if (!ids_.insert(step.id).second) report(4, {"lesson.step_twice", {{"step", step.id}}});
        lesson_.steps.push_back(std::move(step));
    }

    void end_paragraph() { open_ = false; }

    /// A line break inside a paragraph is a space, except between Chinese characters, which have none.
    void join_line() {
        std::vector<Span>& spans = target().back().spans;
        if (spans.empty()) return;
        const std::string& text = spans.back().text;
        const bool wide = !text.empty() && static_cast<unsigned char>(text.back()) >= 0x80;
        if (!wide) append(" ");
    }

    void append(std::string_view words) {
        std::vector<Span>& spans = target().back().spans;
        if (spans.empty() || spans.back().kind != SpanKind::words) spans.push_back({});
        spans.back().text += words;
    }

    void read_spans(const std::string& line, int indent) {
        std::size_t i = line.find_first_not_of(" \t");
        while (i < line.size()) {
            if (line[i] == '`') {
                i = delimited(line, i, "`", SpanKind::code, indent);
            } else if (line.compare(i, 2, "**") == 0) {
                i = delimited(line, i, "**", SpanKind::strong, indent);
            } else if (line[i] == '[') {
                i = link(line, i, indent);
            } else {
                const std::size_t next = std::min(line.find_first_of("`*[", i + 1), line.size());
                append(std::string_view(line).substr(i, next - i));
                i = next;
            }
        }
    }

    std::size_t delimited(const std::string& line, std::size_t i, std::string_view mark, SpanKind kind,
                          int indent) {
        const std::size_t close = line.find(mark, i + mark.size());
        if (close == std::string::npos) {
            report(indent + column_of(line, i), {"lesson.open_mark", {{"mark", std::string(mark)}}});
            return line.size();
        }
        const std::size_t first = i + mark.size();
        target().back().spans.push_back({kind, line.substr(first, close - first), "", ""});
        return close + mark.size();
    }

    /// [words](kind:target). A bracket without "](" behind it is plain text: `[1, 3]` is common in these
    /// lessons.
    std::size_t link(const std::string& line, std::size_t i, int indent) {
        const std::size_t middle = line.find("](", i);
        const std::size_t other = line.find('[', i + 1);
        if (middle == std::string::npos || (other != std::string::npos && other < middle)) {
            append("[");
            return i + 1;
        }
        const std::size_t close = line.find(')', middle);
        const int column = indent + column_of(line, i);
        if (close == std::string::npos) {
            report(column, {"lesson.open_link", {}});
            return line.size();
        }
        const std::string target_text = line.substr(middle + 2, close - middle - 2);
        const std::size_t colon = target_text.find(':');
        Span span{SpanKind::link, line.substr(i + 1, middle - i - 1), target_text.substr(0, colon), ""};
        if (colon != std::string::npos) span.link_target = target_text.substr(colon + 1);
        const auto& kinds = link_kinds();
        if (std::find(kinds.begin(), kinds.end(), span.link_kind) == kinds.end()) {
            const std::string guess = nearest(span.link_kind, kinds);
            report(column, {"lesson.unknown_link", {{"link", target_text}}},
                   guess.empty() ? Message{"lesson.hint.link_kinds", {}}
                                 : Message{"scenario.hint.did_you_mean", {{"guess", guess}}});
        } else if (span.link_target.empty()) {
            report(column, {"lesson.empty_link", {{"link", target_text}}});
        }
        target().back().spans.push_back(std::move(span));
        return close + 1;
    }

    std::string path_;
    LessonText lesson_;
    std::vector<Diagnostic> found_;
    std::set<std::string> ids_;
    int line_ = 0;
    bool open_ = false;  ///< a paragraph is under way
    bool in_code_ = false;
};

}  // namespace

const std::vector<std::string>& link_kinds() {
    static const std::vector<std::string> kKinds{"rank", "ranks", "dim", "event", "unit", "step", "view"};
    return kKinds;
}

LessonText parse_lesson(std::string_view text, const std::string& path) {
    return Parser(path).parse(text);
}

LessonText read_lesson(const std::string& folder, std::string_view language) {
    const std::string path = folder + "/lesson." + std::string(language) + ".md";
    const std::string text = read_text_file(path);
    if (static_cast<int64_t>(text.size()) > kMostTextBytes)
        throw InputError({{{"lesson.too_large", {{"most", kMostTextBytes}}}, {path, 0, 0, -1}, {}}});
    return parse_lesson(text, path);
}

std::vector<std::string> number_ids(std::string_view text) {
    std::vector<std::string> ids;
    for (std::size_t i = text.find("{{"); i != std::string_view::npos; i = text.find("{{", i)) {
        const std::size_t close = text.find("}}", i);
        if (close == std::string_view::npos) break;
        ids.push_back(trimmed(text.substr(i + 2, close - i - 2)));
        i = close + 2;
    }
    return ids;
}

std::string fill_numbers(std::string_view text, const std::function<std::string(const std::string&)>& value) {
    std::string result;
    std::size_t i = 0;
    for (std::size_t open = text.find("{{"); open != std::string_view::npos; open = text.find("{{", i)) {
        const std::size_t close = text.find("}}", open);
        if (close == std::string_view::npos) break;
        result += text.substr(i, open - i);
        result += value(trimmed(text.substr(open + 2, close - open - 2)));
        i = close + 2;
    }
    return result + std::string(text.substr(i));
}

}  // namespace meshscope::scenario
