#pragma once

#include <string>

namespace meshscope {

/// What this program writes at a path that a user named.
/// `report` is Markdown; `csv` is a view of a trace, `choices` what bench --table writes, `profile` what
/// bench profile does, `scenario` what `scenario from` does.
enum class FileKind : unsigned char {
    trace,
    safetensors,
    json,
    choices,
    profile,
    scenario,
    csv,
    svg,
    png,
    html,
    gif,
    mp4,
    report
};

/// Whether the file begins as what this program writes of that kind: of plain text (a CSV, a table) too,
/// which is somebody else's notes otherwise. False where it cannot be read. Cost: 4 KiB of the file are read.
bool begins_as(const std::string& path, FileKind kind);

/// Refuses to put a file of one kind in the place of another's: a slip in a name shall cost nobody a file.
/// What is not there, or empty, may be written. Throws InvalidArgument "file.other_kind" {path, kind}.
/// "" and "-" are no files.
void refuse_other_kind(const std::string& path, FileKind kind);

}  // namespace meshscope
