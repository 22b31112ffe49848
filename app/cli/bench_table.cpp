#include "app/cli/bench_table.h"

#include <algorithm>

#include "core/comm/transport.h"

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

bool shares_memory(const TableBench& bench, const run::Backends& backends) {
    std::vector<char> says(2, 0);
    backends.open(bench.backend, {2})->run([&](comm::Transport& transport) {
        says[static_cast<std::size_t>(transport.rank().value)] = transport.shares_memory() ? 1 : 0;
    });
    return says[0] != 0;
}

}  // namespace

std::string measure_table(const TableBench& bench, const run::Backends& backends,
                          const std::function<void(const CollectivesBenchRow&)>& each) {
    const bool shared = shares_memory(bench, backends);
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
                    run_collectives_bench(one, backends, [&](const CollectivesBenchRow& row) {
                        double& best = times[size++][a];
                        best = std::min(best, row.us);
                        each(row);
                    });
                }
            const int32_t to = i + 1 < bench.ranks.size() ? bench.ranks[i + 1] - 1 : ChoiceTable::kMax;
            for (const auto& line : comm::lines_from({op, shared, bench.ranks[i], to, 0, Algorithm::none},
                                                     bench.sizes, algorithms, times))
                measured.push_back(line);
        }
    std::string text =
        "# Which algorithm was fastest: op, kind of backend, ranks, bytes of the full buffer up to, "
        "algorithm.\n"
        "# Made by: meshscope bench collectives --table FILE (core/comm/choice.h tells the format)\n";
    const auto is_measured = [&](const ChoiceTable::Row& row) {
        return row.shares_memory == shared &&
               std::any_of(measured.begin(), measured.end(), [&](const auto& m) { return m.op == row.op; });
    };
    for (const auto& row : measured) text += line_of(row) + "\n";
    for (const auto& row : ChoiceTable::measured().rows())
        if (!is_measured(row)) text += line_of(row) + "\n";
    ChoiceTable::parse(text);  // what is written can be read
    return text;
}

}  // namespace meshscope::cli
