#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::view {

/// A line of our own sources, as the recorder names it: "core/parallel/fsdp2/unit.cpp:73".
struct SourceLocation {
    std::string file;
    int32_t line = 0;  ///< from 1
    friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

/// Reads "file:line"; nothing when it is no such thing.
std::optional<SourceLocation> parse_location(std::string_view text);
/// "file:line".
std::string location_text(const SourceLocation& place);

/// The sources that record events (core/parallel, core/nn, core/run) as they were when this program was
/// built, inside it: a bare program can show them.
std::vector<std::string_view> source_files();
/// The lines of one; empty when the program does not hold it. Cost: linear in the file.
std::vector<std::string_view> source_lines(std::string_view file);

/// The letters beyond ASCII that the sources use, each once: a font must hold them.
std::string source_letters();

/// The statement that a line is part of, as first and last line, both from 1. Found by what C++ ends
/// statements with, so that a call that runs over several lines is seen whole. Empty (0, 0) when the line
/// does not exist.
struct LineRange {
    int32_t first = 0, last = 0;
    bool empty() const { return first <= 0; }
    bool contains(int32_t line) const { return line >= first && line <= last; }
};
LineRange statement_at(const std::vector<std::string_view>& lines, int32_t line);

/// Every line that names a rule ("fsdp2.unshard.forward") in quotes. "recompute.R" is named where R is. Cost:
/// linear in all sources, under a millisecond.
std::vector<SourceLocation> locations_of_rule(std::string_view rule);

/// Every statement that records compute events of this name ("linear.weight_grad"; "linear.recompute" is
/// "linear"); those that name `unit` too stand first. Cost: as locations_of_rule.
std::vector<SourceLocation> locations_of_op(std::string_view op, std::string_view unit = {});

/// Whether the statement at a place makes a call of that name ("all_gather(", "isend(" …) or speaks of the
/// rule, or is one that names those of a scenario's own calls: false for a line that has moved since the
/// record was made.
bool still_says_at(const SourceLocation& place, std::string_view call, std::string_view rule);

}  // namespace meshscope::view
