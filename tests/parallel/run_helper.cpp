#include "tests/parallel/run_helper.h"

#include <algorithm>

#include "backends/registry.h"

namespace meshscope::test {

run::RunResult run_text(const std::string& toml) {
    return run::run_scenario(scenario::parse_scenario(toml, "test.toml"), *backends::make_registry());
}

std::vector<std::string> collectives_of(const trace::Trace& trace, int32_t rank, int32_t step) {
    std::vector<std::string> rows;
    for (const trace::Event& event : trace.ranks[static_cast<std::size_t>(rank)].events) {
        if (event.kind != trace::EventKind::collective || event.step != step) continue;
        const std::string in = std::to_string(event.in_elements), out = std::to_string(event.out_elements);
        switch (event.op) {
            case CollectiveOp::all_gather:
                rows.push_back("AG " + in + "->" + out);
                break;
            case CollectiveOp::reduce_scatter:
                rows.push_back("RS " + in + "->" + out);
                break;
            case CollectiveOp::all_reduce:
                rows.push_back("AR " + in);
                break;
            default:
                rows.push_back(std::string(name(event.op)) + " " + in);
        }
    }
    return rows;
}

int64_t count_of(const std::vector<std::string>& rows, const std::string& word) {
    return std::ranges::count_if(rows, [&](const std::string& row) { return row.starts_with(word); });
}

}  // namespace meshscope::test
