#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/table.h"
#include "core/base/json_text.h"
#include "core/trace/query.h"

namespace meshscope::cli {

/// A value of a query's answer.
nlohmann::ordered_json as_json(const trace::Cell& cell);

/// A query's answer as a table; columns of numbers stand to the right. `heads`: the columns' names for the
/// reader; by default those of the query.
Table table_of(const trace::QueryResult& result, const std::vector<std::string>& heads = {},
               const std::string& nothing = "");

/// `trace info FILE`: what a record is of, how far it goes, its collectives by op and its ranks; `json`: the
/// same as one JSON text. Throws what reading a record throws.
void trace_info(const std::string& path, bool json, CommandContext& context);

}  // namespace meshscope::cli
