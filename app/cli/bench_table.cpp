#include "app/cli/bench_table.h"

#include <algorithm>

namespace meshscope::cli {
namespace {

using comm::ChoiceTable;

std::vector<Algorithm> candidates(CollectiveOp op, int32_t ranks) {
    std::vector<Algorithm> found;
    for (const Algorithm algorithm : comm::algorithms_of(op))
        if (algorithm != Algorithm::two_level && comm::choose_algorithm(op, algorithm, ranks) == algorithm)
            found.push_back(algorithm);
    return found;
}

}  // namespace

std::string measure_table(
    const TableBench& bench, bool shares_memory,
    const std::function<std::vector<CollectivesBenchRow>(const CollectivesBench&)>& measure) {
    std::vector<ChoiceTable::Row> measured;
    for (const CollectiveOp op :
         {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
          CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::all_to_all})
        for (std::size_t i = 0; i < bench.ranks.size(); ++i) {
            const std::vector<Algorithm> algorithms = candidates(op, bench.ranks[i]);
            constexpr double kNever = 1e300;
            std::vector<std::vector<double>> times(bench.sizes.size(),
                                                   std::vector<double>(algorithms.size(), kNever));
            // Passes, so that what disturbs the machine for a while does not always hit the same algorithm.
            for (int32_t pass = 0; pass < bench.passes; ++pass)
                for (std::size_t a = 0; a < algorithms.size(); ++a) {
                    CollectivesBench one;
                    one.backend = bench.backend;
                    one.ranks = bench.ranks[i];
                    one.sizes = bench.sizes;
                    one.ops = {op};
                    one.algorithm = algorithms[a];
                    one.repeats = bench.repeats;
                    std::size_t size = 0;
                    for (const CollectivesBenchRow& row : measure(one)) {
                        double& best = times[size++][a];
                        best = std::min(best, row.us);
                    }
                }
            const int32_t to = i + 1 < bench.ranks.size() ? bench.ranks[i + 1] - 1 : ChoiceTable::kMax;
            for (const auto& line :
                 comm::lines_from({op, shares_memory, bench.ranks[i], to, 0, Algorithm::none}, bench.sizes,
                                  algorithms, times))
                measured.push_back(line);
        }
    std::string text =
        "# Which algorithm was fastest: op, kind of backend, ranks, bytes of the full buffer up to, "
        "algorithm.\n"
        "# Made by: meshscope bench collectives --table FILE (core/comm/choice.h tells the format)\n";
    const auto is_measured = [&](const ChoiceTable::Row& row) {
        return row.shares_memory == shares_memory &&
               std::any_of(measured.begin(), measured.end(), [&](const auto& m) { return m.op == row.op; });
    };
    for (const auto& row : measured) text += line_of(row) + "\n";
    for (const auto& row : ChoiceTable::measured().rows())
        if (!is_measured(row)) text += line_of(row) + "\n";
    ChoiceTable::parse(text);  // what is written can be read
    return text;
}

}  // namespace meshscope::cli
