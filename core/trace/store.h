#pragma once

#include <string>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// Writes a trace as one SQLite file (.mscope; docs/trace.md describes it), beside `path` and then renamed,
/// so that a failure leaves what was there. Deterministic: equal traces give equal bytes (with one version of
/// SQLite).
///
/// Throws IoError "file.cannot_write" {path, reason}. Cost: about 2 µs an event.
void write_trace(const Trace& trace, const std::string& path);

/// Reads a file that write_trace made, verifying every checksum and every index before it is believed; the
/// result passes validate(). Damaged and hostile files are refused, sizes are checked before memory is taken.
///
/// Throws IoError "trace.cannot_open" {path, reason} when the system refuses, "trace.not_a_file" {path} for
/// folders and devices; InputError
///   "trace.empty"          the file has no bytes
///   "trace.foreign"        it is something else
///   "trace.cut" {bytes, expected}
///   "trace.newer_version" {file_version, tool_version}
///   "trace.damaged" {section}: the first table (or "header", "schema", "file") that is not as it was
///   written.
Trace read_trace(const std::string& path);

}  // namespace meshscope::trace
