#include "app/cli/lesson_print.h"

#include <algorithm>
#include <ostream>

#include "app/cli/table.h"

namespace meshscope::cli {
namespace {

using scenario::Paragraph;
using scenario::Span;
using scenario::SpanKind;

/// Spans as they stand on a terminal. Without colour code keeps its marks, so that it can be told from words.
std::string spans_text(const std::vector<Span>& spans, const Fill& fill, const CommandContext& context) {
    std::string text;
    for (const Span& span : spans) {
        const std::string words = scenario::fill_numbers(span.text, fill);
        if (span.kind == SpanKind::code) {
            text += context.colour ? context.styled(words, "36") : "`" + words + "`";
        } else if (span.kind == SpanKind::strong) {
            text += context.styled(words, "1");
        } else {
            text += words;
        }
    }
    return text;
}

void print_code(const std::string& code, std::ostream& out) {
    std::size_t from = 0;
    for (std::size_t end = 0; end != std::string::npos; from = end + 1) {
        end = code.find('\n', from);
        out << "    " << code.substr(from, end == std::string::npos ? end : end - from) << '\n';
    }
}

/// "1,056", "-3.5", "75 %"; a dash or nothing says that there is no number, and is none.
bool is_number(const std::string& cell) {
    return cell.find_first_of("0123456789") != std::string::npos &&
           cell.find_first_not_of("0123456789.,+-% ") == std::string::npos;
}

/// Whether every row below the head has a number in this column, or nothing.
bool is_column_of_numbers(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
    bool any = false;
    for (const std::vector<std::string>& row : rows) {
        const std::string& cell = column < row.size() ? row[column] : "";
        if (cell.empty() || cell == "-" || cell == "–") continue;
        if (!is_number(cell)) return false;
        any = true;
    }
    return any;
}

void print_rows(const Paragraph& paragraph, const Fill& fill, const CommandContext& context) {
    Table table;
    table.right = paragraph.right;
    for (const scenario::TableRow& row : paragraph.rows) {
        std::vector<std::string> cells;
        for (const std::vector<Span>& cell : row) cells.push_back(spans_text(cell, fill, context));
        table.rows.push_back(std::move(cells));
    }
    table.header = std::move(table.rows.front());
    table.rows.erase(table.rows.begin());
    table.right.resize(table.header.size(), false);
    for (std::size_t c = 0; c < table.right.size(); ++c)
        table.right[c] = table.right[c] || is_column_of_numbers(table.rows, c);
    for (std::string& cell : table.header) cell = context.styled(cell, "1");
    print_table(table, context.out);
}

}  // namespace

const std::string& in_language(const scenario::Text& text, const CommandContext& context) {
    const bool zh = context.language == i18n::Language::zh;
    const std::string& wanted = zh ? text.zh : text.en;
    return wanted.empty() ? (zh ? text.en : text.zh) : wanted;
}

void print_wrapped(const std::string& text, const std::string& first, const std::string& rest, int width,
                   std::ostream& out) {
    bool begun = false;
    for (const std::string& line : wrap(text, width - display_width(rest))) {
        out << (begun ? rest : first) << line << '\n';
        begun = true;
    }
}

void print_error(const std::exception_ptr& failure, const CommandContext& context, int width) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        for (const std::string& line : context.describe(error).lines)
            print_wrapped(context.styled(line, "33"), "    ", "    ", width, context.out);
    }
}

void print_heading(const std::string& words, const CommandContext& context, int width) {
    for (const std::string& line : wrap(words, width)) context.out << context.styled(line, "1") << '\n';
}

void print_paragraphs(const std::vector<Paragraph>& paragraphs, const Fill& fill, int width,
                      const CommandContext& context) {
    for (std::size_t i = 0; i < paragraphs.size(); ++i) {
        const Paragraph& paragraph = paragraphs[i];
        if (!paragraph.rows.empty()) {
            print_rows(paragraph, fill, context);
        } else if (paragraph.code) {
            print_code(scenario::fill_numbers(paragraph.spans.front().text, fill), context.out);
        } else {
            print_wrapped(spans_text(paragraph.spans, fill, context), paragraph.bullet ? "- " : "",
                          paragraph.bullet ? "  " : "", width, context.out);
        }
        const bool list_goes_on = paragraph.bullet && i + 1 < paragraphs.size() && paragraphs[i + 1].bullet;
        if (!list_goes_on) context.out << '\n';
    }
}

}  // namespace meshscope::cli
