#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"
#include "core/trace/trace.h"

namespace meshscope::cli {

/// What is asked of `trace export html`.
struct PageExport {
    std::string file, out;           ///< "-": standard output
    std::string steps;               ///< "10:20"; "": all
    std::vector<std::string> place;  ///< options of what is shown first: "--view", "memory", …
};

/// A record that holds events: what draws one that holds none would show nothing, as if nothing had happened.
/// Throws what trace::read_trace() does; InvalidArgument "query.not_recorded" {what, level, least}.
trace::Trace read_with_events(const std::string& path);

/// Writes the record as a page: meshscope.html with the record in it, from where html::find_page() has it.
/// Throws UsageError "app.bad_value" {option, value, wanted}, and what app/html/page.h says.
void export_page(const PageExport& asked, CommandContext& context);

}  // namespace meshscope::cli
