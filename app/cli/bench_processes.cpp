#include <sstream>

#include "app/cli/bench_collectives.h"
#include "app/cli/command.h"
#include "app/cli/self_start.h"
#include "backends/registry.h"
#include "core/base/error.h"
#include "core/base/json_text.h"

namespace meshscope::cli {
namespace {

/// The row that a line of `meshscope bench collectives` is.
CollectivesBenchRow row_of(const std::string& line) {
    const auto json = parse_json<nlohmann::json>(line);
    CollectivesBenchRow row;
    row.op = parse_collective_op(json["op"].get<std::string>()).value();
    row.bytes = json["bytes"];
    row.ranks = json["ranks"];
    row.backend = json["backend"];
    row.algorithm = parse_algorithm(json["algorithm"].get<std::string>()).value();
    row.us = json["us"];
    row.algbw_GBps = json["algbw_GBps"];
    row.busbw_GBps = json["busbw_GBps"];
    row.memcpy_share = json["memcpy_share"];
    return row;
}

template <class Items, class Text>
std::string joined(const Items& items, const Text& text) {
    std::string all;
    for (const auto& item : items) all += (all.empty() ? "" : ",") + std::string(text(item));
    return all;
}

}  // namespace

void bench_in_processes(const CollectivesBench& bench, const CommandContext& context,
                        const std::function<void(const CollectivesBenchRow&)>& each) {
    backends::require_built(bench.backend, context.environment);
    require_room(bench);
    std::stringstream lines;
    OwnProcesses wanted{.backend = bench.backend, .ranks = bench.ranks, .shows = false, .collects = &lines};
    wanted.arguments = {
        "bench",       "collectives",
        "--backend",   bench.backend,
        "--ranks",     std::to_string(bench.ranks),
        "--sizes",     joined(bench.sizes, [](int64_t bytes) { return std::to_string(bytes); }),
        "--ops",       joined(bench.ops, [](CollectiveOp op) { return name(op); }),
        "--algorithm", std::string(name(bench.algorithm)),
        "--repeats",   std::to_string(bench.repeats)};
    const launch::LaunchResult ended = start_processes(wanted, context).launch;
    if (context.cancelled && *context.cancelled) throw Cancelled({"bench.collectives.cancelled", {}});
    if (!ended.failures.empty())
        throw CommError(failure_line(ended.failures.front(), bench.backend),
                        GlobalRank{ended.failures.front().rank});
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with('{')) each(row_of(line));
}

}  // namespace meshscope::cli
