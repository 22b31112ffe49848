#include "app/cli/bench_table.h"

#include <algorithm>
#include <cmath>

#include "core/comm/transport.h"

namespace meshscope::cli {
namespace {

using comm::ChoiceTable;

constexpr double kFaster = 0.95;  ///< of the present one's time, or it stays

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

std::vector<ChoiceTable::Row> lines_from(ChoiceTable::Row range, const std::vector<int64_t>& sizes,
                                         const std::vector<Algorithm>& algorithms,
                                         const std::vector<std::vector<double>>& times) {
    std::vector<ChoiceTable::Row> lines;
    std::size_t present = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
        const auto best =
            static_cast<std::size_t>(std::min_element(times[s].begin(), times[s].end()) - times[s].begin());
        if (s == 0 || times[s][best] < kFaster * times[s][present]) present = best;
        range.algorithm = algorithms[present];
        const double upper =
            s + 1 < sizes.size()
                ? std::sqrt(static_cast<double>(sizes[s]) * static_cast<double>(sizes[s + 1]))
                : 0;
        range.bytes_to = s + 1 < sizes.size() ? static_cast<int64_t>(upper) : ChoiceTable::kMax;
        if (!lines.empty() && lines.back().algorithm == range.algorithm)
            lines.back().bytes_to = range.bytes_to;
        else
            lines.push_back(range);
    }
    return lines;
}

std::string measure_table(const TableBench& bench, const run::Backends& backends,
                          const std::function<void(const CollectivesBenchRow&)>& each) {
    const bool shared = shares_memory(bench, backends);
    std::vector<ChoiceTable::Row> measured;
    for (const CollectiveOp op :
         {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
          CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::all_to_all})
        for (std::size_t i = 0; i < bench.ranks.size(); ++i) {
            const std::vector<Algorithm> algorithms = candidates(op, bench.ranks[i]);
            std::vector<std::vector<double>> times(bench.sizes.size());
            for (const Algorithm algorithm : algorithms) {
                CollectivesBench one;
                one.backend = bench.backend;
                one.ranks = bench.ranks[i];
                one.sizes = bench.sizes;
                one.ops = {op};
                one.algorithm = algorithm;
                one.repeats = bench.repeats;
                std::size_t size = 0;
                run_collectives_bench(one, backends, [&](const CollectivesBenchRow& row) {
                    times[size++].push_back(row.us);
                    each(row);
                });
            }
            const int32_t to = i + 1 < bench.ranks.size() ? bench.ranks[i + 1] - 1 : ChoiceTable::kMax;
            for (const auto& line : lines_from({op, shared, bench.ranks[i], to, 0, Algorithm::none},
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
