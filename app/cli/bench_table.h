#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/cli/bench_collectives.h"
#include "core/comm/choice.h"

namespace meshscope::cli {

/// What `meshscope bench collectives --table FILE` is asked.
struct TableBench {
    std::string backend = "threads";
    /// Ascending from 2; each stands for all up to the next, the last for all above.
    std::vector<int32_t> ranks{2, 3, 4, 8};
    /// Ascending; up to the geometric mean of two, the smaller one's winner is taken.
    std::vector<int64_t> sizes{256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24};
    int32_t repeats = 7;  ///< as CollectivesBench::repeats
    int32_t passes =
        3;  ///< over all algorithms of an op and number of ranks; the quickest median of each counts
};

/// Measures every algorithm of every op that bench collectives knows, for all ranks and sizes, and gives the
/// text of a table for core/comm/choice/table.txt: the fastest by line, for the kind of backend that was
/// measured. What was not measured (barrier, the other kind of backend) stands as in the table of this
/// program. two_level is no candidate: its speed depends on nodes, which a choice may not.
/// `measure` runs one bench and gives its rows; `shares_memory` says of which kind its backend is
/// (Abilities::shares_memory). Throws what `measure` throws.
std::string measure_table(
    const TableBench& bench, bool shares_memory,
    const std::function<std::vector<CollectivesBenchRow>(const CollectivesBench&)>& measure);

}  // namespace meshscope::cli
