#include "app/cli/report.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "app/cli/command.h"
#include "core/base/file_kind.h"
#include "core/base/replace_file.h"
#include "core/base/text.h"

namespace meshscope::cli {
namespace {

constexpr std::string_view kMarkdown = ".md", kHtml = ".html";

bool is_right(const Table& table, std::size_t column) {
    return column < table.right.size() && table.right[column];
}

std::size_t columns_of(const Table& table) {
    std::size_t most = table.header.size();
    for (const auto& row : table.rows) most = std::max(most, row.size());
    return most;
}

/// A text in Markdown as it is: what would begin a mark, a cell or an element stands behind a backslash or by
/// its name.
std::string markdown_text(const std::string& text) {
    std::string made;
    for (const char c : printable(text)) {
        if (c == '<') {
            made += "&lt;";
        } else if (c == '&') {
            made += "&amp;";
        } else {
            if (std::string_view("|*_`[]\\#").find(c) != std::string_view::npos) made += '\\';
            made += c;
        }
    }
    return made;
}

void add_markdown_table(const Table& table, std::string& made) {
    const std::size_t columns = columns_of(table);
    const auto row = [&](const std::vector<std::string>& cells) {
        made += '|';
        for (std::size_t i = 0; i < columns; ++i)
            made += ' ' + (i < cells.size() ? markdown_text(cells[i]) : "") + " |";
        made += '\n';
    };
    row(table.header);
    made += '|';
    for (std::size_t i = 0; i < columns; ++i) made += is_right(table, i) ? " ---: |" : " --- |";
    made += '\n';
    for (const auto& cells : table.rows) row(cells);
}

void add_html_table(const Table& table, std::string& made) {
    const std::size_t columns = columns_of(table);
    const auto row = [&](const std::vector<std::string>& cells, const std::string& element) {
        made += "<tr>";
        for (std::size_t i = 0; i < columns; ++i)
            made += "<" + element + (is_right(table, i) ? " class=\"right\">" : ">") +
                    (i < cells.size() ? xml_text(cells[i]) : "") + "</" + element + ">";
        made += "</tr>\n";
    };
    made += "<div class=\"wide\"><table>\n";
    if (!table.header.empty()) row(table.header, "th");
    for (const auto& cells : table.rows) row(cells, "td");
    made += "</table></div>\n";
}

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid #8884; white-space: nowrap; }
.right { text-align: right; }
)";

}  // namespace

void print_report(const Report& report, std::ostream& out) {
    bool first = true;
    for (const Report::Part& part : report.parts) {
        if (!first) out << '\n';
        first = false;
        if (!part.heading.empty()) out << part.heading << '\n';
        for (const std::string& line : part.before) out << line << '\n';
        if (!part.before.empty() && !part.table.rows.empty()) out << '\n';
        if (!part.table.rows.empty()) print_table(part.table, out);
        for (const std::string& line : part.after) out << line << '\n';
    }
}

std::string report_markdown(const Report& report) {
    std::string made = "<!-- meshscope report -->\n# " + markdown_text(report.title) + "\n";
    for (const Report::Part& part : report.parts) {
        if (!part.heading.empty()) made += "\n## " + markdown_text(part.heading) + "\n";
        for (const std::string& line : part.before) made += "\n" + markdown_text(line) + "\n";
        if (!part.table.rows.empty()) {
            made += '\n';
            add_markdown_table(part.table, made);
        }
        for (const std::string& line : part.after) made += "\n" + markdown_text(line) + "\n";
    }
    return made;
}

std::string report_html(const Report& report, i18n::Language language) {
    std::string made = "<!DOCTYPE html>\n" + std::string(kXmlMark) + "\n<html lang=\"" +
                       std::string(i18n::name(language)) +
                       "\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
                       xml_text(report.title) + "</title>\n<style>" + std::string(kStyle) +
                       "</style>\n</head>\n<body>\n<h1>" + xml_text(report.title) + "</h1>\n";
    for (const Report::Part& part : report.parts) {
        if (!part.heading.empty()) made += "<h2>" + xml_text(part.heading) + "</h2>\n";
        for (const std::string& line : part.before) made += "<p>" + xml_text(line) + "</p>\n";
        if (!part.table.rows.empty()) add_html_table(part.table, made);
        for (const std::string& line : part.after) made += "<p>" + xml_text(line) + "</p>\n";
    }
    return made + "</body>\n</html>\n";
}

Output report_output(const std::string& path) {
    const bool markdown = path.ends_with(kMarkdown);
    if (!path.empty() && !markdown && !path.ends_with(kHtml))
        throw UsageError({"cli.report.ending", {{"path", path}}});
    return {path, markdown ? FileKind::report : FileKind::html};
}

void write_report(const Report& report, const std::string& path, i18n::Language language) {
    if (path.empty()) return;
    replace_file(path, path.ends_with(kMarkdown) ? report_markdown(report) : report_html(report, language));
}

}  // namespace meshscope::cli
