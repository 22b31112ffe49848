#include "core/scenario/lesson.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/base/text_file.h"
#include "core/scenario/lesson_lines.h"

namespace meshscope::scenario {
namespace {

/// The sections that are no steps, in their order.
constexpr std::array<std::string_view, 4> kReserved{"goals", "break", "change", "summary"};

class Parser {
  public:
    explicit Parser(std::string path) : path_(std::move(path)) {}

    LessonText parse(std::string_view text) {
        std::istringstream lines{std::string(text)};
        for (std::string line; std::getline(lines, line);) {
            ++line_;
            if (!line.empty() && line.back() == '\r') line.pop_back();
            if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
            for (LineMistake& mistake : line_mistakes(line, {in_code_, open_ == nullptr})) {
                // Once: a file in another encoding has such bytes in every line.
                const bool encoding = mistake.message.id == "lesson.not_utf8";
                if (encoding && std::exchange(other_encoding_, true)) continue;
                report(mistake.column, std::move(mistake.message), std::move(mistake.hint));
            }
            for (NamedNumber& number : line_numbers(line)) {
                number.line = line_;
                lesson_.numbers.push_back(std::move(number));
            }
            take(line);
        }
        end_table();
        end_paragraph();
        if (in_code_) report_at(code_line_, 1, {"lesson.open_code", {}});
        if (lesson_.title.empty()) report_at(1, 1, {"lesson.no_title", {}}, {"lesson.hint.headings", {}});
        std::ranges::stable_sort(found_, {}, [](const Diagnostic& found) {
            return std::pair(found.position.line, found.position.column);
        });
        if (!found_.empty()) throw InputError(std::move(found_));
        lesson_.path = path_;
        lesson_.lines = line_;
        return std::move(lesson_);
    }

  private:
    void report_at(int line, int column, Message message, Message hint = {}) {
        found_.push_back({std::move(message), {path_, line, column, -1}, std::move(hint)});
    }
    void report(int column, Message message, Message hint = {}) {
        report_at(line_, column, std::move(message), std::move(hint));
    }

    /// Where the next paragraph goes. Words beside the list of goals are the introduction.
    std::vector<Paragraph>& target(bool bullet = false) {
        if (reserved_ == &lesson_.goals) return bullet ? lesson_.goals.paragraphs : lesson_.introduction;
        if (reserved_) return reserved_->paragraphs;
        return lesson_.steps.empty() ? lesson_.introduction : lesson_.steps.back().paragraphs;
    }

    void take(const std::string& line) {
        const bool fence = line.starts_with("```");
        // "```python" opens a block: the one before was not closed.
        const bool reopened = in_code_ && fence && !trimmed(line.substr(3)).empty();
        if (reopened) report_at(code_line_, 1, {"lesson.open_code", {}});
        if (in_code_ && !fence) {
            std::string& code = open_->spans.front().text;
            code += (code.empty() ? "" : "\n") + line;
            return;
        }
        const bool row = line.starts_with("|");
        if (!row) end_table();
        if (fence) {
            end_paragraph();
            in_code_ = !in_code_ || reopened;
            if (in_code_) code_line_ = line_;
            if (in_code_) begin_paragraph({.code = true, .spans = {{SpanKind::code, "", "", ""}}});
        } else if (line.starts_with("## ")) {
            end_paragraph();
            begin_section(line.substr(3));
        } else if (line.starts_with("# ")) {
            end_paragraph();
            const bool first = ids_.empty() && lesson_.introduction.empty();
            if (!lesson_.title.empty()) {
                report(1, {"lesson.title_twice", {}}, {"lesson.hint.headings", {}});
            } else if (!first) {
                report(1, {"lesson.title_place", {}});
            }
            lesson_.title = trimmed(line.substr(2));
        } else if (trimmed(line).empty()) {
            end_paragraph();
        } else if (row) {
            take_row(line);
        } else {
            const bool bullet = line.starts_with("- ");
            if (bullet) end_paragraph();
            if (!open_) {
                begin_paragraph({.bullet = bullet});
            } else {
                join_line();
            }
            into_ = &open_->spans;
            read_spans(bullet ? line.substr(2) : line, bullet ? 2 : 0);
        }
    }

    void begin_section(const std::string& words) {
        const std::size_t colon = words.find(':');
        LessonSection section;
        section.id = trimmed(words.substr(0, colon));
        if (colon != std::string::npos) section.heading = trimmed(words.substr(colon + 1));
        section.line = line_;
        check_id(section.id);
        if (!ids_.insert(section.id).second) report(4, {"lesson.step_twice", {{"step", section.id}}});
        const auto last = std::ranges::find(kReserved, section.id);
        // Goals stand before every other section; the three at the end in their order, behind the steps.
        const bool in_place = last == kReserved.end()     ? after_steps_ == 0
                              : last == kReserved.begin() ? ids_.size() == 1
                                                          : last - kReserved.begin() > after_steps_;
        if (!in_place) report(4, {"lesson.section_place", {{"section", section.id}}});
        if (last == kReserved.end()) {
            reserved_ = nullptr;
            lesson_.steps.push_back(std::move(section));
            return;
        }
        after_steps_ = std::max(after_steps_, static_cast<int>(last - kReserved.begin()));
        reserved_ = std::array{&lesson_.goals, &lesson_.to_break, &lesson_.to_change,
                               &lesson_.summary}[static_cast<std::size_t>(last - kReserved.begin())];
        *reserved_ = std::move(section);
    }

    void check_id(const std::string& id) {
        if (id.find_first_not_of(kIdLetters) == std::string::npos) {
            if (id.empty()) report(1, {"lesson.no_id", {}}, {"lesson.hint.headings", {}});
            return;
        }
        Message hint{"lesson.hint.id", {}};
        if (id.find("：") != std::string::npos) hint.id = "lesson.hint.colon";
        report(4, {"lesson.bad_id", {{"id", id}}}, std::move(hint));
    }

    void begin_paragraph(Paragraph paragraph) {
        std::vector<Paragraph>& list = target(paragraph.bullet);
        list.push_back(std::move(paragraph));
        open_ = &list.back();
    }

    void end_paragraph() { open_ = nullptr; }

    /// The cells of "| a | b |"; a bar within `code` or behind a backslash is part of its cell. Each with the
    /// byte it begins at.
    static std::vector<std::pair<std::string, std::size_t>> cells_of(const std::string& line) {
        std::vector<std::pair<std::string, std::size_t>> cells;
        std::string cell;
        std::size_t begin = 1;
        bool code = false;
        for (std::size_t i = 1; i < line.size(); ++i) {
            if (line[i] == '`') code = !code;
            if (line[i] == '|' && !code) {
                const std::size_t first = cell.find_first_not_of(" \t");
                cells.emplace_back(trimmed(cell), begin + (first == std::string::npos ? 0 : first));
                cell.clear();
                begin = i + 1;
            } else if (line.compare(i, 2, "\\|") == 0) {
                cell += line[++i];
            } else {
                cell += line[i];
            }
        }
        if (const std::string rest(trimmed(cell)); !rest.empty()) cells.emplace_back(rest, begin);
        return cells;
    }

    void take_row(const std::string& line) {
        const auto cells = cells_of(line);
        if (!open_ || open_->rows.empty()) {
            end_paragraph();
            begin_paragraph({});
        } else if (open_->right.empty()) {  // the line under the head
            for (const auto& [cell, at] : cells) open_->right.push_back(cell.ends_with(':'));
            const bool dashes = std::all_of(cells.begin(), cells.end(), [](const auto& cell) {
                return !cell.first.empty() && cell.first.find_first_not_of("-: ") == std::string::npos;
            });
            if (!dashes) report(1, {"lesson.table_line", {}});
            check_length(cells.size());
            return;
        }
        open_->rows.emplace_back(cells.size());
        check_length(cells.size());
        for (std::size_t c = 0; c < cells.size(); ++c) {
            into_ = &open_->rows.back()[c];
            read_spans(cells[c].first, column_of(line, cells[c].second) - 1);
        }
    }

    void check_length(std::size_t cells) {
        const std::size_t head = open_->rows.front().size();
        if (cells != head)
            report(1, {"lesson.table_cells",
                       {{"found", static_cast<int64_t>(cells)}, {"head", static_cast<int64_t>(head)}}});
    }

    /// A table ends with the first line that is no row of it.
    void end_table() {
        if (!open_ || open_->rows.empty()) return;
        if (open_->right.empty()) report(1, {"lesson.table_line", {}});
        end_paragraph();
    }

    /// A line break inside a paragraph is a space, except between Chinese characters, which have none.
    void join_line() {
        if (open_->spans.empty()) return;
        const std::string& text = open_->spans.back().text;
        const bool wide = !text.empty() && static_cast<unsigned char>(text.back()) >= 0x80;
        into_ = &open_->spans;
        if (!wide) append(" ", 1);
    }

    void append(std::string_view words, int column) {
        if (into_->empty() || into_->back().kind != SpanKind::words) {
            into_->push_back({});
            into_->back().line = line_;
            into_->back().column = column;
        }
        into_->back().text += words;
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
                append(std::string_view(line).substr(i, next - i), indent + column_of(line, i));
                i = next;
            }
        }
    }

    std::size_t delimited(const std::string& line, std::size_t i, std::string_view mark, SpanKind kind,
                          int indent) {
        const std::size_t close = line.find(mark, i + mark.size());
        if (close == std::string::npos) {
            report(indent + column_of(line, i), {"lesson.open_mark", {{"mark", std::string(mark)}}},
                   {"lesson.hint.close_mark", {}});
            return line.size();
        }
        const std::size_t first = i + mark.size();
        const int column = indent + column_of(line, i);
        if (close == first) report(column, {"lesson.empty_mark", {{"mark", std::string(mark)}}});
        into_->push_back({kind, line.substr(first, close - first), "", "", line_, column});
        return close + mark.size();
    }

    /// [words](kind:target). A bracket without "](" behind it is plain text: `[1, 3]` is common in these
    /// lessons.
    std::size_t link(const std::string& line, std::size_t i, int indent) {
        const std::size_t middle = line.find("](", i);
        const std::size_t other = line.find('[', i + 1);
        if (middle == std::string::npos || (other != std::string::npos && other < middle)) {
            append("[", indent + column_of(line, i));
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
        Span span{SpanKind::link, line.substr(i + 1, middle - i - 1), target_text.substr(0, colon), "", line_,
                  column};
        if (colon != std::string::npos) span.link_target = target_text.substr(colon + 1);
        const auto& kinds = link_kinds();
        if (std::find(kinds.begin(), kinds.end(), span.link_kind) == kinds.end()) {
            const std::string guess = nearest(span.link_kind, kinds);
            report(column, {"lesson.unknown_link", {{"link", target_text}}},
                   guess.empty() ? Message{"lesson.hint.link_kinds", {}}
                                 : Message{"scenario.hint.did_you_mean", {{"guess", guess}}});
        } else if (span.link_target.empty()) {
            report(column, {"lesson.empty_link", {{"link", target_text}}}, {"lesson.hint.link_kinds", {}});
        }
        if (trimmed(span.text).empty()) report(column, {"lesson.link_words", {{"link", target_text}}});
        into_->push_back(std::move(span));
        return close + 1;
    }

    std::string path_;
    LessonText lesson_;
    std::vector<Diagnostic> found_;
    std::set<std::string> ids_;
    int line_ = 0;
    int code_line_ = 0;                  ///< where the block of code under way began
    LessonSection* reserved_ = nullptr;  ///< the one under way, where it is no step
    int after_steps_ = 0;                ///< the last of break, change, summary that was met, as in kReserved
    Paragraph* open_ = nullptr;          ///< the paragraph under way; the last of its list
    std::vector<Span>* into_ = nullptr;  ///< where words go: its spans, or those of a cell
    bool in_code_ = false;
    bool other_encoding_ = false;  ///< a byte that is no UTF-8 was told
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
    const std::string path =
        (folder.empty() ? std::string(".") : folder) + "/lesson." + std::string(language) + ".md";
    const std::string text = read_text_file(path);
    if (static_cast<int64_t>(text.size()) > kMostTextBytes)
        throw InputError({{{"lesson.too_large", {{"most", kMostTextBytes}}}, {path, 0, 0, -1}, {}}});
    return parse_lesson(text, path);
}

std::vector<const LessonSection*> LessonText::sections() const {
    std::vector<const LessonSection*> all;
    const auto add = [&](const LessonSection& section) {
        if (section.line > 0) all.push_back(&section);
    };
    add(goals);
    for (const LessonSection& step : steps) add(step);
    for (const LessonSection* section : {&to_break, &to_change, &summary}) add(*section);
    return all;
}

bool is_reserved_section(std::string_view id) {
    return std::ranges::find(kReserved, id) != kReserved.end();
}

void for_each_span(const std::vector<Paragraph>& paragraphs, const std::function<void(const Span&)>& visit) {
    for (const Paragraph& paragraph : paragraphs) {
        for (const Span& span : paragraph.spans) visit(span);
        for (const TableRow& row : paragraph.rows)
            for (const std::vector<Span>& cell : row)
                for (const Span& span : cell) visit(span);
    }
}

std::vector<std::string> number_ids(const LessonText& text) {
    std::vector<std::string> ids;
    const auto collect = [&](const Span& span) {
        for (std::string& id : number_ids(span.text)) ids.push_back(std::move(id));
    };
    for_each_span(text.introduction, collect);
    for (const LessonSection* section : text.sections()) for_each_span(section->paragraphs, collect);
    return ids;
}

std::vector<std::string> number_ids(std::string_view text) {
    std::vector<std::string> ids;
    for (NamedNumber& number : line_numbers(text)) ids.push_back(std::move(number.id));
    return ids;
}

std::string fill_numbers(std::string_view text, const std::function<std::string(const std::string&)>& value) {
    std::string result;
    std::size_t i = 0;
    for (std::size_t open = text.find("{{"); open != std::string_view::npos; open = text.find("{{", i)) {
        const std::size_t close = text.find("}}", open);
        if (close == std::string_view::npos) break;
        result += text.substr(i, open - i);
        result += value(std::string(trimmed(text.substr(open + 2, close - open - 2))));
        i = close + 2;
    }
    return result + std::string(text.substr(i));
}

}  // namespace meshscope::scenario
