#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/trace/query.h"
#include "core/trace/trace.h"

namespace meshscope::trace {

/// Takes text piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// The trace in Chrome's JSON trace format, which ui.perfetto.dev, chrome://tracing and Kineto's tools read:
/// a process a rank, a thread a stream, a complete event ("X") an event, with Kineto's argument names
/// ("Collective name", "In msg nelems", "Process Group Ranks", …); memory by category as counters. Slices of
/// one thread never overlap: what ran at the same time on one stream goes to a second lane of it. Times are
/// µs with three decimals, on the measured clock. Source: "Trace Event Format"; PyTorch's
/// libkineto/src/output_json.cpp.
void write_perfetto(const Trace& trace, const TextSink& out);

/// The rows of a view ("collectives", "hops", "memory", "compute", "parameters") as CSV (RFC 4180: CRLF,
/// quotes where needed, the first line names the columns), ordered by rank and id. Throws InvalidArgument
/// "export.unknown_table" {name, known}.
void write_csv(const TraceDatabase& database, std::string_view view, const TextSink& out);

/// One line of CSV, CRLF included.
std::string csv_line(const std::vector<std::string>& fields);

/// The same into a file, beside and renamed. `go_on` is called before each part of about a megabyte; what it
/// throws ends the export, and nothing is left. Throw also IoError "file.cannot_write".
void export_perfetto(const Trace& trace, const std::string& path, const std::function<void()>& go_on = {});
void export_csv(const TraceDatabase& database, std::string_view view, const std::string& path,
                const std::function<void()>& go_on = {});

}  // namespace meshscope::trace
