#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/state.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// A parameter of the run, as its ranks recorded what they keep of it.
struct ShownParameter {
    std::string name;
    trace::StringId id = 0, unit = 0;
    int64_t rows = 0, columns = 0;
    /// No rank's optimizer updates it. Of a record of some ranks ZeRO's buckets do not tell, and it is false.
    bool frozen = false;
};

/// Parameters that are gathered or reduced together: a unit or a bucket; those of a module where none is
/// known (`unit` is 0 then).
struct ParameterUnit {
    std::string name;
    trace::StringId unit = 0;
    std::vector<ShownParameter> parameters;
};

/// Every unit of the run, in the order in which the lowest rank that keeps a part of it recorded it. Empty
/// for a trace that did not record who keeps what. Cost: one pass over the runs.
std::vector<ParameterUnit> parameter_units(const trace::Trace& trace);

/// The unit on show: the selected parameter's, else that of the selected event, else the first; -1: none.
int32_t shown_unit(const trace::Trace& trace, const std::vector<ParameterUnit>& units,
                   const Selection& selection);

/// By string id: is an event with that unit about the parameter? Its unit, its own name, a module that holds
/// it. Empty when `parameter` is "". Cost: one pass over the strings and the runs.
std::vector<char> units_about(const trace::Trace& trace, const std::string& parameter);

/// Parts of a whole array as rectangles of rows and columns.
struct Block {
    int64_t row = 0, column = 0, rows = 0, columns = 0;
    friend bool operator==(const Block&, const Block&) = default;
};
/// Where elements [first, first + elements) of the run's box lie in the whole array: at most three blocks,
/// the rest of a row, whole rows, the beginning of one.
std::vector<Block> blocks_of(const trace::ParameterRun& run, int64_t first, int64_t elements);
std::vector<Block> blocks_of(const trace::ParameterRun& run);

/// Ranks that keep something of `row` of the parameter, ascending. Cost: one pass over the runs.
std::vector<int32_t> keepers(const trace::Trace& trace, trace::StringId parameter, int64_t row);

/// Rows [from, to) of the whole array that a rank keeps; of a FlatParameter's part also fractions of a row.
struct OwnedRows {
    int32_t rank = 0;
    float from = 0, to = 0;
};
/// What each of these ranks keeps of the parameter, in their order. Cost: their runs.
std::vector<OwnedRows> owned_rows(const trace::Trace& trace, const std::vector<int32_t>& ranks,
                                  trace::StringId parameter);

/// What of the unit's parameters has come in by an all_gather that is under way: as its hops say, in the
/// places that the members' records give. `rank` is a member.
struct Arrived {
    trace::StringId parameter = 0;
    Block block;
};
std::vector<Arrived> arrived(const trace::Trace& trace, const time::Clock& clock, int64_t cursor_ns,
                             int32_t rank, const trace::Event& gather);

/// The next parameter (`columns` -1 or 1) or the next row of the selected one (`rows`), for the keyboard.
/// Nothing where the trace keeps no parameters.
struct ParameterRow {
    std::string parameter;
    int64_t row = -1;
};
std::optional<ParameterRow> next_row(const trace::Trace& trace, const Selection& selection, int32_t rows,
                                     int32_t columns);

}  // namespace meshscope::view
