#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// Keeps what a run came to where the record has room for it: at most kMostFinalNumbers numbers, all of them
/// finite; else nothing. Cost: one pass.
void keep_parameters(RunInfo& info, std::vector<FinalParameter> parameters);

/// As the file holds them, so that SQL can ask too:
/// [{"name":"net1.weight","shape":[10,10],"numbers":[0.25,…]},…]. Each number is written as the double that
/// it equals, so that it reads back bit for bit. Cost: linear.
std::string parameters_json(const std::vector<FinalParameter>& parameters);

/// Reads them back; nothing when the text is not what parameters_json writes, or holds more than
/// kMostFinalNumbers.
std::optional<std::vector<FinalParameter>> parameters_from_json(std::string_view text);

}  // namespace meshscope::trace
