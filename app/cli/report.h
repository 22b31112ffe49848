#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "app/cli/outputs.h"
#include "app/cli/table.h"
#include "app/i18n/catalogue.h"

namespace meshscope::cli {

/// What a command has to tell, in order. The terminal and a file are told the same.
struct Report {
    struct Part {
        std::string heading{};              ///< ends in ":" where something follows; may be empty
        std::vector<std::string> before{};  ///< sentences, a line each, ahead of the table
        Table table{};                      ///< may be empty
        std::vector<std::string> after{};
    };
    std::string title;  ///< of a file; the terminal shows none
    std::vector<Part> parts;
};

void print_report(const Report& report, std::ostream& out);

/// As GitHub's Markdown. It begins with a comment that says which program wrote it, by which FileKind::report
/// knows it.
std::string report_markdown(const Report& report);

/// As a page that loads nothing and follows the reader's light or dark theme.
std::string report_html(const Report& report, i18n::Language language);

/// The file that --report names, for check_outputs(): by its ending it is Markdown or HTML. "": none. Throws
/// UsageError "cli.report.ending" {path}.
Output report_output(const std::string& path);

/// Writes the report in the form that the path's ending says, whole or not at all. Throws IoError
/// "file.cannot_write".
void write_report(const Report& report, const std::string& path, i18n::Language language);

}  // namespace meshscope::cli
